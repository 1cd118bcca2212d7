//! Folding finished pieces of text once they are old enough.
//!
//! Owned by whoever serves, and ends with it. How far it has come is in the store.

use std::time::Duration;

use crate::App;
use crate::clock::now;

/// The longest and the shortest sleep between two looks.
const LONGEST: Duration = Duration::from_secs(600);
const SHORTEST: Duration = Duration::from_secs(1);
/// Between two steps: others write, too.
const BREATH: Duration = Duration::from_millis(5);

/// Folds what is older than it is to be kept.
pub(crate) async fn keep(app: App) {
    let Some(age) = app.options().retain_deltas else { return };
    let millis = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    loop {
        let before = now().saturating_sub(millis);
        loop {
            match app.store().fold_before(before).await {
                Ok(done) if done.more => {
                    app.metrics().folded.add(done.entries);
                    tokio::time::sleep(BREATH).await;
                }
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!(%error, "pieces of text could not be folded");
                    break;
                }
            }
        }
        tokio::time::sleep((age / 10).clamp(SHORTEST, LONGEST)).await;
    }
}
