//! Making one event of several small ones in a row, before they are written.
//!
//! Invariant: a fold of what is written is the fold of what was sent. Only pieces of the same text
//! that came in one append are joined ([`Piece`] says which those are).

use selvedge_protocol::journal::Piece;
use selvedge_protocol::json::from_utf8;
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
        let mut open: Option<Open<'_>> = None;
        for draft in &drafts {
            let piece = piece(draft);
            match (&mut open, piece) {
                (Some(open), Some(piece)) if open.goes_on_with(&piece) => {
                    open.text.get_or_insert_with(|| open.piece.text().to_owned());
                    open.text.as_mut().into_iter().for_each(|text| text.push_str(piece.text()));
                }
                (last, piece) => {
                    if let (Some(open), Some(place)) = (last.take(), out.last_mut()) {
                        open.write(place);
                    }
                    *last = piece.map(|piece| Open { piece, text: None });
                    out.push(draft.clone());
                }
            }
        }
        if let (Some(open), Some(place)) = (open, out.last_mut()) {
            open.write(place);
        }
        out
    }
}

/// A text whose next piece may follow.
struct Open<'a> {
    piece: Piece<'a>,
    /// All of it, where it has more than one piece.
    text: Option<String>,
}

impl Open<'_> {
    fn goes_on_with(&self, next: &Piece<'_>) -> bool {
        self.piece.is_like(next) && self.piece.timestamp == next.timestamp
    }

    /// Puts the whole text where its first piece was.
    fn write(self, draft: &mut Draft) {
        if let Some(text) = self.text {
            *draft = Draft::new(self.piece.with(&text));
        }
    }
}

fn piece(draft: &Draft) -> Option<Piece<'_>> {
    // An event with a source is a part of a record that is given back as it was.
    if draft.source.is_some() {
        return None;
    }
    Piece::of(from_utf8(&draft.event).ok()?)
}

#[cfg(test)]
mod tests {
    use selvedge_protocol::journal::fold::State;
    use selvedge_protocol::journal::{Cursor, Event};
    use selvedge_protocol::json::Doc;

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
            (actions, state::json("t", Cursor { epoch: 1, seq: 1 }, 1, &state, state::Origin::Told))
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
