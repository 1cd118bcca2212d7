//! What operators ask.

use axum::routing::get;
use http::Method;

use crate::auth::Scope;
use crate::routes::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![Route {
        method: Method::GET,
        path: "/health",
        scope: Scope::Nobody,
        about: "Whether the server is ready",
        handler: get(|| async { ([("content-type", "application/json")], "{\"status\":\"ok\"}") }),
    }]
}
