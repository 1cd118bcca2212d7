//! Erasing threads: what deleting does, a receipt, and nothing left of it anywhere.

use super::scrub;
use super::tend::failed;
use super::writer::Writer;
use crate::rows::erase::{erase, keep};
use crate::rows::redact::kin;
use crate::rows::thread::find_thread;
use crate::{Branches, Erase, Erasure, TendError, ThreadKey};

impl Writer {
    /// Erases a thread: it is gone when this returns, and its bytes go behind.
    pub(super) fn erase(&mut self, asked: &Erase) -> Result<Vec<Erasure>, TendError> {
        self.drain()?;
        let thread = find_thread(&self.conn, &asked.thread).map_err(failed)?;
        let thread = thread.ok_or(TendError::NotFound)?;
        let kin = kin(&self.conn, &[thread.num]).map_err(failed)?;
        let gone = match asked.branches {
            Branches::Stay => vec![thread.num],
            Branches::Go => kin.clone(),
        };
        let at = self.tick();
        let (tenant, conn) = (&*asked.thread.tenant, &self.conn);
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
                let _ = self.conn.execute_batch("ROLLBACK");
                return Err(failed(error));
            }
        };
        for receipt in &receipts {
            self.forget(&ThreadKey::new(tenant, receipt.thread.as_str()));
        }
        self.forget_threads(&gone);
        for num in gone {
            self.live.deleted(num);
        }
        self.set_behind();
        Ok(receipts)
    }
}
