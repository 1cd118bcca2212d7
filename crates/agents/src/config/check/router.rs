//! `[router]` and `[budget]`.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_protocol::dialect::envelope::route::{Family, Lineage};

use super::Check;
use crate::config::file::{self, Budget};
use crate::config::plan::{Agent, Kind, Model};
use crate::config::source::join;
use crate::router::{NextActions, Rules};

impl Check<'_> {
    /// Where envelopes go: the document's rules, and over them those of the file.
    pub(super) fn router(&mut self, agents: &[Agent], models: &[Model]) -> Rules {
        let said: file::Router = self.page.table("/router").unwrap_or_default();
        let known = self.names("agents");
        let usual = Rules::default();
        let mut rules = BTreeMap::new();
        for (intent, name) in usual.agents {
            let family = Family::of_model(&name);
            let named = agents.iter().find(|agent| agent.id == name);
            let of_family = || agents.iter().find(|agent| family_of(agent, models) == family);
            rules.extend(named.or_else(of_family).map(|agent| (intent, agent.id.clone())));
        }
        for (intent, agent) in said.rules {
            if !known.contains(&agent) {
                self.unknown(&join("/router/rules", intent.name()), "agent", &agent, &known);
            }
            rules.insert(intent.name().to_owned(), agent);
        }
        Rules {
            agents: rules,
            threshold: said.threshold.unwrap_or(usual.threshold),
            hops: said.hops.unwrap_or(usual.hops),
            tasks: said.tasks.unwrap_or(usual.tasks),
            next_actions: match said.next_actions {
                file::NextActions::Claim => NextActions::Claim,
                file::NextActions::Queue => NextActions::Queue,
            },
            lineage: match said.mode {
                file::Mode::Parent => Lineage::Parent,
                file::Mode::MuxV1 => Lineage::MuxV1,
            },
        }
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
