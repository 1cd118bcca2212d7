//! Envelopes: the document's adapters, mux and examples, and what other dialects become.

use std::fs;
use std::path::Path;

use selvedge_protocol::dialect::envelope::adapters::{
    Adapter, Prompt, claude_to_envelope, from_envelope, gemini_to_envelope, gpt5_to_envelope,
    ollama_to_envelope,
};
use selvedge_protocol::dialect::envelope::route::{
    Decision, Family, Lineage, Policy, Stop, Trail, decide, traced,
};
use selvedge_protocol::json::{Doc, Node, Raw, Style, print};

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn compact(node: Node<'_, '_>) -> String {
    let mut out = String::new();
    print(node, Style::Compact, &mut out);
    out
}

fn adapter(case: Node<'_, '_>) -> Adapter {
    match case.get("adapter").unwrap().body() {
        "claude" => Adapter::Claude,
        "gpt5" => Adapter::Gpt5,
        "gemini" => Adapter::Gemini,
        "ollama" => Adapter::Ollama,
        other => panic!("{other}"),
    }
}

#[test]
fn to_envelope_gives_what_the_documents_typescript_gave() {
    let text = fixture("envelope/to_envelope.json");
    let doc = Doc::parse(&text).unwrap();
    let at = "2025-10-10T12:34:56.789Z";
    for case in doc.root().children() {
        let args: Vec<Raw> = case.get("args").unwrap().children().map(Raw::from).collect();
        let made = match adapter(case) {
            Adapter::Claude => claude_to_envelope(&args[0], at),
            Adapter::Gpt5 => gpt5_to_envelope(&args[0], &args[1], at),
            Adapter::Gemini => {
                let input = args[0].doc().unwrap();
                let data = input.root().get("data").map(|d| Raw::owned(d.raw()));
                let goal = Raw::owned(input.root().get("goal").unwrap().raw());
                gemini_to_envelope(&goal, data.as_ref(), at)
            }
            Adapter::Ollama => {
                let model = args.get(1).and_then(|m| m.str()).map(|m| m.into_owned());
                ollama_to_envelope(&args[0], model.as_deref(), at)
            }
        };
        assert_eq!(made.as_str(), compact(case.get("output").unwrap()));
    }
}

#[test]
fn from_envelope_gives_what_the_documents_typescript_gave() {
    let text = fixture("envelope/from_envelope.json");
    let doc = Doc::parse(&text).unwrap();
    for case in doc.root().children() {
        let file = case.get("envelope_file").map(|f| fixture(f.body()));
        let envelope = match &file {
            Some(text) => Doc::parse(text).unwrap(),
            None => Doc::parse(case.get("envelope").unwrap().raw()).unwrap(),
        };
        let made = match from_envelope(adapter(case), envelope.root()) {
            Prompt::Text(text) => text.to_string(),
            Prompt::Chat { system, user } => format!("{{\"system\":{system},\"user\":{user}}}"),
        };
        assert_eq!(made, compact(case.get("output").unwrap()), "{}", case.raw());
    }
}

#[test]
fn traces_are_the_muxs_where_asked_for_and_direct_otherwise() {
    let text = fixture("envelope/mux.json");
    let doc = Doc::parse(&text).unwrap();
    for case in doc.root().children() {
        let (input, output) = (case.get("input").unwrap(), case.get("output").unwrap());
        let answer = match case.get("agent").unwrap().body() {
            "answer" => "",
            _ => r#","trace":{"id":"own","tags":["t"],"parents":["x"],"cost":{"input_tokens":1}}"#,
        };
        let answer = format!(
            r#"{{"protocol":"other","role":"agent","timestamp":"2025-10-10T12:00:00Z","intent":"summarize","task":"answer","content":{{"type":"text","text":"ok"}}{answer}}}"#
        );
        let answer = Doc::parse(&answer).unwrap();
        let id = Raw::from(output.pointer("/trace/id").unwrap());
        let made = traced(answer.root(), input, &id, Lineage::MuxV1);
        assert_eq!(made.as_str(), compact(output), "{}", case.raw());
    }
    let request = Doc::parse(r#"{"trace":{"id":"c","parents":["a","b"]}}"#).unwrap();
    let answer = Doc::parse("{}").unwrap();
    let made = traced(answer.root(), request.root(), &Raw::Ref("\"d\""), Lineage::Parent);
    let direct = r#"{"protocol":"multiagent-1.0","trace":{"parents":["c"],"id":"d"}}"#;
    assert_eq!(made.as_str(), direct);
}

#[test]
fn routing_follows_the_documents_table() {
    let to = |text: &str, trail: &Trail| {
        decide(Doc::parse(text).unwrap().root(), &Policy::default(), trail)
    };
    let forward = |rule: &str, to| Decision::Forward { rule: rule.to_owned(), to };
    let fresh = Trail::default();
    for (intent, family) in [
        ("plan", Family::Gpt5),
        ("reflect", Family::Gpt5),
        ("finalize", Family::Gpt5),
        ("decompose", Family::Claude),
        ("summarize", Family::Claude),
        ("analyze", Family::Claude),
        ("execute", Family::Gemini),
        ("tool.call", Family::Gemini),
        ("retrieve", Family::Gemini),
    ] {
        let sure = format!(r#"{{"intent":"{intent}","confidence":{{"score":0.5}}}}"#);
        assert_eq!(to(&sure, &fresh), forward(intent, family));
    }
    for odd in [r#"{"intent":"route"}"#, r#"{"intent":"constructor"}"#, "{}", "[]"] {
        assert_eq!(to(odd, &fresh), forward("reflect", Family::Gpt5));
    }
    let empty = Policy { rules: Vec::new(), ..Policy::default() };
    let doc = Doc::parse("{}").unwrap();
    assert_eq!(decide(doc.root(), &empty, &fresh), Decision::Stop(Stop::NoRule));
}

#[test]
fn low_confidence_is_reflected_on_by_another_model_and_never_forever() {
    let unsure = |model: &str, intent: &str| {
        format!(
            r#"{{"intent":"{intent}","agent":{{"model":"{model}"}},"confidence":{{"score":0.2}},"trace":{{"id":"m1"}}}}"#
        )
    };
    let to = |text: &str, trail: &Trail| {
        decide(Doc::parse(text).unwrap().root(), &Policy::default(), trail)
    };
    let parents = vec![Raw::Ref("\"m1\"")];
    let mut trail = Trail::default();
    let claude = unsure("claude-3.7-sonnet", "analyze");
    let decided = Decision::Reflect { to: Family::Gpt5, parents: parents.clone() };
    assert_eq!(to(&claude, &trail), decided);
    let gpt = unsure("gpt-5", "plan");
    assert_eq!(to(&gpt, &trail), Decision::Reflect { to: Family::Claude, parents });
    let again = Decision::Forward { rule: "reflect".into(), to: Family::Gpt5 };
    assert_eq!(to(&unsure("claude-3.7-sonnet", "reflect"), &trail), again);
    trail.visited.extend(Family::ALL);
    let on = Decision::Forward { rule: "analyze".into(), to: Family::Claude };
    assert_eq!(to(&claude, &trail), on);
    trail.hops = Policy::default().hop_limit;
    assert_eq!(to(&claude, &trail), Decision::Stop(Stop::HopLimit));
}
