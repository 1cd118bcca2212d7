//! Agents that call agents: never in a circle.

use std::collections::{HashMap, HashSet};

use super::{Check, shown};
use crate::config::plan::{Agent, Doer, Kind, Tool, Use};
use crate::config::source::join;

/// Names of a circle that are told.
const TOLD: usize = 10;

/// How far an agent was followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    OnTheWay,
    Done,
}

impl Check<'_> {
    /// Finds circles. Each agent is followed once and told once, so of circles that share agents
    /// not every one is told, but as long as there is one, one is.
    pub(super) fn cycles(&mut self, agents: &[Agent], tools: &[Tool]) {
        let calls: HashMap<&str, Vec<&str>> =
            agents.iter().map(|agent| (&*agent.id, called(agent, tools))).collect();
        let mut marks: HashMap<&str, Mark> = HashMap::new();
        let mut told = HashSet::new();
        for agent in agents {
            if marks.contains_key(&*agent.id) {
                continue;
            }
            marks.insert(&agent.id, Mark::OnTheWay);
            // Each agent on the way, and how many of those it calls were followed.
            let mut way = vec![(&*agent.id, 0)];
            while let Some((id, next)) = way.last_mut() {
                let Some(callee) = calls.get(id).and_then(|calls| calls.get(*next)).copied() else {
                    marks.insert(*id, Mark::Done);
                    way.pop();
                    continue;
                };
                *next += 1;
                match marks.get(callee) {
                    None if calls.contains_key(callee) => {
                        marks.insert(callee, Mark::OnTheWay);
                        way.push((callee, 0));
                    }
                    Some(Mark::OnTheWay) if told.insert(*id) => {
                        let circle = way.iter().map(|(id, _)| *id);
                        let circle: Vec<_> = circle.skip_while(|id| *id != callee).collect();
                        self.tell_circle(&circle);
                    }
                    _ => {}
                }
            }
        }
    }

    fn tell_circle(&mut self, circle: &[&str]) {
        let (Some(first), Some(last)) = (circle.first(), circle.last()) else { return };
        let mut names: Vec<_> = circle.iter().take(TOLD).map(|id| shown(id)).collect();
        if circle.len() > TOLD {
            names.push("…".to_owned());
        }
        names.push(shown(first));
        let message = format!("agents call each other in a circle: {}", names.join(" → "));
        let at = join(&join("/agents", last), "tools");
        self.page.error("config-cycle", &at, message);
    }
}

/// Whom an agent may call.
fn called<'a>(agent: &'a Agent, tools: &'a [Tool]) -> Vec<&'a str> {
    let (Kind::Model { work, .. } | Kind::Script { work, .. }) = &agent.kind else {
        return Vec::new();
    };
    let callee = |used: &'a Use| match used {
        Use::Agent(id) => Some(&**id),
        Use::Tool(name) => {
            let tool = tools.iter().find(|tool| tool.spec.name == *name)?;
            match &tool.doer {
                Doer::Agent(id) => Some(&**id),
                Doer::Http { .. } | Doer::Client => None,
            }
        }
        Use::BuiltIn(..) | Use::Server { .. } => None,
    };
    work.uses.iter().filter_map(callee).collect()
}
