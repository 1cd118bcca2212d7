//! Durable appends by many writers.

use std::io;
use std::time::Instant;

use super::http::{Connection, post};
use super::{AppendsArgs, Report, failed, own_cpu};
use crate::error::Error;

pub(super) async fn run(args: &AppendsArgs) -> Result<Report, Error> {
    let common = &args.common;
    let address = common.address.as_str();
    let run = std::process::id();
    let fill = "x".repeat(common.size.saturating_sub(64));
    let event = format!("{{\"kind\":\"content-delta\",\"taskId\":\"k\",\"delta\":\"{fill}\"}}");
    let mut connections = Vec::new();
    for writer in 0..args.writers {
        let mut connection = Connection::open(address).await.map_err(|e| failed(address, e))?;
        let thread = format!("bench-{run}-{writer}");
        let made = post("/api/threads", &format!("{{\"id\":\"{thread}\"}}"));
        let status = connection.exchange(&made).await.map_err(|e| failed(address, e))?;
        if status != 201 {
            return Err(failed(address, io::Error::other(format!("the answer is {status}"))));
        }
        let request = post(&format!("/api/threads/{thread}/events"), &event);
        connections.push((connection, request));
    }
    let (begin, cpu) = (Instant::now(), own_cpu());
    let end = begin + common.time();
    let writers: Vec<_> = connections
        .into_iter()
        .map(|(mut connection, request)| {
            tokio::spawn(async move {
                let mut micros = Vec::new();
                while Instant::now() < end {
                    let sent = Instant::now();
                    match connection.exchange(&request).await {
                        Ok(200) => micros.push(sent.elapsed().as_micros() as u32),
                        Ok(status) => return Err(io::Error::other(format!("answer {status}"))),
                        Err(error) => return Err(error),
                    }
                }
                Ok(micros)
            })
        })
        .collect();
    let mut micros = Vec::new();
    for writer in writers {
        let done = writer.await.map_err(|error| failed(address, io::Error::other(error)))?;
        micros.extend(done.map_err(|error| failed(address, error))?);
    }
    let seconds = begin.elapsed().as_secs_f64();
    let mut report = Report::new();
    report.add("writers", args.writers as f64, "");
    report.add("appends", micros.len() as f64 / seconds, "a second");
    report.latencies(micros);
    report.add("own_cpu", (own_cpu() - cpu) / seconds, "cores");
    Ok(report)
}
