//! The keys that are valid now, and noticing when that changes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use selvedge_store::{ApiKey, KeyError, KeyHash, Keys, Shares};
use tokio::sync::watch;

use super::token::{TokenError, Tokens};
use super::{Pass, Principal, Scope};
use crate::clock::now;
use crate::{Error, ErrorCode};

/// How often changes are looked for.
const PERIOD: Duration = Duration::from_millis(400);
/// How much the clocks of nodes may differ, in milliseconds.
const SKEW: i64 = 600_000;
/// How often a key set is fetched, and how often at most when a key is missing.
const REFETCH: Duration = Duration::from_secs(300);
const REFETCH_SOON: Duration = Duration::from_secs(5);

/// What is valid at one time.
pub(crate) struct Ring {
    changes: i64,
    /// Keys that were not revoked, expired ones included.
    keys: HashMap<KeyHash, Principal>,
    /// Whether there ever was a key. Revoking the last does not open the doors.
    configured: bool,
    tokens: Option<Arc<Tokens>>,
}

impl Ring {
    fn new(keys: Vec<ApiKey>, changes: i64, tokens: Option<Arc<Tokens>>) -> Self {
        let configured = !keys.is_empty();
        let valid = keys.into_iter().filter(|key| key.revoked.is_none());
        let keys = valid.map(|key| (key.hash, principal(key))).collect();
        Self { changes, keys, configured, tokens }
    }

    /// Whether everyone may do everything.
    pub(crate) fn is_open(&self) -> bool {
        !self.configured && self.tokens.is_none()
    }

    /// Whoever sends this key or token.
    pub(crate) fn principal(&self, secret: &str, now: i64) -> Result<Principal, Error> {
        let hash = KeyHash::of(secret);
        // Found by its hash, which a caller cannot steer towards another's, and then compared in
        // constant time.
        let key = self.keys.get_key_value(&hash).filter(|(known, _)| **known == hash);
        match (key, &self.tokens) {
            (Some((_, principal)), _) if is_over(principal, now) => {
                Err(Error::new(ErrorCode::Unauthorized, "the key has expired"))
            }
            (Some((_, principal)), _) => Ok(principal.clone()),
            (None, Some(tokens)) if secret.contains('.') => tokens.principal(secret),
            _ => Err(Error::new(ErrorCode::Unauthorized, "the key is not valid")),
        }
    }

    /// Whether someone who was let in may stay.
    pub(super) fn admits(&self, pass: &Pass) -> bool {
        match pass {
            Pass::Open => self.is_open(),
            Pass::Key(hash) => self.keys.contains_key(hash),
            Pass::Token => self.tokens.is_some(),
            // Those who came by a share do not come by the ring.
            Pass::Share(_) => true,
        }
    }
}

fn is_over(principal: &Principal, now: i64) -> bool {
    principal.expires.is_some_and(|at| at <= now)
}

fn principal(key: ApiKey) -> Principal {
    // A scope of a later version grants nothing here.
    let scopes: Arc<[Scope]> = key.made.scopes.iter().filter_map(|s| Scope::named(s)).collect();
    let pass = Pass::Key(key.hash);
    let mut principal = Principal::new(key.made.tenant.into(), scopes, key.id.into(), pass);
    principal.expires = key.made.expires;
    principal
}

/// Who may come in, kept up to date.
pub(crate) struct Gate {
    keys: Arc<Keys>,
    ring: watch::Sender<Arc<Ring>>,
    shares: Arc<Shares>,
    /// Shares that were revoked since the start; what was revoked before lets nobody in.
    revoked: watch::Sender<HashSet<KeyHash>>,
}

impl Gate {
    /// Reads the keys. Blocks for the disk.
    pub(crate) fn open(
        keys: Keys,
        shares: Shares,
        tokens: Option<Tokens>,
    ) -> Result<Self, KeyError> {
        let ring = watch::Sender::new(Arc::new(read(&keys, tokens.map(Arc::new))?));
        Ok(Self {
            keys: Arc::new(keys),
            ring,
            shares: Arc::new(shares),
            revoked: watch::Sender::default(),
        })
    }

    /// The shares. They block for the disk.
    pub(crate) fn shares(&self) -> &Shares {
        &self.shares
    }

    /// Ends what is open by a share that was revoked.
    pub(crate) fn revoked(&self, share: KeyHash) {
        self.revoked.send_modify(|revoked| {
            revoked.insert(share);
        });
    }

    /// Shares that were revoked, as it happens.
    pub(super) fn watch_shares(&self) -> watch::Receiver<HashSet<KeyHash>> {
        self.revoked.subscribe()
    }

    /// What is valid now.
    pub(crate) fn ring(&self) -> Arc<Ring> {
        self.ring.borrow().clone()
    }

    /// What is valid, as it changes.
    pub(super) fn watch(&self) -> watch::Receiver<Arc<Ring>> {
        self.ring.subscribe()
    }

    /// Fetches the key set, if it is at an address.
    pub(crate) async fn fetch(&self) -> Result<(), TokenError> {
        let Some(tokens) = self.ring().tokens.clone().filter(|known| known.address().is_some())
        else {
            return Ok(());
        };
        let tokens = Arc::new(tokens.fetched().await?);
        self.ring.send_modify(|ring| {
            let Ring { changes, keys, configured, .. } = &**ring;
            let (changes, keys, configured) = (*changes, keys.clone(), *configured);
            *ring = Arc::new(Ring { changes, keys, configured, tokens: Some(tokens) });
        });
        Ok(())
    }

    /// Fetches the key set from time to time, and soon after a token named a key that is missing.
    async fn refetch(&self) {
        let mut fetched = Instant::now();
        loop {
            tokio::time::sleep(PERIOD).await;
            let ring = self.ring();
            let Some(tokens) = &ring.tokens else { continue };
            let age = fetched.elapsed();
            if age >= REFETCH || (tokens.missed() && age >= REFETCH_SOON) {
                fetched = Instant::now();
                if let Err(error) = self.fetch().await {
                    tracing::warn!(%error, "the key set is used as it was");
                }
            }
        }
    }

    /// Looks for changes for ever.
    pub(crate) async fn keep(&self) {
        tokio::join!(self.watch_keys(), self.refetch());
    }

    /// Notices shares that another node revoked.
    pub(crate) async fn watch_revoked(&self) {
        let mut period = tokio::time::interval(PERIOD);
        // The clocks of nodes may differ.
        let since = now() - SKEW;
        loop {
            period.tick().await;
            let shares = self.shares.clone();
            match tokio::task::spawn_blocking(move || shares.revoked_since(since)).await {
                Ok(Ok(found)) => {
                    self.revoked.send_if_modified(|known| {
                        let before = known.len();
                        known.extend(found);
                        known.len() > before
                    });
                }
                Ok(Err(error)) => tracing::warn!(%error, "shares could not be read"),
                Err(error) => tracing::error!(%error, "shares could not be read"),
            }
        }
    }

    async fn watch_keys(&self) {
        let mut period = tokio::time::interval(PERIOD);
        loop {
            period.tick().await;
            let (keys, ring) = (self.keys.clone(), self.ring());
            match tokio::task::spawn_blocking(move || look(&keys, &ring)).await {
                Ok(Ok(Some(mut ring))) => {
                    tracing::info!(keys = ring.keys.len(), "keys changed");
                    self.ring.send_modify(|known| {
                        // A key set may have been fetched meanwhile.
                        if known.tokens.as_ref().is_some_and(|tokens| tokens.address().is_some()) {
                            ring.tokens = known.tokens.clone();
                        }
                        *known = Arc::new(ring);
                    });
                }
                Ok(Ok(None)) => {}
                // What is known stays valid: a full disk must not lock everyone out.
                Ok(Err(error)) => tracing::warn!(%error, "keys could not be read"),
                Err(error) => tracing::error!(%error, "keys could not be read"),
            }
        }
    }
}

/// The keys, if something changed since.
fn look(keys: &Keys, ring: &Ring) -> Result<Option<Ring>, KeyError> {
    let tokens = ring.tokens.as_ref().and_then(|tokens| tokens.reloaded());
    if tokens.is_none() && keys.changes()? == ring.changes {
        return Ok(None);
    }
    let tokens = tokens.map(Arc::new).or_else(|| ring.tokens.clone());
    read(keys, tokens).map(Some)
}

fn read(keys: &Keys, tokens: Option<Arc<Tokens>>) -> Result<Ring, KeyError> {
    // In this order: a change in between is found again.
    let changes = keys.changes()?;
    Ok(Ring::new(keys.list()?, changes, tokens))
}
