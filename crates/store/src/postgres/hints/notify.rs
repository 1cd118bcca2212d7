//! Hearing by PostgreSQL's own notifications.

use sqlx_postgres::PgListener;

use super::{Ear, Text, rest};

/// Listens on a channel; a connection that broke is made anew, and what was missed is looked for.
pub(super) async fn listen(url: Text, channel: String, ear: Ear) {
    let mut tries = 0;
    loop {
        if let Ok(mut listener) = PgListener::connect(&url).await
            && listener.listen(&channel).await.is_ok()
        {
            tries = 0;
            listener.eager_reconnect(false);
            ear.missed();
            while let Ok(Some(told)) = listener.try_recv().await {
                ear.heard(told.payload());
            }
        }
        rest(&mut tries).await;
    }
}
