//! Who asks, in which version, with which extensions.

use http::HeaderMap;
use selvedge_protocol::dialect::Id;
use selvedge_protocol::dialect::a2a::EVENTS_EXTENSION;

use super::fault::{Fault, What};
use crate::app::A2aVersions;
use crate::auth::{Principal, Scope};
use crate::query::Query;
use crate::surface::native::stream::start;
use crate::view::{Descendants, Filter, Format, Kind, Prompts, Start};
use crate::{App, Error};
use selvedge_protocol::journal::Visibility;

/// Which A2A.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V03,
}

/// Whether our extension is active: what A2A has no place for comes along, and every event says
/// where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extension {
    Active,
    Inactive,
}

/// Whoever asks.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) app: App,
    pub(super) principal: Principal,
    pub(super) version: Version,
    pub(super) extension: Extension,
    /// The agent that the path names.
    pub(super) agent: Option<String>,
    /// Where this server is, as the caller knows it.
    pub(super) base: String,
    /// Where the caller stood, if it says so.
    pub(super) place: Option<Start>,
}

impl Version {
    /// The version that the headers ask for; none if they do not say.
    pub(super) fn asked(headers: &HeaderMap, query: &Query<'_>) -> Result<Option<Self>, Fault> {
        let named = headers.get("a2a-version").and_then(|value| value.to_str().ok());
        let named = named.or_else(|| query.get("A2A-Version")).unwrap_or("").trim();
        // Only `Major.Minor` is negotiated.
        let mut parts = named.split('.');
        match (parts.next().unwrap_or(""), parts.next()) {
            ("", None) => Ok(None),
            ("1", Some("0")) => Ok(Some(Self::V1)),
            ("0", Some("3")) => Ok(Some(Self::V03)),
            _ => {
                let named: String = named.chars().take(20).collect();
                let message = format!("A2A {named} is not spoken here; 1.0 and 0.3 are");
                Err(Fault::new(What::Version, message))
            }
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V1 => "1.0",
            Self::V03 => "0.3",
        }
    }

    /// The version of that name.
    pub(super) fn named(name: &str) -> Self {
        if name == "0.3" { Self::V03 } else { Self::V1 }
    }
}

impl Caller {
    pub(super) fn new(
        app: App,
        principal: Principal,
        version: Version,
        headers: &HeaderMap,
        query: &Query<'_>,
    ) -> Result<Self, Error> {
        let wanted = ["a2a-extensions", "x-a2a-extensions"].iter();
        let mut wanted =
            wanted.flat_map(|name| headers.get_all(*name)).filter_map(|v| v.to_str().ok());
        let active = wanted.any(|list| list.split(',').any(|uri| uri.trim() == EVENTS_EXTENSION));
        let extension = if active { Extension::Active } else { Extension::Inactive };
        let base = base(&app, headers);
        let place = start(query, headers)?;
        Ok(Self { app, principal, version, extension, agent: None, base, place })
    }

    /// Refuses a version that is not spoken here.
    pub(super) fn spoken(&self) -> Result<(), Fault> {
        match (self.app.options().a2a, self.version) {
            (A2aVersions::Newest, Version::V03) => {
                Err(Fault::new(What::Version, "only A2A 1.0 is spoken here"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses who may not do what needs a scope.
    pub(super) fn needs(&self, scope: Scope) -> Result<(), Fault> {
        if self.principal.may(scope) {
            return Ok(());
        }
        let message = format!("this needs a key that may `{}`", scope.name());
        Err(Fault::new(What::Forbidden, message))
    }

    /// How a task is told to this caller.
    pub(super) fn kind(&self, context: &str, task: &str, after: u64) -> Kind {
        let version = match (self.version, self.extension) {
            (Version::V1, Extension::Inactive) => "1.0",
            (Version::V1, Extension::Active) => "1.0+events",
            (Version::V03, Extension::Inactive) => "0.3",
            (Version::V03, Extension::Active) => "0.3+events",
        };
        let mut filter = Filter::all(Visibility::Participants.min(self.principal.sees));
        filter.tasks = vec![task.to_owned()];
        filter.descendants = Descendants::Included;
        filter.prompts = Prompts::Included;
        filter.after = after;
        filter.context = Some(context.to_owned());
        Kind { format: Format::Version(Id::A2a, version), filter }
    }
}

/// Where this server is, as a request knows it.
pub(super) fn base(app: &App, headers: &HeaderMap) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_host = |host: &&str| {
        !host.is_empty()
            && host.len() <= 255
            && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]_".contains(&b))
    };
    let host = text("host").filter(is_host).unwrap_or("localhost");
    let secure = app.tls().is_some() || text("x-forwarded-proto") == Some("https");
    format!("{}://{host}", if secure { "https" } else { "http" })
}
