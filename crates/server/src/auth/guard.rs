//! The authorizer: every request to every route passes here.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use http_body::Body as _;

use super::leave::{Answer, Watched};
use super::rate::Who;
use super::{Principal, Scope};
use crate::clock::now;
use crate::edge::cors;
use crate::extract::visible;
use crate::query::Query;
use crate::{App, Error, ErrorCode, view};

/// Where a request comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Who made a request, for the log.
#[derive(Debug, Clone)]
pub(crate) struct Caller(pub(crate) Arc<str>);

/// Lets a request through with whoever makes it, if they may: with what a route needs, and the token
/// of a share in its path, if there is one.
pub(crate) async fn authorize(
    app: &App,
    (scope, token): (Scope, &str),
    mut request: Request,
    next: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    if scope == Scope::Nobody {
        return next(request).await;
    }
    let shown = Shown::of(&request);
    let admitted = match scope {
        Scope::Share => admit_share(app, token, &shown).await,
        _ => admit(app, scope, &shown),
    };
    let principal = match admitted {
        Ok(principal) => principal,
        Err(error) => return error.into_response(),
    };
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    let client = request.headers().get(header::USER_AGENT).cloned();
    let reader = view::Caller::new(&principal, peer, client);
    request.extensions_mut().insert(principal.clone());
    let mut response = reader.answered(next(request)).await;
    if response.body().size_hint().exact().is_none() {
        response = watched(app, &principal, response);
    }
    response.extensions_mut().insert(Caller(principal.name));
    response
}

/// What a request shows of who makes it.
pub(crate) struct Shown<'a> {
    pub(crate) authorization: Option<&'a [u8]>,
    pub(crate) host: Option<&'a [u8]>,
    pub(crate) origin: Option<&'a [u8]>,
    pub(crate) query: Option<&'a str>,
    pub(crate) peer: Option<IpAddr>,
}

impl<'a> Shown<'a> {
    fn of(request: &'a Request) -> Self {
        let value = |name| request.headers().get(name).map(HeaderValue::as_bytes);
        Self {
            authorization: value(header::AUTHORIZATION),
            host: value(header::HOST),
            origin: value(header::ORIGIN),
            query: request.uri().query(),
            peer: request.extensions().get::<Peer>().map(|peer| peer.0),
        }
    }
}

/// Whoever makes a request, if they may make it; for routes with a scope that a key can have.
pub(crate) fn admit(app: &App, scope: Scope, shown: &Shown<'_>) -> Result<Principal, Error> {
    let ring = app.gate().ring();
    if ring.is_open() {
        from_here(app, shown)?;
        return Ok(Principal::anyone());
    }
    let at = Instant::now();
    let known = match &secret(shown) {
        Some(secret) => ring.principal(secret, now()),
        None => Err(Error::new(ErrorCode::Unauthorized, "a key is needed")),
    };
    let principal = known.map_err(|error| stranger(app, shown, error, at))?;
    within_rate(app, &principal, at)?;
    if !principal.may(scope) {
        let message = format!("this needs a key with scope `{}`", scope.name());
        return Err(Error::new(ErrorCode::Forbidden, message));
    }
    Ok(principal)
}

/// Whoever has a share's token, limited to what it shares. A token that is not known, was revoked
/// or has ended, and one whose thread is gone, are all not found, and look the same.
async fn admit_share(app: &App, token: &str, shown: &Shown<'_>) -> Result<Principal, Error> {
    if app.gate().ring().is_open() {
        from_here(app, shown)?;
    }
    let at = Instant::now();
    let (own, token) = (app.clone(), token.to_owned());
    let found = app.blocking(move |store| {
        let share = own.gate().shares().find(&token).map_err(Error::from)?;
        let share = share.filter(|share| {
            share.revoked.is_none() && share.made.expires.is_none_or(|at| at > now())
        });
        match share {
            Some(share) if store.numbered(share.made.thread)?.is_some() => Ok(Some(share)),
            _ => Ok(None),
        }
    });
    let Some(share) = found.await? else {
        let error = Error::new(ErrorCode::NotFound, "there is no such share");
        return Err(stranger(app, shown, error, at));
    };
    let principal = Principal::of_share(share);
    within_rate(app, &principal, at)?;
    Ok(principal)
}

/// What someone is told who could not say who they are: not too often from one address.
fn stranger(app: &App, shown: &Shown<'_>, error: Error, at: Instant) -> Error {
    let address = shown.peer.unwrap_or(Ipv4Addr::UNSPECIFIED.into());
    if app.strangers().admits(Who::Address(address), at) { error } else { limited() }
}

fn within_rate(app: &App, principal: &Principal, at: Instant) -> Result<(), Error> {
    let who = || Who::Caller(principal.name.clone());
    if app.rate().is_none_or(|rate| rate.admits(who(), at)) { Ok(()) } else { Err(limited()) }
}

fn limited() -> Error {
    Error::new(ErrorCode::RateLimited, "too many requests; slow down")
}

/// The key or token that a request brings. A browser's `EventSource` cannot send headers, so the
/// query can have it too; queries are never logged.
fn secret<'a>(shown: &Shown<'a>) -> Option<Cow<'a, str>> {
    if let Some(value) = shown.authorization {
        let (scheme, secret) = visible(value)?.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim().into());
    }
    Query::new(shown.query).get("access_token").map(|secret| secret.to_owned().into())
}

/// Where there are no keys, whoever is on this machine may do everything, but not the pages that
/// their browser shows: neither by a form of another site nor by a name that leads here.
fn from_here(app: &App, shown: &Shown<'_>) -> Result<(), Error> {
    let refuse = |message| Err(Error::new(ErrorCode::Forbidden, message));
    let host = shown.host.and_then(visible).unwrap_or("localhost");
    if !is_local(host) {
        return refuse("without keys, the host must be this machine's own name");
    }
    match shown.origin.and_then(visible) {
        Some(origin) if !is_own(origin, host) && !cors::is_listed(app.options(), origin) => {
            refuse("without keys, other sites may not ask; list them with `--cors`")
        }
        _ => Ok(()),
    }
}

/// Whether a page comes from this server itself.
fn is_own(origin: &str, host: &str) -> bool {
    let bare = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    bare.is_some_and(|bare| bare.eq_ignore_ascii_case(host))
}

fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.split(':').next().unwrap_or(""),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
        || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// The answer, which ends when the right to read it does.
fn watched(app: &App, principal: &Principal, response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let kind = match parts.headers.get(header::CONTENT_TYPE) {
        Some(kind) if kind.as_bytes().starts_with(b"text/event-stream") => Answer::Events,
        _ => Answer::Other,
    };
    let body = Watched::new(body, kind, app.gate(), principal, app.metrics().clone());
    Response::from_parts(parts, Body::new(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_are_told_from_names_that_only_lead_here() {
        for host in ["localhost", "LocalHost:80", "a.localhost:1", "127.0.0.1:4180", "[::1]:1"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", "localhostx", ""] {
            assert!(!is_local(host), "{host}");
        }
        assert!(is_own("http://localhost:4180", "localhost:4180"));
        assert!(!is_own("http://localhost:3000", "localhost:4180") && !is_own("null", "localhost"));
    }

    #[test]
    fn the_secret_is_in_the_header_or_else_in_the_query() {
        let said = |authorization: Option<&'static str>, query| {
            let authorization = authorization.map(str::as_bytes);
            let shown = Shown { authorization, host: None, origin: None, query, peer: None };
            secret(&shown).map(Cow::into_owned)
        };
        assert_eq!(said(None, Some("a=b&access_token=q%2E")).as_deref(), Some("q."));
        assert_eq!(said(Some("bearer  h"), Some("access_token=q")).as_deref(), Some("h"));
        assert_eq!(said(Some("Basic aGVsbG8="), Some("access_token=q")), None);
        assert_eq!(said(Some("bearer \u{e4}"), Some("access_token=q")), None);
    }
}
