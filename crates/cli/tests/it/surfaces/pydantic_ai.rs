//! Pydantic AI's agents, with their conversations kept as threads.

use super::House;

#[test]
#[ignore = "needs pydantic-ai: cargo xtask test --only surfaces"]
fn pydantic_ais_agents_store_branch_fork_and_resume() {
    House::open().python("pydantic-ai-2", "client_pydantic_ai.py");
}
