//! The same request again and again: answers of any protocol, whole or as streams.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::http::{Connection, post_with};
use super::{Report, RequestsArgs, failed, own_cpu};
use crate::error::Error;

/// What stands for the request's number in a body.
const NUMBER: &str = "{n}";

pub(super) async fn run(args: &RequestsArgs) -> Result<Report, Error> {
    let body = std::fs::read_to_string(&args.body)
        .map_err(|error| failed(&args.body.display().to_string(), error))?;
    work(args, &body).await.map_err(|error| failed(&args.address, error))
}

async fn work(args: &RequestsArgs, body: &str) -> io::Result<Report> {
    let run = std::process::id();
    let at_once = args.at_once.clamp(1, args.count.max(1));
    let next = Arc::new(AtomicUsize::new(0));
    let (begin, cpu) = (Instant::now(), own_cpu());
    let mut askers = Vec::new();
    for _ in 0..at_once {
        let (next, count, body) = (next.clone(), args.count, body.to_owned());
        let (address, path) = (args.address.clone(), args.path.clone());
        let headers = args.header.clone();
        askers.push(tokio::spawn(async move {
            let mut connection = Connection::open(&address).await?;
            let (mut micros, mut frames) = (Vec::new(), 0);
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok::<_, io::Error>((micros, frames));
                }
                let body = body.replace(NUMBER, &format!("{run}-{number}"));
                let request = post_with(&path, &headers, &body);
                let sent = Instant::now();
                let answer = connection.whole(&request).await?;
                micros.push(sent.elapsed().as_micros() as u32);
                if answer.status != 200 {
                    let told = String::from_utf8_lossy(connection.answer()).into_owned();
                    return Err(io::Error::other(format!("refused: {told}")));
                }
                frames += answer.frames;
                if !answer.stays {
                    connection = Connection::open(&address).await?;
                }
            }
        }));
    }
    let (mut micros, mut frames) = (Vec::new(), 0);
    for asker in askers {
        let (own, more) = asker.await.map_err(io::Error::other)??;
        micros.extend(own);
        frames += more;
    }
    let seconds = begin.elapsed().as_secs_f64();
    let mut report = Report::new();
    report.add("at_once", at_once as f64, "");
    report.add("requests", micros.len() as f64 / seconds, "a second");
    report.add("events", frames as f64 / seconds, "a second");
    report.add("answered", micros.len() as f64, "requests");
    report.add("received", frames as f64, "events");
    report.add("seconds", seconds, "");
    report.latencies(micros);
    report.add("own_cpu", (own_cpu() - cpu) / seconds, "cores");
    Ok(report)
}
