//! Agents that speak AITP over its first transport: the threads, messages and runs of OpenAI.
//!
//! The thread is made once and its id is in the journal before anything is said in it. A run that
//! was lost sight of is asked for until it has ended or asks something.

use std::time::Duration;

use selvedge_protocol::dialect::Id;
use selvedge_protocol::perspective::Part;
use serde_json::{Value, json};

use super::Remote;
use super::agent_api::address;
use super::hear::{Hearing, dialect_of};
use super::talk::{Ask, Ids, Out, Outcome, Reached, Say};
use super::wire::{Answer as Reply, below};
use crate::model::{Failure, FailureKind};

/// The first wait between two looks at a run; it doubles.
const LOOK: Duration = Duration::from_millis(200);
const LOOK_MAX: Duration = Duration::from_secs(5);

/// Says something, and listens.
pub(super) async fn talk(remote: &Remote, ask: &Ask, out: &Out) -> Result<Outcome, Failure> {
    let mut talk = Talk { remote, ask, out, known: ask.known.clone() };
    match (&ask.say, ask.known.thread.clone(), ask.known.task.clone()) {
        (Say::Parts(parts), _, _) => {
            let thread = talk.thread(parts).await?;
            let mut body = json!({ "stream": true });
            if let (Some(assistant), Some(body)) = (&remote.assistant, body.as_object_mut()) {
                body.insert("assistant_id".to_owned(), json!(assistant));
            }
            let reply = talk.post(&["threads", &thread, "runs"], &body).await?;
            talk.listen(reply, &thread).await
        }
        (Say::Answers(answers), Some(thread), Some(run)) => {
            let outputs: Vec<Value> = answers
                .iter()
                .map(|given| json!({ "tool_call_id": given.id, "output": given.words() }))
                .collect();
            let body = json!({ "tool_outputs": outputs, "stream": true });
            let path = ["threads", &*thread, "runs", &*run, "submit_tool_outputs"];
            let reply = talk.post(&path, &body).await?;
            talk.listen(reply, &thread).await
        }
        (Say::Nothing, Some(thread), Some(run)) => talk.follow(&thread, &run).await,
        _ => Err(Failure::new(FailureKind::Refused, "the run is not known any more")),
    }
}

/// Asks an agent to stop.
pub(super) async fn cancel(remote: &Remote, known: &Ids) -> Result<(), Failure> {
    let (Some(thread), Some(run)) = (&known.thread, &known.task) else { return Ok(()) };
    let url = below(&remote.url, &["threads", thread, "runs", run, "cancel"]);
    remote.wire.post(url, &[], &json!({})).await?.whole().await.map(|_| ())
}

/// One conversation about one thing.
struct Talk<'a> {
    remote: &'a Remote,
    ask: &'a Ask,
    out: &'a Out,
    known: Ids,
}

impl Talk<'_> {
    /// The thread, with the message in it.
    async fn thread(&mut self, parts: &[Part]) -> Result<String, Failure> {
        if let (Some(thread), Reached::Message | Reached::Taken) =
            (&self.known.thread, self.known.reached)
        {
            return Ok(thread.clone());
        }
        let message = json!({ "role": "user", "content": content(parts) });
        if let Some(thread) = self.known.thread.clone() {
            match self.add(&thread, &message).await {
                Ok(()) => return Ok(thread),
                // It is gone there: the conversation begins anew.
                Err(failure) if failure.message.starts_with("status 404") => {}
                Err(failure) => return Err(failure),
            }
        }
        let made = self.post(&["threads"], &json!({})).await?.json().await?;
        let thread = made.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let thread = thread.filter(|id| id.len() <= 256).ok_or_else(|| {
            Failure::new(FailureKind::Refused, "it made a thread and does not say which")
        })?;
        self.known.thread = Some(thread.to_owned());
        self.out.know(self.known.clone()).await?;
        self.add(thread, &message).await?;
        Ok(thread.to_owned())
    }

    async fn add(&mut self, thread: &str, message: &Value) -> Result<(), Failure> {
        self.post(&["threads", thread, "messages"], message).await?.whole().await?;
        self.known.reached = Reached::Message;
        self.out.know(self.known.clone()).await
    }

    async fn post(&self, path: &[&str], body: &Value) -> Result<Reply, Failure> {
        self.remote.wire.post(below(&self.remote.url, path), &[], body).await
    }

    async fn listen(&self, mut reply: Reply, thread: &str) -> Result<Outcome, Failure> {
        let mut hearing = self.hearing()?;
        if reply.is_stream() {
            hearing.listen(&mut reply, self.out).await?;
        } else {
            hearing.document(&reply.whole().await?)?;
            if let (Some(run), None) = (hearing.ids().task, hearing.outcome()) {
                // It does not stream.
                self.out.know(hearing.ids()).await?;
                return self.follow(thread, &run).await;
            }
        }
        match (hearing.outcome(), hearing.error()) {
            (Some(outcome), _) => {
                hearing.finish(self.out).await?;
                Ok(outcome)
            }
            (None, Some((_, message))) => {
                let message = message.to_owned();
                Ok(Outcome::Failed { code: "remote_failed".to_owned(), message })
            }
            (None, None) => Err(Failure::new(FailureKind::Connection, "the answer has no end")),
        }
    }

    /// Asks for a run until it has ended or asks something; then for what was said in it.
    async fn follow(&self, thread: &str, run: &str) -> Result<Outcome, Failure> {
        let url = below(&self.remote.url, &["threads", thread, "runs", run]);
        let mut wait = LOOK;
        loop {
            let told = self.remote.wire.get(url.clone()).await?.whole().await?;
            let mut hearing = self.hearing()?;
            hearing.document(&told)?;
            if let Some(outcome) = hearing.outcome() {
                let mut messages = below(&self.remote.url, &["threads", thread, "messages"]);
                messages.query_pairs_mut().append_pair("run_id", run).append_pair("order", "asc");
                let said = self.remote.wire.get(messages).await?.whole().await?;
                let mut hearing = self.hearing()?;
                hearing.document(&said)?;
                hearing.document(&told)?;
                hearing.finish(self.out).await?;
                return Ok(outcome);
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LOOK_MAX);
        }
    }

    fn hearing(&self) -> Result<Hearing, Failure> {
        let ask = Ask { known: self.known.clone(), ..self.ask.clone() };
        Ok(Hearing::new(dialect_of(Id::OpenaiThreads)?, &self.remote.id, &ask))
    }
}

/// What is said: words alone, or words and images.
fn content(parts: &[Part]) -> Value {
    let words = |part: &Part| match part {
        Part::Text(text) => Some(text.clone()),
        Part::Media(_) => None,
    };
    let texts: Option<Vec<String>> = parts.iter().map(words).collect();
    match texts {
        Some(texts) => json!(texts.join("\n\n")),
        None => parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => json!({ "type": "text", "text": text }),
                Part::Media(media) if media.class == "image" => {
                    json!({ "type": "image_url", "image_url": { "url": address(media) } })
                }
                Part::Media(media) => {
                    let name = media.name.as_deref().unwrap_or(&media.media_type);
                    json!({ "type": "text", "text": format!("[a file: {name}]") })
                }
            })
            .collect(),
    }
}
