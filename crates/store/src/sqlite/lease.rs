//! Leases that are changed without a word in the journal.

use super::guard::known_fresh;
use super::writer::Writer;
use crate::rows::lease::{change, is_held, millis};
use crate::rows::thread::find_thread;
use crate::{AppendError, KeyHash, Lease, Then, ThreadKey, db};

impl Writer {
    /// Renews a lease or lets it go.
    pub(super) fn lease(
        &mut self,
        thread: &ThreadKey,
        token: &KeyHash,
        then: &Then,
    ) -> Result<Lease, AppendError> {
        let failed = |error: db::Error| AppendError::Storage(error.to_string());
        let following = self.following.clone();
        let mut follower = following.stop();
        known_fresh(&mut follower)?;
        let thread = find_thread(&follower.conn, thread).map_err(failed)?;
        let thread = thread.ok_or(AppendError::NotFound)?.num;
        let now = self.stage.tick();
        let lease = is_held(&follower.conn, thread, token)?;
        change(&follower.conn, token, then, now).map_err(failed)?;
        Ok(Lease { until: now + millis(lease.time), ..lease })
    }
}
