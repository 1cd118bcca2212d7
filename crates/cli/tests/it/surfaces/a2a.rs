//! A2A 1.0 and 0.3 through their official SDKs.

use super::House;

#[test]
#[ignore = "needs a2a-sdk 1.3.0: cargo xtask test --only surfaces"]
fn a2a_sdk_of_1_0_sends_follows_and_is_told() {
    House::open().python("a2a-1.0", "client_a2a_v1_0.py");
}

#[test]
#[ignore = "needs a2a-sdk 0.3.26: cargo xtask test --only surfaces"]
fn a2a_sdk_of_0_3_sends_follows_and_is_told() {
    House::open().python("a2a-0.3", "client_a2a_v0_3.py");
}

#[test]
#[ignore = "needs npm's @a2a-js/sdk: cargo xtask test --only surfaces"]
fn npm_a2a_js_sdk_sends_and_follows() {
    House::open().node("client_a2a.mjs");
}
