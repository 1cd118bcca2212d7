//! Configurations that are right, what they become, and files made to do harm.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use selvedge_agents::config::{self, Config, Findings, file, plan};
use selvedge_agents::credential::Place;
use selvedge_agents::model::{Failure, Request};
use selvedge_agents::script::Script;
use selvedge_agents::tool::mcp::Which;
use selvedge_agents::{Agent, Consent, Coordinator, Doer, Interrupted, Left, Member, Mind, Saying};
use serde_json::json;

use crate::stage::Stage;

const KEY: &str = "the-key-that-nobody-sees";

fn check(text: &str) -> Result<Config, Findings> {
    let variables = |name: &str| name.ends_with("_API_KEY").then(|| KEY.to_owned());
    config::check("test.toml", text.as_bytes(), Path::new(""), &variables)
}

fn right(text: &str) -> Config {
    check(text).unwrap_or_else(|found| panic!("{found}"))
}

fn codes(text: &str) -> Vec<&'static str> {
    let found = check(text).expect_err("mistakes");
    found.files.iter().flat_map(|f| f.report.diagnostics()).map(|d| d.code).collect()
}

/// Says with which settings it is asked.
struct Asked(String);

impl Mind for Asked {
    fn name(&self) -> &str {
        &self.0
    }

    fn provider(&self) -> &str {
        "fake"
    }

    fn ask(&self, request: &Request<'_>) -> BoxFuture<'static, Result<Saying, Failure>> {
        let settings = request.settings;
        let said = format!("{:?} {:?}", settings.max_tokens, settings.temperature);
        Script::saying(&said).ask(request)
    }
}

/// The agents, with models that only say how they are asked.
fn built(text: &str) -> Vec<Agent> {
    let members = right(text).build_with(|model| Ok(Arc::new(Asked(model.model.clone())))).unwrap();
    let here = |member| match member {
        Member::Here(agent) => Arc::into_inner(agent),
        _ => None,
    };
    members.into_iter().filter_map(here).collect()
}

#[tokio::test]
async fn a_script_of_a_configuration_works_in_a_thread() {
    let mut agents = built(
        r#"
        [agents.ada]
        kind = "script"
        tools = ["agents/bob"]
        [[agents.ada.script.rules]]
        when = "HELLO"
        lines = [{ think = "hm", say = "You said {input}" }]
        [agents.bob]
        kind = "script"
        script = { rules = [{ lines = [{ say = "no" }] }] }
        "#,
    );
    let stage = Stage::new("hello").await;
    assert_eq!(stage.run(agents.remove(0), "t").await, Left::Over);
    let told = stage.told();
    assert!(told.iter().any(|event| event.ends_with("You said hello")), "{told:#?}");
}

#[tokio::test]
async fn names_and_globs_become_tools_as_models_know_them() {
    let agents = built(
        r#"
        [models]
        m = { provider = "openai", model = "gpt-5" }
        [mcp.files]
        command = "files"
        [tools.weather]
        kind = "client"
        description = "Tells the weather."
        consent = true
        interrupted = "fail"
        timeout = "5s"
        [tools.post]
        kind = "http"
        description = "Posts."
        url = "https://example.com/{room}"
        schema = { type = "object", properties = { room = { type = "string" } } }
        [agents.a]
        model = "m"
        tools = ["w*", "weather", "post", "files/read_*", "files/read_file", "artifacts/r*", "agents/*"]
        [agents.b]
        kind = "worker"
        description = "Builds things."
        "#,
    );
    let names: Vec<_> = agents[0].tools.iter().map(|tool| tool.spec.name.as_str()).collect();
    assert_eq!(names, ["weather", "post", "artifact_read", "b"]);
    let servers: Vec<_> = agents[0].servers.iter().map(|o| (o.server.name(), &o.which)).collect();
    let like = |glob: &str| Which::Like(glob.to_owned());
    assert_eq!(servers, [("files", &like("read_*")), ("files", &like("read_file"))]);
    let tool = |name| agents[0].tools.iter().find(|tool| tool.spec.name == name).unwrap();
    let weather = tool("weather");
    assert!(matches!(weather.doer, Doer::Client));
    assert_eq!(weather.consent, Consent::Needed);
    assert_eq!(weather.interrupted, Interrupted::Fail);
    assert_eq!(weather.timeout, Duration::from_secs(5));
    assert!(matches!(tool("post").doer, Doer::Here(_)));
    assert!(matches!(&tool("b").doer, Doer::Agent { id } if id == "b"));
    assert_eq!(tool("b").spec.description, "Builds things.");
    assert_eq!(tool("b").spec.schema["required"], json!(["prompt"]));
    // Workers are not run here.
    assert_eq!(agents.len(), 1);
}

#[tokio::test]
async fn each_model_of_an_agent_is_asked_with_its_own_settings() {
    let agents = built(
        r#"
        [models]
        m = { provider = "openai", model = "gpt-5", max_tokens = 7 }
        n = { provider = "anthropic", model = "claude", temperature = 0.5 }
        [agents.ada]
        model = ["m", "n"]
        "#,
    );
    let minds = agents.into_iter().next().unwrap().minds;
    for (mind, said) in minds.into_iter().zip(["Some(7) None", "None Some(0.5)"]) {
        let stage = Stage::new("hello").await;
        stage.run(Agent::new("ada", mind), "t").await;
        assert!(stage.told().iter().any(|event| event.ends_with(said)), "{:#?}", stage.told());
    }
}

#[test]
fn what_is_written_is_what_is_planned() {
    let config = right(
        r#"
        [models.m]
        provider = "openai-compatible"
        model = "x"
        base_url = "http://localhost:8000/v1"
        key_env = "OWN_API_KEY"
        price = { input = 1, output = 2.5, cached = 0.1 }
        thinking = "high"
        timeouts = { first_byte = "2m", idle = "1500ms" }
        extra = { top_k = 3 }
        [agents.far]
        kind = "a2a"
        url = "https://example.com/a2a"
        headers = { X-Trace = "on", Authorization = { env = "OWN_API_KEY", prefix = "Bearer " } }
        [agents.near]
        model = "m"
        limits = { iterations = 3, backoff = "1s" }
        attribution = "xml"
        others_tools = "show"
        while_waiting = "cancel"
        budget = { tokens = 1000, cost = 0.5, time = "1h" }
        [agents.hand]
        kind = "worker"
        "#,
    );
    let model = &config.models[0];
    assert_eq!(model.key.as_ref().unwrap().reveal(), KEY);
    assert_eq!(model.base_url.as_ref().unwrap().as_str(), "http://localhost:8000/v1");
    assert_eq!(model.thinking, Some(file::Thinking::Effort(file::Effort::High)));
    assert_eq!(model.price.unwrap().cached, Some(0.1));
    assert_eq!(model.first_byte, Some(Duration::from_secs(120)));
    assert_eq!(model.idle, Some(Duration::from_millis(1500)));
    assert_eq!(model.extra["top_k"], 3);
    let ids: Vec<_> = config.agents.iter().map(|agent| agent.id.as_str()).collect();
    assert_eq!(ids, ["far", "near", "hand"], "the order is the file's");
    let plan::Kind::Remote { protocol, place, .. } = &config.agents[0].kind else { panic!() };
    assert_eq!((*protocol, place.reach), (plan::Protocol::A2a, plan::Reach::Public));
    let sent: Vec<_> = place.headers.iter().map(|(n, v)| (n.as_str(), v.reveal())).collect();
    assert_eq!(sent, [("Authorization", &*format!("Bearer {KEY}")), ("X-Trace", "on")]);
    let near = &config.agents[1];
    assert_eq!(near.while_waiting, file::WhileWaiting::Cancel);
    assert_eq!(near.budget.as_ref().unwrap().cost, Some(0.5));
    let plan::Kind::Model { work, .. } = &near.kind else { panic!() };
    assert_eq!((work.limits.iterations, work.limits.backoff), (3, Duration::from_secs(1)));
    assert_eq!(work.limits.tries, 4);
    // Whatever is printed of it, no key is in it.
    assert!(!format!("{config:?}").contains(KEY));
}

#[test]
fn the_documents_rules_are_the_default_and_can_be_changed_one_by_one() {
    let vendors = r#"
        [models]
        g = { provider = "openai", model = "gpt-5" }
        c = { provider = "anthropic", model = "claude-sonnet-4-5" }
        e = { provider = "gemini", model = "gemini-2.5-pro" }
        [agents.zoe]
        model = "g"
        [agents.abe]
        model = "g"
        [agents.bea]
        model = ["c", "g"]
        [agents.gemini]
        model = "g"
        [agents.eve]
        model = "e"
    "#;
    let rules = right(vendors).router;
    for (intents, agent) in [
        (["plan", "reflect", "finalize"], "zoe"),
        (["decompose", "summarize", "analyze"], "bea"),
        // An agent of that very name is who is meant.
        (["execute", "tool.call", "retrieve"], "gemini"),
    ] {
        for intent in intents {
            assert_eq!(rules.agents[intent], agent, "{intent}");
        }
    }
    assert_eq!((rules.agents.len(), rules.threshold, rules.hops), (9, 0.5, 8));
    let own = "[router]\nthreshold = 0.7\nhops = 3\nrules = { \"tool.call\" = \"eve\" }";
    let changed = right(&format!("{vendors}\n{own}")).router;
    assert_eq!((changed.threshold, changed.hops), (0.7, 3));
    assert_eq!((&*changed.agents["tool.call"], &*changed.agents["execute"]), ("eve", "gemini"));
}

#[test]
fn nothing_is_a_configuration_too() {
    let config = right("");
    assert!(config.agents.is_empty() && config.router.agents.is_empty());
}

#[test]
fn deep_files_are_refused_and_not_fallen_into() {
    let mut deep = "x = ".to_owned();
    for _ in 0..79 {
        deep.push_str(&format!("{{ {}a = ", "a.".repeat(78)));
    }
    deep.push_str(&format!("1{}", "}".repeat(79)));
    let nested = [
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}{}", "[".repeat(79), "]".repeat(79)),
        format!("{}a = 1", "a.".repeat(100_000)),
        format!("[{}a]", "a.".repeat(79)),
        deep,
    ];
    for text in nested {
        assert_eq!(codes(&text)[0], "config-syntax", "{}", &text[..20]);
    }
}

#[test]
fn large_files_are_told_within_bounds() {
    let cap = 256 << 10;
    let texts = [
        "]\n".repeat(cap / 2),
        "a = 1\n".repeat(cap / 6),
        (0..cap / 10).map(|i| format!("k{i} = 1\n")).collect::<String>(),
        (0..10_000).map(|i| format!("[agents.a{i}]\n")).collect(),
        (0..5_000).map(|i| format!("[agents.a{i}]\ntools=[\"agents/*\"]\n")).collect(),
        format!("[agents.a]\ntools = [{}]", "\"*\",".repeat(60_000)),
        format!("[agents.{}]", "a".repeat(200_000)),
        format!("[agents.a]\nkind = \"{}\"", "m".repeat(200_000)),
        "x".repeat(cap + 1),
        "\u{feff}\u{0}".repeat(1000),
    ];
    for text in texts {
        let text = text.get(..cap + 1).unwrap_or(&text);
        let found = check(text).expect_err("mistakes");
        let report = &found.files[0].report;
        assert!(report.diagnostics().len() <= 1000);
        let longest = report.diagnostics().iter().map(|d| d.message.len()).max().unwrap();
        assert!(longest < 1000, "{longest}");
    }
    let bytes = b"[agents.a]\nmodel = \"\xff\xfe\"";
    let found = config::check("x", bytes, Path::new(""), &|_| None).unwrap_err();
    assert_eq!(found.files[0].report.diagnostics()[0].code, "config-syntax");
}

#[test]
fn circles_are_found_however_long_and_wide() {
    let chain = |last: &str| -> String {
        let mut text = "[models]\nm = { provider = \"ollama\", model = \"x\" }\n".to_owned();
        for i in 0..999 {
            let next = if i == 998 { last.to_owned() } else { format!("a{}", i + 1) };
            text.push_str(&format!("[agents.a{i}]\nmodel = \"m\"\ntools = [\"agents/{next}\"]\n"));
        }
        text + "[agents.end]\nmodel = \"m\"\n"
    };
    right(&chain("end"));
    assert_eq!(codes(&chain("a0")), ["config-cycle"]);
    assert_eq!(codes(&chain("a500")), ["config-cycle"]);
    let mut all = "[models]\nm = { provider = \"ollama\", model = \"x\" }\n".to_owned();
    for i in 0..300 {
        all.push_str(&format!("[agents.a{i}]\nmodel = \"m\"\ntools = [\"agents/*\"]\n"));
    }
    assert!(codes(&all).iter().all(|code| *code == "config-cycle"));
}

#[test]
fn what_a_user_must_give_is_described_with_its_place() {
    let tool = |auth: &str| {
        let text = format!(
            "[tools.look]\nkind = \"http\"\ndescription = \"d\"\nurl = \"https://x.example/\"\n\
             auth = {auth}\n[agents.ada]\nkind = \"script\"\ntools = [\"look\"]\n\
             script.rules = [{{ lines = [{{ say = \"hi\" }}] }}]\n"
        );
        built(&text)[0].tools[0].auth.clone().unwrap()
    };
    let header = |name: &'static str, value: &str| {
        Place::Header(reqwest::header::HeaderName::from_static(name), value.to_owned())
    };
    for (auth, place) in [
        (r#"{ type = "oauth2" }"#, header("authorization", "Bearer {credential}")),
        (r#"{ type = "password" }"#, header("authorization", "Basic {basic}")),
        (r#"{ type = "api-key", header = "X-Key" }"#, header("x-key", "{credential}")),
        (
            r#"{ type = "custom", query = "key", value = "a-{part}" }"#,
            Place::Query("key".to_owned(), "a-{part}".to_owned()),
        ),
    ] {
        assert_eq!(tool(auth).place, place, "{auth}");
    }
    let need = tool(r#"{ type = "pat", provider = "github", keep = "5m" }"#);
    assert_eq!(need.prompt, "`look` needs access to your github account");
    assert_eq!((need.name.as_str(), need.keep), ("look", Duration::from_secs(300)));
    let mistakes = r#"
[tools.a]
kind = "client"
description = "d"
auth = { type = "pat" }
[tools.b]
kind = "http"
description = "d"
url = "https://x.example/"
auth = { type = "pat", client_id = "x", header = "a b", auth_url = "nowhere" }
[tools.c]
kind = "http"
description = "d"
url = "https://x.example/"
auth = { type = "pat", header = "x", query = "y" }
[tools.d]
kind = "http"
description = "d"
url = "https://x.example/"
auth = { type = "pat", value = "Bearer" }
[mcp.e]
command = "x"
auth = { type = "pat" }
"#;
    let mut found = codes(mistakes);
    found.sort_unstable();
    let wanted = [
        "config-kind",
        "config-kind",
        "config-kind",
        "config-kind",
        "config-url",
        "config-value",
        "config-value",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn who_coordinates_is_an_agent_of_the_file_or_the_user() {
    let script = "kind = \"script\"\nscript.rules = [{ lines = [{ say = \"hi\" }] }]\n";
    let with = |more: &str| format!("[agents.bob]\n{script}[agents.ada]\n{script}{more}\n");
    let who = |more: &str| built(&with(more)).pop().unwrap().coordination.who;
    assert_eq!(who(""), Coordinator::Caller);
    assert_eq!(who("coordinator = \"bob\""), Coordinator::Agent("bob".to_owned()));
    assert_eq!(who("coordinator = \"user\""), Coordinator::User);
    assert_eq!(codes(&with("coordinator = \"ada\"")), ["config-value"]);
    assert_eq!(codes(&with("coordinator = \"eve\"")), ["config-unknown-name"]);
    let mut tools: Vec<String> = built(&with("tools = [\"ask/*\", \"thoughts/share\"]"))
        .pop()
        .unwrap()
        .tools
        .iter()
        .map(|tool| tool.spec.name.clone())
        .collect();
    tools.sort_unstable();
    assert_eq!(tools, ["ask_coordinator", "ask_user", "think"]);
    assert_eq!(codes(&with("tools = [\"ask/nobody\"]")), ["config-unknown-name"]);
}
