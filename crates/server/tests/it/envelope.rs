//! Envelopes over HTTP: routed, answered, claimed, read again.

use std::sync::Arc;

use reqwest::Method;
use selvedge_agents::router::{NextActions, Rules};
use selvedge_agents::script::{Confidence, Line, Proposal, Rule, Script};
use selvedge_agents::{Agent, Desk};
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::site::{Frames, Site, answer};

fn agent(id: &str, model: &str, say: &str, score: f64, next: &[&str]) -> Agent {
    let next = next.iter().map(|intent| Proposal {
        intent: (*intent).to_owned(),
        task: format!("Do {intent}"),
        args: None,
    });
    let line = Line {
        say: say.to_owned(),
        confidence: Some(Confidence { score, rationale: String::new() }),
        next: next.collect(),
        ..Line::default()
    };
    let rules = vec![Rule { lines: vec![line], ..Rule::default() }];
    Agent::new(id, Arc::new(Script { name: model.to_owned(), rules, ..Script::default() }))
}

async fn site(rules: Rules) -> Site {
    let agents = vec![
        agent("gpt5", "gpt-5", "a plan", 0.9, &["decompose"]),
        agent("claude", "claude-3.7-sonnet", "pieces", 0.4, &[]),
        agent("gemini", "gemini-2.5-pro", "ran", 0.9, &[]),
    ];
    let options = Options { agents: Some(Desk::routed(agents, rules)), ..Options::default() };
    Site::start_with(options, &[]).await.0
}

fn envelope(id: &str, intent: &str) -> Value {
    json!({"protocol": "multiagent-1.0", "role": "user", "timestamp": "2025-10-10T12:00:00Z",
        "intent": intent, "task": "Plan a trip", "content": {"type": "text", "text": "Lisbon"},
        "trace": {"id": id, "parents": ["p0"]}})
}

async fn post(site: &Site, path: &str, body: &str) -> (u16, Value) {
    let sent = site.request(Method::POST, path).body(body.to_owned()).send().await.unwrap();
    let (status, body) = answer(sent).await;
    (status.as_u16(), body)
}

#[tokio::test]
async fn an_envelope_is_routed_answered_and_its_bytes_come_back() {
    let site = site(Rules::default()).await;
    // Spelled as nobody else would.
    let odd = envelope("m1", "plan").to_string().replace("\"task\":", "\"x\" : 1.0, \"task\":  ");
    let (status, routed) = post(&site, "/envelopes?thread=t", &odd).await;
    assert_eq!(status, 202, "{routed}");
    assert_eq!(routed["thread"], "t");
    let decided = &routed["envelopes"][0]["decisions"][0];
    assert_eq!((&decided["to"], &decided["intent"]), (&json!("gpt5"), &json!("plan")));
    // Sent again it is not done again, and waits for what comes of the first.
    let (status, answers) = post(&site, "/envelopes?thread=t&wait=30s", &odd).await;
    assert_eq!(status, 200, "{answers}");
    let told: Vec<Value> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|e| {
            json!([e["agent"]["id"], e["intent"], e["content"]["text"], e["trace"]["parents"]])
        })
        .collect();
    let ids: Vec<&Value> = answers.as_array().unwrap().iter().map(|e| &e["trace"]["id"]).collect();
    let expected = [
        json!(["gpt5", "plan", "a plan", ["m1"]]),
        json!(["claude", "decompose", "pieces", [ids[0]]]),
        json!(["gpt5", "reflect", "a plan", [ids[1]]]),
        json!(["claude", "decompose", "pieces", [ids[2]]]),
        json!(["gpt5", "reflect", "a plan", [ids[3]]]),
    ];
    assert_eq!(told[..5], expected);
    // Two who send each other back and forth come to an end.
    let last = answers.as_array().unwrap().last().unwrap();
    assert_eq!(last["content"]["data"]["code"], "hop_limit", "{last}");
    assert_eq!((told.len(), &last["trace"]["parents"]), (9, &json!([ids[7]])));
    assert_eq!(answers[0]["agent"]["model"], "gpt-5");
    // Whoever is told everything is told what came as it came.
    let log = site.request(Method::GET, "/envelopes?thread=t").send().await.unwrap();
    assert_eq!(log.headers()["content-type"], "application/x-ndjson");
    let log = log.text().await.unwrap();
    assert_eq!(log.lines().next().unwrap(), odd);
    // What was streamed and what was answered is one envelope.
    assert_eq!(log.matches("\"text\":\"pieces\"").count(), 4, "{log}");
    assert_eq!(log.lines().count(), 10, "{log}");
}

#[tokio::test]
async fn the_mux_gives_what_the_documents_twenty_lines_would() {
    let site = site(Rules::default()).await;
    let ask = async |body: Value| {
        post(&site, "/envelopes?mode=mux-v1&wait=30s", &body.to_string()).await.1
    };
    let answer = ask(envelope("m1", "execute")).await;
    assert_eq!(answer["trace"]["parents"], json!(["p0", "m1"]));
    assert_eq!(
        (&answer["agent"]["id"], &answer["protocol"]),
        (&json!("gemini"), &json!("multiagent-1.0"))
    );
    // What has no id is unknown; what has no rule is reflected on, by whatever name it goes.
    let mut bare = envelope("", "constructor");
    bare.as_object_mut().unwrap().remove("trace");
    let answer = ask(bare.clone()).await;
    assert_eq!(answer["trace"]["parents"], json!(["unknown"]));
    assert_eq!(answer["agent"]["id"], "gpt5");
    bare["id"] = json!("top");
    assert_eq!(ask(bare).await["trace"]["parents"], json!(["top"]));
    // Low confidence is answered, not looked at again.
    assert_eq!(ask(envelope("m2", "analyze")).await["confidence"]["score"], 0.4);
}

#[tokio::test]
async fn answers_stream_as_envelopes_and_go_on_where_a_reader_left() {
    let site = site(Rules::default()).await;
    let request = site.request(Method::POST, "/envelopes?thread=t");
    let request = request.header("accept", "text/event-stream");
    let mut frames = Frames::open(request.body(envelope("m1", "execute").to_string())).await;
    let mut all = Vec::new();
    while let Some(frame) = frames.maybe().await {
        if frame.field("id").is_some() && frame.field("data").is_some() {
            all.push((frame.field("id").unwrap().to_owned(), frame.data()));
        }
    }
    let ids: Vec<&Value> = all.iter().map(|(_, e)| &e["trace"]["id"]).collect();
    assert_eq!(ids.len(), 2, "{all:?}");
    assert_eq!(ids[0], "m1");
    assert_eq!(all[1].1["agent"]["id"], "gemini");
    let kinds = "kinds=message,participant-joined,step-finished,step-started,thread-created";
    let path = format!("/api/threads/t/stream?dialect=envelope&{kinds}&after={}", all[0].0);
    let mut frames = Frames::open(site.request(Method::GET, &path)).await;
    loop {
        let frame = frames.maybe().await.unwrap();
        if frame.field("id").is_some() && frame.field("data").is_some() {
            assert_eq!(frame.data(), all[1].1);
            break;
        }
    }
}

#[tokio::test]
async fn many_arrive_together_or_not_at_all() {
    let site = site(Rules::default()).await;
    let (one, two) = (envelope("m1", "execute"), envelope("m2", "execute"));
    for (i, body) in [json!([one, two]).to_string(), format!("{one}\n{two}\n")].iter().enumerate() {
        let (status, routed) = post(&site, &format!("/envelopes?thread=t{i}"), body).await;
        assert_eq!(status, 202, "{routed}");
        let ids: Vec<&Value> =
            routed["envelopes"].as_array().unwrap().iter().map(|e| &e["id"]).collect();
        assert_eq!(ids, ["m1", "m2"]);
    }
    let mut bad = two.clone();
    bad["confidence"] = json!({"score": 7});
    let mut odd = two.clone();
    odd["intent"] = json!("constructor");
    for (body, status, code, pointer) in [
        (json!([one, bad]), 422, "bad_envelope", "/1/confidence/score"),
        (json!([one, odd]), 422, "unknown_intent", "/1/intent"),
        (json!([one, one]), 422, "bad_envelope", "/1/trace/id"),
        (json!([one, 1]), 422, "bad_envelope", "/1"),
    ] {
        let (found, error) = post(&site, "/envelopes?thread=none", &body.to_string()).await;
        assert_eq!((found, &error["protocol"]), (status, &json!("multiagent-1.0")), "{error}");
        let content = &error["content"];
        assert_eq!((&content["type"], &content["data"]["code"]), (&json!("error"), &json!(code)));
        assert_eq!(content["data"]["pointer"], pointer);
    }
    // An id is an envelope's alone, and the same again is the same.
    let (found, error) =
        post(&site, "/envelopes?thread=t0", &envelope("m1", "plan").to_string()).await;
    assert_eq!((found, &error["content"]["data"]["code"]), (409, &json!("conflict")), "{error}");
    let again = json!([envelope("m3", "execute"), two]).to_string();
    let (found, error) = post(&site, "/envelopes?thread=t0", &again).await;
    assert_eq!((found, &error["content"]["data"]["pointer"]), (409, &json!("/1/trace/id")));
    let (found, error) = post(&site, "/envelopes?thread=none", "{nonsense").await;
    assert_eq!((found, &error["content"]["data"]["code"]), (400, &json!("bad_json")));
    let (status, _) = site.get("/api/threads/none").await;
    assert_eq!(status.as_u16(), 404, "nothing was made");
    let (found, error) = post(&site, "/envelopes?mode=other", "{}").await;
    assert_eq!((found, &error["content"]["data"]["code"]), (400, &json!("bad_parameter")));
}

#[tokio::test]
async fn what_nobody_takes_is_refused_with_an_error_envelope() {
    let mut rules = Rules::default();
    rules.agents.remove("reflect");
    let site = site(rules).await;
    let (status, error) =
        post(&site, "/envelopes?thread=t", &envelope("m1", "route").to_string()).await;
    assert_eq!((status, &error["content"]["data"]["code"]), (422, &json!("no_rule")));
    assert_eq!(site.get("/api/threads/t").await.0.as_u16(), 404);
    let bare = Site::start().await;
    let (status, error) = post(&bare, "/envelopes", &envelope("m1", "plan").to_string()).await;
    assert_eq!((status, &error["content"]["data"]["code"]), (409, &json!("no_agents")));
}

#[tokio::test]
async fn a_next_action_is_claimed_by_one_and_the_others_are_told_who() {
    let rules = Rules { next_actions: NextActions::Queue, ..Rules::default() };
    let site = site(rules).await;
    let sent = envelope("m1", "plan").to_string();
    let (_, answers) = post(&site, "/envelopes?thread=t&wait=30s", &sent).await;
    assert_eq!(answers.as_array().unwrap().len(), 1);
    let (_, open) = site.get("/api/threads/t/actions").await;
    let action = open["actions"][0].clone();
    assert_eq!((&action["intent"], &action["task"]), (&json!("decompose"), &json!("Do decompose")));
    let path = format!("/api/threads/t/actions/{}/claim", action["id"].as_str().unwrap());
    let (status, error) = post(&site, &path, "{}").await;
    assert_eq!((status, &error["error"]["pointer"]), (400, &json!("/agent")));
    let claim = |agent: &str| {
        let body = json!({"agent": agent}).to_string();
        let (site, path) = (&site, path.clone());
        async move { post(site, &path, &body).await }
    };
    let names: Vec<String> = (0..8).map(|i| format!("stranger{i}")).collect();
    let claims = futures_util::future::join_all(names.iter().map(|name| claim(name))).await;
    let won: Vec<usize> = (0..8).filter(|i| claims[*i].0 == 200).collect();
    assert_eq!(won.len(), 1, "{claims:?}");
    for (status, error) in claims.iter().filter(|(status, _)| *status != 200) {
        assert_eq!((*status, &error["error"]["code"]), (409, &json!("already_claimed")));
        assert_eq!(error["error"]["details"]["by"], names[won[0]]);
    }
    assert_eq!(site.get("/api/threads/t/actions").await.1["actions"], json!([]));
    // Whoever claimed it answers with an envelope, which is an answer and goes no further.
    let answer = json!({"protocol": "multiagent-1.0", "role": "agent",
        "agent": {"id": names[won[0]], "name": "S", "model": "m"},
        "timestamp": "2025-10-10T12:00:00Z", "intent": "decompose", "task": "Done",
        "content": {"type": "text", "text": "pieces"},
        "outputs": {"next_actions": [{"intent": "execute", "task": "Go"}]},
        "trace": {"id": "m9", "parents": [action["messageId"]]}});
    let (status, routed) = post(&site, "/envelopes?thread=t", &answer.to_string()).await;
    assert_eq!(status, 202);
    assert_eq!(routed["envelopes"][0]["decisions"][0]["to"], Value::Null, "{routed}");
    // An agent of ours that claims does it.
    let path = "/api/threads/t/actions/m9.0/claim";
    let (status, claimed) = post(&site, path, r#"{"agent":"gemini"}"#).await;
    assert_eq!(status, 200, "{claimed}");
    let task = claimed["taskId"].as_str().unwrap().to_owned();
    let (_, answers) = post(&site, "/envelopes?thread=t&wait=30s", &answer.to_string()).await;
    let text = answers.to_string();
    assert!(text.contains("\"ran\"") && task.starts_with("route-"), "{answers:#}");
}

#[tokio::test]
async fn a_handshake_is_answered_with_who_is_here_and_joins() {
    let site = site(Rules::default()).await;
    let hello = json!({"protocol": "multiagent-1.0", "role": "system",
        "agent": {"id": "mux", "name": "Mux", "model": "n/a"},
        "timestamp": "2025-10-10T12:00:00Z", "intent": "reflect", "task": "Announce",
        "content": {"type": "json", "data": {"supports": ["text", "json"], "max_tokens": 16000}},
        "confidence": {"score": 0.9}});
    let (status, ours) = post(&site, "/envelopes?thread=t", &hello.to_string()).await;
    assert_eq!((status, &ours["intent"]), (200, &json!("reflect")), "{ours}");
    let agents = ours["content"]["data"]["agents"].as_array().unwrap();
    let gpt5 = agents.iter().find(|agent| agent["id"] == "gpt5").unwrap();
    assert_eq!(gpt5["intents"], json!(["finalize", "plan", "reflect"]));
    assert_eq!(site.get("/envelopes/handshake").await.1["content"], ours["content"]);
    let (_, state) = site.get("/api/threads/t").await;
    let joined = state["participants"].to_string();
    assert!(joined.contains("mux"), "{joined}");
    let (_, events) = site.get("/api/threads/t/events").await;
    let events = events["entries"].as_array().unwrap();
    let capable = events.iter().find(|e| e["event"]["capabilities"].is_array()).unwrap();
    assert_eq!(capable["event"]["capabilities"], json!([{"schema": "text"}, {"schema": "json"}]));
    assert!(events.iter().all(|e| e["event"]["kind"] != "route-decided"), "nobody is asked");
}
