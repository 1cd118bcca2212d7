//! What waits for someone, over all threads.

use crate::db::{self, Connection, Optional as _, Row, params};
use selvedge_protocol::journal::Urgency;

use super::{Ranked, probe};
use crate::query::{InboxItem, InboxKind, InboxOrder, InboxQuery};
use crate::{ReadError, ThreadRef};

const COLUMNS: &str = "t.id, i.kind, i.id, i.task, i.seq, i.at, i.type, i.prompt, i.require_user, \
     i.expires, i.urgency, i.thread";

/// A page of what waits.
pub(crate) fn inbox(
    conn: &Connection,
    tenant: &str,
    query: &InboxQuery,
) -> Result<Ranked<InboxItem, 4>, ReadError> {
    let [calm, at, thread, seq] = match &query.after {
        Some(place) => place.numbers()?,
        None => [i64::MIN; 4],
    };
    let (index, after, order) = match query.order {
        InboxOrder::Oldest => (
            "inbox_open",
            "?9 = ?9 AND (i.at, i.thread, i.seq) > (?2, ?3, ?4)",
            "i.at, i.thread, i.seq",
        ),
        InboxOrder::Urgent => (
            "inbox_open_by_urgency",
            "(2 - i.urgency, i.at, i.thread, i.seq) > (?9, ?2, ?3, ?4)",
            "2 - i.urgency, i.at, i.thread, i.seq",
        ),
    };
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM inbox i INDEXED BY {index} \
         CROSS JOIN thread t ON t.num = i.thread AND t.deleted IS NULL \
         WHERE i.tenant = ?1 AND i.closed IS NULL AND {after} \
             AND (CAST(?5 AS TEXT) IS NULL OR i.kind = ?5) AND i.require_user >= ?6 AND i.visibility <= ?7 \
         ORDER BY {order} LIMIT ?8"
    ))?;
    let kind = query.kind.map(InboxKind::name);
    let (limit, sees) = (probe(query.limit), query.sees.rank());
    let asked = params![tenant, at, thread, seq, kind, query.user_only, sees, limit, calm];
    let rows = find.query_map(asked, read)?;
    let rows = rows.map(|row| {
        let (item, thread) = row?;
        let calm = match query.order {
            InboxOrder::Oldest => 0,
            InboxOrder::Urgent => 2 - item.urgency.rank(),
        };
        let place = [calm, item.at, thread, item.seq as i64];
        Ok((item, place))
    });
    Ok(rows.collect::<db::Result<_>>()?)
}

/// What waits in one thread, the oldest first.
pub(crate) fn pending(conn: &Connection, thread: &ThreadRef) -> Result<Vec<InboxItem>, ReadError> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM inbox i INDEXED BY inbox_open_by_task \
         CROSS JOIN thread t ON t.num = i.thread AND t.deleted IS NULL \
         WHERE i.thread = ?1 AND i.closed IS NULL ORDER BY i.seq"
    ))?;
    let rows = find.query_map(params![thread.num], read)?;
    Ok(rows.map(|item| item.map(|(item, _)| item)).collect::<db::Result<_>>()?)
}

/// A question or request for credentials, open or not.
pub(crate) fn question(
    conn: &Connection,
    thread: &ThreadRef,
    kind: InboxKind,
    id: &str,
) -> Result<Option<InboxItem>, ReadError> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM inbox i JOIN thread t ON t.num = i.thread AND t.deleted IS NULL \
         WHERE i.thread = ?1 AND i.kind = ?2 AND i.id = ?3"
    ))?;
    let found = find.query_row(params![thread.num, kind.name(), id], read).optional()?;
    Ok(found.map(|(item, _)| item))
}

fn read(row: &Row<'_>) -> db::Result<(InboxItem, i64)> {
    let kind: String = row.get(1)?;
    let item = InboxItem {
        thread: row.get(0)?,
        kind: InboxKind::named(&kind),
        id: row.get(2)?,
        task: row.get(3)?,
        seq: row.get::<i64>(4)? as u64,
        at: row.get(5)?,
        ty: row.get(6)?,
        prompt: row.get(7)?,
        require_user: row.get(8)?,
        expires: row.get(9)?,
        urgency: Urgency::ranked(row.get(10)?),
    };
    Ok((item, row.get(11)?))
}
