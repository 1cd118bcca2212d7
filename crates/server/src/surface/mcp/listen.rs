//! Telling clients which of their resources have changed.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use rmcp::model::SubscriptionFilter;
use rmcp::service::SubscriptionContext;

use super::uri::parse;
use crate::auth::Principal;
use crate::{App, Error};

/// Resources of one subscription.
const MOST: usize = 100;
/// What happens within it is told once.
const PACE: Duration = Duration::from_millis(200);

/// What of a subscription is taken: resources that are named as ours are.
pub(super) fn accepted(requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
    let wanted = requested.resource_subscriptions.iter().flatten();
    let known = wanted.filter(|uri| parse(uri).is_ok()).take(MOST).cloned();
    Some(SubscriptionFilter::builder().resource_subscriptions(known).build())
}

/// Tells of changes until the client leaves, or all of its threads are gone.
pub(super) async fn listen(
    app: &App,
    principal: &Principal,
    context: &SubscriptionContext,
) -> Result<(), Error> {
    let mut following = FuturesUnordered::new();
    for uri in context.accepted().resource_subscriptions.iter().flatten() {
        let (id, _) = parse(uri)?;
        let thread = app.thread(&principal.thread(&id)).await?;
        let tail = app.blocking(move |store| Ok(store.tail(&thread)?)).await?;
        following.push(async move {
            let mut edge = tail.watch();
            // It may have changed since the subscription was acknowledged: the first word is that
            // it is to be read.
            let mut seen = edge.borrow_and_update().head;
            while context.sink().notify_resource_updated(uri.clone()).await.is_ok() {
                tokio::time::sleep(PACE).await;
                let more = edge.wait_for(|edge| edge.head > seen || edge.end.is_some()).await;
                match more.map(|edge| (edge.head, edge.end.is_some())) {
                    Ok((head, false)) => seen = head,
                    _ => return,
                }
            }
        });
    }
    let mut closing = app.closing();
    tokio::select! {
        () = context.cancelled() => {}
        _ = closing.wait_for(|closing| *closing == crate::app::Closing::Now) => {}
        () = async { while following.next().await.is_some() {} } => {}
    }
    Ok(())
}
