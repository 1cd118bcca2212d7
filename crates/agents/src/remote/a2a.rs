//! Agents that speak A2A, 1.0 or 0.3, over JSON-RPC.
//!
//! A task that was lost sight of is asked for until it has ended or asks something; what it says
//! then takes the place of what was heard before.

mod card;

pub(super) use card::Endpoint;

use std::time::Duration;

use selvedge_protocol::base64::{self, Alphabet};
use selvedge_protocol::dialect::Id;
use selvedge_protocol::perspective::{Part, Source};
use serde_json::{Value, json};

use self::card::{Streams, Version};
use super::Remote;
use super::hear::{Hearing, dialect_of};
use super::talk::{Answered, Ask, Ids, Out, Outcome, Say, Tried};
use super::wire::Answer as Reply;
use crate::model::{Failure, FailureKind};
use crate::turn::Answer;

/// The first wait between two looks at a task; it doubles.
const LOOK: Duration = Duration::from_millis(200);
const LOOK_MAX: Duration = Duration::from_secs(5);

/// JSON-RPC: there is no such method; the version is not spoken; the operation is not supported.
const NO_METHOD: &str = "-32601";
const NO_VERSION: &str = "-32009";
const UNSUPPORTED: &str = "-32004";
/// There is no such task.
const NO_TASK: &str = "-32001";

/// Says something, and listens.
pub(super) async fn talk(remote: &Remote, ask: &Ask, out: &Out) -> Result<Outcome, Failure> {
    let talk = Talk { remote, ask, out };
    let ended = talk.talk().await;
    if ended.is_err() {
        // What is known of it may no longer be so.
        remote.forget_endpoint();
    }
    ended
}

/// Asks an agent to stop.
pub(super) async fn cancel(remote: &Remote, known: &Ids) -> Result<(), Failure> {
    let Some(task) = &known.task else { return Ok(()) };
    let place = remote.endpoint().await?;
    let method = match place.version {
        Version::V1 => "CancelTask",
        Version::V03 => "tasks/cancel",
    };
    call(remote, &place, method, json!({ "id": task })).await?.whole().await.map(|_| ())
}

/// One conversation about one thing.
struct Talk<'a> {
    remote: &'a Remote,
    ask: &'a Ask,
    out: &'a Out,
}

/// What came of sending something.
enum Sent {
    Outcome(Outcome),
    /// The agent works on it, and does not say how.
    Works(String),
    /// It does not speak like that: this way may do.
    Instead(Endpoint),
}

/// What a task is found at.
enum Looked {
    /// It has ended, or asks something.
    Ended(Outcome),
    Works,
    /// It waits for the answer that is to be given.
    Waits,
}

impl Talk<'_> {
    async fn talk(&self) -> Result<Outcome, Failure> {
        let mut place = self.remote.endpoint().await?;
        let known = self.ask.known.task.as_deref();
        match (&self.ask.say, known) {
            (Say::Nothing, Some(task)) => return self.follow(&place, task).await,
            (Say::Answers(_), Some(task)) if self.ask.tried == Tried::Maybe => {
                // It may have the answer: then it no longer waits for it.
                match self.look(&place, task).await? {
                    Looked::Ended(outcome) => return Ok(outcome),
                    Looked::Works => return self.follow(&place, task).await,
                    Looked::Waits => {}
                }
            }
            _ => {}
        }
        // Each way is tried once.
        for _ in 0..3 {
            match self.send(&place).await? {
                Sent::Outcome(outcome) => return Ok(outcome),
                Sent::Works(task) => return self.follow(&place, &task).await,
                Sent::Instead(other) => {
                    self.remote.remember_endpoint(&other);
                    place = other;
                }
            }
        }
        Err(Failure::new(FailureKind::Refused, "it speaks neither A2A 1.0 nor 0.3"))
    }

    async fn send(&self, place: &Endpoint) -> Result<Sent, Failure> {
        let method = match (place.version, place.streams) {
            (Version::V1, Streams::Yes) => "SendStreamingMessage",
            (Version::V1, Streams::No) => "SendMessage",
            (Version::V03, Streams::Yes) => "message/stream",
            (Version::V03, Streams::No) => "message/send",
        };
        let params = self.params(place);
        let mut reply = call(self.remote, place, method, params).await?;
        let mut hearing = self.hearing()?;
        if reply.is_stream() {
            hearing.listen(&mut reply, self.out).await?;
        } else {
            let body = reply.whole().await?;
            hearing.document(&body)?;
            if hearing.outcome().is_none() && hearing.ids().task.is_some() {
                // A task that has just begun: what it says is heard when it is done.
                self.out.know(hearing.ids()).await?;
                return Ok(works(hearing.ids()));
            }
        }
        if let Some((code, message)) = hearing.error()
            && hearing.outcome().is_none()
        {
            return Ok(match place.instead(code) {
                Some(other) => Sent::Instead(other),
                None => Sent::Outcome(refused(message)),
            });
        }
        hearing.finish(self.out).await?;
        Ok(match (hearing.outcome(), hearing.ids().task) {
            (Some(outcome), _) => Sent::Outcome(outcome),
            // It broke off before its end, or only began: the task tells the rest.
            (None, Some(_)) if !hearing.spoke() => works(hearing.ids()),
            (None, Some(_)) => {
                let message = "the answer has no end";
                return Err(Failure::new(FailureKind::Connection, message));
            }
            (None, None) if hearing.spoke() => Sent::Outcome(Outcome::Done),
            (None, None) => {
                let message = "it ended without an answer";
                return Err(Failure::new(FailureKind::Provider, message));
            }
        })
    }

    /// Asks for a task until it has ended or asks something.
    async fn follow(&self, place: &Endpoint, task: &str) -> Result<Outcome, Failure> {
        let mut wait = LOOK;
        loop {
            if let Looked::Ended(outcome) = self.look(place, task).await? {
                return Ok(outcome);
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LOOK_MAX);
        }
    }

    /// Asks for a task; passes on what it says if it has ended or asks something.
    async fn look(&self, place: &Endpoint, task: &str) -> Result<Looked, Failure> {
        let method = match place.version {
            Version::V1 => "GetTask",
            Version::V03 => "tasks/get",
        };
        let params = json!({ "id": task, "historyLength": 0 });
        let body = call(self.remote, place, method, params).await?.whole().await?;
        let mut hearing = self.hearing()?;
        hearing.document(&body)?;
        if let Some((code, message)) = hearing.error() {
            return Ok(Looked::Ended(match code {
                Some(NO_TASK) => {
                    let message = "the agent no longer knows the task".to_owned();
                    Outcome::Failed { code: "interrupted".to_owned(), message }
                }
                _ => refused(message),
            }));
        }
        match hearing.outcome() {
            Some(outcome) => {
                hearing.finish(self.out).await?;
                Ok(Looked::Ended(outcome))
            }
            None if hearing.waits() => Ok(Looked::Waits),
            None => Ok(Looked::Works),
        }
    }

    fn hearing(&self) -> Result<Hearing, Failure> {
        Ok(Hearing::new(dialect_of(Id::A2a)?, &self.remote.id, self.ask))
    }

    fn params(&self, place: &Endpoint) -> Value {
        let (ask, version) = (self.ask, place.version);
        let parts: Vec<Value> = match &ask.say {
            Say::Parts(parts) => parts.iter().map(|said| part(version, said)).collect(),
            Say::Answers(answers) => answers.iter().map(|given| answer(version, given)).collect(),
            Say::Nothing => Vec::new(),
        };
        let mut message = json!({
            // The same when it is said again.
            "messageId": format!("{}/{}", ask.task, ask.round),
            "role": if version == Version::V1 { "ROLE_USER" } else { "user" },
            "parts": parts,
        });
        if let Some(object) = message.as_object_mut() {
            if version == Version::V03 {
                object.insert("kind".to_owned(), json!("message"));
            }
            if let Some(thread) = &ask.known.thread {
                object.insert("contextId".to_owned(), json!(thread));
            }
            if let (Say::Answers(_), Some(task)) = (&ask.say, &ask.known.task) {
                object.insert("taskId".to_owned(), json!(task));
            }
        }
        match (place.streams, version) {
            (Streams::Yes, _) => json!({ "message": message }),
            (Streams::No, Version::V1) => {
                json!({ "message": message, "configuration": { "returnImmediately": true } })
            }
            (Streams::No, Version::V03) => {
                // Some want to be told all that the version has.
                let modes = ["text/plain", "application/json"];
                let how = json!({ "blocking": false, "acceptedOutputModes": modes });
                json!({ "message": message, "configuration": how })
            }
        }
    }
}

/// Calls a method.
async fn call(
    remote: &Remote,
    place: &Endpoint,
    method: &str,
    params: Value,
) -> Result<Reply, Failure> {
    let version = match place.version {
        Version::V1 => "1.0",
        Version::V03 => "0.3",
    };
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    remote.wire.post(place.url.clone(), &[("A2A-Version", version)], &body).await
}

fn works(ids: Ids) -> Sent {
    Sent::Works(ids.task.unwrap_or_default())
}

fn refused(message: &str) -> Outcome {
    Outcome::Failed { code: "remote_refused".to_owned(), message: message.to_owned() }
}

/// A part of a message.
fn part(version: Version, part: &Part) -> Value {
    match (part, version) {
        (Part::Text(text), Version::V1) => json!({ "text": text }),
        (Part::Text(text), Version::V03) => json!({ "kind": "text", "text": text }),
        (Part::Media(media), version) => {
            let (key, value) = match (&media.source, version) {
                (Source::Url(url), Version::V1) => ("url", url.clone()),
                (Source::Url(url), Version::V03) => ("uri", url.clone()),
                (Source::Bytes(bytes), Version::V1) => ("raw", encoded(bytes)),
                (Source::Bytes(bytes), Version::V03) => ("bytes", encoded(bytes)),
            };
            let (kind, name) = match version {
                Version::V1 => ("mediaType", "filename"),
                Version::V03 => ("mimeType", "name"),
            };
            let mut file = json!({ key: value, kind: media.media_type });
            if let (Some(file), Some(own)) = (file.as_object_mut(), &media.name) {
                file.insert(name.to_owned(), json!(own));
            }
            match version {
                Version::V1 => file,
                Version::V03 => json!({ "kind": "file", "file": file }),
            }
        }
    }
}

fn encoded(bytes: &[u8]) -> String {
    base64::encode(bytes, Alphabet::Standard)
}

/// An answer as a part: words, or data where it is more than words.
fn answer(version: Version, given: &Answered) -> Value {
    let value = match &given.answer {
        Answer::Value(text) => serde_json::from_str(text).unwrap_or(Value::Null),
        Answer::Expired => Value::Null,
    };
    match (value, version) {
        (data @ Value::Object(_), Version::V1) => json!({ "data": data }),
        (data @ Value::Object(_), Version::V03) => json!({ "kind": "data", "data": data }),
        _ => part(version, &Part::Text(given.words())),
    }
}
