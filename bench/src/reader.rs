//! Readers of one stream: many connections in few threads, each checked by itself.

use std::io::{ErrorKind, Read as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::decode::{Decoder, Progress};
use crate::event::{Mark, Scanner, micros};
use crate::line::Line;
use crate::spread::Spread;
use crate::wire::Wire;

/// Who reads a stream.
pub(crate) struct Reader {
    socket: TcpStream,
    decoder: Decoder,
    scanner: Scanner,
    /// The next event's number.
    next: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The server ended it, or said something else.
    Cut,
}

/// What readers came to.
pub(crate) struct Outcome {
    pub(crate) delivered: u64,
    pub(crate) misplaced: u64,
    pub(crate) cut: u64,
    pub(crate) spread: Spread,
    /// When the last of them had its last event.
    pub(crate) last: Instant,
    /// How many events each had.
    pub(crate) counts: Vec<u64>,
}

impl Reader {
    /// Connects one of many and waits until the stream is followed.
    pub(crate) fn open(
        address: SocketAddr,
        wire: &dyn Wire,
        stream: &str,
        number: usize,
    ) -> Result<Self> {
        let mut line = Line::nth(address, wire, number)?;
        line.ask(&wire.follow(stream), 1)?;
        let mut told = Vec::new();
        loop {
            let progress = line.read(&mut |piece| told.extend_from_slice(piece))?;
            let mark = wire.followed();
            let found = !mark.is_empty() && memchr::memmem::find(&told, mark).is_some();
            if found || (mark.is_empty() && progress == Progress::Whole) {
                break;
            }
        }
        let (socket, decoder) = line.release()?;
        let (scanner, state) = (Scanner::default(), State::Open);
        Ok(Self { socket, decoder, scanner, next: 0, state })
    }

    /// Takes what is there.
    fn take(&mut self, bytes: &mut [u8], mut each: impl FnMut(&mut u64, Mark)) -> usize {
        let Self { socket, decoder, scanner, next, state } = self;
        loop {
            let n = match socket.read(bytes) {
                Ok(0) => {
                    *state = State::Cut;
                    return 0;
                }
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return 0,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => {
                    *state = State::Cut;
                    return 0;
                }
            };
            let piece = bytes.get(..n).unwrap_or_default();
            let fed = decoder.feed(piece, &mut |body| scanner.feed(body, |mark| each(next, mark)));
            if fed.is_err() {
                *state = State::Cut;
                return n;
            }
            // Less than asked for: there is no more, and news will be told.
            if n < bytes.len() {
                return n;
            }
        }
    }
}

/// Reads until each has as many events as `wanted` says at last, or patience ends.
pub(crate) fn read(
    readers: &mut [Reader],
    clock: Instant,
    wanted: &AtomicU64,
    patience: Duration,
) -> Result<Outcome> {
    let mut poll = Poll::new().context("no more files")?;
    for (number, reader) in readers.iter_mut().enumerate() {
        poll.registry().register(&mut reader.socket, Token(number), Interest::READABLE)?;
    }
    let (mut events, mut bytes) = (Events::with_capacity(1024), vec![0; 256 << 10]);
    let mut outcome = Outcome {
        delivered: 0,
        misplaced: 0,
        cut: 0,
        spread: Spread::new(),
        last: Instant::now(),
        counts: Vec::new(),
    };
    let mut over = None;
    loop {
        poll.poll(&mut events, Some(Duration::from_millis(20)))?;
        for event in &events {
            let Some(reader) = readers.get_mut(event.token().0) else { continue };
            let Outcome { delivered, misplaced, spread, last, .. } = &mut outcome;
            // One look at the clock for all that came together.
            let mut now = None;
            reader.take(&mut bytes, |next, mark| {
                let now = *now.get_or_insert_with(|| micros(clock));
                spread.add(now.saturating_sub(mark.at));
                *misplaced += u64::from(mark.number != *next);
                *next = mark.number + 1;
                *delivered += 1;
            });
            if now.is_some() {
                *last = Instant::now();
            }
        }
        let total = wanted.load(Ordering::Acquire);
        if total < u64::MAX {
            let since = *over.get_or_insert_with(Instant::now);
            let whole = |reader: &Reader| reader.next >= total || reader.state == State::Cut;
            if (events.iter().next().is_none() || since.elapsed() > patience)
                && (since.elapsed() > patience || readers.iter().all(whole))
            {
                break;
            }
        }
    }
    outcome.cut = readers.iter().filter(|reader| reader.state == State::Cut).count() as u64;
    outcome.counts = readers.iter().map(|reader| reader.next).collect();
    Ok(outcome)
}
