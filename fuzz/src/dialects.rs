//! Any bytes as a source of a dialect: read whole or in pieces alike, given back as they were,
//! written in other dialects, folded and reported on.

use selvedge_protocol::diagnostic::Report;
use selvedge_protocol::dialect::{
    self, Carrier, DecodeOptions, Decoding, Dialect, EncodeOptions, Encoding, decode,
};
use selvedge_protocol::journal::fold::State;
use selvedge_protocol::json::{MAX_DEPTH, from_utf8};
use selvedge_protocol::loss::Losses;
use selvedge_protocol::perspective::{
    Attribution, History, OthersTools, Policy, View, anthropic, gemini, openai, responses,
};
use selvedge_protocol::validate::validate;

use crate::bytes::Numbers;

/// Panics if a source of the dialect breaks a promise.
pub(crate) fn check(own: &'static Dialect, bytes: &[u8]) {
    let mut numbers = Numbers::of(bytes);
    validate(own, bytes, &mut Report::new());
    let journal = dialect::get(dialect::Id::Journal).expect("registered");
    let streamed = streamed(own, journal, &numbers.pieces(bytes));
    let Ok(source) = from_utf8(bytes) else {
        assert!(streamed.is_none(), "what is no text was read");
        return;
    };
    let whole = convert(own, journal, source);
    assert_eq!(streamed.as_deref(), Some(&*whole), "in pieces it is read otherwise");
    let carriers: Vec<_> = dialect::ALL.iter().filter(|d| d.carrier == Carrier::Frames).collect();
    let carrier = *numbers.pick(&carriers);
    let (again, carried) = (convert(own, own, source), convert(own, carrier, source));
    let back = convert(carrier, own, &carried);
    // How a carrier spells records of other dialects is its own affair, and may change.
    if !carries(own, source) {
        assert_eq!(again, source, "it is not given back");
        assert_eq!(back, source, "through {}", carrier.id.name());
    }
    let other = numbers.pick(dialect::ALL);
    let written = convert(own, other, source);
    validate(other, written.as_bytes(), &mut Report::new());
    if !carries(other, &written) {
        assert_eq!(convert(other, other, &written), written, "as {}", other.id.name());
    }
    told(own, other, source);
}

/// Whether a source may carry records of other dialects.
fn carries(own: &Dialect, source: &str) -> bool {
    match own.id {
        dialect::Id::ThreadProtocol => own.depth(source) == MAX_DEPTH,
        dialect::Id::Journal => source.contains("\"source\""),
        _ => false,
    }
}

/// Everything that is made of events without being written in a dialect.
fn told(own: &'static Dialect, other: &'static Dialect, source: &str) {
    let mut losses = Losses::new(other, &EncodeOptions::default());
    let (mut thread, mut history) = (State::new(), History::new());
    decode(own, &DecodeOptions::default(), source, |batch| {
        losses.batch(&batch, &mut |loss| drop(loss.to_json()));
        for event in &batch.events {
            thread.apply(event);
            history.apply(event);
        }
    });
    losses.finish(&mut |loss| drop(loss.to_json()));
    let policy = Policy { attribution: Attribution::default(), tools: OthersTools::default() };
    for view in [View::Recorder, View::Agent("a", policy)] {
        for write in [anthropic, gemini, openai, responses] {
            let written = write(&history, view, None);
            let read = serde_json::from_str::<serde::de::IgnoredAny>(&written);
            assert!(read.is_ok(), "a perspective is no JSON: {written}");
        }
    }
}

fn convert(from: &'static Dialect, to: &'static Dialect, source: &str) -> String {
    let mut encoding = Encoding::new(to, &EncodeOptions::default());
    let mut out = Vec::new();
    decode(from, &DecodeOptions::default(), source, |batch| encoding.batch(&batch, &mut out));
    encoding.finish(&mut out);
    String::from_utf8(out).expect("output is UTF-8")
}

/// The same for bytes that arrive in pieces; none if they are refused.
fn streamed(from: &'static Dialect, to: &'static Dialect, pieces: &[&[u8]]) -> Option<String> {
    let mut decoding = Decoding::new(from, &DecodeOptions::default());
    let mut encoding = Encoding::new(to, &EncodeOptions::default());
    let mut out = Vec::new();
    for piece in pieces {
        decoding.push(piece, |batch| encoding.batch(&batch, &mut out)).ok()?;
    }
    decoding.finish(|batch| encoding.batch(&batch, &mut out)).ok()?;
    encoding.finish(&mut out);
    Some(String::from_utf8(out).expect("output is UTF-8"))
}
