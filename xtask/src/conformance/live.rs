//! Live checks: clients of `EventSource` follow a real server while connections are cut and the
//! server is killed. The file they are given is the server's program.

use std::path::Path;

use serde_json::json;

use crate::conformance::check::{Check, Demand};
use crate::conformance::peer::{Peer, Process};

/// What a page can run into; without pages there are no foreign ones.
const IN_A_PAGE: [&str; 4] = ["killed", "cut", "narrowed", "unlisted"];

/// Every check, the clients in turn: two drivers work at the same time.
pub(crate) fn checks(program: &Path) -> Vec<Check> {
    let clients = [("browser", Process::Browser), ("eventsource", Process::EventSource)];
    let mut checks = Vec::new();
    for op in IN_A_PAGE {
        for (name, process) in clients {
            if process == Process::EventSource && op == "unlisted" {
                continue;
            }
            checks.push(Check {
                id: format!("live/{name}/{op}"),
                peer: Peer { name, process, op },
                source: program.to_owned(),
                convert: None,
                request: json!({}),
                demand: Demand::Records,
            });
        }
    }
    checks
}
