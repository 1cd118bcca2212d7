//! Artifacts go in and out as they are, version by version, and only who may see them does.

use reqwest::{Method, Response};
use selvedge_server::Options;
use serde_json::{Value, json};

use crate::site::{Site, answer, key};

const F: &str = "/api/threads/t/artifacts/f";

async fn put(
    site: &Site,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Vec<u8>>,
) -> Response {
    let mut request = site.request(Method::PUT, path).body(body.into());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap()
}

/// Writes a version of `f`; the status and the answer.
async fn write(site: &Site, query: &str, headers: &[(&str, &str)], body: &str) -> (u16, Value) {
    let (status, told) =
        answer(put(site, &format!("{F}/content{query}"), headers, body).await).await;
    (status.as_u16(), told)
}

async fn content(site: &Site, query: &str) -> Response {
    site.request(Method::GET, &format!("{F}/content{query}")).send().await.unwrap()
}

async fn head(site: &Site) -> u64 {
    site.get("/api/threads/t").await.1["head"].as_u64().unwrap()
}

#[tokio::test]
async fn what_is_written_is_read_back_byte_for_byte() {
    let site = Site::start().await;
    site.thread("t").await;
    let mut binary: Vec<u8> =
        (0..700_001u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    binary[0] = 0xff;
    // Characters of three bytes, so that chunks cannot end just anywhere.
    let text = "\u{20ac}".repeat(200_000) + "\"\\\u{0}\n end";
    for (version, (body, ty)) in [
        (text.into_bytes(), "text/markdown"),
        (binary, "image/png"),
        (Vec::new(), ""),
        (b"x".to_vec(), ""),
    ]
    .into_iter()
    .enumerate()
    {
        let version = version as u64 + 1;
        let response = put(
            &site,
            &format!("{F}/content?name=notes.md"),
            &[("content-type", ty)],
            body.clone(),
        )
        .await;
        assert_eq!(response.headers()["etag"], format!("\"{version}\"").as_str());
        let (status, told) = answer(response).await;
        assert_eq!(status.as_u16(), if version == 1 { 201 } else { 200 }, "{told}");
        assert_eq!(told["version"], json!(version));
        let response = content(&site, &format!("?version={version}")).await;
        let headers = response.headers().clone();
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert!(headers["content-security-policy"].to_str().unwrap().contains("sandbox"));
        assert_eq!(
            headers["content-disposition"],
            "attachment; filename=\"notes.md\"; filename*=UTF-8''notes.md"
        );
        assert_eq!(headers["artifact-complete"], "true");
        assert_eq!(headers["content-length"], body.len().to_string().as_str());
        let expected = [
            "text/markdown; charset=utf-8",
            "image/png",
            "text/plain; charset=utf-8",
            "text/plain; charset=utf-8",
        ];
        assert_eq!(headers["content-type"], expected[version as usize - 1]);
        assert_eq!(response.bytes().await.unwrap(), body, "version {version}");
    }
    let (_, page) = site.get("/api/threads/t/events?kinds=file-write").await;
    let entries = page["entries"].as_array().unwrap();
    assert!(entries.len() > 6, "large bodies come in chunks");
    let asked = site.request(Method::HEAD, &format!("{F}/content?version=2")).send().await.unwrap();
    assert_eq!(
        (asked.status().as_u16(), &asked.headers()["content-length"]),
        (200, &"700001".parse().unwrap())
    );
    let known = site.request(Method::GET, &format!("{F}/content")).header("if-none-match", "\"4\"");
    assert_eq!(known.send().await.unwrap().status().as_u16(), 304);
    let (_, listed) = site.get("/api/threads/t/artifacts").await;
    let artifact = &listed["artifacts"][0];
    assert_eq!(
        (&artifact["id"], &artifact["kind"], &artifact["version"]),
        (&json!("f"), &json!("file"), &json!(4))
    );
    assert_eq!(artifact["versions"].as_array().unwrap().len(), 4);
    let shown = site.request(Method::GET, F).send().await.unwrap();
    assert_eq!(shown.headers()["etag"], "\"4\"");
}

#[tokio::test]
async fn a_version_is_written_on_top_of_the_one_that_was_read_or_not_at_all() {
    let site = Site::start().await;
    site.thread("t").await;
    let create = [("if-none-match", "*")];
    assert_eq!(write(&site, "", &create, "one").await.0, 201);
    let (status, told) = write(&site, "", &create, "again").await;
    assert_eq!((status, &told["error"]["code"]), (409, &json!("version_conflict")));
    assert_eq!(told["error"]["details"], json!({"version": 1}));
    let tries = (0..12).map(|_| write(&site, "", &[("if-match", "\"1\"")], "two"));
    let answers = futures_util::future::join_all(tries).await;
    assert_eq!(answers.iter().filter(|(status, _)| *status == 200).count(), 1);
    for (_, told) in answers.iter().filter(|(status, _)| *status != 200) {
        assert_eq!(told["error"]["details"], json!({"version": 2}));
    }
    let tries = (0..8).map(|n| {
        let body = format!("w{n}");
        let site = &site;
        async move { write(site, "", &[], &body).await.1["version"].as_u64().unwrap() }
    });
    let mut versions = futures_util::future::join_all(tries).await;
    versions.sort_unstable();
    assert_eq!(versions, (3..11).collect::<Vec<_>>(), "without a condition, each is the next");
    let twice = [("idempotency-key", "k"), ("if-match", "10")];
    let (_, first) = write(&site, "", &twice, "last").await;
    write(&site, "", &[], "later").await;
    let (status, second) = write(&site, "", &twice, "last").await;
    assert_eq!((status, &second["duplicate"], &second["version"]), (200, &json!(true), &json!(11)));
    assert_eq!(first["version"], json!(11));
    assert_eq!(write(&site, "", &twice, "other").await.1["error"]["code"], "key_reused");
}

#[tokio::test]
async fn a_version_that_is_still_written_says_so_and_is_not_written_over() {
    let site = Site::start().await;
    site.thread("t").await;
    let begun = r#"[{"kind":"file-write","artifactId":"f","data":"one ","index":0,"complete":false},
        {"kind":"file-write","artifactId":"f","data":"three","index":2,"complete":true}]"#;
    site.post("/api/threads/t/events", begun).await;
    let response = content(&site, "").await;
    assert_eq!(response.headers()["artifact-complete"], "false");
    assert!(!response.headers().contains_key("etag"));
    assert_eq!(response.text().await.unwrap(), "one ");
    for condition in [&[][..], &[("if-match", "1")]] {
        let (status, told) = write(&site, "", condition, "x").await;
        assert_eq!(
            (status, &told["error"]["details"]),
            (409, &json!({"version": 1, "complete": false}))
        );
    }
    let rest = r#"{"kind":"file-write","artifactId":"f","data":"two ","index":1,"complete":false}"#;
    site.post("/api/threads/t/events", rest).await;
    assert_eq!(content(&site, "").await.text().await.unwrap(), "one two three");
    assert_eq!(write(&site, "", &[("if-match", "1")], "x").await.0, 200);
}

#[tokio::test]
async fn records_and_datasets_are_written_read_and_compared() {
    let site = Site::start().await;
    site.thread("t").await;
    let rows = |n: i32| {
        json!((0..n).map(|i| json!({"i": i, "s": format!("row, {i}")})).collect::<Vec<_>>())
            .to_string()
    };
    let path = "/api/threads/t/artifacts/rows";
    for n in [2500, 2501] {
        assert!(
            put(&site, &format!("{path}/content?kind=dataset&name=table"), &[], rows(n))
                .await
                .status()
                .is_success()
        );
    }
    let get = async |query: &str| {
        site.request(Method::GET, &format!("{path}/content?{query}")).send().await.unwrap()
    };
    assert_eq!(get("version=1").await.text().await.unwrap(), rows(2500));
    let csv = get("format=csv").await;
    assert!(csv.headers()["content-disposition"].to_str().unwrap().contains("\"table.csv\""));
    let csv = csv.text().await.unwrap();
    assert!(csv.starts_with("i,s\r\n0,\"row, 0\"\r\n") && csv.lines().count() == 2502);
    assert_eq!(get("format=ndjson").await.text().await.unwrap().lines().count(), 2501);
    assert_eq!(get("format=xml").await.status().as_u16(), 400);
    let (_, diff) = site.get(&format!("{path}/diff")).await;
    assert_eq!((&diff["addedCount"], &diff["removedCount"]), (&json!(1), &json!(0)));
    assert_eq!(diff["added"], json!([{"i": 2500, "s": "row, 2500"}]));

    let path = "/api/threads/t/artifacts/record";
    for body in [r#"{"a":1,"b":[1]}"#, r#"{"a":2,"b":[1]}"#] {
        put(&site, &format!("{path}/content?kind=data"), &[], body).await;
    }
    let (_, diff) = site.get(&format!("{path}/diff?from=1&to=2")).await;
    assert_eq!(diff["changes"], json!([{"op": "replace", "path": "/a", "from": 1, "to": 2}]));

    for body in ["a\nb\n", "a\nc\n"] {
        write(&site, "", &[], body).await;
    }
    put(&site, &format!("{F}/content"), &[], vec![0xff, 0xfe]).await;
    let (_, diff) = site.get(&format!("{F}/diff?from=1&to=2")).await;
    assert_eq!(
        (&diff["equal"], &diff["diff"]),
        (&json!(false), &json!("@@ -1,2 +1,2 @@\n a\n-b\n+c\n"))
    );
    let (_, diff) = site.get(&format!("{F}/diff")).await;
    assert_eq!(
        (&diff["from"], &diff["binary"], &diff["equal"]),
        (&json!(2), &json!(true), &json!(false))
    );
    assert_eq!(site.get(&format!("{F}/diff?to=1")).await.0.as_u16(), 404);
}

#[tokio::test]
async fn bad_writes_change_nothing() {
    let site = Site::start().await;
    site.thread("t").await;
    write(&site, "", &[], "one").await;
    let before = head(&site).await;
    for (query, headers, body, status, code) in [
        ("?kind=table", &[][..], "x", 400, "bad_parameter"),
        ("?kind=data", &[], "[]", 400, "bad_parameter"),
        ("?kind=data", &[], "{", 400, "bad_json"),
        ("?kind=dataset", &[], "{}", 400, "bad_parameter"),
        ("?kind=data", &[], "{}", 409, "version_conflict"),
        ("?visibility=all", &[], "x", 400, "bad_parameter"),
        ("", &[("if-match", "x")], "x", 400, "bad_parameter"),
        ("", &[("if-match", "2")], "x", 409, "version_conflict"),
        ("", &[("if-none-match", "\"1\"")], "x", 400, "bad_parameter"),
        ("", &[("if-match", "1"), ("if-none-match", "*")], "x", 400, "bad_parameter"),
    ] {
        let (got, told) = write(&site, query, headers, body).await;
        assert_eq!((got, &told["error"]["code"]), (status, &json!(code)), "{query} {headers:?}");
    }
    let large = put(&site, &format!("{F}/content"), &[], vec![b'x'; 40 << 20]).await;
    assert_eq!(large.status().as_u16(), 413);
    assert_eq!(
        put(&site, "/api/threads/none/artifacts/f/content", &[], "x").await.status().as_u16(),
        404
    );
    let something = [("if-match", "*")];
    let none = put(&site, "/api/threads/t/artifacts/none/content", &something, "x").await;
    assert_eq!(none.status().as_u16(), 409);
    for path in [
        "/api/threads/t/artifacts/none",
        "/api/threads/t/artifacts/none/content",
        "/api/threads/t/artifacts/f/content?version=2",
        "/api/threads/t/artifacts/none/diff",
    ] {
        assert_eq!(site.get(path).await.0.as_u16(), 404, "{path}");
    }
    assert_eq!(head(&site).await, before);
}

#[tokio::test]
async fn what_a_caller_may_not_see_is_in_no_answer() {
    let made = [key("acme", &["operator"]), key("acme", &["read", "write"])];
    let (site, keys) = Site::start_with(Options::default(), &made).await;
    let send = async |method: Method, path: &str, key: usize, body: &str| {
        let request = site.request(method, path).bearer_auth(&keys[key]).body(body.to_owned());
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    send(Method::POST, "/api/threads", 0, r#"{"id":"t"}"#).await;
    send(Method::PUT, &format!("{F}/content?name=open"), 0, "public words").await;
    send(Method::PUT, &format!("{F}/content?name=secret&visibility=operator"), 0, "hidden words")
        .await;
    send(
        Method::PUT,
        "/api/threads/t/artifacts/g/content?name=secret&visibility=internal",
        0,
        "hidden words",
    )
    .await;
    for path in [
        "/api/threads/t/artifacts",
        F,
        &format!("{F}/content"),
        "/api/threads/t",
        "/api/threads/t/artifacts/g",
        &format!("{F}/content?version=2"),
        &format!("{F}/diff"),
        &format!("{F}/content?visibility=internal"),
    ] {
        let (_, told) = send(Method::GET, path, 1, "").await;
        for secret in ["hidden", "secret", "\"g\""] {
            assert!(!told.contains(secret) || path.ends_with("/g"), "{path}: {told}");
        }
    }
    assert_eq!(send(Method::GET, "/api/threads/t/artifacts/g", 1, "").await.0, 404);
    assert_eq!(send(Method::GET, &format!("{F}/content"), 1, "").await.1, "public words");
    assert_eq!(send(Method::GET, &format!("{F}/content?version=2"), 1, "").await.0, 404);
    let (status, told) =
        send(Method::GET, &format!("{F}/content?visibility=operator"), 0, "").await;
    assert_eq!((status, told.as_str()), (200, "hidden words"));
    let request = site.request(Method::PUT, &format!("{F}/content")).bearer_auth(&keys[1]);
    let (status, told) =
        answer(request.header("if-match", "1").body("x").send().await.unwrap()).await;
    assert_eq!((status.as_u16(), &told["error"]["details"]), (409, &Value::Null), "{told}");
}
