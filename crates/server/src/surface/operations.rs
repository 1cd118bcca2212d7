//! What operators ask.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{Method, StatusCode, header};

use crate::App;
use crate::auth::Scope;
use crate::openapi;
use crate::routes::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route {
            method: Method::GET,
            path: "/health",
            scope: Scope::Nobody,
            about: "Whether the server is ready",
            handler: get(ready),
        },
        Route {
            method: Method::GET,
            path: "/health/live",
            scope: Scope::Nobody,
            about: "Whether the server runs",
            handler: get(|| async { json(StatusCode::OK, "{\"status\":\"ok\"}") }),
        },
        Route {
            method: Method::GET,
            path: "/metrics",
            scope: Scope::Operator,
            about: "What happens, counted, for Prometheus",
            handler: get(metrics),
        },
        Route {
            method: Method::GET,
            path: "/openapi.json",
            scope: Scope::Nobody,
            about: "This list of routes, as OpenAPI",
            handler: get(|| async { json(StatusCode::OK, openapi::document()) }),
        },
    ]
}

/// `GET /health`: 503 tells whoever balances load to go elsewhere.
async fn ready(State(app): State<App>) -> Response {
    if app.is_ready() {
        json(StatusCode::OK, "{\"status\":\"ok\"}")
    } else {
        json(StatusCode::SERVICE_UNAVAILABLE, "{\"status\":\"unavailable\"}")
    }
}

/// `GET /metrics`
async fn metrics(State(app): State<App>) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (kind, app.metrics().text()).into_response()
}

fn json(status: StatusCode, body: impl IntoResponse) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
