//! An answer as it arrives.
//!
//! Invariant: it ends with exactly one [`Said::Done`], or with one failure; then with nothing.

use std::time::Duration;

use reqwest::Response;
use selvedge_protocol::sse::{Cutter, Frame};
use serde_json::Value;
use tokio::time::timeout;

use super::output::Output;
use super::provider::Wire;
use super::remote::silent;
use super::{
    Done, Failure, FailureKind, Key, Provider, Said, Timeouts, anthropic, gemini, openai_chat,
    openai_responses,
};

/// Bytes of an event, at most.
const LONGEST_EVENT: usize = 8 << 20;
/// How long to wait for what may come after the answer itself, such as its usage.
const AFTERWORD: Duration = Duration::from_secs(10);

/// What a model says. Dropping it ends the call.
#[derive(Debug)]
pub struct Speech {
    answer: Response,
    cutter: Cutter,
    reader: Reader,
    output: Output,
    /// A failure that comes after what was said before it.
    failure: Option<Failure>,
    timeouts: Timeouts,
    begun: bool,
    /// No failure tells it.
    key: Option<Key>,
}

/// Who reads the events of a stream.
#[derive(Debug)]
enum Reader {
    Anthropic(anthropic::Reader),
    Chat(openai_chat::Reader),
    Responses(openai_responses::Reader),
    Gemini(gemini::Reader),
}

impl Reader {
    fn of(wire: Wire) -> Self {
        match wire {
            Wire::Messages => Self::Anthropic(anthropic::Reader::default()),
            Wire::Chat => Self::Chat(openai_chat::Reader::default()),
            Wire::Responses => Self::Responses(openai_responses::Reader::default()),
            Wire::GenerateContent => Self::Gemini(gemini::Reader::default()),
        }
    }

    /// Takes an event in.
    fn take(&mut self, event: &Value, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::Anthropic(reader) => reader.take(event, output),
            Self::Chat(reader) => reader.take(event, output),
            Self::Responses(reader) => reader.take(event, output),
            Self::Gemini(reader) => reader.take(event, output),
        }
    }

    /// How the answer ended, if all of it is there and only an afterword may be missing.
    fn done(&self, output: &Output) -> Option<Done> {
        match self {
            Self::Anthropic(reader) => reader.done(),
            Self::Chat(reader) => reader.done(output),
            Self::Responses(_) => None,
            Self::Gemini(reader) => reader.done(output),
        }
    }
}

impl Speech {
    pub(super) fn new(
        provider: Provider,
        answer: Response,
        timeouts: Timeouts,
        key: Option<Key>,
    ) -> Self {
        Self {
            answer,
            cutter: Cutter::limited(LONGEST_EVENT),
            reader: Reader::of(provider.wire()),
            output: Output::new(provider),
            failure: None,
            timeouts,
            begun: false,
            key,
        }
    }

    /// The next piece; none after the end. May be dropped while it waits, and asked again.
    pub async fn next(&mut self) -> Option<Result<Said, Failure>> {
        loop {
            if let Some(said) = self.output.next() {
                return Some(Ok(said));
            }
            if let Some(failure) = self.failure.take() {
                return Some(Err(failure.without(self.key.as_ref())));
            }
            if self.output.is_over() {
                return None;
            }
            let finished = self.reader.done(&self.output).is_some();
            let patience = match (self.begun, finished) {
                (false, _) => self.timeouts.first_byte,
                (true, false) => self.timeouts.idle,
                (true, true) => self.timeouts.idle.min(AFTERWORD),
            };
            let taken = match timeout(patience, self.answer.chunk()).await {
                Ok(Ok(Some(bytes))) => {
                    self.begun = true;
                    self.take(&bytes)
                }
                Ok(Ok(None)) => self.last().and_then(|()| {
                    let message = "the stream ended before the answer did";
                    self.broken(Failure::new(FailureKind::Connection, message))
                }),
                Ok(Err(error)) => self.broken(Failure::connection(error)),
                Err(_) => self.broken(silent()),
            };
            if let Err(failure) = taken {
                self.failure = Some(failure);
                self.output.close();
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let Self { cutter, reader, output, .. } = self;
        let mut outcome = Ok(());
        let cut = cutter.push(bytes, |event| {
            if outcome.is_ok() && !output.is_over() {
                outcome = read(event, reader, output);
            }
        });
        outcome?;
        let long = |_| Failure::nonsense(format!("an event is longer than {LONGEST_EVENT} bytes"));
        if output.is_over() { Ok(()) } else { cut.map_err(long) }
    }

    /// Takes what stands after the last blank line, if it is a whole event all the same.
    fn last(&mut self) -> Result<(), Failure> {
        let rest = std::str::from_utf8(self.cutter.rest()).unwrap_or_default();
        let whole = Frame::read(rest).filter(|frame| {
            frame.data == DONE || serde_json::from_str::<Value>(&frame.data).is_ok()
        });
        match whole {
            Some(_) => read(rest.as_bytes(), &mut self.reader, &mut self.output),
            None => Ok(()),
        }
    }

    /// The stream is at its end without saying so.
    fn broken(&mut self, failure: Failure) -> Result<(), Failure> {
        if self.output.is_over() {
            return Ok(());
        }
        match self.reader.done(&self.output) {
            Some(done) => self.output.end(done),
            None => Err(failure),
        }
    }
}

/// What chat completions end with.
const DONE: &str = "[DONE]";

fn read(event: &[u8], reader: &mut Reader, output: &mut Output) -> Result<(), Failure> {
    let text =
        std::str::from_utf8(event).map_err(|_| Failure::nonsense("an event is not UTF-8 text"))?;
    let Some(frame) = Frame::read(text).filter(|frame| !frame.data.is_empty()) else {
        return Ok(());
    };
    if frame.data == DONE {
        return match reader.done(output) {
            Some(done) => output.end(done),
            None => Err(Failure::nonsense("the stream ended without saying how the answer did")),
        };
    }
    let value = serde_json::from_str(&frame.data)
        .map_err(|error| Failure::nonsense(format!("an event is not JSON: {error}")))?;
    reader.take(&value, output)
}
