//! Credentials of users: what a tool needs, how they arrive, where they are kept.
//!
//! A tool says what it [needs](Need). The user's client encrypts it for one request ([`jwe`]), the
//! [`Vault`] keeps it sealed, and the tool gets it as a [`Credential`] with one call.
//!
//! Invariant: no credential and no private key is in a journal, a log or an error.

pub mod jwe;
mod seal;
mod text;
mod vault;

pub use text::BadTemplate;
pub(crate) use text::check as check_template;
pub(crate) use vault::Asked;
pub use vault::{Arrived, ReceiveError, Secret, Vault, VaultError};

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};

/// How long a request for credentials stands, and its key.
pub const LIFE: Duration = Duration::from_secs(15 * 60);
/// How often one call asks.
pub(crate) const ROUNDS: usize = 3;
/// The shortest secret that is struck from what a tool says: shorter ones are in every word.
const SHORTEST: usize = 6;

/// What a tool needs from the user before it can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// What it opens: one credential serves all tools of this name in a thread.
    pub name: String,
    /// Of which sort it is: the document's `authType`.
    pub kind: AuthKind,
    /// Who gives it out.
    pub provider: Option<String>,
    /// What it must allow.
    pub scopes: Vec<String>,
    /// What the user is told.
    pub prompt: String,
    /// Where the user gets it.
    pub auth_url: Option<String>,
    /// For OAuth 2: where a client begins.
    pub authorization_endpoint: Option<String>,
    /// For OAuth 2: as whom.
    pub client_id: Option<String>,
    /// For keys: where one reads about them.
    pub info_url: Option<String>,
    /// Where it goes.
    pub place: Place,
    /// How long it is kept, if it does not say itself that it ends before.
    pub keep: Duration,
}

/// The sort of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the document's words")]
pub enum AuthKind {
    OAuth2,
    ApiKey,
    Pat,
    Password,
    Biometric,
    Custom,
}

impl AuthKind {
    /// Its name in `auth-required`.
    pub fn name(self) -> &'static str {
        match self {
            Self::OAuth2 => "oauth2",
            Self::ApiKey => "api-key",
            Self::Pat => "pat",
            Self::Password => "password",
            Self::Biometric => "biometric",
            Self::Custom => "custom",
        }
    }
}

/// Where a credential goes. Templates have `{credential}` for it, `{basic}` for a name and a
/// password as `Basic` takes them, and `{name}` for a member of one that is an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Into a header.
    Header(HeaderName, String),
    /// Into the query.
    Query(String, String),
}

/// A credential for one call.
#[derive(Clone)]
pub struct Credential {
    /// Names it where it is kept. No secret.
    pub(crate) id: String,
    pub(crate) sent: Sent,
    /// Texts that must not be seen.
    secrets: Arc<[String]>,
    refused: Arc<AtomicBool>,
}

/// A credential as it is sent.
#[derive(Clone)]
pub(crate) enum Sent {
    Header(HeaderName, HeaderValue),
    Query(String, String),
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Credential {
    /// What a user gave, in its place; nothing if it does not fit there.
    pub(crate) fn new(id: String, given: &str, place: &Place) -> Option<Self> {
        let given = text::Given::read(given);
        let sent = match place {
            Place::Header(name, template) => {
                let mut value = HeaderValue::from_str(&given.fill(template)?).ok()?;
                value.set_sensitive(true);
                Sent::Header(name.clone(), value)
            }
            Place::Query(name, template) => Sent::Query(name.clone(), given.fill(template)?),
        };
        let mut secrets = given.secrets();
        secrets.retain(|secret| secret.len() >= SHORTEST);
        // The longest first: one may be part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Some(Self { id, sent, secrets: secrets.into(), refused: Arc::default() })
    }

    /// It was not accepted: the user is to be asked again.
    pub fn refuse(&self) {
        self.refused.store(true, Ordering::Release);
    }

    pub(crate) fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Acquire)
    }

    /// A text, as a tool gave it, without the credential in it.
    pub(crate) fn strike(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "…"))
    }
}
