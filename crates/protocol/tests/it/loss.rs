//! The loss report names what got lost and nothing else.

use selvedge_protocol::dialect::{self, DecodeOptions, EncodeOptions, decode};
use selvedge_protocol::loss::{Loss, Losses};

use crate::recordings::fixture;

fn losses(from: &str, to: &str, text: &str) -> Vec<Loss> {
    let mut found = Vec::new();
    let mut losses = Losses::new(dialect::named(to).unwrap(), &EncodeOptions::default());
    decode(dialect::named(from).unwrap(), &DecodeOptions::default(), text, |batch| {
        losses.batch(&batch, &mut |loss| found.push(loss));
    });
    losses.finish(&mut |loss| found.push(loss));
    found
}

#[test]
fn carriers_and_the_same_dialect_lose_nothing() {
    let text = fixture("pydantic_kitchen/k01_every_part_full.messages.json");
    for to in ["journal", "thread-protocol", "pydantic-ai"] {
        assert_eq!(losses("pydantic-ai", to, &text), [], "{to}");
    }
}
