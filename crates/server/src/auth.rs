//! Who is asking, and what they may.
//!
//! One authorizer stands before every route: [`guard`] finds out who asks ([`ring`] knows the keys,
//! [`token`] reads JWTs), whether that is enough for the route, and whether it is too often
//! ([`rate`]). What is answered piece by piece ends with the right to read it ([`leave`]).

pub(crate) mod guard;
mod leave;
mod provider;
pub(crate) mod rate;
pub(crate) mod ring;
pub(crate) mod token;

use std::sync::{Arc, LazyLock};

use selvedge_protocol::journal::Visibility;
use selvedge_store::{KeyHash, Share, ThreadKey};

/// What a caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everyone, without a key.
    Nobody,
    /// Read threads.
    Read,
    /// Whoever has the token of a share, which is in the path; keys neither help nor harm.
    Share,
    /// Append to threads. Does not include reading: a key that only writes gives nothing away.
    Write,
    /// Both read and write: what gives others a look needs one's own.
    Both,
    /// Work as an agent: claim tasks, and all that readers and writers may.
    Agent,
    /// Everything within the tenant, and see everything.
    Operator,
}

impl Scope {
    /// Those that a key can have.
    pub const GRANTED: [Self; 4] = [Self::Read, Self::Write, Self::Agent, Self::Operator];

    /// Its name, as keys and tokens say it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nobody => "none",
            Self::Share => "share",
            Self::Both => "read+write",
            Self::Read => "read",
            Self::Write => "write",
            Self::Agent => "agent",
            Self::Operator => "operator",
        }
    }

    /// The scope of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::GRANTED.into_iter().find(|scope| scope.name() == name)
    }

    /// Whether whoever has this scope may do what needs the other.
    pub fn includes(self, needed: Self) -> bool {
        match (self, needed) {
            (_, Self::Nobody) | (Self::Operator, _) => true,
            (Self::Agent, Self::Read | Self::Write | Self::Both) => true,
            (own, needed) => own == needed,
        }
    }
}

/// Whoever makes a request.
#[derive(Debug, Clone)]
pub(crate) struct Principal {
    pub(crate) tenant: Arc<str>,
    pub(crate) sees: Visibility,
    /// What they may do.
    pub(crate) scopes: Arc<[Scope]>,
    /// What logs and rates know them by; no secret.
    pub(crate) name: Arc<str>,
    pub(crate) pass: Pass,
    /// When that ends by itself, in milliseconds since 1970.
    pub(crate) expires: Option<i64>,
    /// Whom a token was made for.
    pub(crate) subject: Option<Arc<str>>,
    /// The one thing they may read, if they came by a share.
    pub(crate) share: Option<Arc<Share>>,
}

/// What a caller was let in by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pass {
    /// There are no keys.
    Open,
    /// The key of this hash.
    Key(KeyHash),
    /// A token, which nobody can revoke before it ends.
    Token,
    /// The share whose token has this hash.
    Share(KeyHash),
}

impl Principal {
    /// Whoever asks where no keys are configured.
    pub(crate) fn anyone() -> Self {
        static ANYONE: LazyLock<Principal> = LazyLock::new(|| {
            Principal::new(
                "default".into(),
                Arc::new([Scope::Operator]),
                "anyone".into(),
                Pass::Open,
            )
        });
        ANYONE.clone()
    }

    /// Someone with these scopes. Only operators see more than participants do.
    fn new(tenant: Arc<str>, scopes: Arc<[Scope]>, name: Arc<str>, pass: Pass) -> Self {
        let sees = if scopes.contains(&Scope::Operator) {
            Visibility::Internal
        } else {
            Visibility::Participants
        };
        Self { tenant, sees, scopes, name, pass, expires: None, subject: None, share: None }
    }

    /// Whoever has a share's token: no scope, one thread, up to one point.
    pub(crate) fn of_share(share: Share) -> Self {
        let (tenant, name) = (share.made.tenant.as_str().into(), format!("share:{}", share.id));
        let mut own = Self::new(tenant, Arc::new([]), name.into(), Pass::Share(share.hash));
        own.expires = share.made.expires;
        own.share = Some(Arc::new(share));
        own
    }

    /// Whether they may do what needs a scope.
    pub(crate) fn may(&self, needed: Scope) -> bool {
        if needed == Scope::Both {
            return self.may(Scope::Read) && self.may(Scope::Write);
        }
        needed == Scope::Nobody || self.scopes.iter().any(|own| own.includes(needed))
    }

    /// Whether they can only be an agent: they may write because they may work, and for no other
    /// reason.
    pub(crate) fn is_agent(&self) -> bool {
        let other = [Scope::Write, Scope::Operator];
        self.scopes.contains(&Scope::Agent) && !other.iter().any(|s| self.scopes.contains(s))
    }

    /// A thread of the caller's own tenant.
    pub(crate) fn thread(&self, id: &str) -> ThreadKey {
        ThreadKey::new(self.tenant.clone(), id)
    }
}
