//! Requests of clients, to resources and tools.

use std::sync::Arc;

use axum::body::{self, Body};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use http::{StatusCode, header};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities,
    ServerConfig, SubscriptionFilter,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};

use super::{listen, resources, tools};
use crate::auth::Principal;
use crate::{App, Error, ErrorCode};

const INSTRUCTIONS: &str = "Conversations of agents and people, kept as threads. `list_threads` and \
    `search` find them, `read_thread` shows one, `send_message` says something and waits for the \
    answer, `answer` closes a question that a task waits for.";

/// Bytes of a refusal of the transport's.
const WORDS: usize = 64 << 10;
/// How it begins where a body is no request.
const UNREAD: &str = "fail to deserialize request body";

/// `POST /mcp`
pub(super) async fn serve(State(app): State<App>, request: Request) -> Response {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        // Which hosts may be asked for is for whoever stands before the server to say, as for
        // every other route; keys keep strangers out.
        .disable_allowed_hosts()
        .with_max_request_body_bytes(app.options().body_bytes);
    let made = move || Ok(Server { app: app.clone() });
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(made, sessions, config);
    let response = service.handle(request).await.map(Body::new);
    let is_json = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    match response.status().is_client_error() && !is_json {
        true => worded(response).await,
        false => response,
    }
}

/// A refusal of the transport's, which has words only, as JSON-RPC.
async fn worded(response: Response) -> Response {
    let mut status = response.status();
    let text = body::to_bytes(response.into_body(), WORDS).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let (text, code) = match text.trim().strip_prefix(UNREAD) {
        // It means the body; the media type is right.
        Some(why) => {
            status = StatusCode::BAD_REQUEST;
            let code = if why.contains("JSON-RPC") { -32600 } else { -32700 };
            (why.trim(), code)
        }
        None => (text.trim(), -32600),
    };
    let error = json!({ "code": code, "message": text });
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// One request's server.
struct Server {
    app: App,
}

/// Who asks, as the authorizer found out.
fn principal(context: &RequestContext<RoleServer>) -> Result<Principal, ErrorData> {
    let parts = context.extensions.get::<Parts>();
    let principal = parts.and_then(|parts| parts.extensions.get::<Principal>());
    principal.cloned().ok_or_else(|| ErrorData::internal_error("nobody asks", None))
}

/// What went wrong, as JSON-RPC tells it.
fn told(error: &Error) -> ErrorData {
    let data = Some(json!({ "code": error.code.name() }));
    let message = error.message.clone();
    match error.code {
        ErrorCode::NotFound => ErrorData::resource_not_found(message, data),
        code if code.status().is_client_error() => ErrorData::invalid_params(message, data),
        _ => ErrorData::internal_error(message, data),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .build();
        let own = Implementation::new("selvedge", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(own).with_instructions(INSTRUCTIONS)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let principal = principal(&context)?;
        let cursor = request.and_then(|request| request.cursor);
        let (resources, next) =
            resources::list(&self.app, &principal, cursor).await.map_err(|error| told(&error))?;
        Ok(ListResourcesResult {
            next_cursor: next,
            ..ListResourcesResult::with_all_items(resources)
        })
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let principal = principal(&context)?;
        let read = resources::read(&self.app, &principal, &request.uri).await;
        let contents = read.map_err(|error| told(&error))?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        listen::accepted(requested)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let principal = principal(context.request_context())?;
        listen::listen(&self.app, &principal, &context).await.map_err(|error| told(&error))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let principal = principal(&context)?;
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        if !tools::list().iter().any(|tool| tool.name == request.name) {
            let message = format!("there is no tool `{}`", request.name);
            return Err(ErrorData::invalid_params(message, None));
        }
        // What a tool cannot do is for the model to read.
        let result = match tools::call(&self.app, &principal, &request.name, &arguments).await {
            Ok(value) => CallToolResult::structured(value),
            Err(error) => {
                let body = serde_json::from_str(&error.body()).unwrap_or_default();
                CallToolResult::structured_error(body)
            }
        };
        Ok(result.into())
    }
}
