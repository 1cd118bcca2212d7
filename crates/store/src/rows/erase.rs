//! Threads that are erased, and the receipts of it.

use crate::db::{self, Connection, Optional as _, params};

use super::thread::{find_numbered, rows_after};
use crate::chain::Digest;
use crate::{Erase, Erasure, ReadError};

/// Tables of others that hold something of a thread. They are made when someone needs them.
const OTHERS: &[&str] = &["share", "push", "auth_key", "credential"];

/// Marks a thread as deleted; its receipt, unless it was deleted before.
pub(crate) fn erase(
    conn: &Connection,
    num: i64,
    at: i64,
    asked: &Erase,
    gone: &[i64],
) -> db::Result<Option<Erasure>> {
    let id = conn
        .prepare_cached("SELECT id FROM thread WHERE num = ?1 AND deleted IS NULL")?
        .query_row(params![num], |row| row.get::<String>(0))
        .optional()?;
    let (Some(id), Some(thread)) = (id, find_numbered(conn, num)?) else { return Ok(None) };
    let (mut hasher, mut last) = (blake3::Hasher::new(), thread.base());
    rows_after(conn, num, 0, |_, batch| {
        hasher.update(batch.body().as_bytes()).update(b"\n");
        last = batch.last();
        Ok::<_, db::Error>(true)
    })?;
    conn.prepare_cached("UPDATE thread SET deleted = ?2 WHERE num = ?1")?
        .execute(params![num, at])?;
    conn.prepare_cached("DELETE FROM summary WHERE thread = ?1")?.execute(params![num])?;
    for table in OTHERS {
        if conn.has_table(table)? {
            conn.execute(&format!("DELETE FROM {table} WHERE thread = ?1"), params![num])?;
        }
    }
    let mut children = conn.prepare_cached(
        "SELECT num, id FROM thread WHERE parent = ?1 AND deleted IS NULL AND fork > ?2",
    )?;
    // What it shares itself belongs to the thread it came from.
    let children = children.query_map(params![num, thread.base() as i64], |row| {
        Ok((row.get::<i64>(0)?, row.get::<String>(1)?))
    })?;
    let mut shared_with = Vec::new();
    for child in children {
        let (num, id) = child?;
        if !gone.contains(&num) {
            shared_with.push(id);
        }
    }
    Ok(Some(Erasure {
        thread: id,
        at,
        by: asked.by.clone(),
        reason: asked.reason.clone(),
        entries: last - thread.base(),
        hash: Digest(*hasher.finalize().as_bytes()),
        shared_with,
    }))
}

pub(crate) fn keep(conn: &Connection, tenant: &str, receipt: &Erasure) -> db::Result<()> {
    conn.prepare_cached(
        "INSERT INTO erasure (tenant, thread, at, by, reason, entries, hash, shared_with) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        tenant,
        receipt.thread,
        receipt.at,
        receipt.by,
        receipt.reason,
        receipt.entries as i64,
        receipt.hash.0,
        receipt.shared_with.join("\n")
    ])?;
    Ok(())
}

/// Receipts of a tenant, the newest first: up to so many before one.
pub(crate) fn erasures(
    conn: &Connection,
    tenant: &str,
    limit: usize,
) -> Result<Vec<Erasure>, ReadError> {
    let mut found = conn.prepare_cached(
        "SELECT thread, at, by, reason, entries, hash, shared_with FROM erasure \
         WHERE tenant = ?1 ORDER BY id DESC LIMIT ?2",
    )?;
    let found = found.query_map(params![tenant, limit as i64], |row| {
        let shared: String = row.get(6)?;
        Ok(Erasure {
            thread: row.get(0)?,
            at: row.get(1)?,
            by: row.get(2)?,
            reason: row.get(3)?,
            entries: row.get::<i64>(4)? as u64,
            hash: Digest(row.get(5)?),
            shared_with: shared.lines().map(str::to_owned).collect(),
        })
    })?;
    Ok(found.collect::<db::Result<_>>()?)
}
