//! Every route, asked for what the OpenAPI document allows and for what it does not.

use std::process::Command;

use super::{House, peers};

/// No mistake of the server's own, and nothing that the description does not say.
const CHECKS: [&str; 4] = [
    "not_a_server_error",
    "response_schema_conformance",
    "status_code_conformance",
    "content_type_conformance",
];

#[test]
#[ignore = "needs schemathesis: cargo xtask test --only surfaces"]
fn requests_made_from_the_description_of_the_api_find_no_fault_of_the_server() {
    let house = House::open();
    let python = peers().join("venv/schemathesis/bin/python");
    let ran = Command::new(python)
        .current_dir(house.folder.path())
        .args(["-c", "from schemathesis.cli import schemathesis; schemathesis()"])
        .args(["run", &format!("{}/openapi.json", house.server.url), "--no-color"])
        // Streams do not end, and the kinds of events are too many for it to make some up.
        .args(["--exclude-path-regex", "stream|subscribe|/work|/metrics"])
        .args(["--exclude-operation-id", "postApiThreadsIdEvents"])
        .args(["--phases", "fuzzing", "--max-examples", "5", "--request-timeout", "30"])
        .args(["--checks", &CHECKS.join(","), "--workers", "2"])
        .args(["--suppress-health-check", "all"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{told}\n{}", String::from_utf8_lossy(&ran.stderr));
    assert!(told.contains(" generated, "), "{told}");
    println!("{told}");
}
