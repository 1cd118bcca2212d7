//! `journal`: an archive written again is the same archive, whatever is in it.

use proptest::prelude::*;
use selvedge_protocol::dialect::{self, DecodeOptions, Dialect, decode};
use selvedge_protocol::journal::Why;
use selvedge_protocol::json::{Doc, SyntaxKind};

use crate::generated::{apply, damage};
use crate::identity::convert;
use crate::recordings::{self, fixture};

fn journal() -> &'static Dialect {
    dialect::named("journal").unwrap()
}

/// An archive as a server keeps it: every entry has its time.
fn timed(archive: &str) -> String {
    let stamp = |(i, line): (usize, &str)| {
        let at = format!(",\"at\":\"2026-01-31T09:{:02}:{:02}Z\",\"event\":", i / 60 % 60, i % 60);
        line.replacen(",\"event\":", &at, 1) + "\n"
    };
    archive.lines().enumerate().map(stamp).collect()
}

#[test]
fn an_archive_written_again_is_the_same() {
    for recording in recordings::cached() {
        let own = dialect::named(recording.dialect).unwrap();
        let archive = convert(own, journal(), &recording.text);
        assert_eq!(convert(journal(), journal(), &archive), archive, "{}", recording.name);
        let timed = timed(&archive);
        assert_eq!(convert(journal(), journal(), &timed), timed, "{}", recording.name);
        assert_eq!(convert(journal(), own, &timed), recording.text, "{}", recording.name);
    }
}

#[test]
fn a_part_of_an_archive_keeps_its_numbers_and_times() {
    for name in ["ai_7.0.169/a02_multi_step_parallel_tools.sse", "agent-api/c06_mixed.sse"] {
        let own = dialect::detect(&fixture(name)).unwrap();
        let archive = timed(&convert(own, journal(), &fixture(name)));
        let lines: Vec<_> = archive.split_inclusive('\n').collect();
        for from in 0..lines.len() {
            for to in [lines.len(), from + 1, lines.len().min(from + 7)] {
                let part = lines[from..to].concat();
                assert_eq!(convert(journal(), journal(), &part), part, "{name}: {from}..{to}");
            }
        }
    }
}

#[test]
fn a_part_of_an_archive_is_not_read_by_shapes_that_mean_something_else() {
    // Shape 0 was defined before the part begins, shape 1 is defined in it.
    let event = "\"event\":{\"kind\":\"system\",\"name\":\"n\",\"data\":1}";
    let source = "\"source\":{\"dialect\":\"looopy\",\"frame\":";
    let part = format!(
        "{{\"seq\":5,{event},{source}[1],\"shapes\":[1,[\"one\"]]}}}}\n\
         {{\"seq\":6,{event},{source}[0]}}}}\n\
         {{\"seq\":7,{event},{source}[1]}}}}\n"
    );
    assert_eq!(convert(journal(), journal(), &part), part);
    let looopy = convert(journal(), dialect::named("looopy").unwrap(), &part);
    assert_eq!(looopy.matches("one").count(), 2, "{looopy}");
}

#[test]
fn lines_that_cannot_be_read_are_kept_in_place_and_named() {
    let own = dialect::named("pydantic-ai").unwrap();
    let source = fixture("pydantic/s02_parallel_tool_calls/messages.json");
    let archive = convert(own, journal(), &source);
    let thread = dialect::named("thread-protocol").unwrap();
    for (broken, why) in [
        ("{\"seq\":3,\"event\":{\"ki", Why::Syntax(SyntaxKind::UnexpectedEnd)),
        ("what?", Why::Syntax(SyntaxKind::UnexpectedByte)),
        ("{\"seq\":3}", Why::Foreign),
        ("{\"kind\":\"message\"}", Why::Foreign),
        ("[1]", Why::Foreign),
        ("\"text\"", Why::Foreign),
    ] {
        for at in 1..archive.lines().count() {
            let mut lines: Vec<_> = archive.lines().collect();
            lines.insert(at, broken);
            let text = lines.join("\n") + "\n";
            assert_eq!(convert(journal(), journal(), &text), text, "{broken} at {at}");
            let mut unread = Vec::new();
            decode(journal(), &DecodeOptions::default(), &text, |b| unread.extend(b.unread));
            let found: Vec<_> = unread.iter().map(|u| (u.number, u.why)).collect();
            assert_eq!(found, [(at + 1, why)], "{broken} at {at}");
            let back = convert(thread, journal(), &convert(journal(), thread, &text));
            assert!(back.lines().any(|line| line == broken), "{broken} at {at}: {back}");
        }
    }
}

#[test]
fn entries_written_by_hand_stay_as_they_are() {
    let text = "{\"seq\": 1, \"event\": {\"kind\": \"thread-created\", \"contextId\": \"c\"}}\r\n\
                \n{\"event\":{\"kind\":\"system\",\"name\":\"n\"},\"tenant\":7,\"seq\":2}\n\
                {\"seq\":9,\"event\":{\"kind\":\"system\",\"name\":\"n\"}}";
    assert_eq!(convert(journal(), journal(), text), text);
}

#[test]
fn entries_that_are_added_are_numbered_on() {
    use selvedge_protocol::dialect::{EncodeOptions, Encoding};
    use selvedge_protocol::journal::{Batch, Event, Kind};
    let part = "{\"seq\":500,\"event\":{\"kind\":\"system\",\"name\":\"n\"}}\n";
    let mut encoding = Encoding::new(journal(), &EncodeOptions::default());
    let mut out = Vec::new();
    decode(journal(), &DecodeOptions::default(), part, |batch| encoding.batch(&batch, &mut out));
    encoding.batch(&Batch::native(vec![Event::new(Kind::System)]), &mut out);
    encoding.finish(&mut out);
    let want = format!("{part}{{\"seq\":501,\"event\":{{\"kind\":\"system\"}}}}\n");
    assert_eq!(String::from_utf8(out).unwrap(), want);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_archives_stay_as_they_are(
        which in any::<prop::sample::Index>(),
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let all = recordings::cached();
        let recording = &all[which.index(all.len())];
        let own = dialect::named(recording.dialect).unwrap();
        let mut text = timed(&convert(own, journal(), &recording.text));
        for damage in &damages {
            apply(&mut text, damage);
        }
        let once = convert(journal(), journal(), &text);
        // A single entry may be spread over several lines.
        if text.lines().count() > 1 && text.lines().next().is_some_and(|l| Doc::parse(l).is_ok()) {
            for line in text.lines().map(str::trim).filter(|line| Doc::parse(line).is_err()) {
                prop_assert!(once.contains(line), "{}: {line}", recording.name);
            }
        }
        prop_assert_eq!(convert(journal(), journal(), &once), once, "{}", recording.name);
    }
}
