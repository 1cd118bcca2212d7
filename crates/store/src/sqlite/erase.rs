//! Erasing threads: what deleting does, a receipt, and nothing left of it anywhere.

use super::follower::failed;
use super::redact::unlogged;
use super::scrub;
use super::writer::Writer;
use crate::rows::erase::{erase, keep};
use crate::rows::redact::kin;
use crate::rows::thread::find_thread;
use crate::{Branches, Erase, Erasure, TendError, ThreadKey};

impl Writer {
    /// Erases a thread: it is gone when this returns, and its bytes go behind.
    pub(super) fn erase(&mut self, asked: &Erase) -> Result<Vec<Erasure>, TendError> {
        let following = self.following.clone();
        let mut follower = following.stop();
        follower.drain()?;
        let conn = &follower.conn;
        let thread = find_thread(conn, &asked.thread).map_err(failed)?;
        let thread = thread.ok_or(TendError::NotFound)?;
        let kin = kin(conn, &[thread.num]).map_err(failed)?;
        let gone = match asked.branches {
            Branches::Stay => vec![thread.num],
            Branches::Go => kin.clone(),
        };
        let at = self.stage.tick();
        let tenant = &*asked.thread.tenant;
        let run = || {
            conn.execute_batch("BEGIN IMMEDIATE")?;
            let mut receipts = Vec::new();
            for num in gone.iter().rev() {
                receipts.extend(erase(conn, *num, at, asked, &gone)?);
            }
            scrub::want(conn)?;
            for receipt in &receipts {
                keep(conn, tenant, receipt)?;
            }
            conn.execute_batch("COMMIT")?;
            Ok(receipts)
        };
        let receipts = match run() {
            Ok(receipts) => receipts,
            Err(error) => {
                let _ = conn.execute_batch("ROLLBACK");
                return Err(failed(error));
            }
        };
        for receipt in &receipts {
            self.stage.forget(&ThreadKey::new(tenant, receipt.thread.as_str()));
        }
        self.stage.forget_threads(&gone);
        follower.forget();
        for num in gone {
            self.live.deleted(num);
        }
        follower.set_behind();
        self.clear_log().map_err(unlogged)?;
        Ok(receipts)
    }
}
