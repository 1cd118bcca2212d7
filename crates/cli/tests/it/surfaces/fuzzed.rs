//! Every route, asked for what the OpenAPI document allows and for what it does not.

use std::process::Command;

use super::{House, peers};

#[test]
#[ignore = "needs schemathesis: cargo xtask test --only surfaces"]
fn requests_made_from_the_description_of_the_api_find_no_fault_of_the_server() {
    let house = House::open();
    let program = peers().join("venv/schemathesis/bin/schemathesis");
    let ran = Command::new(program)
        .current_dir(house.folder.path())
        .args(["run", &format!("{}/openapi.json", house.server.url), "--no-color"])
        // Streams do not end, and the kinds of events are too many for it to make some up.
        .args(["--exclude-path-regex", "stream|subscribe|/work|/metrics"])
        .args(["--exclude-operation-id", "postApiThreadsIdEvents"])
        .args(["--phases", "fuzzing", "--max-examples", "5", "--request-timeout", "30"])
        .args(["--checks", "not_a_server_error,response_schema_conformance"])
        .args(["--suppress-health-check", "all"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{told}\n{}", String::from_utf8_lossy(&ran.stderr));
    assert!(told.contains(" generated, "), "{told}");
    println!("{told}");
}
