//! The table of routes: what there is, and what a caller needs for it.
//!
//! Invariant: every route is in this table, and every request to one goes through the authorizer.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::MethodRouter;
use http::Method;

use crate::auth::Scope;
use crate::auth::guard::authorize;
use crate::edge::edge;
use crate::surface;
use crate::{App, Error, ErrorCode};

/// One operation.
pub struct Route {
    /// How it is asked for.
    pub method: Method,
    /// Where, with `{names}`.
    pub path: &'static str,
    /// What the caller needs.
    pub scope: Scope,
    /// What it does, in a line.
    pub about: &'static str,
    pub(crate) handler: MethodRouter<App>,
}

/// Every route there is.
pub fn routes() -> Vec<Route> {
    let mut all = surface::native::routes();
    all.extend(surface::envelope::routes());
    all.extend(surface::looopy::routes());
    all.extend(surface::operations::routes());
    all
}

/// The application as a service.
pub fn router(app: App) -> Router {
    let mut router = Router::new();
    for Route { path, scope, handler, .. } in routes() {
        let guard = move |state, request, next| authorize(state, scope, request, next);
        let guard = middleware::from_fn_with_state(app.clone(), guard);
        router = router.route(path, handler.layer(guard));
    }
    router
        .fallback(|| async { Error::new(ErrorCode::NotFound, "there is nothing at this path") })
        .method_not_allowed_fallback(|| async {
            Error::new(ErrorCode::MethodNotAllowed, "this path does not take that method")
        })
        .layer(DefaultBodyLimit::max(app.options().body_bytes))
        .layer(middleware::from_fn_with_state(app.clone(), edge))
        .with_state(app)
}
