//! Tokens, cost, latency, budgets and errors.

use super::Site;

#[test]
#[ignore = "needs a browser: cargo xtask test --only ui"]
fn what_was_used_is_shown_by_agent_model_and_day() {
    assert_eq!(Site::open(&[]).run("usage.mjs", &[]).len(), 4);
}
