//! Any sequence of appends, branches and restarts against a model of a few lines.

use std::collections::BTreeMap;

use proptest::prelude::*;
use selvedge_store::{Append, AppendError, Create, Key, Options, Store};

use crate::append::{event, names, thread};

#[derive(Debug, Clone)]
enum Step {
    Append { thread: u8, expected: Option<u64>, key: Option<u8>, events: u8, create: bool },
    Branch { from: u8, to: u8, at: u64 },
    Settle,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let append = (0..4u8, proptest::option::of(0..6u64), proptest::option::of(0..3u8), 1..4u8)
        .prop_flat_map(|(thread, expected, key, events)| {
            any::<bool>().prop_map(move |create| Step::Append {
                thread,
                expected,
                key,
                events,
                create,
            })
        });
    prop_oneof![
        8 => append,
        2 => (0..4u8, 0..4u8, 0..6u64).prop_map(|(from, to, at)| Step::Branch { from, to, at }),
        1 => Just(Step::Settle),
        1 => Just(Step::Restart),
    ]
}

#[derive(Default)]
struct Model {
    threads: BTreeMap<u8, Vec<String>>,
    keys: BTreeMap<(u8, u8), (u8, u64, u64)>,
}

/// The answer that matters: where, and whether it was there.
type Answer = Result<(u64, u64, bool), &'static str>;

impl Model {
    fn append(&mut self, step: &Step, name: &str) -> Answer {
        let Step::Append { thread, expected, key, events, create } = step else {
            return Err("no append");
        };
        if !self.threads.contains_key(thread) && !create {
            return Err("not found");
        }
        if let Some((digest, first, last)) = key.and_then(|key| self.keys.get(&(*thread, key))) {
            return if digest == events { Ok((*first, *last, true)) } else { Err("reused") };
        }
        let head = self.threads.get(thread).map_or(0, Vec::len) as u64;
        if expected.is_some_and(|expected| expected != head) {
            return Err("conflict");
        }
        let names = self.threads.entry(*thread).or_default();
        names.extend((0..*events).map(|i| format!("{name}-{i}")));
        let (first, last) = (head + 1, head + u64::from(*events));
        if let Some(key) = key {
            self.keys.insert((*thread, *key), (*events, first, last));
        }
        Ok((first, last, false))
    }
}

fn kind(error: &AppendError) -> &'static str {
    match error {
        AppendError::NotFound => "not found",
        AppendError::KeyReused => "reused",
        AppendError::Conflict { .. } => "conflict",
        AppendError::Exists => "exists",
        AppendError::BadBranch { .. } => "bad branch",
        _ => "other",
    }
}

fn run(steps: &[Step]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let mut store = Store::open(&path, Options::default()).unwrap();
    let mut model = Model::default();
    for (i, step) in steps.iter().enumerate() {
        let name = format!("e{i}");
        match step {
            Step::Append { thread: t, expected, key, events, create } => {
                let drafts = (0..*events).map(|j| event(&format!("{name}-{j}"))).collect();
                let mut append = Append::new(thread(&t.to_string()), drafts);
                if *create {
                    append = append.creating(Create::IfMissing);
                }
                if let Some(expected) = expected {
                    append = append.expecting(*expected);
                }
                if let Some(key) = key {
                    append = append.keyed(Key { text: key.to_string(), digest: [*events; 32] });
                }
                let answer = runtime.block_on(store.append(append));
                let answer = answer.map(|a| (a.first, a.last, a.duplicate)).map_err(|e| kind(&e));
                assert_eq!(answer, model.append(step, &name), "step {i}: {step:?}");
            }
            Step::Branch { from, to, at } => {
                let parent = store.thread(&thread(&from.to_string())).unwrap();
                let names = model.threads.get(from);
                assert_eq!(parent.is_some(), names.is_some());
                let (Some(parent), Some(names)) = (parent, names) else { continue };
                let expected = if model.threads.contains_key(to) {
                    Err("exists")
                } else if *at > names.len() as u64 {
                    Err("bad branch")
                } else {
                    let mut shared = names[..*at as usize].to_vec();
                    shared.push(name.clone());
                    model.threads.insert(*to, shared);
                    Ok(at + 1)
                };
                let create = Create::Branch { from: parent, at: *at };
                let branch = Append::new(thread(&to.to_string()), vec![event(&name)]);
                let answer = runtime.block_on(store.append(branch.creating(create)));
                assert_eq!(answer.map(|a| a.first).map_err(|e| kind(&e)), expected, "step {i}");
            }
            Step::Settle => runtime.block_on(store.settle()).unwrap(),
            Step::Restart => {
                drop(store);
                store = Store::open(&path, Options::default()).unwrap();
            }
        }
    }
    for (id, expected) in &model.threads {
        let found = store.thread(&thread(&id.to_string())).unwrap().unwrap();
        assert_eq!(&names(&store, &found), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("SELVEDGE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(48)
    ))]
    #[test]
    fn any_sequence_of_operations_does_what_the_model_does(steps in prop::collection::vec(step(), 1..40)) {
        run(&steps);
    }
}
