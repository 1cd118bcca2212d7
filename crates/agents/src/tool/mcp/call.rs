//! One call of a server's tool.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ErrorData, InputRequest,
    InputRequiredResult, InputResponses, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::connection::{Connection, Open, Patient};
use super::{elicit, result};
use crate::credential::Credential;
use crate::tool::{Invocation, Run, ToolError};

/// How often a server may ask before it answers.
const ROUNDS: usize = 10;
/// The shortest time between two words on how far it has come.
const PACE: Duration = Duration::from_millis(100);
/// Bytes of an error.
const ERROR: usize = 4 << 10;

/// A tool of a server.
pub(super) struct Remote {
    pub(super) connection: Arc<Connection>,
    /// As the server knows it.
    pub(super) name: String,
}

impl Run for Remote {
    fn run(&self, call: Invocation) -> BoxFuture<'static, Result<Value, ToolError>> {
        let (connection, name) = (self.connection.clone(), self.name.clone());
        match call.credential.clone() {
            Some(credential) => as_user(connection, name, call, credential).boxed(),
            None => run(connection, name, call).boxed(),
        }
    }

    fn provider(&self) -> &'static str {
        "mcp"
    }
}

/// A call with what a user gave.
async fn as_user(
    connection: Arc<Connection>,
    name: String,
    call: Invocation,
    credential: Credential,
) -> Result<Value, ToolError> {
    let own = connection.with(&credential)?;
    let result = run(own.clone(), name, call).await;
    if result.is_err() && own.is_refused() {
        connection.without(&credential);
        credential.refuse();
    }
    result
}

async fn run(
    connection: Arc<Connection>,
    name: String,
    call: Invocation,
) -> Result<Value, ToolError> {
    let open = connection.open(Patient::Yes).await?;
    let mut params = CallToolRequestParams::new(name);
    params.arguments = call.arguments.as_object().cloned();
    let questions = Arc::new(AtomicUsize::new(0));
    for _ in 0..ROUNDS {
        match once(&connection, &open, params.clone(), &call, &questions).await? {
            ServerResult::CallToolResult(done) => {
                connection.works().await;
                return result::value(done);
            }
            ServerResult::InputRequiredResult(wanted) => {
                params.request_state = wanted.request_state.clone();
                params.input_responses =
                    Some(answers(&connection, wanted, &call, &questions).await?);
            }
            _ => return Err(connection.error("answers something else")),
        }
    }
    Err(connection.error("asks and asks"))
}

/// One request. Dropped, the server is told that nobody waits any more.
async fn once(
    connection: &Connection,
    open: &Open,
    params: CallToolRequestParams,
    call: &Invocation,
    questions: &Arc<AtomicUsize>,
) -> Result<ServerResult, ToolError> {
    let mut place = open.calls.begin(call.clone(), questions.clone());
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let options = PeerRequestOptions::no_options();
    let handle = open.peer.send_request_with_option(request, options).await;
    let handle = handle.map_err(|error| failed(connection, error))?;
    place.named(handle.id.clone(), handle.progress_token.clone());
    let mut waiting = Waiting { handle: Some(handle), connection };
    let mut next = Instant::now();
    loop {
        let news = async {
            tokio::time::sleep_until(next).await;
            place.news.changed().await
        };
        tokio::select! {
            answer = waiting.answer() => return answer.map_err(|error| failed(connection, error)),
            // Its sender is in the place.
            _ = news => {
                next = Instant::now() + PACE;
                let news = place.news.borrow_and_update().clone();
                if let Some(news) = news
                    && let Err(error) = call.progress(news.part, news.message.as_deref()).await
                {
                    // The call itself may well succeed.
                    tracing::debug!(%error, "how far a call has come is not written down");
                }
            }
        }
    }
}

/// A request whose answer is waited for.
struct Waiting<'c> {
    handle: Option<RequestHandle<RoleClient>>,
    connection: &'c Connection,
}

impl Waiting<'_> {
    async fn answer(&mut self) -> Result<ServerResult, ServiceError> {
        let Some(handle) = &mut self.handle else { return Err(ServiceError::TransportClosed) };
        let answer = (&mut handle.rx).await;
        self.handle = None;
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        self.connection.doubt();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // Short: it ends when the notice is sent, or the connection is gone.
            runtime.spawn(handle.cancel(Some("nobody waits for it any more".to_owned())));
        }
    }
}

/// What a server wants to know before it answers.
async fn answers(
    connection: &Connection,
    wanted: InputRequiredResult,
    call: &Invocation,
    questions: &AtomicUsize,
) -> Result<InputResponses, ToolError> {
    let mut answers = InputResponses::new();
    for (key, request) in wanted.input_requests.unwrap_or_default() {
        let answer = match request {
            InputRequest::Elicitation(request) => {
                let number = || questions.fetch_add(1, Ordering::Relaxed);
                let answer = elicit::answer(&request.params, call, number).await;
                serde_json::to_value(answer).unwrap_or_default()
            }
            InputRequest::ListRoots(_) => json!({"roots": []}),
            _ => return Err(connection.error("wants a model's answer, which it does not get")),
        };
        answers.insert(key, answer);
    }
    Ok(answers)
}

/// Why there is no answer, in words for a model.
fn failed(connection: &Connection, error: ServiceError) -> ToolError {
    match error {
        ServiceError::McpError(ErrorData { message, data, .. }) => {
            let mut said = message.into_owned();
            if let Some(data) = data {
                said.push_str(&format!(" ({data})"));
            }
            said.truncate(said.floor_char_boundary(ERROR));
            ToolError(said)
        }
        ServiceError::TransportClosed => connection.error("stopped before it answered"),
        ServiceError::Cancelled { .. } => connection.error("gave it up"),
        other => {
            connection.doubt();
            if let ServiceError::TransportSend(error) = &other {
                connection.judge(error.error.as_ref());
            }
            let mut said = other.to_string();
            said.truncate(said.floor_char_boundary(ERROR));
            connection.error(&format!("did not answer: {said}"))
        }
    }
}
