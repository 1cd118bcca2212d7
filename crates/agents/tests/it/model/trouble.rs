//! Providers that are slow, gone, or say no.

use std::time::Duration;

use selvedge_agents::model::{Failure, FailureKind, Provider, Timeouts};

use super::canned::{Answer, Ending, KEY, all, ask, bare, hello, model, said, serve, text};

async fn refused(provider: Provider, answer: Answer) -> Failure {
    let (said, failure) = said(provider, answer).await;
    assert_eq!(said, []);
    failure.unwrap()
}

#[tokio::test]
async fn what_a_provider_refuses_is_told_with_its_wait_and_without_the_key() {
    let body =
        r#"{"error":{"message":"too fast with sk-not-to-be-told","type":"rate_limit_error"}}"#;
    let headers = "content-type: application/json\r\nretry-after: 3\r\n";
    for provider in Provider::ALL {
        let failure = refused(provider, Answer::error(429, headers, body)).await;
        assert_eq!(failure.kind, FailureKind::Busy);
        assert_eq!(failure.retry_after, Some(Duration::from_secs(3)));
        assert_eq!(failure.message, "status 429: too fast with …");
    }
    // In a stream, too.
    let event = r#"{"type":"error","error":{"message":"too fast with sk-not-to-be-told"}}"#;
    let failure = refused(Provider::Anthropic, Answer::stream(&bare(&[event]))).await;
    assert_eq!(failure.message, "too fast with …");
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_a_failure() {
    for (headers, body) in [
        ("content-type: application/json\r\n", r#"{"choices":[]}"#),
        ("content-type: application/json; charset=utf-8\r\n", r#"{"error":"no streams here"}"#),
        ("content-type: text/html\r\n", "<html>Sign in</html>"),
    ] {
        let failure = refused(Provider::Compatible, Answer::error(200, headers, body)).await;
        assert_eq!(failure.kind, FailureKind::Provider, "{body}");
    }
    // A body without an end is not read to it.
    let endless = Answer {
        status: 500,
        headers: "",
        pieces: vec![vec![b'x'; 1 << 20]; 4],
        ending: Ending::Cut,
    };
    let failure = refused(Provider::OpenAiChat, endless).await;
    assert_eq!(failure.kind, FailureKind::Provider);
    assert!(failure.message.chars().count() < 1000);
}

#[tokio::test]
async fn no_key_follows_a_redirect() {
    let (elsewhere, other) = serve(Answer::stream("")).await;
    let headers: &'static str = format!("location: {elsewhere}\r\n").leak();
    let failure = refused(Provider::Anthropic, Answer::error(307, headers, "")).await;
    assert_eq!(failure.kind, FailureKind::Refused);
    assert!(!other.is_finished(), "nobody asks there");
    other.abort();
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_a_broken_connection() {
    let (url, served) = serve(Answer::stream("")).await;
    served.abort();
    let _ = served.await;
    let failure = ask(&model(Provider::Gemini, &url), &hello()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Connection);
    assert!(!failure.message.contains(&url) && !failure.message.contains(KEY), "{failure}");
}

#[tokio::test]
async fn silence_is_a_broken_connection() {
    let short = Duration::from_secs(1);
    let long = Duration::from_secs(60);
    let chunk = bare(&[r#"{"choices":[{"delta":{"content":"Hi"}}]}"#]);
    for (timeouts, stream, expected) in [
        (Timeouts { first_byte: short, idle: long }, "", vec![]),
        (Timeouts { first_byte: long, idle: short }, chunk.as_str(), vec![text("Hi")]),
    ] {
        let (url, served) = serve(Answer::stream(stream).ending(Ending::Silence)).await;
        let model = model(Provider::Compatible, &url).with_timeouts(timeouts);
        let (said, failure) = all(ask(&model, &hello()).await).await;
        assert_eq!(said, expected);
        assert_eq!(failure.unwrap().kind, FailureKind::Connection);
        // The connection is gone with what was said on it.
        served.await.unwrap();
    }
    // Unless the answer is whole, and only an afterword does not come.
    let end = bare(&[r#"{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#]);
    let (url, served) = serve(Answer::stream(&end).ending(Ending::Silence)).await;
    let timeouts = Timeouts { first_byte: long, idle: short };
    let model = model(Provider::Compatible, &url).with_timeouts(timeouts);
    let (said, failure) = all(ask(&model, &hello()).await).await;
    assert_eq!((said.len(), failure), (2, None));
    served.await.unwrap();
}

#[tokio::test]
async fn dropping_what_is_said_ends_the_call() {
    let chunk = bare(&[r#"{"choices":[{"delta":{"content":"Hi"}}]}"#]);
    let (url, served) = serve(Answer::stream(&chunk).ending(Ending::Silence)).await;
    let mut saying = ask(&model(Provider::Compatible, &url), &hello()).await.unwrap();
    assert_eq!(saying.next().await, Some(Ok(text("Hi"))));
    assert!(!served.is_finished());
    drop(saying);
    tokio::time::timeout(Duration::from_secs(60), served).await.unwrap().unwrap();
}
