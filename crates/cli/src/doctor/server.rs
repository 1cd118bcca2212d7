//! The server, as it is seen through the URL that is used.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use selvedge_client::{Client, Error as Trouble, Follow, Frame, Tail};
use selvedge_protocol::time;
use serde_json::Value;

use super::{Health, Report, middle_and_slow, millis};
use crate::error::Error;

/// How many events go round, and how long one may take.
const ROUNDS: usize = 20;
const PATIENCE: Duration = Duration::from_secs(3);

/// Looks at the server.
pub(super) async fn look(client: &Client, report: &mut Report) -> Result<(), Error> {
    let from = Instant::now();
    let ready = client.get("/health").await;
    let took = from.elapsed();
    match ready {
        Ok(_) => report.say("server", Health::Good(format!("ready, in {}", millis(took))))?,
        Err(error) => return report.say("server", away(&error)),
    }
    report.say("version", version(client).await)?;
    round(client, report).await
}

fn away(error: &Trouble) -> Health {
    let cure = match error {
        Trouble::Connection { .. } if error.is_untrusted() => {
            "name its authority with `--ca <FILE>`"
        }
        Trouble::Connection { .. } => "start it with `selvedge serve`, or name it with `--url`",
        Trouble::Refused { status: 503, .. } => "it cannot write: look at its log and its disk",
        _ => "is this a Selvedge server? look at what stands at the URL",
    };
    Health::Bad(error.to_string(), cure.to_owned())
}

async fn version(client: &Client) -> Health {
    let own = env!("CARGO_PKG_VERSION");
    // What stands between may hold an answer back for ever.
    let document = tokio::time::timeout(PATIENCE, client.get("/openapi.json")).await;
    let document = document.ok().and_then(Result::ok).unwrap_or_default();
    match document["info"]["version"].as_str() {
        Some(version) if version == own => Health::Good(version.to_owned()),
        Some(version) => Health::Doubtful(
            format!("the server is {version}, this command {own}"),
            "use the same version on both sides".to_owned(),
        ),
        None => Health::Doubtful(
            "the server does not tell".to_owned(),
            "is this a Selvedge server?".to_owned(),
        ),
    }
}

/// Sends events round on a thread that is made for it.
async fn round(client: &Client, report: &mut Report) -> Result<(), Error> {
    let made = client.create(&serde_json::json!({ "title": "selvedge doctor" })).await;
    let thread = match made {
        Ok(made) => made["id"].as_str().unwrap_or_default().to_owned(),
        Err(error) => {
            let cure = "give a key that may read and write, with `--key`".to_owned();
            return report.say("stream", Health::Doubtful(error.to_string(), cure));
        }
    };
    let went = go(client, &thread).await;
    let gone = client.delete(&thread).await;
    match went {
        Err(error) => {
            let cure = "give a key that may read and write, with `--key`".to_owned();
            report.say("stream", Health::Bad(error.to_string(), cure))?;
        }
        Ok(Round { clock, back }) => {
            report.say("clock", judge_clock(clock))?;
            let (stream, lag) = judge_stream(back);
            report.say("stream", stream)?;
            if let Some(lag) = lag {
                report.say("lag", lag)?;
            }
        }
    }
    if let Err(error) = gone {
        let cure = format!("delete `{thread}` yourself");
        report.say("clean up", Health::Doubtful(error.to_string(), cure))?;
    }
    Ok(())
}

struct Round {
    /// How far the server's clock is ahead, in milliseconds, and how exactly that is known.
    clock: Option<(i64, u64)>,
    /// How long each event took from its append's answer; none if it did not come alone in time.
    back: Vec<Option<Duration>>,
}

async fn go(client: &Client, thread: &str) -> Result<Round, Trouble> {
    let mut tail = client.follow(thread, Follow::default());
    let mut back = Vec::new();
    let mut clock = None;
    // What is there already may be what opens a proxy's buffer; it is not counted.
    let first = next(&mut tail, "thread-created").await?;
    if first.is_none() {
        return Ok(Round { clock, back: vec![None] });
    }
    for round in 0..ROUNDS {
        let event = format!("{{\"kind\":\"system\",\"name\":\"doctor\",\"data\":{round}}}");
        let sent = now();
        client.append(thread, &event).await?;
        let (from, middle) = (Instant::now(), (sent + now()) / 2);
        let frame = next(&mut tail, "system").await?;
        back.push(frame.as_ref().map(|_| from.elapsed()));
        let Some(frame) = frame else { break };
        let event: Value = serde_json::from_str(&frame.data).unwrap_or_default();
        let stamp = event["timestamp"].as_str().and_then(time::to_millis);
        if let Some(stamp) = stamp {
            let doubt = (now() - sent).unsigned_abs() / 2;
            // The quickest exchange knows best.
            if clock.is_none_or(|(_, least)| doubt < least) {
                clock = Some((stamp - middle, doubt));
            }
        }
    }
    Ok(Round { clock, back })
}

/// The next frame of a kind, if it comes in time.
async fn next(tail: &mut Tail, kind: &str) -> Result<Option<Frame>, Trouble> {
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        match tokio::time::timeout_at(until, tail.next()).await {
            Err(_) | Ok(Ok(None)) => return Ok(None),
            Ok(Ok(Some(frame))) if frame.event == kind => return Ok(Some(frame)),
            Ok(Ok(Some(_))) => {}
            Ok(Err(error)) => return Err(error),
        }
    }
}

fn judge_clock(clock: Option<(i64, u64)>) -> Health {
    let Some((ahead, doubt)) = clock else {
        return Health::Doubtful("not known".to_owned(), "no event came back".to_owned());
    };
    let off = Duration::from_millis(ahead.unsigned_abs().saturating_sub(doubt));
    let seen = match off.is_zero() {
        true => format!("the same, within {doubt} ms"),
        false if ahead > 0 => format!("the server's is {} ahead", millis(off)),
        false => format!("the server's is {} behind", millis(off)),
    };
    let cure = "times in threads will look wrong: keep both clocks by NTP";
    Health::within(off, Duration::from_millis(500), Duration::from_secs(60), seen, cure)
}

/// Whether frames come one by one, and how fast.
fn judge_stream(back: Vec<Option<Duration>>) -> (Health, Option<Health>) {
    let lost = back.iter().any(Option::is_none);
    if lost {
        let seen =
            format!("event {} did not come back within {} s", back.len(), PATIENCE.as_secs());
        let cure = "something on the way holds streams back: turn off its buffering (nginx: \
                    `proxy_buffering off`), compression and caching for text/event-stream";
        return (Health::Bad(seen, cure.to_owned()), None);
    }
    let count = back.len();
    let (middle, slow) = middle_and_slow(back.into_iter().flatten().collect());
    let seen = format!("{} after the append, p99 {}", millis(middle), millis(slow));
    let cure = "look at the machine's load, and at what stands between";
    let lag =
        Health::within(middle, Duration::from_millis(50), Duration::from_millis(1000), seen, cure);
    (Health::Good(format!("{count} events came back one by one")), Some(lag))
}

/// Milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
