//! Artifacts of a thread.

use std::ops::Range;

use crate::db::{self, Connection, Row, params};
use selvedge_protocol::journal::Visibility;
use selvedge_protocol::journal::fold::ArtifactKind;

use crate::query::{Artifact, ArtifactVersion, WhichVersion};
use crate::{ReadError, ThreadRef};

const ARTIFACT: &str = "SELECT a.id, a.kind, a.name, a.description, a.versions FROM artifact a \
     JOIN thread t ON t.num = a.thread WHERE a.thread = ?1 AND t.deleted IS NULL";

/// Some of a thread's artifacts with all their versions, in the order they began.
pub(crate) fn artifacts(
    conn: &Connection,
    thread: &ThreadRef,
    within: Range<usize>,
) -> Result<Vec<Artifact>, ReadError> {
    let mut find =
        conn.prepare_cached(&format!("{ARTIFACT} AND a.nth >= ?2 AND a.nth < ?3 ORDER BY a.nth"))?;
    let [from, to] = [within.start, within.end].map(|at| i64::try_from(at).unwrap_or(i64::MAX));
    let rows = find.query_map(params![thread.num, from, to], read)?;
    let mut out = Vec::new();
    for row in rows {
        let (mut artifact, _) = row?;
        artifact.versions = versions(conn, thread, &artifact.id, 1, i64::MAX)?;
        out.push(artifact);
    }
    Ok(out)
}

/// An artifact with the versions asked for; `None` if it or the version is not there.
pub(crate) fn artifact(
    conn: &Connection,
    thread: &ThreadRef,
    id: &str,
    which: WhichVersion,
) -> Result<Option<Artifact>, ReadError> {
    let mut find = conn.prepare_cached(&format!("{ARTIFACT} AND a.id = ?2"))?;
    let mut rows = find.query_map(params![thread.num, id], read)?;
    let Some((mut artifact, latest)) = rows.next().transpose()? else { return Ok(None) };
    let (from, to) = match which {
        WhichVersion::All => (1, i64::MAX),
        WhichVersion::Latest => (latest, latest),
        WhichVersion::Number(number) => {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            (number, number)
        }
    };
    artifact.versions = versions(conn, thread, id, from, to)?;
    Ok(Some(artifact).filter(|artifact| !artifact.versions.is_empty()))
}

fn versions(
    conn: &Connection,
    thread: &ThreadRef,
    id: &str,
    from: i64,
    to: i64,
) -> Result<Vec<ArtifactVersion>, ReadError> {
    let mut find = conn.prepare_cached(
        "SELECT version, mime, first, last, size, rows, complete, visibility, name, description \
         FROM artifact_version \
         WHERE thread = ?1 AND artifact = ?2 AND version BETWEEN ?3 AND ?4 ORDER BY version",
    )?;
    let rows = find.query_map(params![thread.num, id, from, to], |row| {
        let count = |at| row.get::<i64>(at).map(|count| count.max(0) as u64);
        Ok(ArtifactVersion {
            number: count(0)?,
            mime: row.get(1)?,
            first: count(2)?,
            last: count(3)?,
            size: count(4)?,
            rows: count(5)?,
            complete: row.get(6)?,
            visibility: Visibility::ranked(row.get(7)?),
            name: row.get(8)?,
            description: row.get(9)?,
        })
    })?;
    Ok(rows.collect::<db::Result<_>>()?)
}

fn read(row: &Row<'_>) -> db::Result<(Artifact, i64)> {
    let kind: String = row.get(1)?;
    let artifact = Artifact {
        id: row.get(0)?,
        kind: ArtifactKind::named(&kind).unwrap_or(ArtifactKind::File),
        name: row.get(2)?,
        description: row.get(3)?,
        versions: Vec::new(),
    };
    Ok((artifact, row.get(4)?))
}
