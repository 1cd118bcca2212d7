//! How urgent an answer is.

use super::Event;

/// How urgent an answer is, from what can wait longest: `metadata.urgency` of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Urgency {
    /// Whenever there is time.
    Low,
    /// As usual; so is what says nothing.
    #[default]
    Medium,
    /// Now.
    High,
}

impl Urgency {
    /// All of them, in order.
    pub const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// The urgency of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|urgency| urgency.name() == name)
    }

    /// Its place in the order.
    pub fn rank(self) -> i64 {
        self as i64
    }

    /// The urgency at a place of that order.
    pub fn ranked(rank: i64) -> Self {
        let known = usize::try_from(rank).ok().and_then(|rank| Self::ALL.get(rank));
        known.copied().unwrap_or_default()
    }

    /// How urgent the answer to a question is.
    pub fn of_event(event: &Event<'_>) -> Self {
        let named = event.at("metadata", "/urgency");
        named.and_then(|name| Self::named(&name.str()?)).unwrap_or_default()
    }
}
