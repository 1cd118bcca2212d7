//! The invariants on input that nobody recorded: damaged recordings and made-up threads.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use selvedge_protocol::diagnostic::Report;
use selvedge_protocol::dialect::{self, Carrier};
use selvedge_protocol::validate::validate;

use crate::identity::convert;
use crate::recordings;

/// What a hand, a proxy or a bug may do to a text.
#[derive(Debug, Clone)]
pub(crate) enum Damage {
    Cut(prop::sample::Index),
    Delete(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
    Insert(prop::sample::Index, &'static str),
}

pub(crate) fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    let pieces = prop::sample::select(vec![
        "\u{0}",
        "\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\n",
        "\n\n",
        "\r",
        "\\",
        "\\ud83d",
        "\\u0000",
        "data: ",
        "data: {}\n\n",
        "id: 7\n",
        "null",
        "1e999",
        "-0.0",
        "{\"type\":\"?\"}",
        "é😀",
        " ",
        "\u{feff}",
        "[DONE]",
    ]);
    prop_oneof![
        at().prop_map(Damage::Cut),
        (at(), 1..40usize).prop_map(|(at, len)| Damage::Delete(at, len)),
        (at(), 1..200usize).prop_map(|(at, len)| Damage::Repeat(at, len)),
        (at(), pieces).prop_map(|(at, piece)| Damage::Insert(at, piece)),
    ]
}

pub(crate) fn apply(text: &mut String, damage: &Damage) {
    let boundary =
        |text: &str, at: usize| (0..=at).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    let place = |text: &str, at: &prop::sample::Index| boundary(text, at.index(text.len() + 1));
    match damage {
        Damage::Cut(at) => text.truncate(place(text, at)),
        Damage::Delete(at, len) => {
            let from = place(text, at);
            let to = boundary(text, (from + len).min(text.len())).max(from);
            text.replace_range(from..to, "");
        }
        Damage::Repeat(at, len) => {
            let from = place(text, at);
            let to = boundary(text, (from + len).min(text.len())).max(from);
            let piece = text[from..to].to_owned();
            text.insert_str(to, &piece);
        }
        Damage::Insert(at, piece) => {
            let at = place(text, at);
            text.insert_str(at, piece);
        }
    }
}

/// Damaged recordings that are tried.
const CASES: u32 = 400;

fn cases() -> u32 {
    // The long form: SELVEDGE_CASES=100000 cargo test -p selvedge-protocol generated
    std::env::var("SELVEDGE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES)
}

/// The same cases every time; the long form has others.
fn config() -> ProptestConfig {
    let rng_seed = match cases() {
        CASES => RngSeed::Fixed(5),
        _ => RngSeed::Random,
    };
    ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        rng_seed,
        ..ProptestConfig::default()
    }
}

#[test]
fn a_record_that_is_kept_as_it_came_moves_no_text_of_those_after_it() {
    let all = recordings::cached();
    let found = all.iter().find(|one| one.name == "a2a_0.3/rest_text.stream.sse").unwrap();
    let mut text = found.text.clone();
    // Between lines of data, a line that says nothing to whoever reads server-sent events.
    let name = "artifactUpdate\": {";
    let from = text.match_indices(name).nth(1).unwrap().0;
    let to = from + text[from..].find(",\r").unwrap() + 2;
    let piece = text[from..to].to_owned();
    text.insert_str(to, &piece);
    let own = dialect::named(found.dialect).unwrap();
    for carrier in dialect::ALL.iter().filter(|d| d.carrier == Carrier::Frames) {
        assert_eq!(convert(carrier, own, &convert(own, carrier, &text)), text);
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn damaged_recordings_survive_both_carriers(
        which in any::<prop::sample::Index>(),
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let all = recordings::cached();
        let recording = &all[which.index(all.len())];
        let Some(own) = dialect::named(recording.dialect) else { return Ok(()) };
        let mut text = recording.text.clone();
        for damage in &damages {
            apply(&mut text, damage);
        }
        for carrier in dialect::ALL.iter().filter(|d| d.carrier == Carrier::Frames) {
            let back = convert(carrier, own, &convert(own, carrier, &text));
            prop_assert_eq!(&back, &text, "{} through {}", recording.name, carrier.id.name());
        }
    }

    #[test]
    fn damaged_recordings_neither_panic_nor_hang_any_dialect(
        which in any::<prop::sample::Index>(),
        damages in prop::collection::vec(damage(), 1..4),
        reader in any::<prop::sample::Index>(),
        writer in any::<prop::sample::Index>(),
    ) {
        let all = recordings::cached();
        let mut text = all[which.index(all.len())].text.clone();
        for damage in &damages {
            apply(&mut text, damage);
        }
        let reader = &dialect::ALL[reader.index(dialect::ALL.len())];
        let writer = &dialect::ALL[writer.index(dialect::ALL.len())];
        convert(reader, writer, &text);
        let mut report = Report::new();
        validate(reader, text.as_bytes(), &mut report);
    }
}

/// A made-up event of a thread with one task, as a line of a journal.
fn event() -> impl Strategy<Value = String> {
    let body = prop::sample::select(vec![
        "",
        "hi",
        "a\\nb",
        "é😀",
        "\\ud83d",
        "\\ude00",
        "\\u00e9",
        "\\/",
        "\\u0000",
        "{\\\"a\\\": 1}",
    ]);
    let json = prop::sample::select(vec![
        "null",
        "{}",
        "{\"a\":949.0}",
        "{\"e\":1e100}",
        "{\"n\":-0.0,\"big\":9223372036854775808}",
        "{\"a\":1,\"a\":2}",
        "{\"b\": [1, 2]}",
        "\"text\"",
        "{\"2\":0,\"1\":0}",
        "[\"\\ud83d\"]",
    ]);
    let id = prop::sample::select(vec!["a", "b", "a"]);
    (0..14u8, body, json, id).prop_map(|(kind, body, json, id)| {
        let fields = match kind {
            0 => format!("\"kind\":\"content-delta\",\"taskId\":\"t\",\"delta\":\"{body}\""),
            1 => format!("\"kind\":\"content-delta\",\"taskId\":\"t\",\"delta\":\"{body}\",\"partId\":\"{id}\""),
            2 => format!("\"kind\":\"content-complete\",\"taskId\":\"t\",\"content\":\"{body}\""),
            3 => format!("\"kind\":\"message\",\"role\":\"user\",\"content\":\"{body}\""),
            4 => format!("\"kind\":\"tool-call\",\"taskId\":\"t\",\"toolCallId\":\"{id}\",\"toolName\":\"f\",\"arguments\":{json}"),
            5 => format!("\"kind\":\"tool-complete\",\"taskId\":\"t\",\"toolCallId\":\"{id}\",\"toolName\":\"f\",\"success\":true,\"result\":{json}"),
            6 => format!("\"kind\":\"thought-stream\",\"taskId\":\"t\",\"thoughtId\":\"{id}\",\"thoughtType\":\"planning\",\"verbosity\":\"brief\",\"content\":\"{body}\",\"index\":0"),
            7 => format!("\"kind\":\"tool-call-started\",\"taskId\":\"t\",\"toolCallId\":\"{id}\",\"toolName\":\"f\""),
            8 => format!("\"kind\":\"tool-call-delta\",\"taskId\":\"t\",\"toolCallId\":\"{id}\",\"delta\":\"{body}\""),
            9 => format!("\"kind\":\"part-started\",\"taskId\":\"t\",\"partId\":\"{id}\",\"partType\":\"text\""),
            10 => format!("\"kind\":\"part-finished\",\"taskId\":\"t\",\"partId\":\"{id}\",\"partType\":\"text\""),
            11 => "\"kind\":\"step-started\",\"taskId\":\"t\"".to_owned(),
            12 => "\"kind\":\"step-finished\",\"taskId\":\"t\",\"usage\":{\"input_tokens\":1,\"output_tokens\":2}".to_owned(),
            _ => format!("\"kind\":\"system\",\"name\":\"{id}\",\"data\":{json},\"unknown\":{json}"),
        };
        format!("{{{fields}}}")
    })
}

/// The events as a journal, in a thread of their own.
fn journal(events: &[String]) -> String {
    let begin = "{\"seq\":1,\"event\":{\"kind\":\"thread-created\",\"contextId\":\"c\"}}\n";
    let mut out = begin.to_owned();
    for (i, event) in events.iter().enumerate() {
        let event = event.replacen(",", ",\"contextId\":\"c\",", 1);
        out.push_str(&format!("{{\"seq\":{},\"event\":{event}}}\n", i + 2));
    }
    out
}

/// What an entry may say besides its event: how far its number is from the one before, and when.
fn place() -> impl Strategy<Value = (u64, &'static str)> {
    let at = ["", "", ",\"at\":\"2026-01-01T00:00:00.000Z\"", ",\"at\":null", ",\"at\":[1.0, 2]"];
    (prop::sample::select(vec![1, 1, 1, 0, 2, 900]), prop::sample::select(at.to_vec()))
}

/// The events as a journal in which numbers are left out and times are told.
fn placed(entries: &[(String, (u64, &'static str))]) -> String {
    let (mut out, mut seq) = (String::new(), 0);
    for (event, (step, at)) in entries {
        seq += step;
        let event = event.replacen(',', ",\"contextId\":\"c\",", 1);
        out.push_str(&format!("{{\"seq\":{seq}{at},\"event\":{event}}}\n"));
    }
    out
}

#[test]
fn entries_keep_their_numbers_and_times_through_thread_protocol() {
    let own = dialect::named("journal").unwrap();
    let carrier = dialect::named("thread-protocol").unwrap();
    let event = "{\"kind\":\"message\",\"contextId\":\"c\",\"role\":\"user\",\"content\":\"hi\"}";
    let last = u64::MAX;
    let journal = format!(
        "{{\"seq\":7,\"at\":\"2026-01-01T00:00:00Z\",\"event\":{event}}}\n\
         {{\"seq\":8,\"event\":{event}}}\nno entry\n{{\"seq\":{last},\"event\":{event}}}\n\
         {{\"seq\":\"x\",\"event\":{event}}}\n{{\"seq\":1,\"event\":{event}}}\n\
         {{\"seq\":2,\"event\":{odd}}}\n{{\"seq\":3,\"event\":{event}}}\n",
        odd = event.replacen(',', "\r,", 1)
    );
    let carried = convert(own, carrier, &journal);
    assert_eq!(convert(carrier, own, &carried), journal, "through {carried}");
    let mut report = Report::new();
    validate(carrier, carried.as_bytes(), &mut report);
    assert!(report.is_valid(), "{:?}", report.diagnostics());
}

#[test]
fn a_line_that_is_kept_leaves_its_text_to_itself_when_nothing_is_added_to_it() {
    let own = dialect::named("journal").unwrap();
    let carrier = dialect::named("thread-protocol").unwrap();
    let thought = |name: &str, text: &str| {
        format!(
            "{{\"kind\":\"thought-stream\",\"{name}\":\"c\",\"taskId\":\"t\",\"thoughtId\":\"b\",\
             \"content\":\"{text}\",\"index\":0}}"
        )
    };
    let journal = format!(
        "{{\"seq\":1,\"event\":{}}}\n{{\"seq\":2,\"event\":{}}}\n",
        thought("\\ud83d", "all of it"),
        thought("contextId", "")
    );
    let carried = convert(own, carrier, &journal);
    assert_eq!(convert(carrier, own, &carried), journal, "through {carried}");
}

#[test]
fn half_a_character_in_streamed_arguments_survives_thread_protocol() {
    let own = dialect::named("ag-ui").unwrap();
    let carrier = dialect::named("thread-protocol").unwrap();
    let event = |body: &str| format!("data: {{\"type\":\"TOOL_CALL_{body}}}\n\n");
    let args = |delta: &str| event(&format!("ARGS\",\"toolCallId\":\"c\",\"delta\":\"{delta}\""));
    let text = [
        event("START\",\"toolCallId\":\"c\",\"toolCallName\":\"f\""),
        args("{\\\"a\\\":"),
        args("\\\"\\ud83d\\\"}"),
        event("END\",\"toolCallId\":\"c\""),
    ];
    let text = text.concat();
    assert_eq!(convert(carrier, own, &convert(own, carrier, &text)), text);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn damaged_journals_survive_thread_protocol(
        entries in prop::collection::vec((event(), place()), 0..12),
        damages in prop::collection::vec(damage(), 0..3),
    ) {
        let mut journal = placed(&entries);
        for damage in &damages {
            apply(&mut journal, damage);
        }
        let own = dialect::named("journal").unwrap();
        let carrier = dialect::named("thread-protocol").unwrap();
        let carried = convert(own, carrier, &journal);
        prop_assert_eq!(convert(carrier, own, &carried), journal, "through {}", carried);
    }

    #[test]
    fn made_up_threads_survive_thread_protocol(events in prop::collection::vec(event(), 0..30)) {
        let journal = journal(&events);
        let own = dialect::named("journal").unwrap();
        let carrier = dialect::named("thread-protocol").unwrap();
        let carried = convert(own, carrier, &journal);
        prop_assert_eq!(convert(carrier, own, &carried), journal, "through {}", carried);
    }

    #[test]
    fn made_up_threads_can_be_written_in_every_dialect(events in prop::collection::vec(event(), 0..30)) {
        let journal = journal(&events);
        let own = dialect::named("journal").unwrap();
        for target in dialect::ALL {
            let written = convert(own, target, &journal);
            let mut report = Report::new();
            if !written.trim().is_empty() {
                validate(target, written.as_bytes(), &mut report);
            }
            prop_assert!(report.is_valid(), "{}: {:?}\n{}", target.id.name(), report.diagnostics(), written);
        }
    }
}
