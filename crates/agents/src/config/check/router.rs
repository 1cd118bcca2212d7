//! `[router]` and `[budget]`.

use std::collections::BTreeSet;

use selvedge_protocol::dialect::envelope::route::{Family, Policy};

use super::Check;
use crate::config::file::{self, Budget, Names};
use crate::config::plan::{Agent, Kind, Model, Router};
use crate::config::source::join;

impl Check<'_> {
    /// Where envelopes go: the document's rules, and over them those of the file.
    pub(super) fn router(&mut self, agents: &[Agent], models: &[Model]) -> Router {
        let said: file::Router = self.page.table("/router").unwrap_or_default();
        let known = self.names("agents");
        let usual = Policy::default();
        let mut rules = Vec::new();
        for (intent, family) in &usual.rules {
            let agent = agents.iter().find(|agent| family_of(agent, models) == Some(*family));
            rules.extend(agent.map(|agent| (intent.clone(), vec![agent.id.clone()])));
        }
        for (intent, names) in &said.rules {
            let at = join("/router/rules", intent.name());
            for (i, name) in names.all().iter().enumerate() {
                let at = match names {
                    Names::One(_) => at.clone(),
                    Names::Several(_) => format!("{at}/{i}"),
                };
                if !known.contains(name) {
                    self.unknown(&at, "agent", name, &known);
                }
            }
            rules.retain(|(usual, _)| usual != intent.name());
            rules.push((intent.name().to_owned(), names.all().to_vec()));
        }
        let hops = said.hops.map_or(usual.hop_limit, |hops| hops as usize);
        Router { rules, threshold: said.threshold.unwrap_or(usual.threshold), hops }
    }

    /// What may be spent. Who counts money must know prices.
    pub(super) fn budget(&mut self, agents: &[Agent], models: &[Model]) -> Budget {
        let budget: Budget = self.page.table("/budget").unwrap_or_default();
        let all = [&budget.thread, &budget.task, &budget.agent];
        let everyone = all.iter().any(|bounds| bounds.cost.is_some());
        let mut priced = BTreeSet::new();
        for agent in agents {
            let own = agent.budget.as_ref().is_some_and(|bounds| bounds.cost.is_some());
            if let Kind::Model { models, .. } = &agent.kind
                && (own || everyone)
            {
                priced.extend(models.iter().map(String::as_str));
            }
        }
        for model in models.iter().filter(|model| priced.contains(&*model.name)) {
            if self.page.lacks(&join(&join("/models", &model.name), "price")) {
                let message = "a budget counts money, and `price` is missing";
                self.page.error_of_name("config-price", &join("/models", &model.name), message);
            }
        }
        budget
    }
}

/// The family of the model that an agent thinks with.
fn family_of(agent: &Agent, models: &[Model]) -> Option<Family> {
    let Kind::Model { models: names, .. } = &agent.kind else { return None };
    let model = models.iter().find(|model| Some(&model.name) == names.first())?;
    Family::of_model(&model.model)
}
