//! What a thread says of its people: whose tasks are whose, who called whom, and which
//! credentials were given.

use std::collections::HashMap;

use selvedge_protocol::journal::{Event, Kind};

/// Tasks above one another that are followed.
const DEPTH: usize = 64;

/// A thread's people so far.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    tasks: HashMap<String, Task>,
    /// Requests for credentials, the oldest first.
    auths: Vec<Auth>,
}

#[derive(Debug, Default)]
struct Task {
    agent: Option<String>,
    parent: Option<String>,
    user: Option<String>,
    /// The question that it was made for.
    input: Option<String>,
}

#[derive(Debug)]
struct Auth {
    id: String,
    task: Option<String>,
    call: Option<String>,
    tool: String,
    user: String,
    /// Where the credential is kept, once there is one.
    credential: Option<String>,
}

impl Ledger {
    /// Takes an event of any task in.
    pub(super) fn apply(&mut self, event: &Event<'_>) {
        let own = |name: &str| event.str(name).map(|text| text.into_owned());
        let more = |pointer: &str| {
            let found = event.at("metadata", pointer)?;
            found.str().map(|text| text.into_owned())
        };
        match event.kind() {
            Kind::TaskCreated => {
                let Some(id) = own("taskId") else { return };
                self.tasks.entry(id).or_insert_with(|| Task {
                    agent: own("agentId"),
                    parent: own("parentTaskId"),
                    user: more("/userId"),
                    input: more("/inputId"),
                });
            }
            Kind::AuthRequired => {
                let (Some(id), Some(tool)) = (own("authId"), more("/tool")) else { return };
                self.auths.push(Auth {
                    id,
                    task: own("taskId"),
                    call: more("/toolCallId"),
                    tool,
                    user: more("/userId").unwrap_or_default(),
                    credential: None,
                });
            }
            Kind::AuthCompleted => {
                let Some(id) = own("authId") else { return };
                let waits = |auth: &&mut Auth| auth.id == id && auth.credential.is_none();
                if let Some(auth) = self.auths.iter_mut().find(waits) {
                    auth.credential = more("/credentialId");
                }
            }
            _ => {}
        }
    }

    /// The agent whose task called this one.
    pub(super) fn caller(&self, task: &str) -> Option<&str> {
        let parent = self.tasks.get(task)?.parent.as_deref()?;
        self.tasks.get(parent)?.agent.as_deref()
    }

    /// Whether a task was made to answer another's question.
    pub(super) fn is_consulted(&self, task: &str) -> bool {
        self.tasks.get(task).is_some_and(|task| task.input.is_some())
    }

    /// The user that a task, or the one that it came of, is for; empty if nobody knows.
    pub(super) fn user(&self, task: &str) -> &str {
        let mut at = task;
        for _ in 0..DEPTH {
            let Some(known) = self.tasks.get(at) else { break };
            match (&known.user, &known.parent) {
                (Some(user), _) => return user,
                (None, Some(parent)) => at = parent,
                (None, None) => break,
            }
        }
        ""
    }

    /// Credentials that a user gave: what each opens, and its id; the latest first.
    pub(super) fn given(&self, user: &str) -> Vec<(String, String)> {
        let given = self.auths.iter().rev().filter(|auth| auth.user == user);
        given.filter_map(|auth| Some((auth.tool.clone(), auth.credential.clone()?))).collect()
    }

    /// How often credentials were asked for one call.
    pub(super) fn rounds(&self, task: &str, call: &str) -> usize {
        let own =
            |auth: &&Auth| auth.task.as_deref() == Some(task) && auth.call.as_deref() == Some(call);
        self.auths.iter().filter(own).count()
    }
}

#[cfg(test)]
mod tests {
    use selvedge_protocol::json::Doc;

    use super::*;

    fn ledger(events: &[&str]) -> Ledger {
        let mut ledger = Ledger::default();
        for event in events {
            let doc = Doc::parse(event).unwrap();
            ledger.apply(&Event::parse(doc.root()).unwrap());
        }
        ledger
    }

    #[test]
    fn a_task_is_for_the_user_of_the_one_it_came_of() {
        let ledger = ledger(&[
            r#"{"kind":"task-created","taskId":"a","agentId":"ada","metadata":{"userId":"u"}}"#,
            r#"{"kind":"task-created","taskId":"b","agentId":"bob","parentTaskId":"a"}"#,
            r#"{"kind":"task-created","taskId":"c","parentTaskId":"b","metadata":{"inputId":"i"}}"#,
            r#"{"kind":"task-created","taskId":"x","parentTaskId":"y"}"#,
            r#"{"kind":"task-created","taskId":"y","parentTaskId":"x"}"#,
        ]);
        assert_eq!((ledger.user("c"), ledger.caller("c")), ("u", Some("bob")));
        assert!(ledger.is_consulted("c") && !ledger.is_consulted("b"));
        assert_eq!((ledger.user("x"), ledger.user("none")), ("", ""), "a circle ends");
    }

    #[test]
    fn the_latest_credential_of_a_tool_and_a_user_counts() {
        let asked = |id: &str, user: &str| {
            format!(
                r#"{{"kind":"auth-required","taskId":"t","authId":"{id}","metadata":{{"tool":"x","userId":"{user}","toolCallId":"c"}}}}"#
            )
        };
        let given = |id: &str, credential: &str| {
            format!(
                r#"{{"kind":"auth-completed","authId":"{id}","metadata":{{"credentialId":"{credential}"}}}}"#
            )
        };
        let events =
            [asked("1", "u"), asked("2", "u"), asked("3", "v"), given("1", "k1"), given("3", "k3")];
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let mut ledger = ledger(&events);
        let of = |id: &str| vec![("x".to_owned(), id.to_owned())];
        assert_eq!((ledger.given("u"), ledger.given("v")), (of("k1"), of("k3")));
        assert_eq!(ledger.given("w"), []);
        assert_eq!((ledger.rounds("t", "c"), ledger.rounds("u", "c")), (3, 0));
        for again in [given("2", "k2"), given("2", "k4")] {
            let doc = Doc::parse(&again).unwrap();
            ledger.apply(&Event::parse(doc.root()).unwrap());
        }
        let latest = ledger.given("u").swap_remove(0).1;
        assert_eq!(latest, "k2", "the latest request, and the first word on it");
    }
}
