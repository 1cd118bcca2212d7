//! Credentials of the user: asked for, used, and asked for again when they are not accepted.

use std::time::SystemTime;

use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::Raw;
use selvedge_store::Grant;
use serde_json::json;

use super::Doing;
use crate::credential::{Asked, Credential, LIFE, Need, ROUNDS, VaultError};
use crate::journal::{JournalError, after};
use crate::turn::ledger::Ledger;

/// Between a call's place and the number of a request.
const AUTH: &str = "/auth-";

/// Whom a call is for, and what they gave.
pub(super) struct People {
    /// Empty if nobody knows.
    user: String,
    /// Requests for this call.
    rounds: usize,
    /// Credentials of the user in the thread: what each opens, and its id.
    given: Vec<(String, String)>,
}

impl People {
    pub(super) fn of(ledger: &Ledger, task: &str, call: &str) -> Self {
        let user = ledger.user(task).to_owned();
        let given = ledger.given(&user);
        Self { rounds: ledger.rounds(task, call), user, given }
    }
}

impl Doing {
    /// Whether a question is one for credentials.
    pub(super) fn is_auth(&self, input: &str) -> bool {
        input.strip_prefix(&self.place()).is_some_and(|rest| rest.starts_with(AUTH))
    }

    /// The credential that the user gave, if it is still there.
    pub(super) async fn credential(&self, need: &Need) -> Result<Option<Credential>, VaultError> {
        let given = self.people.given.iter().find(|(tool, _)| *tool == need.name);
        let Some((_, id)) = given else { return Ok(None) };
        self.journal.vault().credential(id, self.grant(need), need).await
    }

    /// Asks the user for credentials; only so often.
    pub(super) async fn ask_auth(&self, need: &Need) -> Result<(), JournalError> {
        if self.people.rounds >= ROUNDS {
            let message = "the credentials that the user gave were not accepted";
            return self.failed("denied", message).await;
        }
        let auth = format!("{}{AUTH}{}", self.place(), self.people.rounds + 1);
        let expires = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let expires = (expires.unwrap_or_default() + LIFE).as_millis();
        let asked = Asked {
            auth: auth.clone(),
            agent: self.agent.id.clone(),
            grant: self.grant(need),
            keep: need.keep,
            expires: i64::try_from(expires).unwrap_or(i64::MAX),
        };
        // Before the request: whoever answers at once finds it.
        let key = match self.journal.vault().new_key(asked).await {
            Ok(key) => key,
            Err(error) => return self.failed("failed", &error.to_string()).await,
        };
        let mut metadata = json!({
            "expiresIn": LIFE.as_secs(),
            "tool": need.name,
            "toolCallId": self.call.id,
        });
        if !self.people.user.is_empty() {
            metadata["userId"] = json!(self.people.user);
        }
        let text = |text: &Option<String>| text.as_deref().map(Raw::string);
        let mut event = Event::new(Kind::AuthRequired)
            .with_str("authId", &auth)
            .with_str("authType", need.kind.name())
            .with_str("prompt", &need.prompt)
            .with("encryptionKey", Raw::owned(key.to_string()))
            .with_str("expiresAt", &after(LIFE))
            .with("metadata", Raw::owned(metadata.to_string()))
            .with_some("provider", text(&need.provider))
            .with_some("authUrl", text(&need.auth_url))
            .with_some("authorizationEndpoint", text(&need.authorization_endpoint))
            .with_some("clientId", text(&need.client_id))
            .with_some("infoUrl", text(&need.info_url));
        if !need.scopes.is_empty() {
            event = event.with("scopes", Raw::owned(json!(need.scopes).to_string()));
        }
        let pending = json!({"blockedBy": "user", "pendingAuths": [auth]});
        let waits = Event::new(Kind::TaskStatus)
            .with("status", Raw::Ref("\"waiting-auth\""))
            .with_str("message", &need.prompt)
            .with("metadata", Raw::owned(pending.to_string()));
        self.writer.append(vec![event, waits]).await.map(|_| ())
    }

    /// What the user gave was not accepted: it is forgotten, and they are asked again.
    pub(super) async fn ask_again(
        &self,
        need: &Need,
        credential: &Credential,
    ) -> Result<(), JournalError> {
        if let Err(error) = self.journal.vault().forget(&credential.id).await {
            tracing::warn!(%error, "a credential could not be forgotten");
        }
        self.ask_auth(need).await
    }

    fn grant(&self, need: &Need) -> Grant {
        Grant { thread: self.thread, tool: need.name.clone(), user: self.people.user.clone() }
    }
}
