//! The Looopy document's own URLs.

use axum::routing::get;
use http::Method;

use super::native::stream;
use crate::auth::Scope;
use crate::routes::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![Route {
        method: Method::GET,
        path: "/api/contexts/{id}/stream",
        scope: Scope::Read,
        about: "Follow a context's events",
        handler: get(stream::open),
    }]
}
