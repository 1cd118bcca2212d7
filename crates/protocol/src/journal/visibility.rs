//! Who may see an event.

use super::Event;
use crate::json::Node;

/// Who may see something, from the widest circle to the narrowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Visibility {
    /// Anyone.
    Public,
    /// Whoever takes part in the thread.
    Participants,
    /// Whoever runs the place.
    Operator,
    /// Nobody without the operator's grant.
    Internal,
}

impl Visibility {
    /// All of them, from the widest circle to the narrowest.
    pub const ALL: [Self; 4] = [Self::Public, Self::Participants, Self::Operator, Self::Internal];

    /// Its place in that order.
    pub fn rank(self) -> i64 {
        self as i64
    }

    /// The visibility at a place of that order; the narrowest beyond.
    pub fn ranked(rank: i64) -> Self {
        let known = usize::try_from(rank).ok().and_then(|rank| Self::ALL.get(rank));
        known.copied().unwrap_or(Self::Internal)
    }

    /// The visibility of that name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "public" => Self::Public,
            "participants" => Self::Participants,
            "operator" => Self::Operator,
            "internal" => Self::Internal,
            _ => return None,
        })
    }

    /// Who may see an event: what it says, but never more than its kind allows.
    pub fn of(event: Node<'_, '_>, kind: &str) -> Self {
        if kind.starts_with("internal:") {
            return Self::Internal;
        }
        let own = event.get("visibility").and_then(Node::str);
        own.and_then(|name| Self::named(&name)).unwrap_or(Self::Participants)
    }

    /// The same, of an event that was read.
    pub fn of_event(event: &Event<'_>) -> Self {
        if event.name().starts_with("internal:") {
            return Self::Internal;
        }
        let own = event.str("visibility");
        own.and_then(|name| Self::named(&name)).unwrap_or(Self::Participants)
    }
}
