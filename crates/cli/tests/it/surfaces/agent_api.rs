//! The Agent API through agentscope-runtime's own client.

use super::House;

#[test]
#[ignore = "needs agentscope-runtime: cargo xtask test --only surfaces"]
fn agentscopes_client_talks_answers_queues_and_comes_again() {
    House::open().python("openai", "client_agent_api.py");
}
