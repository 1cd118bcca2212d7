//! Rows put into PostgreSQL by themselves: what a database allows whoever does nothing else.
//!
//! The same events as those of `appends`, in a table like the journal's, so many rows in a commit:
//! one statement with arrays, as the store writes them, and nothing besides.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use crate::args::Appends;
use crate::event::event;
use crate::line::Line;
use crate::process::{Tree, cpu};
use crate::spread::Spread;
use crate::wire::Peer;
use crate::wire::postgres::{message, sync};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where the database listens
    #[arg(long)]
    address: SocketAddr,
    /// Its process
    #[arg(long)]
    process: u32,
    /// How many put rows in at the same time
    #[arg(long)]
    writers: usize,
    /// Rows of a commit, each of another thread
    #[arg(long)]
    rows: usize,
    #[command(flatten)]
    appends: Appends,
}

/// As `crates/store/src/postgres/migrations` makes it.
const TABLE: &str = "
DROP TABLE IF EXISTS plain;
CREATE SEQUENCE IF NOT EXISTS plain_row;
CREATE TABLE plain (row bigint NOT NULL, thread bigint NOT NULL, first bigint NOT NULL,
    last bigint NOT NULL, at bigint NOT NULL, key text COLLATE \"C\", digest bytea,
    body text COLLATE \"C\" NOT NULL, PRIMARY KEY (thread, last)) PARTITION BY HASH (thread);
DO $$ BEGIN FOR n IN 0..15 LOOP EXECUTE format(
    'CREATE TABLE plain_%s PARTITION OF plain FOR VALUES WITH (MODULUS 16, REMAINDER %s)', n, n);
END LOOP; END $$;
DO $$ BEGIN FOR n IN 0..15 LOOP EXECUTE format(
    'ALTER TABLE plain_%s ALTER COLUMN body SET COMPRESSION lz4', n);
END LOOP; EXCEPTION WHEN OTHERS THEN NULL; END $$;
CREATE UNIQUE INDEX plain_by_key ON plain (thread, key) WHERE key IS NOT NULL;
";
const INSERT: &str = "INSERT INTO plain (row, thread, first, last, at, body) \
     SELECT nextval('plain_row'), n.* FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], \
     $4::bigint[], $5::text[]) AS n";
/// Types by their numbers, which never change.
const LONG: u32 = 20;
const TEXT: u32 = 25;

pub(crate) fn run(args: &Args) -> Result<Value> {
    let Appends { batch, seconds, size } = args.appends;
    let mut lines = Vec::new();
    for number in 0..args.writers {
        let mut line = Line::open(args.address, Peer::Postgres.wire())?;
        if number == 0 {
            line.exchange(&message(b'Q', &[TABLE.as_bytes(), b"\0"]), 1)?;
        }
        let prepare = message(b'P', &[b"u\0", INSERT.as_bytes(), b"\0\0\0"]);
        line.exchange(&[prepare, sync()].concat(), 1)?;
        lines.push(line);
    }
    let (database, own) = (vec![Tree::of(args.process)], vec![Tree::own()]);
    let (database_cpu, own_cpu, begin) = (cpu(&database), cpu(&own), Instant::now());
    let end = begin + Duration::from_secs_f64(seconds);
    // One line for each event, as in the journal.
    let body = vec![event(size); batch].join(&b'\n');
    let write = |number: usize, mut line: Line| -> Result<(u64, Spread)> {
        let (mut commits, mut spread) = (0, Spread::new());
        while Instant::now() < end {
            let asked = Instant::now();
            let first = (number * args.rows) as i64;
            let longs = |value: &dyn Fn(i64) -> i64| {
                let each = (0..args.rows as i64).map(|row| value(row).to_be_bytes().to_vec());
                array(LONG, &each.collect::<Vec<_>>())
            };
            let (from, to) =
                (commits as i64 * batch as i64 + 1, (commits as i64 + 1) * batch as i64);
            let values = [
                longs(&|row| first + row + 1),
                longs(&|_| from),
                longs(&|_| to),
                longs(&|_| 1_700_000_000_000),
                array(TEXT, &vec![body.clone(); args.rows]),
            ];
            line.exchange(&[bind(&values), message(b'E', &[b"\0\0\0\0\0"]), sync()].concat(), 1)?;
            spread.add(asked.elapsed().as_micros() as u64);
            commits += 1;
        }
        Ok((commits, spread))
    };
    let (mut commits, mut spread) = (0, Spread::new());
    thread::scope(|scope| {
        let threads: Vec<_> = lines
            .into_iter()
            .enumerate()
            .map(|(number, line)| scope.spawn(move || write(number, line)))
            .collect();
        for thread in threads {
            let (own, times) = thread.join().map_err(|_| anyhow!("panicked"))??;
            commits += own;
            spread.join(&times);
        }
        Ok::<_, anyhow::Error>(())
    })?;
    let seconds = begin.elapsed().as_secs_f64();
    let appends = commits as f64 * args.rows as f64 / seconds;
    Ok(json!({
        "writers": args.writers,
        "rows": args.rows,
        "appends_s": appends,
        "events_s": appends * batch as f64,
        "p50_ms": spread.at(0.50),
        "p99_ms": spread.at(0.99),
        "database_cpu": (cpu(&database) - database_cpu) / seconds,
        "own_cpu": (cpu(&own) - own_cpu) / seconds,
    }))
}

/// An array of one dimension, in PostgreSQL's binary form.
fn array(kind: u32, values: &[Vec<u8>]) -> Vec<u8> {
    let head = [1, 0, kind, values.len() as u32, 1];
    let mut bytes: Vec<u8> = head.into_iter().flat_map(u32::to_be_bytes).collect();
    for value in values {
        bytes.extend_from_slice(&(value.len() as u32).to_be_bytes());
        bytes.extend_from_slice(value);
    }
    bytes
}

/// Binds values in binary form.
fn bind(values: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = b"\0u\0\0\x01\0\x01".to_vec();
    bytes.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for value in values {
        bytes.extend_from_slice(&(value.len() as u32).to_be_bytes());
        bytes.extend_from_slice(value);
    }
    bytes.extend_from_slice(b"\0\0");
    message(b'B', &[&bytes])
}

#[cfg(test)]
mod tests {
    use super::{LONG, array};

    #[test]
    fn an_array_says_what_it_holds() {
        let bytes = array(LONG, &[7i64.to_be_bytes().to_vec()]);
        let head = b"\0\0\0\x01\0\0\0\0\0\0\0\x14\0\0\0\x01\0\0\0\x01";
        assert_eq!(bytes, [&head[..], b"\0\0\0\x08\0\0\0\0\0\0\0\x07"].concat());
    }
}
