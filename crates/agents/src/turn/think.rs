//! Asking a model, and writing down what it says as it says it.

use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use selvedge_protocol::journal::fold::{TaskState, Tokens};
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Raw, quote};
use serde_json::json;
use tokio::task::JoinHandle;

use super::fit::Size;
use super::gate::{Stop, from_now};
use super::{Progress, Turn};
use crate::agent::{Mind, Trace};
use crate::journal::{JournalError, Writer};
use crate::model::{Done, Failure, FailureKind, Said, Thought};
use crate::tool::builtin::SHARED;

/// Pieces of an answer that are taken together, at most.
const PIECES: usize = 256;

/// How far an answer has come.
enum Heard {
    More,
    All,
    Failed(Failure),
}

impl Turn {
    /// One model call: begun, said, ended. What goes wrong is in the journal when it returns.
    pub(super) async fn think(&mut self) -> Result<(), JournalError> {
        if self.progress.iterations >= self.agent.limits.iterations {
            let message = format!("{} model calls were not enough", self.progress.iterations);
            return self.fail("max_iterations", &message).await;
        }
        let Some(mind) = self.agent.minds.get(self.progress.mind).cloned() else {
            return self.fail("no_model", "there is no model left to ask").await;
        };
        self.hearing.begins(&self.task, &mut self.history);
        let tools = self.agent.all_tools().await;
        let specs: Vec<_> = tools.iter().map(|tool| tool.spec.clone()).collect();
        let iteration = self.progress.iterations + 1;
        let fitted = self.fit(&*mind, &specs);
        let history = fitted.history.as_ref().unwrap_or(&self.history);
        let mut began = Event::new(Kind::InternalLlmCall)
            .with("iteration", Raw::owned(iteration.to_string()))
            .with_str("model", mind.name())
            .with("messageCount", Raw::owned(history.items.len().to_string()))
            .with("toolCount", Raw::owned(specs.len().to_string()));
        if let Some(Size { bytes, tokens }) = fitted.size {
            let metadata = format!("{{\"bytes\":{bytes},\"tokens\":{tokens}}}");
            began = began.with("metadata", Raw::owned(metadata));
        }
        let mut events = Vec::new();
        if self.agent.trace == Trace::On {
            let (messages, tools) = (history.items.len(), specs.len());
            let state = json!({"messagesCount": messages, "toolCount": tools,
                "tokensUsed": self.progress.tokens.input + self.progress.tokens.output});
            let why = format!("`{}` is asked", mind.name());
            events.push(super::traced(iteration, "pre-llm", &why, state.to_string()));
        }
        if self.progress.state == TaskState::Created {
            events.push(Event::new(Kind::TaskStatus).with("status", Raw::Ref("\"working\"")));
        }
        events.extend(fitted.told(iteration));
        events.push(began);
        events.push(Event::new(Kind::StepStarted).with_str("model", mind.name()));
        // Before what began is read back, which counts it.
        let mut pen = Pen::new(self.writer.clone(), &self.progress, mind.provider());
        pen.trace = self.agent.trace;
        pen.waiting = events;
        if let Some(room) = fitted.exceeds {
            pen.flush().await?;
            let tokens = fitted.size.map_or(0, |size| size.tokens);
            let message = format!("the conversation has about {tokens} tokens, and {room} fit");
            return self.failed(&Failure::new(FailureKind::TooLong, message), Again::Not).await;
        }
        let mut asked = mind.ask(&self.request(history, &specs, iteration));
        drop(fitted);
        let end = from_now(self.agent.limits.call_timeout);
        let asked = loop {
            // That it began is written while the model is asked: neither waits for the other. What
            // is answered at once is written together with that.
            if let Some(asked) = (&mut asked).now_or_never() {
                break asked;
            }
            pen.start();
            tokio::select! {
                asked = &mut asked => break asked,
                written = pen.written() => written?,
                stop = self.stopped(end) => return self.stop_writing(stop?, pen).await,
            }
        };
        let saying = match asked {
            Ok(saying) => saying,
            Err(failure) => {
                pen.flush().await?;
                return self.failed(&failure, Again::IfItHelps).await;
            }
        };
        // What has come already is taken together: there are many pieces, and each look at the
        // journal and the clock costs more than one of them.
        let mut saying = saying.ready_chunks(PIECES);
        loop {
            let said = match saying.next().now_or_never() {
                Some(said) => said,
                None => {
                    pen.start();
                    tokio::select! {
                        said = saying.next() => said,
                        written = pen.written() => {
                            written?;
                            continue;
                        }
                        stop = self.stopped(end) => return self.stop_writing(stop?, pen).await,
                    }
                }
            };
            match pen.take(said, &*mind) {
                Heard::More => {}
                Heard::All => return self.said(pen).await,
                Heard::Failed(failure) => {
                    pen.flush().await?;
                    return self.failed(&failure, Again::IfItHelps).await;
                }
            }
        }
    }

    /// Writes down the end of an answer. If it asks for nothing more, the task ends with it.
    async fn said(&mut self, mut pen: Pen) -> Result<(), JournalError> {
        if !pen.calls.is_empty() {
            return pen.flush().await;
        }
        pen.settle().await?;
        while self.sync().await? {}
        let mut last = pen.waiting;
        let tokens = self.progress.tokens.input + self.progress.tokens.output;
        last.push(self.completed(&pen.said, pen.iteration, tokens + pen.tokens));
        self.end(last).await
    }

    /// Ends a model call that was stopped, with all that was said until then.
    async fn stop_writing(&mut self, stop: Stop, mut pen: Pen) -> Result<(), JournalError> {
        if stop != Stop::Over {
            pen.flush().await?;
        }
        self.stop(stop).await
    }

    /// Ends a model call that was stopped.
    async fn stop(&mut self, stop: Stop) -> Result<(), JournalError> {
        match stop {
            Stop::Over => Ok(()),
            Stop::Turn => {
                while self.sync().await? {}
                self.timed_out().await
            }
            Stop::Call => {
                let limit = self.agent.limits.call_timeout.as_secs_f64();
                let message = format!("the answer took longer than {limit} s");
                let failure = Failure::new(FailureKind::Connection, message);
                self.failed(&failure, Again::IfItHelps).await
            }
        }
    }

    /// Makes a failed call void and waits before the next, or ends the task.
    async fn failed(&mut self, failure: &Failure, again: Again) -> Result<(), JournalError> {
        while self.sync().await? {}
        let limits = &self.agent.limits;
        let tries = self.progress.attempts + 1;
        let mind = self.progress.mind;
        let helps = match failure.kind {
            // With less of the history, once.
            FailureKind::TooLong => !self.progress.shortens,
            kind => kind.is_retryable() && tries < limits.tries,
        };
        let again = again == Again::IfItHelps && helps;
        let next = if again { mind } else { mind + 1 };
        let wait = match again && failure.kind.is_retryable() {
            true => backoff(limits.backoff, limits.backoff_max, tries, failure.retry_after),
            false => Duration::ZERO,
        };
        let name = self.agent.minds.get(mind).map_or("", |mind| mind.name());
        let usage = self.paid().map_or(String::new(), |usage| format!(",\"usage\":{usage}"));
        let metadata = format!(
            "{{\"model\":{},\"code\":\"{}\",\"next\":{next},\"waitMs\":{}{usage}}}",
            quote(name),
            failure.kind.code(),
            wait.as_millis()
        );
        let void = Event::new(Kind::AttemptSuperseded)
            .with_str("reason", &failure.message)
            .with("metadata", Raw::owned(metadata));
        self.writer.append(vec![void]).await?;
        if next >= self.agent.minds.len() {
            while self.sync().await? {}
            return self.fail(failure.kind.code(), &failure.message).await;
        }
        match self.stopped(from_now(wait)).await? {
            Stop::Turn => self.timed_out().await,
            Stop::Over | Stop::Call => Ok(()),
        }
    }

    /// Says that the model call under way is void.
    pub(super) fn void(&self, reason: &str) -> Event<'static> {
        let void = Event::new(Kind::AttemptSuperseded).with_str("reason", reason);
        let name = self.agent.minds.get(self.progress.mind).map_or("", |mind| mind.name());
        let paid = self
            .paid()
            .map(|usage| Raw::owned(format!("{{\"model\":{},\"usage\":{usage}}}", quote(name))));
        void.with_some("metadata", paid)
    }

    /// What a model call that did not end has cost, more or less: who began to answer is paid.
    fn paid(&self) -> Option<String> {
        let mind = self.agent.minds.get(self.progress.mind)?;
        if self.progress.said == 0 {
            return None;
        }
        let read = self.progress.estimate;
        let input = read.unwrap_or_else(|| self.size(&**mind, &self.history, &[]).tokens);
        let output = self.measure.tokens(mind.name(), self.progress.said);
        let tokens = Tokens { input, output, calls: 1, ..Tokens::default() };
        let cost = mind.terms().cost(&tokens);
        Some(format!(
            "{{\"input_tokens\":{input},\"output_tokens\":{output},\"cost\":{},\"estimated\":true}}",
            money(cost)
        ))
    }
}

/// Whether a failed call may be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    /// If that helps.
    IfItHelps,
    /// It would fail again.
    Not,
}

/// Money as a JSON number.
fn money(cost: f64) -> String {
    serde_json::Number::from_f64(cost).map_or("0".to_owned(), |cost| cost.to_string())
}

pub(crate) fn backoff(
    first: Duration,
    most: Duration,
    tries: u32,
    told: Option<Duration>,
) -> Duration {
    let doubled =
        first.saturating_mul(1_u32.checked_shl(tries.saturating_sub(1)).unwrap_or(u32::MAX));
    told.unwrap_or(doubled).min(most)
}

/// Writes what is said, one append at a time: what is said meanwhile goes with the next.
struct Pen {
    writer: Writer,
    iteration: u32,
    /// Which model call of the task it is: no other attempt has parts of the same names.
    step: u32,
    provider: String,
    /// What was said and is not on its way.
    waiting: Vec<Event<'static>>,
    writing: Option<JoinHandle<Result<(), JournalError>>>,
    open: Open,
    parts: u32,
    deltas: u32,
    calls: Vec<String>,
    /// All that was said aloud, and the tokens that it took.
    said: String,
    tokens: u64,
    /// The number of the next thought that is shared.
    shared: u32,
    trace: Trace,
    /// What was said beside the answer.
    aside: Option<String>,
}

/// The part that is being said.
enum Open {
    Nothing,
    Text { id: String, text: String },
    Thought { id: String, pieces: u32 },
}

impl Pen {
    fn new(writer: Writer, progress: &Progress, provider: &str) -> Self {
        Self {
            writer,
            iteration: progress.iterations + 1,
            step: progress.steps + 1,
            provider: provider.to_owned(),
            waiting: Vec::new(),
            writing: None,
            open: Open::Nothing,
            parts: 0,
            deltas: 0,
            calls: Vec::new(),
            said: String::new(),
            tokens: 0,
            shared: progress.thoughts,
            trace: Trace::Off,
            aside: None,
        }
    }

    /// Takes pieces of an answer, and begins to write them down.
    fn take(&mut self, said: Option<Vec<Result<Said, Failure>>>, mind: &dyn Mind) -> Heard {
        let Some(said) = said else {
            return Heard::Failed(Failure::new(FailureKind::Connection, "the answer has no end"));
        };
        for said in said {
            match said {
                Ok(Said::Done(done)) => {
                    self.done(&done, mind);
                    return Heard::All;
                }
                Ok(said) => self.say(said),
                Err(failure) => return Heard::Failed(failure),
            }
        }
        self.start();
        Heard::More
    }

    fn say(&mut self, said: Said) {
        match said {
            Said::Text(delta) => {
                if !matches!(self.open, Open::Text { .. }) {
                    self.close();
                    self.open = Open::Text { id: self.part(), text: String::new() };
                }
                let Open::Text { id, text } = &mut self.open else { return };
                text.push_str(&delta);
                self.said.push_str(&delta);
                let event = Event::new(Kind::ContentDelta)
                    .with_str("delta", &delta)
                    .with("index", Raw::owned(self.deltas.to_string()))
                    .with_str("partId", id);
                self.deltas += 1;
                self.waiting.push(event);
            }
            Said::Thought(delta) => {
                self.begin_thought();
                let Open::Thought { id, pieces } = &mut self.open else { return };
                let event = Event::new(Kind::ThoughtStream)
                    .with_str("thoughtId", id)
                    .with("thoughtType", Raw::Ref("\"reasoning\""))
                    .with("verbosity", Raw::Ref("\"normal\""))
                    .with_str("content", &delta)
                    .with("index", Raw::owned(pieces.to_string()));
                *pieces += 1;
                self.waiting.push(event);
            }
            Said::ThoughtEnd { signature, provider } => {
                // One without text has a signature to give back all the same.
                self.begin_thought();
                self.end_thought(signature.as_deref(), provider);
            }
            Said::Shared(thought) => {
                self.close();
                self.share(&thought);
            }
            Said::CallBegun { id, name } => {
                self.close();
                let event = Event::new(Kind::ToolCallStarted)
                    .with_str("toolCallId", &id)
                    .with_str("toolName", &name);
                self.waiting.push(event);
            }
            Said::CallPiece { id, delta } => {
                let event = Event::new(Kind::ToolCallDelta)
                    .with_str("toolCallId", &id)
                    .with_str("delta", &delta);
                self.waiting.push(event);
            }
            Said::Call { id, name, arguments } => {
                self.close();
                // What is no JSON is kept as the text it is.
                let value = match selvedge_protocol::json::Doc::parse(&arguments) {
                    Ok(doc) => selvedge_protocol::json::compact(doc.root()),
                    Err(_) if arguments.trim().is_empty() => "{}".to_owned(),
                    Err(_) => quote(&arguments),
                };
                let event = Event::new(Kind::ToolCall)
                    .with_str("toolCallId", &id)
                    .with_str("toolName", &name)
                    .with("arguments", Raw::owned(value));
                self.calls.push(id);
                self.waiting.push(event);
            }
            Said::Aside(aside) => self.aside = Some(aside),
            Said::Done(_) => {}
        }
    }

    /// A whole thought, for those who follow.
    fn share(&mut self, thought: &Thought) {
        let mut metadata = json!({"source": "content"});
        if let Some(confidence) = thought.confidence {
            metadata["confidence"] = json!(confidence);
        }
        if !thought.alternatives.is_empty() {
            metadata["alternatives"] = json!(thought.alternatives);
        }
        if let Some(related) = &thought.related_to {
            metadata["relatedTo"] = json!(related);
        }
        let event = Event::new(Kind::ThoughtStream)
            .with_str("thoughtId", &self.part())
            .with_str("thoughtType", thought.ty.name())
            .with_str("verbosity", thought.verbosity.name())
            .with_str("content", &thought.text)
            .with("index", Raw::owned(self.shared.to_string()))
            .with_str("providerName", SHARED)
            .with("metadata", Raw::owned(metadata.to_string()));
        self.shared += 1;
        self.waiting.push(event);
    }

    /// The answer is complete.
    fn done(&mut self, done: &Done, asked: &dyn Mind) {
        self.close();
        let mut event = Event::new(Kind::StepFinished)
            .with_str("finishReason", done.finish.name())
            .with_str("model", done.model.as_deref().unwrap_or(asked.name()))
            .with_str("providerName", &self.provider);
        if let Some(tokens) = done.usage {
            self.tokens = tokens.input + tokens.output;
            let terms = asked.terms();
            let cost = match terms.price.is_some() || tokens.cost > 0.0 {
                true => format!(",\"cost\":{}", money(terms.cost(&tokens))),
                false => String::new(),
            };
            let usage = format!(
                "{{\"input_tokens\":{},\"output_tokens\":{},\"cache_read_tokens\":{},\
                 \"reasoning_tokens\":{}{cost}}}",
                tokens.input, tokens.output, tokens.cached, tokens.reasoning
            );
            event = event.with("usage", Raw::owned(usage));
        }
        if let Some(aside) = &self.aside {
            event = event.with("metadata", Raw::owned(format!("{{\"envelope\":{aside}}}")));
        }
        self.waiting.push(event);
        if self.trace == Trace::On {
            let why = match self.calls.len() {
                0 => "the model is done".to_owned(),
                count => format!("the model asks for {count} tool calls"),
            };
            let tokens = done.usage.map(|tokens| tokens.input + tokens.output);
            let state = json!({"pendingTools": self.calls, "tokensUsed": tokens,
                "finishReason": done.finish.name()});
            self.waiting.push(super::traced(self.iteration, "post-llm", &why, state.to_string()));
        }
        let saved = Event::new(Kind::InternalCheckpoint)
            .with("iteration", Raw::owned(self.iteration.to_string()));
        self.waiting.push(saved);
    }

    /// Ends the part that is open.
    fn close(&mut self) {
        match &self.open {
            Open::Nothing => {}
            Open::Text { id, text } => {
                let event = Event::new(Kind::ContentComplete)
                    .with_str("content", text)
                    .with_str("partId", id);
                self.waiting.push(event);
                self.open = Open::Nothing;
            }
            Open::Thought { .. } => self.end_thought(None, &self.provider.clone()),
        }
    }

    /// Begins a thought, if none is open.
    fn begin_thought(&mut self) {
        if matches!(self.open, Open::Thought { .. }) {
            return;
        }
        self.close();
        let id = self.part();
        let began = Event::new(Kind::PartStarted)
            .with_str("partId", &id)
            .with("partType", Raw::Ref("\"reasoning\""));
        self.waiting.push(began);
        self.open = Open::Thought { id, pieces: 0 };
    }

    /// Ends the thought that is open: whose it is, and the proof of that.
    fn end_thought(&mut self, signature: Option<&str>, provider: &str) {
        let Open::Thought { id, .. } = std::mem::replace(&mut self.open, Open::Nothing) else {
            return;
        };
        let mut event = Event::new(Kind::PartFinished)
            .with_str("partId", &id)
            .with("partType", Raw::Ref("\"reasoning\""))
            .with_str("providerName", provider);
        if let Some(signature) = signature {
            event = event.with_str("signature", signature);
        }
        self.waiting.push(event);
    }

    fn part(&mut self) -> String {
        self.parts += 1;
        format!("{}.{}", self.step, self.parts)
    }

    /// Sends what waits, if nothing is on its way.
    fn start(&mut self) {
        if self.writing.is_none() && !self.waiting.is_empty() {
            let (writer, events) = (self.writer.clone(), std::mem::take(&mut self.waiting));
            self.writing = Some(tokio::spawn(async move { writer.append_pieces(events).await }));
        }
    }

    /// Waits until what was on its way is written; for ever if nothing is.
    async fn written(&mut self) -> Result<(), JournalError> {
        let Some(writing) = &mut self.writing else { return std::future::pending().await };
        let result = writing.await;
        self.writing = None;
        self.start();
        match result {
            Ok(result) => result,
            Err(error) => Err(JournalError::Read(error.to_string())),
        }
    }

    /// Waits until what is on its way is written; what waits stays.
    async fn settle(&mut self) -> Result<(), JournalError> {
        match self.writing.take() {
            None => Ok(()),
            Some(writing) => {
                writing.await.unwrap_or_else(|error| Err(JournalError::Read(error.to_string())))
            }
        }
    }

    /// Waits until everything is written.
    async fn flush(&mut self) -> Result<(), JournalError> {
        self.start();
        while self.writing.is_some() {
            self.written().await?;
        }
        Ok(())
    }
}
