//! What a server says and asks by itself.

use std::future::Future;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
    ProgressNotificationParam, ServerNotification, SubscriptionFilter,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, Peer, RequestContext, RoleClient};

use super::calls::{Calls, News, Which};
use super::elicit;
use super::list::Age;

/// Bytes of a message.
const MESSAGE: usize = 1 << 10;

/// Listens to a server.
pub(super) struct Handler {
    server: String,
    calls: Calls,
    age: Age,
}

impl Handler {
    pub(super) fn new(server: String, calls: Calls, age: Age) -> Self {
        Self { server, calls, age }
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let form = FormElicitationCapability::new().with_schema_validation(true);
        let mut can = ClientCapabilities::default();
        can.elicitation = Some(ElicitationCapability::new().with_form(form));
        ClientConfig::new(can, Implementation::new("selvedge", env!("CARGO_PKG_VERSION")))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let which = match context.extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => Which::Request(id.clone()),
            _ => Which::Only,
        };
        let Some(call) = self.calls.find(&which).await else {
            tracing::warn!(
                server = self.server,
                "an MCP server asks, and it is not clear for whom"
            );
            return Ok(ElicitResult::new(ElicitationAction::Cancel));
        };
        tokio::select! {
            answer = elicit::answer(&request, &call.invocation, || call.question()) => Ok(answer),
            () = call.news.closed() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }

    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let Some(call) = self.calls.find(&Which::Token(told.progress_token)).await else { return };
        // Without a total only a part can be meant, and anything above 1 is none.
        let part = told.progress / told.total.unwrap_or(1.0);
        let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
        let message = told.message.map(|mut message| {
            message.truncate(message.floor_char_boundary(MESSAGE));
            message
        });
        call.news.send_if_modified(|news| {
            // They may come in any order.
            if news.as_ref().is_some_and(|known| known.part > part) {
                return false;
            }
            *news = Some(News { part, message });
            true
        });
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.age.grow();
    }
}

/// Listens for changes of the list of tools, where a server tells them only to those who do.
pub(super) fn listen(
    peer: &Peer<RoleClient>,
    age: &Age,
) -> Option<impl Future<Output = ()> + use<>> {
    let info = peer.peer_info()?;
    let tells = info.capabilities.tools.as_ref()?.list_changed == Some(true);
    if info.protocol_version.has_initialize() || !tells {
        return None;
    }
    let (peer, age) = (peer.clone(), age.clone());
    Some(async move {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let Ok(mut changes) = peer.listen(filter).await else { return };
        while let Ok(Some(change)) = changes.next().await {
            if matches!(change, ServerNotification::ToolListChangedNotification(_)) {
                age.grow();
            }
        }
    })
}
