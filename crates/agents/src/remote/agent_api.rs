//! Agents that speak AgentScope's Agent API: one request, one stream, and a session.
//!
//! Nobody can be asked what became of an answer that broke off. It is asked for again, unless the
//! agent was seen to do more than speak.

use selvedge_protocol::base64::{self, Alphabet};
use selvedge_protocol::dialect::Id;
use selvedge_protocol::perspective::{Media, Part, Source};
use serde_json::{Value, json};

use super::Remote;
use super::hear::{Hearing, dialect_of};
use super::talk::{Answered, Ask, Out, Outcome, Say};
use crate::model::{Failure, FailureKind};

/// Says something, and listens.
pub(super) async fn talk(remote: &Remote, ask: &Ask, out: &Out) -> Result<Outcome, Failure> {
    let content: Vec<Value> = match &ask.say {
        Say::Parts(parts) => parts.iter().map(part).collect(),
        Say::Answers(answers) => {
            answers.iter().map(|given: &Answered| text(&given.words())).collect()
        }
        Say::Nothing => Vec::new(),
    };
    let body = json!({
        "input": [{ "role": "user", "type": "message", "content": content }],
        "stream": true,
        "session_id": ask.thread,
    });
    let mut reply = remote.wire.post(remote.url.clone(), &[], &body).await?;
    let mut hearing = Hearing::new(dialect_of(Id::AgentApi)?, &remote.id, ask);
    if reply.is_stream() {
        hearing.listen(&mut reply, out).await?;
    } else {
        hearing.document(&reply.whole().await?)?;
    }
    let outcome = match (hearing.outcome(), hearing.error()) {
        (Some(outcome), _) => outcome,
        (None, Some((_, message))) => {
            Outcome::Failed { code: "remote_failed".to_owned(), message: message.to_owned() }
        }
        (None, None) => {
            hearing.pass_on(out).await?;
            return Err(Failure::new(FailureKind::Connection, "the answer has no end"));
        }
    };
    hearing.finish(out).await?;
    Ok(outcome)
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(said) => text(said),
        Part::Media(media) => {
            let place = address(media);
            match media.class {
                "image" => json!({ "type": "image", "image_url": place }),
                "audio" => json!({ "type": "audio", "data": place, "format": media.media_type }),
                "video" => json!({ "type": "video", "video_url": place }),
                _ => json!({ "type": "file", "file_url": place, "filename": media.name }),
            }
        }
    }
}

/// Where a part's bytes are; those that are here are in the address itself.
pub(super) fn address(media: &Media) -> String {
    match &media.source {
        Source::Url(url) => url.clone(),
        Source::Bytes(bytes) => {
            let data = base64::encode(bytes, Alphabet::Standard);
            format!("data:{};base64,{data}", media.media_type)
        }
    }
}
