//! The AI SDK's chat: `DefaultChatTransport` of `ai` 5, 6 and 7.

use super::House;

#[test]
#[ignore = "needs npm's ai: cargo xtask test --only surfaces"]
fn chats_of_ai_5_6_and_7_talk_approve_resume_and_stop() {
    House::open().node("client_ai_sdk.mjs");
}

#[test]
#[ignore = "needs npm's @ai-sdk/react and a browser: cargo xtask test --only surfaces"]
fn use_chat_in_a_page_streams_approves_resumes_and_stops() {
    House::open().node("client_use_chat.mjs");
}
