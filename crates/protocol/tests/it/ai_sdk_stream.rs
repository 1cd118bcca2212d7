//! `ai-sdk-stream`: what only this dialect promises.

use std::fs;

use selvedge_protocol::json::{Doc, same_value};

use crate::ai_sdk_messages::{convert_for, reduced};

#[test]
fn streams_written_anew_reduce_to_the_same_message() {
    let mut wrong = Vec::new();
    for (stream, _, version) in reduced() {
        // We close the text before the abort, its writer does not.
        if stream.to_str().unwrap().contains("b02_abort") {
            continue;
        }
        let source = fs::read_to_string(&stream).unwrap();
        let anew = convert_for("ai-sdk-stream", "ai-sdk-stream", version, &source);
        let before = convert_for("ai-sdk-stream", "ai-sdk-messages", version, &source);
        let after = convert_for("ai-sdk-stream", "ai-sdk-messages", version, &anew);
        let (one, two) = (Doc::parse(&before).unwrap(), Doc::parse(&after).unwrap());
        if !same_value(one.root(), two.root()) {
            wrong.push(format!(
                "{} for {version}\n  is     {after}\n  should {before}",
                stream.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
