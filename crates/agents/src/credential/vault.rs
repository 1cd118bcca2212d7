//! Where private keys and credentials are kept: sealed, beside the journal, for a time.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use selvedge_store::{Address, Addresses, Grant, KeyError, Vault as Rows};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::jwe::{Claims, NoKey, Pair, Refused};
use super::seal::{self, Seal};
use super::text::Given;
use super::{Credential, Need};

/// How often something wrong may come for one request.
const TRIES: u32 = 10;
/// Bytes of a credential.
const LONGEST: usize = 8 << 10;

/// Where the secret is that seals what is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Secret {
    /// In a file beside the store's, with `.secret` behind its name; made when it is first needed.
    #[default]
    Beside,
    /// In this file.
    File(PathBuf),
}

/// Why something could not be kept or read. Says nothing of any secret.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum VaultError {
    #[error("the secret that seals credentials cannot be read: {0}")]
    Secret(std::io::Error),
    #[error(transparent)]
    Rows(#[from] KeyError),
    #[error(transparent)]
    Key(#[from] NoKey),
    #[error("what is kept cannot be opened; was the secret replaced?")]
    Broken,
    #[error("the work was dropped")]
    Dropped,
}

/// Why a credential is not taken.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum ReceiveError {
    #[error("the key of this request is gone: its time has passed, or too much was tried")]
    Gone,
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("the request is for another user")]
    OtherUser,
    #[error("a credential is UTF-8 text of 1 to {LONGEST} bytes")]
    NoText,
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// A request for credentials: what the one that arrives is bound to.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Names the request.
    pub(crate) auth: String,
    /// The agent that asks.
    pub(crate) agent: String,
    /// What it opens, and for whom.
    pub(crate) grant: Grant,
    /// How long it is kept at most.
    pub(crate) keep: Duration,
    /// Until when the request stands, in milliseconds since 1970.
    pub(crate) expires: i64,
}

/// A credential that arrives.
#[derive(Debug, Clone)]
pub struct Arrived {
    /// The request it is for.
    pub auth: String,
    /// The thread's id.
    pub context: String,
    /// The thread's number in the store.
    pub thread: i64,
    /// Who gives it.
    pub user: String,
    /// The compact JWE.
    pub jwe: String,
}

/// Keys and credentials of a store. Clones share it; nothing is opened before it is needed.
#[derive(Clone)]
pub struct Vault {
    shared: Arc<Shared>,
}

struct Shared {
    address: Addresses,
    secret: Secret,
    opened: Mutex<Option<Arc<Opened>>>,
}

struct Opened {
    rows: Rows,
    seal: Seal,
}

impl Vault {
    /// Of the store at this address, or at these.
    pub fn new(at: impl Into<Addresses>, secret: Secret) -> Self {
        let shared = Shared { address: at.into(), secret, opened: Mutex::default() };
        Self { shared: Arc::new(shared) }
    }

    /// Makes the key of a request; tells its public half as a JWK.
    pub(crate) async fn new_key(&self, asked: Asked) -> Result<Value, VaultError> {
        self.with(move |opened| {
            let pair = Pair::new()?;
            let Asked { auth, agent, grant, keep, expires } = asked;
            // Bound here and not by what an event says: events can be written by others.
            let row = json!({
                "key": pair.bytes(),
                "agent": agent,
                "tool": grant.tool,
                "user": grant.user,
                "keep": keep.as_secs(),
            });
            let place = key_place(grant.thread, &auth);
            let sealed = opened.seal(&place, row.to_string().as_bytes())?;
            opened.rows.put_key(grant.thread, &auth, &sealed, expires)?;
            Ok(pair.jwk())
        })
        .await
    }

    /// Takes a credential that arrived for a request and keeps it under an id, which it tells.
    /// The request is not closed by that: whoever asks does, and [forgets](Self::forget) it if it
    /// was closed by someone else.
    pub async fn receive(&self, arrived: Arrived) -> Result<String, ReceiveError> {
        let received = self.with(move |opened| {
            let (thread, auth, now) = (arrived.thread, &*arrived.auth, now());
            let key = opened.rows.key(thread, auth, now)?.filter(|key| key.tries < TRIES);
            let Some(key) = key else { return Ok(Err(ReceiveError::Gone)) };
            let row = opened.open(&key_place(thread, auth), &key.sealed)?;
            let row: Row = serde_json::from_slice(&row).map_err(|_| VaultError::Broken)?;
            if !row.user.is_empty() && row.user != arrived.user {
                return Ok(Err(ReceiveError::OtherUser));
            }
            let claims = Claims { auth, context: &arrived.context, agent: Some(&row.agent) };
            let text = match read(&Pair::read(&row.key)?, &arrived.jwe, &claims, now) {
                Ok(text) => text,
                Err(error) => {
                    opened.rows.count_try(thread, auth)?;
                    return Ok(Err(error));
                }
            };
            let id = Uuid::now_v7().to_string();
            let keep = row.keep.saturating_mul(1000);
            let lasts = Given::read(&text).lasts(now).map_or(keep, |lasts| lasts.min(keep));
            let sealed = opened.seal(&credential_place(&id), text.as_bytes())?;
            let grant = Grant { thread, tool: row.tool, user: row.user };
            opened.rows.put_credential(&id, &grant, &sealed, now.saturating_add(lasts))?;
            Ok(Ok(id))
        });
        received.await?
    }

    /// A request was closed: its key has done its work.
    pub async fn done(&self, thread: i64, auth: &str) -> Result<(), VaultError> {
        let auth = auth.to_owned();
        self.with(move |opened| Ok(opened.rows.drop_key(thread, &auth)?)).await
    }

    /// Forgets a credential.
    pub async fn forget(&self, id: &str) -> Result<(), VaultError> {
        let id = id.to_owned();
        self.with(move |opened| Ok(opened.rows.drop_credential(&id)?)).await
    }

    /// Seals something for a place; it opens for no other.
    pub async fn seal(&self, place: String, text: Vec<u8>) -> Result<Vec<u8>, VaultError> {
        self.with(move |opened| opened.seal(&place, &text)).await
    }

    /// What was sealed for a place.
    pub async fn open(&self, place: String, sealed: Vec<u8>) -> Result<Vec<u8>, VaultError> {
        self.with(move |opened| opened.open(&place, &sealed)).await
    }

    /// A credential for one call, if it is kept and fits where it goes.
    pub(crate) async fn credential(
        &self,
        id: &str,
        grant: Grant,
        need: &Need,
    ) -> Result<Option<Credential>, VaultError> {
        let (id, place) = (id.to_owned(), need.place.clone());
        self.with(move |opened| {
            let Some(sealed) = opened.rows.credential(&id, &grant, now())? else { return Ok(None) };
            let text = opened.open(&credential_place(&id), &sealed)?;
            let text = String::from_utf8(text).map_err(|_| VaultError::Broken)?;
            Ok(Credential::new(id, &text, &place))
        })
        .await
    }

    /// Forgets what has ended. Needs no secret for that, so none is made.
    pub async fn sweep(&self) -> Result<(), VaultError> {
        let address = self.shared.address.clone();
        let work = tokio::task::spawn_blocking(move || Ok(Rows::open(address)?.sweep(now())?));
        work.await.unwrap_or(Err(VaultError::Dropped))
    }

    async fn with<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Opened) -> Result<T, VaultError> + Send + 'static,
    ) -> Result<T, VaultError> {
        let shared = self.shared.clone();
        let work = tokio::task::spawn_blocking(move || {
            let opened = shared.opened()?;
            run(&opened)
        });
        work.await.unwrap_or(Err(VaultError::Dropped))
    }
}

impl Shared {
    fn opened(&self) -> Result<Arc<Opened>, VaultError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &*opened {
            return Ok(opened.clone());
        }
        let secret = match &self.secret {
            Secret::Beside => match self.address.first() {
                Address::File(path) => seal::beside(path),
                // Nodes that share a database must share the secret, too.
                Address::Postgres(_) => Err(std::io::Error::other(
                    "a database has no file beside it: name one (`--secret-file`)",
                )),
            },
            Secret::File(path) => seal::read(path),
        };
        let seal = Seal::new(&secret.map_err(VaultError::Secret)?);
        let seal = seal.map_err(|_| VaultError::Broken)?;
        let new = Arc::new(Opened { rows: Rows::open(self.address.clone())?, seal });
        Ok(opened.insert(new).clone())
    }
}

impl Opened {
    fn seal(&self, place: &str, text: &[u8]) -> Result<Vec<u8>, VaultError> {
        self.seal.seal(place, text).map_err(|_| VaultError::Broken)
    }

    fn open(&self, place: &str, sealed: &[u8]) -> Result<Vec<u8>, VaultError> {
        self.seal.open(place, sealed).map_err(|_| VaultError::Broken)
    }
}

/// What is sealed of a request.
#[derive(Deserialize)]
struct Row {
    key: Vec<u8>,
    agent: String,
    tool: String,
    user: String,
    keep: i64,
}

/// The text of a credential.
fn read(pair: &Pair, jwe: &str, claims: &Claims<'_>, now: i64) -> Result<String, ReceiveError> {
    let text = String::from_utf8(pair.open(jwe, claims, now / 1000)?).ok();
    let text = text.filter(|text| (1..=LONGEST).contains(&text.trim().len()));
    text.ok_or(ReceiveError::NoText)
}

fn key_place(thread: i64, auth: &str) -> String {
    format!("key {thread} {auth}")
}

fn credential_place(id: &str) -> String {
    format!("credential {id}")
}

/// Milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
