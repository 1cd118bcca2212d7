//! Tools with which an agent writes and reads the artifacts of its thread.

use std::sync::Arc;

use selvedge_agents::script::{Line, Script};
use selvedge_agents::tool::artifact;
use selvedge_agents::{Agent, Left};
use serde_json::{Value, json};

use crate::stage::Stage;

/// An agent that makes these calls, one after the other.
fn agent(calls: &[(&str, Value)]) -> Agent {
    let line = |(name, value): &(&str, Value)| Line {
        calls: vec![((*name).to_owned(), value.clone())],
        ..Line::default()
    };
    let mut lines: Vec<Line> = calls.iter().map(line).collect();
    lines.push(Line::default());
    let mut agent = Agent::new("ada", Arc::new(Script::of(lines)));
    agent.tools = artifact::tools().unwrap().into_iter().map(Arc::new).collect();
    agent
}

/// Makes the calls; what each came to.
async fn told(stage: &Stage, calls: &[(&str, Value)]) -> Vec<Value> {
    assert_eq!(stage.run(agent(calls), "t").await, Left::Over);
    let ends = stage.events().into_iter().filter(|event| event["kind"] == "tool-complete");
    ends.map(
        |end| if end["success"] == true { end["result"].clone() } else { end["error"].clone() },
    )
    .collect()
}

fn writes(stage: &Stage) -> Vec<Value> {
    let events = stage.events().into_iter();
    events.filter(|event| event["kind"].as_str().unwrap().ends_with("-write")).collect()
}

#[tokio::test]
async fn files_records_and_datasets_are_made_grown_replaced_listed_and_read() {
    let stage = Stage::new("go").await;
    let rows = json!([{"x": 1}, {"x": 2}]);
    let calls = [
        (
            "artifact_create",
            json!({"name": "a.md", "content": "# Ä\n", "mime_type": "text/markdown", "description": "notes"}),
        ),
        ("artifact_append", json!({"id": "a.md", "content": "more"})),
        ("artifact_create", json!({"name": "who", "data": {"age": 1}})),
        ("artifact_update", json!({"id": "who", "data": {"age": 2}, "version": 1})),
        ("artifact_create", json!({"name": "points", "rows": rows})),
        ("artifact_append", json!({"id": "points", "rows": [{"x": 3}]})),
        ("artifact_read", json!({"id": "a.md"})),
        ("artifact_read", json!({"id": "a.md", "version": 1, "offset": 2})),
        ("artifact_read", json!({"id": "who"})),
        ("artifact_read", json!({"id": "points", "offset": 1})),
        ("artifact_list", json!({})),
    ];
    let told = told(&stage, &calls).await;
    assert_eq!(told[0], json!({"id": "a.md", "version": 1}));
    assert_eq!(told[1], json!({"id": "a.md", "version": 2}));
    assert_eq!(
        told[6],
        json!({"id": "a.md", "kind": "file", "name": "a.md", "version": 2, "complete": true,
               "content": "# Ä\nmore", "bytes": 9})
    );
    assert_eq!((&told[7]["version"], &told[7]["content"]), (&json!(1), &json!("Ä\n")));
    assert_eq!((&told[8]["version"], &told[8]["data"]), (&json!(2), &json!({"age": 2})));
    assert_eq!(told[9]["rows"], json!([{"x": 2}, {"x": 3}]));
    assert_eq!(told[9]["total_rows"], 3);
    let listed: Vec<(&Value, &Value, &Value)> = told[10]["artifacts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|artifact| (&artifact["id"], &artifact["kind"], &artifact["version"]))
        .collect();
    let wanted = [("a.md", "file"), ("who", "data"), ("points", "dataset")];
    let wanted: Vec<(Value, Value, Value)> =
        wanted.map(|(id, kind)| (json!(id), json!(kind), json!(2))).to_vec();
    assert_eq!(listed, wanted.iter().map(|(a, b, c)| (a, b, c)).collect::<Vec<_>>());
    let first = writes(&stage).remove(0);
    assert_eq!(
        (&first["kind"], &first["mimeType"], &first["metadata"], &first["complete"]),
        (
            &json!("file-write"),
            &json!("text/markdown"),
            &json!({"toolCallId": "call-1-1", "version": 1}),
            &json!(true)
        )
    );
    let done = stage.events().pop().unwrap();
    assert_eq!(done["artifacts"], json!(["a.md", "who", "points"]));
}

#[tokio::test]
async fn what_cannot_be_done_is_told_and_changes_nothing() {
    let stage = Stage::new("go").await;
    let calls = [
        ("artifact_create", json!({"name": "a", "content": "1"})),
        ("artifact_create", json!({"name": "a", "content": "2"})),
        ("artifact_update", json!({"id": "a", "content": "3", "version": 7})),
        ("artifact_update", json!({"id": "a", "data": {}, "version": 1})),
        ("artifact_update", json!({"id": "none", "content": "x"})),
        ("artifact_append", json!({"id": "a", "rows": []})),
        ("artifact_read", json!({"id": "a", "version": 2})),
        ("artifact_create", json!({"name": "b"})),
        ("artifact_create", json!({"name": "b", "content": "x", "data": {}})),
        ("artifact_create", json!({"name": "", "content": "x"})),
        ("artifact_create", json!({"name": "b", "content": "x".repeat(2 << 20)})),
        ("artifact_create", json!({"name": "b", "rows": [1]})),
    ];
    let told = told(&stage, &calls).await;
    let choose = "give one of `content` (a file's text), `url` (where a file is), `data` (a record), \
                  `rows` (a dataset)";
    assert_eq!(
        told[1..],
        [
            "there is `a` already; use artifact_update",
            "the latest version of `a` is 1, not 7; read it first",
            "it is a file",
            "there is no artifact `none`, or no such version",
            "it is a file",
            "there is no artifact `a`, or no such version",
            choose,
            choose,
            "`/name` must have at least 1 characters, not 0",
            "it has 2097154 bytes, more than 1048576",
            "`/rows/0` must be object, not number",
        ]
    );
    assert_eq!(writes(&stage).len(), 1);
}

#[tokio::test]
async fn long_files_are_written_in_pieces_and_read_in_parts() {
    let stage = Stage::new("go").await;
    let long = "ä".repeat(150_000);
    let calls = [
        ("artifact_create", json!({"name": "long", "content": long})),
        ("artifact_read", json!({"id": "long"})),
        ("artifact_read", json!({"id": "long", "offset": 131_072})),
        ("artifact_read", json!({"id": "long", "offset": 262_144})),
    ];
    let told = told(&stage, &calls).await;
    assert_eq!(writes(&stage).len(), 5);
    assert_eq!(told[1]["next_offset"], 131_072);
    let parts: String = told[1..].iter().map(|part| part["content"].as_str().unwrap()).collect();
    assert_eq!(parts, long);
}

#[tokio::test]
async fn a_write_that_was_done_is_not_done_again_after_a_restart() {
    let calls = [
        ("artifact_create", json!({"name": "a", "content": "1"})),
        ("artifact_append", json!({"id": "a", "content": "2"})),
        ("artifact_update", json!({"id": "a", "content": "3"})),
        ("artifact_read", json!({"id": "a"})),
    ];
    let whole = Stage::new("go").await;
    told(&whole, &calls).await;
    let all = whole.events();
    // Stopped behind each write, before its call was said to be done.
    for (cut, event) in all.iter().enumerate() {
        if event["kind"] != "file-write" {
            continue;
        }
        let stage = Stage::new("go").await;
        for event in &all[3..=cut] {
            stage.append(&event.to_string()).await;
        }
        let told = told(&stage, &calls).await;
        assert_eq!(told[3]["content"], "3");
        assert_eq!(told[3]["version"], 3, "cut at {cut}");
        assert_eq!(writes(&stage).len(), 3, "cut at {cut}");
    }
}
