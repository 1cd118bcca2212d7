//! A byte order mark before any source: the source is read, and the mark comes back.

use selvedge_protocol::diagnostic::{Report, Severity};
use selvedge_protocol::dialect::{
    self, Carrier, DecodeOptions, Decoding, Dialect, EncodeOptions, Encoding, decode,
};
use selvedge_protocol::record::Framing;
use selvedge_protocol::validate::validate;

use crate::identity::convert;
use crate::recordings;

/// The events of a source, less the id of the thread, which may come from the text.
fn events(own: &Dialect, source: &str) -> Vec<String> {
    let mut out = Vec::new();
    let options = DecodeOptions { thread_id: Some("t".to_owned()), ..DecodeOptions::default() };
    decode(own, &options, source, |batch| {
        for event in &batch.events {
            let mut text = String::new();
            event.write(&mut text);
            out.push(text);
        }
    });
    out
}

fn codes(own: &Dialect, source: &str) -> Vec<(&'static str, Severity)> {
    let mut report = Report::new();
    validate(own, source.as_bytes(), &mut report);
    report.diagnostics().iter().map(|d| (d.code, d.severity)).collect()
}

#[test]
fn every_dialect_reads_past_it_and_gives_it_back() {
    let journal = dialect::named("journal").unwrap();
    let mut tried = std::collections::HashMap::<_, usize>::new();
    let archives = recordings::cached().iter().take(9).map(|recording| {
        let own = dialect::named(recording.dialect).unwrap();
        (recording.name.clone(), journal, convert(own, journal, &recording.text))
    });
    let all = recordings::cached().iter().map(|recording| {
        let own = dialect::named(recording.dialect).unwrap();
        (recording.name.clone(), own, recording.text.clone())
    });
    for (name, own, text) in all.chain(archives) {
        let count = tried.entry(own.id).or_default();
        *count += 1;
        if *count > 40 || text.is_empty() {
            continue;
        }
        let marked = format!("\u{feff}{text}");
        assert_eq!(dialect::detect(&marked).map(|d| d.id), dialect::detect(&text).map(|d| d.id));
        assert_eq!(events(own, &marked), events(own, &text), "{name}");
        for carrier in dialect::ALL.iter().filter(|d| d.carrier == Carrier::Frames) {
            if own.id == journal.id && carrier.id != journal.id {
                continue;
            }
            let back = convert(carrier, own, &convert(own, carrier, &marked));
            assert!(back == marked, "{name} through {}", carrier.id.name());
        }
        let mut found = codes(own, &marked);
        if own.framing != Framing::Sse || text.trim_start().starts_with(['{', '[']) {
            assert_eq!(found.remove(0), ("byte-order-mark", Severity::Warning), "{name}");
        }
        assert_eq!(found, codes(own, &text), "{name}");
    }
    assert_eq!(tried.len(), dialect::ALL.len());
}

#[test]
fn it_may_arrive_byte_by_byte() {
    let journal = dialect::named("journal").unwrap();
    for recording in recordings::cached().iter().filter(|r| r.text.len() < 3000) {
        let own = dialect::named(recording.dialect).unwrap();
        let marked = format!("\u{feff}{}", recording.text);
        let mut decoding = Decoding::new(own, &DecodeOptions::default());
        let mut encoding = Encoding::new(journal, &EncodeOptions::default());
        let mut out = Vec::new();
        for byte in marked.as_bytes() {
            decoding.push(&[*byte], |batch| encoding.batch(&batch, &mut out)).unwrap();
        }
        decoding.finish(|batch| encoding.batch(&batch, &mut out)).unwrap();
        encoding.finish(&mut out);
        let archive = String::from_utf8(out).unwrap();
        assert_eq!(convert(journal, own, &archive), marked, "{}", recording.name);
    }
}
