//! Every route, for every kind of caller, for a thread of their own and for another's.
//!
//! What is expected follows from the scope in the table of routes, so a new route is tried too.

use std::cmp::Reverse;
use std::time::Duration;

use http::Method;
use selvedge_agents::{Desk, Member, Worker};
use selvedge_server::{Options, Route, Scope, routes};

use crate::site::{Site, key};

/// A caller: a name, the key it sends, and what that grants.
struct Caller {
    name: &'static str,
    secret: Option<String>,
    grants: Grants,
}

enum Grants {
    /// The key is not valid.
    Nothing,
    Scope(Scope),
}

const CHAT_STREAM: &str = "/ai-sdk/chat/{id}/stream";

/// Whose thread is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Own,
    Foreign,
}

/// The status, or that it is anything but a refusal.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    Status(u16),
    Admitted,
}

fn expected(route: &Route, caller: &Caller, whose: Whose) -> Expected {
    let log = route.path == "/envelopes" && route.method == Method::GET;
    let named = ["/api/stream", "/api/usage"];
    let about_a_thread = route.path.contains('{') || named.contains(&route.path) || log;
    match (&caller.grants, route.scope) {
        (_, Scope::Nobody) => Expected::Admitted,
        // The token in the path is all that counts, whatever key comes with it.
        (_, Scope::Share) if whose == Whose::Own => Expected::Admitted,
        (_, Scope::Share) => Expected::Status(404),
        (Grants::Nothing, _) => Expected::Status(401),
        (Grants::Scope(own), needed) if !own.includes(needed) => Expected::Status(403),
        // Its clients ask for chats that are not there yet; nothing runs in those.
        _ if whose == Whose::Foreign && route.path == CHAT_STREAM && route.method == "GET" => {
            Expected::Status(204)
        }
        _ if whose == Whose::Foreign && about_a_thread => Expected::Status(404),
        // Credentials come from a user, whatever else an agent may.
        (Grants::Scope(Scope::Agent), _) if route.path.contains("/auths/") => Expected::Status(403),
        _ => Expected::Admitted,
    }
}

/// A share of the thread `own`: its id and its token.
struct Shared {
    id: String,
    token: String,
}

/// A request that a caller who may make it is not refused for other reasons.
fn path(route: &Route, whose: Whose, shared: &Shared) -> String {
    let id = if whose == Whose::Own { "own" } else { "foreign" };
    let mut path = String::new();
    for part in route.path.split('/').skip(1) {
        path.push('/');
        path.push_str(match part {
            "{share}" => &shared.id,
            "{token}" if whose == Whose::Own => &shared.token,
            "{token}" => "sh_0000000000000000000000000000000000000000000000000000000000000000",
            // A turn in the queue is known by its session and the entry that made it.
            "{task_id}" if whose == Whose::Own => "own~2",
            "{task_id}" => "foreign~2",
            // Files are the same for everyone.
            "{*file}" => "app.js",
            part if part.starts_with('{') => id,
            part => part,
        });
    }
    // What is done to a task is told by the end of its path.
    if route.path.ends_with("{*task}") {
        path.push_str(match route.method {
            Method::POST => ":subscribe",
            Method::DELETE => "/pushNotificationConfigs/x",
            _ => "",
        });
    }
    // What reads must find something there; what makes must not.
    let made = if route.method == Method::GET { "" } else { "made-" };
    path + &format!("?threads={id}&with={id}&thread={made}{id}")
}

/// A body that is good for a route; some acts can be done but once, and are refused as done.
fn body(route: &Route) -> &'static str {
    match route.path {
        path if path.contains("/inputs/") => r#"{"value":true}"#,
        path if path.contains("/auths/") => r#"{"userId":"u"}"#,
        path if path.ends_with("/redact") => r#"{"events":[1]}"#,
        "/process" | "/process/task" => {
            r#"{"session_id":"made","input":[{"role":"user","content":[{"type":"text","text":"x"}]}]}"#
        }
        // As good for an append as for a fork; no body is read before the key is.
        _ => r#"{"kind":"x"}"#,
    }
}

/// A task, a question, a request for credentials, a tool call and an artifact of that name.
fn seed(id: &str) -> String {
    let event = |rest: &str| format!("{{\"taskId\":\"{id}\",{rest}}}").replace("ID", id);
    let all = [
        event(r#""kind":"task-created","initiator":"user""#),
        event(r#""kind":"step-started","stepId":"ID""#),
        event(
            r#""kind":"message","messageId":"ID","role":"agent","content":"","intent":"plan",
            "outputs":{"next_actions":[{"intent":"execute","task":"x"}]}"#,
        ),
        event(r#""kind":"input-required","inputId":"ID","inputType":"confirmation","prompt":"?""#),
        event(r#""kind":"auth-required","authId":"ID","authType":"oauth2","prompt":"?""#),
        event(r#""kind":"tool-start","toolCallId":"ID","toolName":"t","arguments":{}"#),
        event(r#""kind":"file-write","artifactId":"ID","data":"x","index":0,"complete":true"#),
        event(r#""kind":"file-write","artifactId":"ID","data":"y","index":0,"complete":true"#),
    ];
    format!("[{}]", all.join(","))
}

#[tokio::test]
async fn every_route_asks_everyone_for_what_its_line_in_the_table_says() {
    let mut expired = key("acme", &["operator"]);
    expired.expires = Some(2);
    let made = [
        key("acme", &["read"]),
        key("acme", &["write"]),
        key("acme", &["agent"]),
        key("acme", &["operator"]),
        expired,
        key("acme", &["operator"]),
        key("other", &["agent"]),
    ];
    // An agent whose tasks are claimed has the id of the thread that is one's own.
    let worker = Worker { id: "own".to_owned(), lease: Duration::from_secs(60) };
    let agents = Some(Desk::new([Member::Worker(worker)]));
    let options = Options { strangers: 100_000, agents, ..Options::default() };
    let (site, keys) = Site::start_with(options, &made).await;
    let revoked = site.keys.list().unwrap();
    let hash = selvedge_store::KeyHash::of(&keys[5]);
    let revoked = revoked.iter().find(|key| key.hash == hash).unwrap();
    let make = async |id: &str, key: &str| {
        let request = site.request(Method::POST, "/api/threads").bearer_auth(key);
        let sent = request.body(format!("{{\"id\":\"{id}\"}}")).send().await.unwrap();
        sent.status().as_u16()
    };
    for (id, key) in [("own", &keys[3]), ("foreign", &keys[6])] {
        assert_eq!(make(id, key).await, 201);
        let request = site.request(Method::POST, &format!("/api/threads/{id}/events"));
        let seeded = request.bearer_auth(key).body(seed(id)).send().await.unwrap();
        assert_eq!(seeded.status().as_u16(), 200);
    }
    let request = site.request(Method::POST, "/api/threads/own/shares").bearer_auth(&keys[3]);
    let (_, made) = crate::site::answer(request.send().await.unwrap()).await;
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    let shared = Shared { id: text("id"), token: text("token") };
    site.keys.revoke(&revoked.id, 3).unwrap();
    while site.ask(Method::GET, "/api/threads/own", &keys[5]).await.0.is_success() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    let caller = |name, at: Option<usize>, grants| {
        let secret = at.map(|at: usize| keys[at].clone());
        Caller { name, secret, grants }
    };
    let mut garbage = caller("garbage", Some(3), Grants::Nothing);
    garbage.secret.as_mut().unwrap().push('0');
    let mut dotted = caller("something like a token", None, Grants::Nothing);
    dotted.secret = Some("eyJhbGciOiJub25lIn0.e30.".to_owned());
    let callers = [
        caller("nobody", None, Grants::Nothing),
        caller("read", Some(0), Grants::Scope(Scope::Read)),
        caller("write", Some(1), Grants::Scope(Scope::Write)),
        caller("agent", Some(2), Grants::Scope(Scope::Agent)),
        caller("operator", Some(3), Grants::Scope(Scope::Operator)),
        caller("expired", Some(4), Grants::Nothing),
        caller("revoked", Some(5), Grants::Nothing),
        garbage,
        dotted,
    ];
    let mut tried = 0;
    // What deletes comes last, the smallest first: the others need something to be there.
    let mut all = routes();
    let erases = |route: &Route| route.path.ends_with("/erase");
    let deletes = |route: &Route| route.method == Method::DELETE || erases(route);
    all.sort_by_key(|route| (deletes(route), erases(route), Reverse(route.path.len())));
    for route in all {
        for caller in &callers {
            for whose in [Whose::Own, Whose::Foreign] {
                if deletes(&route) {
                    // Whoever was allowed to before has done it.
                    assert!(matches!(make("own", &keys[3]).await, 201 | 409));
                }
                let mut request = site.request(route.method.clone(), &path(&route, whose, &shared));
                if let Some(secret) = &caller.secret {
                    request = request.bearer_auth(secret);
                }
                if route.path.ends_with("/lease") {
                    request = request.header("Selvedge-Lease", "ls_unknown");
                }
                if matches!(route.method, Method::POST | Method::PUT) {
                    request = request.body(body(&route));
                }
                let status = request.send().await.unwrap().status().as_u16();
                let wanted = expected(&route, caller, whose);
                let met = match wanted {
                    Expected::Status(wanted) => status == wanted,
                    // The body may not be what the route wants; the caller is.
                    Expected::Admitted => !matches!(status, 401 | 403 | 404 | 405 | 429 | 500..),
                };
                let (method, path) = (&route.method, route.path);
                assert!(
                    met,
                    "{method} {path} for {} {whose:?}: {status}, not {wanted:?}",
                    caller.name
                );
                tried += 1;
            }
        }
    }
    assert!(tried >= 12 * callers.len() * 2, "{tried}");
}

#[tokio::test]
async fn a_scope_that_is_not_known_grants_nothing() {
    let (site, keys) = Site::start_with(Options::default(), &[key("acme", &["admin"])]).await;
    let shared = Shared { id: "x".to_owned(), token: "x".to_owned() };
    let for_anyone = |route: &&Route| matches!(route.scope, Scope::Nobody | Scope::Share);
    for route in routes().iter().filter(|route| !for_anyone(route)) {
        let path = path(route, Whose::Own, &shared);
        let (status, _) = site.ask(route.method.clone(), &path, &keys[0]).await;
        assert_eq!(status.as_u16(), 403, "{path}");
    }
}
