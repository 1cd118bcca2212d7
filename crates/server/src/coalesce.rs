//! Making one event of several small ones in a row, before they are written.
//!
//! Invariant: a fold of what is written is the fold of what was sent. Only pieces of the same text
//! that came in one append are joined, and only where nothing but the piece tells them apart.

use selvedge_protocol::json::{Doc, from_utf8};
use selvedge_store::Draft;

/// Whether pieces of text are joined before they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coalesce {
    /// Every event is written as it was sent.
    #[default]
    Never,
    /// Pieces of one text that are next to each other in an append become one event.
    Deltas,
}

impl Coalesce {
    /// The events to write.
    pub(crate) fn apply(self, drafts: Vec<Draft>) -> Vec<Draft> {
        if self == Self::Never || drafts.len() < 2 {
            return drafts;
        }
        let mut out: Vec<Draft> = Vec::with_capacity(drafts.len());
        let mut open: Option<Piece> = None;
        for draft in drafts {
            let piece = piece(&draft);
            match (&mut open, piece) {
                (Some(open), Some(piece)) if open.rest == piece.rest => {
                    open.text.push_str(&piece.text);
                    open.joined = Joined::Some;
                }
                (last, piece) => {
                    if let (Some(piece), Some(place)) = (last.take(), out.last_mut()) {
                        piece.write(place);
                    }
                    *last = piece;
                    out.push(draft);
                }
            }
        }
        if let (Some(piece), Some(place)) = (open, out.last_mut()) {
            piece.write(place);
        }
        out
    }
}

/// A piece of text, and the event around it.
struct Piece {
    /// What tells it from a piece of another text: all members but the text and its number.
    rest: String,
    before: String,
    /// Inside the quotes, escapes as they were sent.
    text: String,
    after: String,
    joined: Joined,
}

#[derive(Debug, PartialEq, Eq)]
enum Joined {
    Nothing,
    Some,
}

impl Piece {
    /// Puts the whole text where its first piece was.
    fn write(self, draft: &mut Draft) {
        if self.joined == Joined::Some {
            *draft = Draft::new(format!("{}{}{}", self.before, self.text, self.after));
        }
    }
}

fn piece(draft: &Draft) -> Option<Piece> {
    // An event with a source is a part of a record that is given back as it was.
    if draft.source.is_some() {
        return None;
    }
    let event = from_utf8(&draft.event).ok()?;
    let doc = Doc::parse(event).ok()?;
    let root = doc.root();
    let field = match &*root.get("kind")?.str()? {
        "content-delta" | "tool-call-delta" => "delta",
        "thought-stream" => "content",
        _ => return None,
    };
    let text = root.get(field).filter(|text| text.is_string())?;
    let mut rest = String::new();
    let mut numbers = 0;
    for (name, value) in root.members() {
        match name.body() {
            _ if value.start() == text.start() => {}
            "index" if numbers == 0 && value.i64().is_some() => numbers += 1,
            _ => {
                rest.push_str(name.raw());
                rest.push(':');
                rest.push_str(value.raw());
                rest.push('\n');
            }
        }
    }
    let inside = text.start() + 1..text.end() - 1;
    Some(Piece {
        rest,
        before: event.get(..inside.start)?.to_owned(),
        text: event.get(inside.clone())?.to_owned(),
        after: event.get(inside.end..)?.to_owned(),
        joined: Joined::Nothing,
    })
}

#[cfg(test)]
mod tests {
    use selvedge_protocol::journal::fold::State;
    use selvedge_protocol::journal::{Cursor, Event};

    use super::*;
    use crate::state;

    fn drafts(events: &[&str]) -> Vec<Draft> {
        events.iter().map(|event| Draft::new((*event).to_owned())).collect()
    }

    fn texts(drafts: &[Draft]) -> Vec<String> {
        drafts.iter().map(|draft| String::from_utf8(draft.event.to_vec()).unwrap()).collect()
    }

    const SENT: &[&str] = &[
        r#"{"kind":"task-created","taskId":"t","initiator":"user"}"#,
        r#"{"kind":"content-delta","taskId":"t","delta":"Hel","index":0}"#,
        r#"{"kind":"content-delta","taskId":"t","delta":"lo \ud83d","index":1}"#,
        r#"{"kind":"content-delta","taskId":"t","delta":"\ude00","index":2}"#,
        r#"{"kind":"content-delta","taskId":"u","delta":"other","index":0}"#,
        r#"{"kind":"content-delta","taskId":"t","delta":"!","index":3,"mood":"glad"}"#,
        r#"{"kind":"thought-stream","taskId":"t","thoughtId":"a","content":"so","index":0}"#,
        r#"{"kind":"thought-stream","taskId":"t","thoughtId":"a","content":" it goes","index":1}"#,
        r#"{"kind":"tool-call-started","taskId":"t","toolCallId":"c","toolName":"f"}"#,
        r#"{"kind":"tool-call-delta","taskId":"t","toolCallId":"c","delta":"{\"a\":"}"#,
        r#"{"kind":"tool-call-delta","taskId":"t","toolCallId":"c","delta":"1}"}"#,
        r#"{"kind":"tool-call-delta","taskId":"t","toolCallId":"d","delta":"x"}"#,
    ];

    #[test]
    fn pieces_of_one_text_become_one_event_and_nothing_else_does() {
        let joined = Coalesce::Deltas.apply(drafts(SENT));
        assert_eq!(
            texts(&joined),
            [
                SENT[0],
                r#"{"kind":"content-delta","taskId":"t","delta":"Hello \ud83d\ude00","index":0}"#,
                SENT[4],
                SENT[5],
                r#"{"kind":"thought-stream","taskId":"t","thoughtId":"a","content":"so it goes","index":0}"#,
                SENT[8],
                r#"{"kind":"tool-call-delta","taskId":"t","toolCallId":"c","delta":"{\"a\":1}"}"#,
                SENT[11],
            ]
        );
        assert_eq!(texts(&Coalesce::Never.apply(drafts(SENT))), SENT);
    }

    #[test]
    fn what_is_written_folds_to_what_was_sent() {
        let fold = |drafts: &[Draft]| {
            let mut state = State::new();
            for text in texts(drafts) {
                let doc = Doc::parse(&text).unwrap();
                state.apply(&Event::parse(doc.root()).unwrap());
            }
            let actions = format!("{:?}", state.transcript.actions());
            (actions, state::json("t", Cursor { epoch: 1, seq: 1 }, 1, &state))
        };
        let joined = Coalesce::Deltas.apply(drafts(SENT));
        assert_eq!(fold(&joined), fold(&drafts(SENT)));
    }

    #[test]
    fn what_has_a_source_or_says_something_twice_is_left_alone() {
        let mut sent = drafts(&SENT[1..3]);
        sent[1].source = Some("{}".into());
        assert_eq!(Coalesce::Deltas.apply(sent.clone()), sent);
        let twice = drafts(&[
            r#"{"kind":"content-delta","delta":"a","delta":"b"}"#,
            r#"{"kind":"content-delta","delta":"c","delta":"d"}"#,
        ]);
        assert_eq!(Coalesce::Deltas.apply(twice.clone()), twice);
    }
}
