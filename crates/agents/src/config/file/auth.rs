//! `[tools.NAME.auth]` and `[mcp.NAME.auth]`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Period;

/// What the user must give before a tool can be used. It reaches the server encrypted, and is
/// never in this file.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// Of which sort it is.
    #[serde(rename = "type")]
    pub ty: AuthType,
    /// What the user is told; if it is not said, that the tool wants it.
    pub prompt: Option<String>,
    /// Who gives it out, such as `github`.
    pub provider: Option<String>,
    /// What it must allow.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub scopes: Vec<String>,
    /// Where the user gets it.
    pub auth_url: Option<String>,
    /// For `oauth2`: where a client begins.
    pub authorization_endpoint: Option<String>,
    /// For `oauth2`: as whom.
    pub client_id: Option<String>,
    /// Where one reads about it.
    pub info_url: Option<String>,
    /// The header that it goes into; `authorization` if neither this nor `query` is said.
    pub header: Option<String>,
    /// The parameter of the query that it goes into.
    pub query: Option<String>,
    /// What is sent there: `{credential}` is what the user gave, `{basic}` a name and a password as
    /// `Basic` has them, `{name}` a member of what the user gave. `Bearer {credential}` if it is
    /// not said, `Basic {basic}` for passwords, and the credential alone in queries and in headers
    /// that are named.
    pub value: Option<String>,
    /// How long it is kept for the thread; an hour if it is not said, and never longer than it says
    /// that it is valid.
    pub keep: Option<Period>,
}

/// Of which sort a credential is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the document's words")]
pub enum AuthType {
    Oauth2,
    ApiKey,
    Pat,
    Password,
    Biometric,
    Custom,
}
