//! A history made shorter, for a model that does not take all of it.
//!
//! Invariant: a call and its return, and all that one model call made, are left out together;
//! system prompts, instructions, and the message that is answered now stay.

use std::collections::{HashMap, HashSet};

use super::history::{History, Item};
use crate::journal::transcript::{Action, ActionKind};
use crate::json::Raw;

/// Stands for a tool's result that was left out.
const NOTE: &str = "\"[left out: the conversation is too long]\"";

/// What can be left out of a history, what is missed least first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cuts {
    list: Vec<Cut>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Cut {
    /// The result of a tool, which is an action.
    Result(usize),
    /// Items, by their places.
    Items(Vec<usize>),
}

impl Cuts {
    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether nothing can be left out.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Of the first so many steps: results, and actions that are left out.
    pub fn count(&self, steps: usize) -> (usize, usize) {
        self.list.iter().take(steps).fold((0, 0), |(results, items), cut| match cut {
            Cut::Result(_) => (results + 1, items),
            Cut::Items(list) => (results, items + list.len()),
        })
    }
}

impl History {
    /// What can be left out where the action `now` is the message that is answered: tools' results
    /// from before it, then all that was said before it, then results from after it but for those
    /// that no model has seen.
    pub fn cuts(&self, now: usize) -> Cuts {
        let actions = self.transcript.actions();
        let result = |index: usize| {
            let action = actions.get(index)?;
            let long = action.get("result").is_some_and(|result| result.len() > NOTE.len() * 2);
            (action.kind == ActionKind::ToolReturn && long).then_some(Cut::Result(index))
        };
        let mut list: Vec<Cut> = (0..now.min(actions.len())).filter_map(result).collect();
        list.extend(self.exchanges(now).into_iter().map(Cut::Items));
        let seen = actions.iter().rposition(|action| action.kind == ActionKind::ToolCall);
        let last = seen.and_then(|at| actions.get(at)).map_or(0, |call| call.step);
        let unseen = |index: usize| {
            let call = actions.get(index).and_then(|a| actions.get(a.counterpart?));
            call.is_none_or(|call| call.step == last)
        };
        let own = (now..actions.len()).filter(|index| !unseen(*index));
        list.extend(own.filter_map(result));
        Cuts { list }
    }

    /// The same without the first so many of what can be left out.
    #[must_use]
    pub fn without(&self, cuts: &Cuts, steps: usize) -> Self {
        let mut short = self.clone();
        let mut gone: HashSet<usize> = HashSet::new();
        for cut in cuts.list.iter().take(steps) {
            match cut {
                Cut::Result(action) => short.transcript.put(*action, "result", Raw::Ref(NOTE)),
                Cut::Items(items) => gone.extend(items),
            }
        }
        let mut place = 0..;
        short.items.retain(|_| place.next().is_none_or(|place| !gone.contains(&place)));
        short
    }

    /// What was said before an action, in stretches that begin with a user's message, each with all
    /// that belongs to it.
    fn exchanges(&self, now: usize) -> Vec<Vec<usize>> {
        let actions = self.transcript.actions();
        let group = groups(actions);
        let group_at = |place: usize| {
            let index = self.items.get(place).and_then(action_of)?;
            group.get(index).copied()
        };
        let mut places: HashMap<usize, Vec<usize>> = HashMap::new();
        for place in 0..self.items.len() {
            places.entry(group_at(place).unwrap_or(usize::MAX)).or_default().push(place);
        }
        let end = self.items.iter().position(|item| action_of(item) == Some(now)).unwrap_or(0);
        let mut out: Vec<Vec<usize>> = Vec::new();
        for (place, item) in self.items.iter().enumerate().take(end) {
            let begins = action_of(item)
                .and_then(|index| actions.get(index))
                .is_some_and(|action| action.kind == ActionKind::UserMessage);
            if begins || out.is_empty() {
                out.push(Vec::new());
            }
            let Some(stretch) = out.last_mut() else { continue };
            match group_at(place) {
                // Taken once, with all that belongs to it.
                Some(group) => stretch.extend(places.remove(&group).unwrap_or_default()),
                None if matches!(item, Item::Prompt { .. } | Item::Instructions(_)) => {}
                None => stretch.push(place),
            }
        }
        out.retain(|stretch| !stretch.is_empty());
        out
    }
}

/// Which actions belong together: those of one model call, and calls with their returns. Each has
/// the number of one of its group.
fn groups(actions: &[Action]) -> Vec<usize> {
    let mut of: Vec<usize> = (0..actions.len()).collect();
    let mut first: HashMap<u32, usize> = HashMap::new();
    for (index, action) in actions.iter().enumerate() {
        if action.step > 0 {
            join(&mut of, index, *first.entry(action.step).or_insert(index));
        }
        if let Some(other) = action.counterpart {
            join(&mut of, index, other);
        }
    }
    (0..actions.len()).map(|index| root(&mut of, index)).collect()
}

fn join(of: &mut [usize], left: usize, right: usize) {
    let (left, right) = (root(of, left), root(of, right));
    if let Some(own) = of.get_mut(left) {
        *own = right;
    }
}

fn root(of: &mut [usize], index: usize) -> usize {
    let mut at = index;
    while let Some(&next) = of.get(at) {
        if next == at {
            break;
        }
        // Halves the way for whoever comes next.
        let beyond = of.get(next).copied().unwrap_or(next);
        if let Some(own) = of.get_mut(at) {
            *own = beyond;
        }
        at = next;
    }
    at
}

fn action_of(item: &Item) -> Option<usize> {
    match item {
        Item::Action { index, .. } => Some(*index),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Event;
    use crate::json::Doc;
    use crate::perspective::{Policy, View, openai};

    fn history(events: &[String]) -> History {
        let mut history = History::new();
        for text in events {
            let doc = Doc::parse(text).unwrap();
            history.apply(&Event::parse(doc.root()).unwrap());
        }
        history
    }

    fn said(text: &str) -> String {
        format!(r#"{{"kind":"message","role":"user","content":"{text}"}}"#)
    }

    fn turn(task: &str, call: &str, result: &str) -> Vec<String> {
        let event = |body: &str| format!(r#"{{"taskId":"{task}","agentId":"ada",{body}}}"#);
        vec![
            event(r#""kind":"step-started""#),
            event(&format!(
                r#""kind":"tool-call","toolCallId":"{call}","toolName":"f","arguments":{{}}"#
            )),
            event(r#""kind":"step-finished""#),
            event(&format!(
                r#""kind":"tool-complete","toolCallId":"{call}","toolName":"f","success":true,"result":"{result}""#
            )),
        ]
    }

    fn shown(history: &History) -> String {
        openai(history, View::Agent("ada", Policy::default()), Some("be kind"))
    }

    #[test]
    fn old_results_go_first_then_old_messages_then_own_results_and_pairs_stay_whole() {
        let long = "x".repeat(500);
        let mut events = vec![said("first")];
        events.extend(turn("a", "c1", &format!("one{long}")));
        events.push(said("second"));
        events.extend(turn("b", "c2", &format!("two{long}")));
        events.push(said("third"));
        events.extend(turn("c", "c3", &format!("three{long}")));
        events.extend(turn("c", "c4", &format!("four{long}")));
        let history = history(&events);
        let now = history.transcript.actions().iter().position(|a| a.text() == "third").unwrap();
        let cuts = history.cuts(now);
        let has = |steps: usize, words: &[&str]| {
            let text = shown(&history.without(&cuts, steps));
            words.iter().map(|word| text.contains(word)).collect::<Vec<_>>()
        };
        let words = ["one", "two", "first", "second", "three", "third", "four", "be kind"];
        let (t, f) = (true, false);
        assert_eq!(cuts.len(), 5);
        assert_eq!(has(0, &words), [t, t, t, t, t, t, t, t]);
        assert_eq!(has(1, &words), [f, t, t, t, t, t, t, t]);
        assert_eq!(has(2, &words), [f, f, t, t, t, t, t, t]);
        assert_eq!(has(3, &words), [f, f, f, t, t, t, t, t]);
        assert_eq!(has(4, &words), [f, f, f, f, t, t, t, t]);
        assert_eq!(has(5, &words), [f, f, f, f, f, t, t, t]);
        for steps in 0..=5 {
            let text = shown(&history.without(&cuts, steps));
            for call in ["c1", "c2", "c3", "c4"] {
                let count = text.matches(&format!("\"{call}\"")).count();
                assert!(count == 0 || count == 2, "{call} after {steps}: {text}");
            }
        }
        assert_eq!(cuts.count(3), (2, 3));
        assert_eq!(shown(&history), shown(&history.without(&cuts, 0)));
    }

    #[test]
    fn a_call_whose_return_came_after_the_next_message_goes_with_it() {
        let mut events = vec![said("first")];
        let mut first = turn("a", "c1", "late");
        let late = first.pop().unwrap();
        events.extend(first);
        events.push(said("now"));
        events.push(late);
        let history = history(&events);
        let now = history.transcript.actions().iter().position(|a| a.text() == "now").unwrap();
        let cuts = history.cuts(now);
        let text = shown(&history.without(&cuts, cuts.len()));
        assert!(!text.contains("c1") && !text.contains("late") && text.contains("now"), "{text}");
    }
}
