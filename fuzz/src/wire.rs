//! Any bytes on a connection to a real server: never a mistake of the server's own, and the same
//! requests are seen in them however the network cuts them, and whoever reads them.
//!
//! Ordinary requests are read here (`plain/`), all others by hyper. If the two did not take the end of
//! a request to be at the same place, one request could hide another.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use crate::bytes::Numbers;
use crate::http::Site;

/// How long nothing comes before it is taken for all; and before it is called a finding.
const QUIET: Duration = Duration::from_millis(12);
const LONG: Duration = Duration::from_secs(5);
/// Between pieces, so that the server sees one without the next.
const PAUSE: Duration = Duration::from_millis(2);
/// Pieces that are sent by themselves.
const ALONE: usize = 4;
/// Bytes that are read of an answer.
const MOST: usize = 1 << 20;
/// A request that is hyper's, and so is what follows it.
const HYPERS: &[u8] = b"GET /health HTTP/1.1\r\nHost: localhost\r\nTE: trailers\r\n\r\n";
/// Requests to a thread that is there.
pub(crate) const SEEDS: &[&str] = &[
    "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "POST /api/threads/t/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\n{\"kind\":\"x\"}",
    "POST /api/threads/t/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\n{\"kind\":\"x\"}\
     POST /api/threads/t/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\n{\"kind\":\"y\"}",
    "POST /api/threads/t/events HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\
     c\r\n{\"kind\":\"x\"}\r\n0\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "POST /api/threads/t/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\
     Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "POST /api/threads/t/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\nContent-Length: 6\r\n\
     \r\n{\"kind\":\"x\"}",
    "POST /api/threads/t/events HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n\
     Idempotency-Key: k\r\nIf-Match: 1.1\r\nAuthorization: Bearer sk_1\r\nOrigin: http://y\r\n\
     X-Request-Id: r\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"kind\":\"x\"}",
    "POST /api/threads/t/events HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 12\r\n\r\n\
     {\"kind\":\"x\"}GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "GET /api/threads/t/events?limit=2 HTTP/1.1\nHost: localhost\nAccept: */*\n\nHEAD /health HTTP/1.1\r\n\
     Host: localhost\r\n\r\n",
    "OPTIONS /api/threads/t/events HTTP/1.1\r\nHost: localhost\r\nOrigin: http://y\r\n\
     Access-Control-Request-Method: POST\r\n\r\n",
    "GET /api/threads/t/stream HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 1.1\r\n\r\n",
];

/// Panics if the bytes show that a promise is broken.
pub(crate) fn check(bytes: &[u8]) {
    static SITE: Mutex<Option<Site>> = Mutex::new(None);
    let mut site = SITE.lock().unwrap_or_else(PoisonError::into_inner);
    if site.as_ref().is_some_and(Site::is_old) {
        *site = None;
    }
    let site = site.get_or_insert_with(|| {
        let site = Site::start();
        site.make("t");
        site
    });
    site.count();
    let pieces = Numbers::of(bytes).pieces(bytes);
    let ask = |patience| {
        let ask = |pieces: &[&[u8]]| answers(site.address(), pieces, patience);
        let mut hypers = ask(&[HYPERS, bytes]);
        hypers.forget_first();
        [ask(&[bytes]), ask(&pieces), hypers]
    };
    let all_agree = |[whole, cut, hypers]: &[Answers; 3]| agree(whole, cut) && agree(whole, hypers);
    let mut came = ask(QUIET);
    if !all_agree(&came) {
        came = ask(LONG);
    }
    let told = || (came.each_ref().map(Answers::text), String::from_utf8_lossy(bytes).into_owned());
    for answer in &came {
        let statuses = answer.statuses();
        let is_fine = |status: &u16| *status < 500 || matches!(status, 501 | 505);
        assert!(statuses.iter().all(is_fine), "{statuses:?}: {:?}", told());
    }
    assert!(
        all_agree(&came),
        "in one piece, in {}, and as hyper reads: {:?}",
        pieces.len(),
        told()
    );
}

/// Whether both saw the same requests: as many, and none that the other takes for none. Who hung up
/// may have done so before the next, and a refusal need not wait for the body that it refuses, nor
/// for the end of a head that is wrong.
fn agree(whole: &Answers, again: &Answers) -> bool {
    let (one, other) = (whole.requests(), again.requests());
    let is_taken_by =
        |other: &Answers, nth: usize| other.statuses().get(nth).is_some_and(|status| *status < 400);
    let is_torn = (whole.is_refused() && is_taken_by(again, one))
        || (again.is_refused() && is_taken_by(whole, other));
    let (less, more) = if one < other { (whole, again) } else { (again, whole) };
    let is_early = more.is_refusing() && one.abs_diff(other) == 1;
    !is_torn && (one == other || less.is_over || is_early)
}

/// What a server said.
struct Answers {
    bytes: Vec<u8>,
    /// Whether it hung up, so that nothing more comes.
    is_over: bool,
}

/// Sends pieces, and reads until nothing comes for a while.
fn answers(address: &str, pieces: &[&[u8]], patience: Duration) -> Answers {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_nodelay(true).expect("no delay");
    stream.set_read_timeout(Some(patience)).expect("a limit");
    for (nth, piece) in pieces.iter().filter(|piece| !piece.is_empty()).enumerate() {
        if nth > 0 && nth < ALONE {
            sleep(PAUSE);
        }
        // Who hung up takes no more, but has answered.
        if stream.write_all(piece).is_err() {
            break;
        }
    }
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    let is_over = loop {
        match stream.read(&mut part) {
            Ok(0) => break true,
            Ok(length) => bytes.extend_from_slice(&part[..length]),
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => {}
                ErrorKind::WouldBlock | ErrorKind::TimedOut => break false,
                _ => break true,
            },
        }
        if bytes.len() > MOST {
            break true;
        }
    };
    Answers { bytes, is_over }
}

impl Answers {
    /// The statuses of all answers, but for those that say that more may be sent.
    fn statuses(&self) -> Vec<u16> {
        let starts = self.bytes.windows(9).enumerate();
        let is_start = |window: &[u8]| matches!(window, b"HTTP/1.1 " | b"HTTP/1.0 ");
        let starts = starts.filter(|(_, window)| is_start(window)).map(|(at, _)| at + 9);
        let digits = starts.filter_map(|at| std::str::from_utf8(self.bytes.get(at..at + 3)?).ok());
        digits.filter_map(|digits| digits.parse().ok()).filter(|status| *status != 100).collect()
    }

    /// Leaves out the first answer, if it came in time.
    fn forget_first(&mut self) {
        const NEXT: &[u8] = b"{\"status\":\"ok\"}";
        let end = self.bytes.windows(NEXT.len()).position(|window| window == NEXT);
        let end = end.map_or(self.bytes.len(), |at| at + NEXT.len());
        self.bytes.drain(..end);
    }

    /// Whether the last that came was no request at all, as hyper says it: without a word.
    fn is_refused(&self) -> bool {
        let last = self.bytes.windows(7).rposition(|window| window == b"HTTP/1.");
        let last = self.bytes.get(last.unwrap_or(0)..).unwrap_or_default();
        let is_empty = last.windows(17).any(|window| window == b"content-length: 0");
        self.is_over && is_empty && self.statuses().last() == Some(&400)
    }

    /// Whether the last answer is a refusal.
    fn is_refusing(&self) -> bool {
        self.statuses().last().is_some_and(|status| *status >= 400)
    }

    /// How many requests were answered.
    fn requests(&self) -> usize {
        self.statuses().len() - usize::from(self.is_refused())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
