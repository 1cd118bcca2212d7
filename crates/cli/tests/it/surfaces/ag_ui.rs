//! AG-UI: `HttpAgent` of `@ag-ui/client`.

use super::House;

#[test]
#[ignore = "needs npm's @ag-ui/client: cargo xtask test --only surfaces"]
fn http_agent_runs_answers_interrupts_and_joins_again() {
    House::open().node("client_ag_ui.mjs");
}
