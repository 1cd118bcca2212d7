//! OpenAI's threads through its Python and JavaScript packages.

use super::House;

#[test]
#[ignore = "needs the openai package: cargo xtask test --only surfaces"]
fn the_openai_package_uses_threads_messages_runs_steps_and_files() {
    House::open().python("openai", "client_openai.py");
}

#[test]
#[ignore = "needs npm's openai: cargo xtask test --only surfaces"]
fn npm_openai_uses_threads_messages_runs_steps_and_files() {
    House::open().node("client_openai.mjs");
}
