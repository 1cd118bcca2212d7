//! Making a request fit what a model takes. The journal stays as it is; only what is sent is less.

use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::Raw;
use selvedge_protocol::perspective::{History, View};

use super::Turn;
use super::measure::weight;
use crate::agent::Mind;
use crate::model::{Request, ToolSpec};

/// How large a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) bytes: usize,
    pub(super) tokens: u64,
}

/// What is sent of a history.
#[derive(Default)]
pub(super) struct Fitted {
    /// The shorter one, if it had to be.
    pub(super) history: Option<History>,
    /// Tools' results and other actions that were left out.
    pub(super) left_out: (usize, usize),
    /// How large the request is, where that matters.
    pub(super) size: Option<Size>,
    /// Tokens that may go in, if it still does not fit.
    pub(super) exceeds: Option<u64>,
}

impl Turn {
    /// A request to a mind, made from a history.
    pub(super) fn request<'a>(
        &'a self,
        history: &'a History,
        tools: &'a [ToolSpec],
        iteration: u32,
    ) -> Request<'a> {
        Request {
            history,
            view: View::Agent(&self.agent.id, self.agent.policy),
            system: self.agent.system.as_deref(),
            tools,
            settings: &self.agent.settings,
            iteration,
            heard: self.heard,
        }
    }

    /// How large a request would be.
    pub(super) fn size(&self, mind: &dyn Mind, history: &History, tools: &[ToolSpec]) -> Size {
        let request = self.request(history, tools, self.progress.iterations + 1);
        let bytes = weight(&mind.written(&request));
        Size { bytes, tokens: self.measure.tokens(mind.name(), bytes) }
    }

    /// As much of the history as a mind takes.
    pub(super) fn fit(&self, mind: &dyn Mind, tools: &[ToolSpec]) -> Fitted {
        let (terms, shortens) = (mind.terms(), self.progress.shortens);
        if !terms.is_known() && !shortens {
            return Fitted::default();
        }
        let whole = self.size(mind, &self.history, tools);
        // A model that refused what should have fitted is asked with half as much.
        let half = || self.progress.estimate.unwrap_or(whole.tokens) / 2;
        let room = match (terms.room(), shortens) {
            (room, false) => room,
            (room, true) => Some(room.unwrap_or(u64::MAX).min(half())),
        };
        let Some(room) = room.filter(|room| whole.tokens > *room) else {
            return Fitted { size: Some(whole), ..Fitted::default() };
        };
        let cuts = self.history.cuts(self.heard);
        let shorter = |steps: usize| {
            let history = self.history.without(&cuts, steps);
            let size = self.size(mind, &history, tools);
            (history, size)
        };
        // The fewest steps that are enough: each makes it shorter.
        let (mut few, mut enough) = (0, cuts.len());
        let mut found = shorter(enough);
        let fits = found.1.tokens <= room;
        while fits && enough - few > 1 {
            let middle = few + (enough - few) / 2;
            let tried = shorter(middle);
            if tried.1.tokens <= room {
                (enough, found) = (middle, tried);
            } else {
                few = middle;
            }
        }
        // What the model refused was only said to be too long: less of it may do.
        let is_less = shortens && found.1.tokens < whole.tokens;
        Fitted {
            left_out: cuts.count(enough),
            size: Some(found.1),
            exceeds: (!fits && !is_less).then_some(room),
            history: Some(found.0),
        }
    }
}

impl Fitted {
    /// Tells operators what was left out, if something was.
    pub(super) fn told(&self, iteration: u32) -> Option<Event<'static>> {
        let (results, actions) = self.left_out;
        if self.left_out == (0, 0) {
            return None;
        }
        let reasoning = format!(
            "The history is too long for the model: {results} results of tools and {actions} \
             messages, calls and thoughts are left out, the oldest first."
        );
        let state = format!("{{\"resultsLeftOut\":{results},\"actionsLeftOut\":{actions}}}");
        let told = Event::new(Kind::InternalThoughtProcess)
            .with("iteration", Raw::owned(iteration.to_string()))
            .with("stage", Raw::Ref("\"pre-llm\""))
            .with_str("reasoning", &reasoning)
            .with("state", Raw::owned(state));
        Some(told)
    }
}
