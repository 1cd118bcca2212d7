//! Appends with a condition on what is known of their thread.
//!
//! Invariant: between the look at what is known and the commit nothing else is committed, for the
//! one writer does both. Appends without a condition pay nothing for it.

use super::follower::Follower;
use super::stage::Target;
use super::writer::Writer;
use crate::handle::Reply;
use crate::rows::guard::check;
use crate::{Append, AppendError, Create, Guard, TendError};

impl Writer {
    /// Commits an append if what it asks for is so.
    pub(super) fn guarded(&mut self, append: Box<Append>, reply: Reply) {
        let following = self.following.clone();
        let mut follower = following.stop();
        let answer = match self.holds(&mut follower, &append) {
            Ok(()) if changes_tables(&append) => self.commit_in_tables(&mut follower, *append),
            // Nothing changes what was looked at but who does this.
            Ok(()) => {
                drop(follower);
                return self.commit(vec![(append, reply)]);
            }
            Err(error) => Err(error),
        };
        // The caller may have gone.
        drop(reply.send(answer));
    }

    fn holds(&mut self, follower: &mut Follower, append: &Append) -> Result<(), AppendError> {
        let Some(guard) = &append.guard else { return Ok(()) };
        let thread = match self.stage.target(&follower.conn, append)? {
            Target::There(thread, _) => thread.num,
            // Nothing is known of a thread that is yet to be made.
            Target::New(_) => 0,
        };
        if let Some(key) = &append.key {
            let used = self.stage.used(&follower.conn, thread, &key.text);
            // A second try: the commit gives the first answer again.
            if used.map_err(|error| AppendError::Storage(error.to_string()))?.is_some() {
                return Ok(());
            }
        }
        known_fresh(follower)?;
        let now = self.stage.tick();
        Ok(check(&follower.conn, thread, guard, now)?)
    }
}

/// Whether an append changes more than journals: leases, or what a thread is.
fn changes_tables(append: &Append) -> bool {
    fn leases(guard: &Guard) -> bool {
        match guard {
            Guard::Free(_) | Guard::Held { .. } => true,
            Guard::All(all) => all.iter().any(leases),
            _ => false,
        }
    }
    matches!(append.create, Create::Past | Create::Branch { .. })
        || append.guard.as_ref().is_some_and(leases)
}

/// Brings what is known of threads up to date, for whoever is to judge by it.
pub(super) fn known_fresh(follower: &mut Follower) -> Result<(), AppendError> {
    follower.fresh().map_err(|error| match error {
        TendError::Behind => AppendError::Behind,
        other => AppendError::Storage(other.to_string()),
    })
}
