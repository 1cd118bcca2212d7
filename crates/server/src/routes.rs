//! The table of routes: what there is, and what a caller needs for it.
//!
//! Invariant: every route is in this table, and every request to one goes through the authorizer.

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use axum::routing::MethodRouter;
use http::Method;
use tower_service::Service as _;

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
    pub(crate) errors: Tell,
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
        ours(surface::ui::routes()),
    ]
}

/// Every route there is.
pub fn routes() -> Vec<Route> {
    surfaces().into_iter().flat_map(|surface| surface.routes).collect()
}

/// The application: takes a request, gives its answer.
pub(crate) struct Site {
    app: App,
    /// What is asked of callers, by path. It is looked at before a request is routed, so that a
    /// route needs no layers of its own, each of which would be made anew for each request.
    rules: matchit::Router<Vec<Rule>>,
    router: Router,
}

/// What holds for a route.
struct Rule {
    method: Method,
    scope: Scope,
    errors: Tell,
}

/// How a protocol tells what went wrong.
pub(crate) type Tell = fn(Error) -> Response;

impl Site {
    pub(crate) fn new(app: App) -> Self {
        let mut router = Router::new();
        let mut rules: Vec<(&'static str, Vec<Rule>)> = Vec::new();
        for Surface { routes, errors } in surfaces() {
            for Route { method, path, scope, handler, .. } in routes {
                router = router.route(path, handler);
                let rule = Rule { method, scope, errors };
                match rules.iter_mut().find(|(known, _)| *known == path) {
                    Some((_, rules)) => rules.push(rule),
                    None => rules.push((path, vec![rule])),
                }
            }
        }
        let mut paths = matchit::Router::new();
        for (path, rules) in rules {
            // The router above has taken the same path, or would have stopped the start.
            let _ = paths.insert(path, rules);
        }
        let router = router
            .fallback(|| async { Error::new(ErrorCode::NotFound, "there is nothing at this path") })
            .method_not_allowed_fallback(|| async {
                Error::new(ErrorCode::MethodNotAllowed, "this path does not take that method")
            })
            .with_state(app.clone());
        Self { app, rules: paths, router }
    }

    /// Answers a request.
    pub(crate) async fn answer(&self, request: Request) -> Response {
        edge(&self.app, request, async |request| self.route(request).await).await
    }

    /// What is asked of callers of a route, and how it tells what went wrong.
    pub(crate) fn rule(&self, method: &Method, path: &str) -> Option<(Scope, Tell)> {
        let found = self.rules.at(path).ok()?;
        rule(found.value, method).map(|rule| (rule.scope, rule.errors))
    }

    /// Takes a request to its route, past the authorizer.
    async fn route(&self, request: Request) -> Response {
        let found = self.rules.at(request.uri().path()).ok().and_then(|found| {
            let rule = rule(found.value, request.method())?;
            Some((rule, found.params.get("token").unwrap_or_default().to_owned()))
        });
        // Neither is told anything but that there is nothing.
        let Some((rule, token)) = found else { return self.handle(request).await };
        let handle = async |request| self.handle(request).await;
        let response = authorize(&self.app, (rule.scope, &token), request, handle).await;
        in_own_words(rule.errors, response)
    }

    async fn handle(&self, request: Request) -> Response {
        match self.router.clone().call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

/// What holds for a method; what may be got may be asked about.
fn rule<'r>(rules: &'r [Rule], method: &Method) -> Option<&'r Rule> {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    rules.iter().find(|rule| rule.method == *method)
}

/// What went wrong, as a protocol tells it; what else an answer has stays.
pub(crate) fn in_own_words(tell: Tell, mut response: Response) -> Response {
    let Some(error) = response.extensions_mut().remove::<Error>() else { return response };
    let mut own = tell(error.clone());
    own.extensions_mut().extend(std::mem::take(response.extensions_mut()));
    own.extensions_mut().insert(error);
    own
}
