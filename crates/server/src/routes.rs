//! The table of routes: what there is, and what a caller needs for it.
//!
//! Invariant: every route is in this table, and every request to one goes through the authorizer.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
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

/// The routes of one protocol.
pub(crate) struct Surface {
    pub(crate) routes: Vec<Route>,
    /// How it tells what went wrong. The authorizer's answers are told so, too.
    pub(crate) errors: fn(Error) -> Response,
}

fn surfaces() -> Vec<Surface> {
    let ours = |routes| Surface { routes, errors: Error::into_response };
    vec![
        ours(surface::native::routes()),
        ours(surface::envelope::action_routes()),
        Surface { routes: surface::envelope::routes(), errors: surface::envelope::told },
        ours(surface::looopy::routes()),
        Surface { routes: surface::a2a::rpc_routes(), errors: surface::a2a::rpc_told },
        Surface { routes: surface::a2a::rest_routes(), errors: surface::a2a::rest_told },
        Surface { routes: surface::ai_sdk::routes(), errors: surface::ai_sdk::told },
        Surface { routes: surface::agent_api::routes(), errors: surface::agent_api::told },
        Surface { routes: surface::mcp::routes(), errors: surface::mcp::told },
        Surface {
            routes: surface::openai_threads::routes(),
            errors: surface::openai_threads::told,
        },
        Surface { routes: surface::ag_ui::routes(), errors: surface::ag_ui::told },
        ours(surface::operations::routes()),
    ]
}

/// Every route there is.
pub fn routes() -> Vec<Route> {
    surfaces().into_iter().flat_map(|surface| surface.routes).collect()
}

/// The application as a service.
pub fn router(app: App) -> Router {
    let mut router = Router::new();
    for Surface { routes, errors } in surfaces() {
        for Route { path, scope, handler, .. } in routes {
            let guard = move |state, request, next| authorize(state, scope, request, next);
            let guard = middleware::from_fn_with_state(app.clone(), guard);
            let own =
                middleware::map_response(
                    move |response| async move { in_own_words(errors, response) },
                );
            router = router.route(path, handler.layer(guard).layer(own));
        }
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

/// What went wrong, as a protocol tells it; what else an answer has stays.
fn in_own_words(tell: fn(Error) -> Response, mut response: Response) -> Response {
    let Some(error) = response.extensions_mut().remove::<Error>() else { return response };
    let mut own = tell(error.clone());
    own.extensions_mut().extend(std::mem::take(response.extensions_mut()));
    own.extensions_mut().insert(error);
    own
}
