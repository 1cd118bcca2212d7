//! A → journal → A gives the bytes of A.

use selvedge_protocol::dialect::{
    self, DecodeOptions, Dialect, EncodeOptions, Encoding, Frames, decode,
};

use crate::recordings;

pub(crate) fn convert(from: &'static Dialect, to: &'static Dialect, source: &str) -> String {
    convert_with(Frames::Keep, from, to, source)
}

fn convert_with(
    frames: Frames,
    from: &'static Dialect,
    to: &'static Dialect,
    source: &str,
) -> String {
    let mut encoding = Encoding::new(to, &EncodeOptions::default());
    let mut out = Vec::new();
    let read = DecodeOptions { frames, ..DecodeOptions::default() };
    decode(from, &read, source, |batch| encoding.batch(&batch, &mut out));
    encoding.finish(&mut out);
    String::from_utf8(out).expect("output is UTF-8")
}

/// Checks every recording's way through a carrier; says how many there were.
fn through(carrier: &str) {
    let carrier = dialect::named(carrier).expect("carrier");
    let mut tried = 0;
    let mut wrong = Vec::new();
    for recording in recordings::all() {
        let Some(own) = dialect::named(recording.dialect) else { continue };
        tried += 1;
        let carried = convert(own, carrier, &recording.text);
        let back = convert(carrier, own, &carried);
        if back != recording.text {
            let at = back.bytes().zip(recording.text.bytes()).take_while(|(a, b)| a == b).count();
            let near =
                |s: &str| s.chars().skip(at.saturating_sub(60)).take(160).collect::<String>();
            wrong.push(format!(
                "{}: differs at {at}\n  is     {}\n  should {}",
                recording.name,
                near(&back),
                near(&recording.text)
            ));
        }
    }
    assert!(tried > 0, "no recordings found");
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_recording_survives_the_journal() {
    through("journal");
}

#[test]
fn every_recording_survives_thread_protocol() {
    through("thread-protocol");
}

#[test]
fn frames_that_are_not_needed_change_nothing() {
    let mut tried = 0;
    for recording in recordings::all() {
        let Some(from) = dialect::named(recording.dialect) else { continue };
        for to in dialect::ALL {
            if Frames::needed(from, to) == Frames::Keep || recording.text.len() > 100_000 {
                continue;
            }
            tried += 1;
            let kept = convert(from, to, &recording.text);
            let skipped = convert_with(Frames::Skip, from, to, &recording.text);
            assert_eq!(skipped, kept, "{} to {}", recording.name, to.id.name());
        }
    }
    assert!(tried > 1000, "{tried}");
}

#[test]
fn an_empty_source_stays_empty() {
    for own in dialect::ALL {
        for carrier in ["journal", "thread-protocol"].into_iter().filter_map(dialect::named) {
            if own.id != carrier.id {
                let back = convert(carrier, own, &convert(own, carrier, ""));
                assert_eq!(back, "", "{} through {}", own.id.name(), carrier.id.name());
            }
        }
    }
}
