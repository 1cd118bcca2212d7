//! What providers' errors are taken for. Bodies as the providers document them.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderValue};

use super::{Failure, FailureKind};

fn answered(status: u16, body: &str) -> Failure {
    Failure::answered(status, &HeaderMap::new(), body.as_bytes())
}

#[test]
fn errors_are_of_the_kind_that_says_what_to_do() {
    use FailureKind::{Busy, Provider, Refused, TooLong, Unauthorized};
    for (kind, status, body) in [
        (Busy, 429, r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}"#),
        (
            Busy,
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        ),
        (
            Busy,
            503,
            r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#,
        ),
        (
            Busy,
            429,
            r#"{"error":{"message":"Request too large on tokens per min","type":"tokens","code":"rate_limit_exceeded"}}"#,
        ),
        (Busy, 429, ""),
        (
            Refused,
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
        ),
        (
            Refused,
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#,
        ),
        (
            Provider,
            500,
            r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#,
        ),
        (Provider, 502, "<html><body>Bad Gateway</body></html>"),
        (Provider, 504, r#"{"type":"error","error":{"type":"timeout_error","message":"late"}}"#),
        (
            Unauthorized,
            401,
            r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}"#,
        ),
        (
            Unauthorized,
            403,
            r#"{"type":"error","error":{"type":"permission_error","message":"no"}}"#,
        ),
        (
            Unauthorized,
            400,
            r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}"#,
        ),
        (
            TooLong,
            400,
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
        ),
        (
            TooLong,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        ),
        (
            TooLong,
            400,
            r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
        ),
        (
            TooLong,
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
        ),
        (
            Refused,
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: required"}}"#,
        ),
        (Refused, 404, r#"{"error":"model 'x' not found"}"#),
        (Refused, 404, r#"{"error":{"message":"model `x` not found","type":"not_found_error"}}"#),
        (Refused, 422, r#"{"detail":"no such field"}"#),
        (Refused, 302, ""),
    ] {
        let failure = answered(status, body);
        assert_eq!(failure.kind, kind, "{status} {body}");
        assert!(failure.message.starts_with(&format!("status {status}")), "{failure}");
        assert!(!failure.message.contains('<'), "{failure}");
    }
}

#[test]
fn the_wait_that_a_provider_asks_for_is_told() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_static("7"));
    let body = br#"{"error":{"message":"slow","type":"rate_limit_error"}}"#;
    let asked = |headers: &HeaderMap| Failure::answered(429, headers, body).retry_after;
    assert_eq!(asked(&headers), Some(Duration::from_secs(7)));
    headers.insert("retry-after-ms", HeaderValue::from_static("1500"));
    assert_eq!(asked(&headers), Some(Duration::from_millis(1500)));
    for odd in ["-1", "NaN", "1e300", "Wed, 21 Oct 2015 07:28:00 GMT"] {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", HeaderValue::from_static(odd));
        assert_eq!(asked(&headers), None, "{odd}");
    }
    let gemini = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}"#;
    assert_eq!(answered(429, gemini).retry_after, Some(Duration::from_millis(34500)));
}

#[test]
fn errors_amid_a_stream_go_by_their_words() {
    use FailureKind::{Busy, Provider, TooLong};
    for (kind, event) in [
        (Busy, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
        (Provider, r#"{"error":{"code":"server_error","message":"The server had an error"}}"#),
        (Busy, r#"{"type":"error","code":"rate_limit_exceeded","message":"slow","param":null}"#),
        (TooLong, r#"{"type":"error","code":"context_length_exceeded","message":"long"}"#),
        (Provider, r#"{"error":{"code":502,"message":"Upstream broke"}}"#),
        (Provider, r#"{"error":"out of memory"}"#),
        (Provider, r#"[]"#),
    ] {
        let value = serde_json::from_str(event).unwrap();
        assert_eq!(Failure::told(&value, None).kind, kind, "{event}");
    }
}
