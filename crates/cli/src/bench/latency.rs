//! How long an event takes to readers of each protocol, beside a reader of the native stream.
//!
//! One process appends and reads everything, so there is one clock. Events are told apart by a
//! number in their text, which every protocol carries as it is.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::Barrier;
use tokio::task::spawn_blocking;

use super::http::{Connection, get, post, post_with};
use super::{LatencyArgs, Report, failed, own_cpu};
use crate::error::Error;

/// How long readers may take for what is left when the writer is done.
const PATIENCE: Duration = Duration::from_secs(30);
/// Connections that take turns, so that an append that waits for the disk does not hold up the next.
const WRITERS: usize = 8;
/// The one that all others are compared to.
const NATIVE: &str = "native";
/// Around an event's number, and how many digits that has.
const MARK: u8 = b'#';
const DIGITS: usize = 7;
/// Not an event of the measurement: once a reader has it, it follows.
const READY: usize = 0;

/// How a protocol's client follows what is running in a thread.
struct Surface {
    name: &'static str,
    request: fn(thread: &str) -> Vec<u8>,
}

const SURFACES: [Surface; 9] = [
    Surface { name: NATIVE, request: |thread| get(&format!("/api/threads/{thread}/stream")) },
    Surface { name: "looopy", request: |thread| get(&format!("/api/contexts/{thread}/stream")) },
    Surface {
        name: "a2a-1.0",
        request: |thread| json_rpc(thread, "SubscribeToTask", &["a2a-version: 1.0".to_owned()]),
    },
    Surface { name: "a2a-0.3", request: |thread| json_rpc(thread, "tasks/resubscribe", &[]) },
    Surface {
        name: "openai",
        request: |thread| get(&format!("/v1/threads/{thread}/stream/{}", task(thread))),
    },
    Surface { name: "ai-sdk", request: |thread| get(&format!("/ai-sdk/chat/{thread}/stream")) },
    Surface { name: "ag-ui", request: ag_ui },
    Surface { name: "looopy-view", request: |thread| view(thread, "looopy") },
    Surface { name: "agent-api-view", request: |thread| view(thread, "agent-api") },
];

/// What can be measured.
pub(super) fn names() -> Vec<&'static str> {
    SURFACES.iter().map(|surface| surface.name).collect()
}

pub(super) async fn run(args: &LatencyArgs) -> Result<Report, Error> {
    let address = args.common.address.as_str();
    work(args).await.map_err(|error| failed(address, error))
}

async fn work(args: &LatencyArgs) -> io::Result<Report> {
    let address = args.common.address.as_str();
    let thread = format!("bench-{}", std::process::id());
    let mut writer = Connection::open(address).await?;
    begin(&mut writer, &thread).await?;
    let wanted = |surface: &&Surface| {
        let own = |name: &String| name == surface.name;
        surface.name == NATIVE || args.surface.is_empty() || args.surface.iter().any(own)
    };
    let surfaces: Vec<&Surface> = SURFACES.iter().filter(wanted).collect();
    let rate = args.rate.clamp(0.1, 1e6);
    let count = (args.common.time().as_secs_f64() * rate) as usize;
    let clock = Instant::now();
    let ready = Arc::new(Barrier::new(surfaces.len() + 1));
    let mut readers = Vec::new();
    for surface in &surfaces {
        let stream = Connection::open(address).await?.stream(&(surface.request)(&thread)).await?;
        readers.push(tokio::spawn(read(stream, clock, count, ready.clone())));
    }
    tokio::time::timeout(PATIENCE, ready.wait())
        .await
        .map_err(|_| io::Error::other("a reader does not follow the thread"))?;
    let cpu = own_cpu();
    let (from, mut writers) = (Instant::now(), Vec::new());
    for turn in 0..WRITERS {
        let own = Pace { clock, from, rate, count, size: args.common.size, turn };
        let (handle, thread) = (Handle::current(), thread.clone());
        let mut writer = Connection::open(address).await?;
        writers.push(spawn_blocking(move || write(&handle, &mut writer, &thread, &own)));
    }
    let mut sent = vec![f64::NAN; count];
    for writer in writers {
        for (number, at) in writer.await.map_err(io::Error::other)?? {
            sent[number] = at;
        }
    }
    let seconds = from.elapsed().as_secs_f64();
    let mut received = Vec::new();
    for (surface, reader) in surfaces.iter().zip(readers) {
        let done = tokio::time::timeout(PATIENCE, reader).await;
        let missing = || io::Error::other(format!("{} did not get everything", surface.name));
        received.push(done.map_err(|_| missing())?.map_err(io::Error::other)??);
    }
    let mut report = Report::new();
    report.add("appended", count as f64 / seconds, "events a second");
    let native = received.first().cloned().unwrap_or_default();
    for (surface, own) in surfaces.iter().zip(&received) {
        report.spread(&format!("{}_", surface.name), less(own, &sent));
        if surface.name != NATIVE {
            report.spread(&format!("{}_added_", surface.name), less(own, &native));
        }
    }
    report.add("own_cpu", (own_cpu() - cpu) / seconds, "cores");
    Ok(report)
}

/// A thread with a task that is at work, and a first piece of it.
async fn begin(writer: &mut Connection, thread: &str) -> io::Result<()> {
    let made = post("/api/threads", &format!("{{\"id\":\"{thread}\"}}"));
    if writer.exchange(&made).await? != 201 {
        return Err(io::Error::other("the thread could not be made"));
    }
    let task = task(thread);
    let events = format!(
        r#"[{{"kind":"message","messageId":"m","role":"user","content":"go"}},
            {{"kind":"task-created","taskId":"{task}","agentId":"bench","initiator":"user"}},
            {{"kind":"task-status","taskId":"{task}","status":"working"}},{}]"#,
        piece(&task, READY, "")
    );
    let status = writer.exchange(&post(&format!("/api/threads/{thread}/events"), &events)).await?;
    if status != 200 {
        return Err(io::Error::other(format!("the task could not be made: {status}")));
    }
    Ok(())
}

fn task(thread: &str) -> String {
    format!("{thread}-task")
}

fn piece(task: &str, number: usize, fill: &str) -> String {
    let mark = char::from(MARK);
    format!(
        r#"{{"kind":"content-delta","taskId":"{task}","index":{number},"delta":"{mark}{number:0DIGITS$}{mark}{fill} "}}"#
    )
}

/// When which events are appended.
struct Pace {
    clock: Instant,
    from: Instant,
    rate: f64,
    count: usize,
    size: usize,
    /// Which of the writers this is.
    turn: usize,
}

/// Appends one writer's events, each at its time or as soon as its one before is answered; gives
/// when. A thread of its own: timers of the runtime are not fine enough.
fn write(
    handle: &Handle,
    writer: &mut Connection,
    thread: &str,
    pace: &Pace,
) -> io::Result<Vec<(usize, f64)>> {
    let (path, task) = (format!("/api/threads/{thread}/events"), task(thread));
    let fill = "x".repeat(pace.size.saturating_sub(piece(&task, READY, "").len()));
    let mut sent = Vec::with_capacity(pace.count / WRITERS + 1);
    for number in (pace.turn..pace.count).step_by(WRITERS) {
        let due = pace.from + Duration::from_secs_f64(number as f64 / pace.rate);
        let request = post(&path, &piece(&task, number + 1, &fill));
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        sent.push((number, pace.clock.elapsed().as_micros() as f64));
        match handle.block_on(writer.exchange(&request))? {
            200 => {}
            status => return Err(io::Error::other(format!("answer {status}"))),
        }
    }
    Ok(sent)
}

/// Reads until it has seen all events; gives when it had each.
async fn read(
    mut stream: TcpStream,
    clock: Instant,
    count: usize,
    ready: Arc<Barrier>,
) -> io::Result<Vec<f64>> {
    let mut bytes: Vec<u8> = Vec::with_capacity(64 << 10);
    let mut seen = vec![f64::NAN; count + 1];
    let mut left = count + 1;
    while left > 0 {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::Error::other("a stream ended before its task"));
        }
        let now = clock.elapsed().as_micros() as f64;
        let mut done = 0;
        for at in memchr::memchr_iter(MARK, &bytes) {
            let Some(mark) = bytes.get(at..at + DIGITS + 2) else { break };
            done = at + 1;
            let Some(number) = number(mark) else { continue };
            // Protocols may tell the whole text again.
            let Some(when) = seen.get_mut(number).filter(|when| when.is_nan()) else { continue };
            *when = now;
            left -= 1;
            if number == READY {
                ready.wait().await;
            }
        }
        // A mark that is not there yet as a whole stays.
        let whole = bytes.len().saturating_sub(DIGITS + 1).max(done);
        bytes.drain(..whole);
    }
    seen.remove(READY);
    Ok(seen)
}

/// The number in a mark.
fn number(mark: &[u8]) -> Option<usize> {
    let (&last, rest) = mark.split_last()?;
    let digits = rest.get(1..).filter(|_| last == MARK)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// By how much later, one by one.
fn less(later: &[f64], earlier: &[f64]) -> Vec<f64> {
    later.iter().zip(earlier).map(|(later, earlier)| later - earlier).collect()
}

fn json_rpc(thread: &str, method: &str, headers: &[String]) -> Vec<u8> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"id":"{}"}}}}"#,
        task(thread)
    );
    post_with("/a2a", headers, &body)
}

fn ag_ui(thread: &str) -> Vec<u8> {
    let body = format!(
        r#"{{"threadId":"{thread}","runId":"r","messages":[],"state":{{}},"tools":[],"context":[],"forwardedProps":{{}}}}"#
    );
    post_with("/ag-ui", &[], &body)
}

fn view(thread: &str, dialect: &str) -> Vec<u8> {
    get(&format!("/api/threads/{thread}/stream?dialect={dialect}"))
}
