//! What sockets allow: a server that keeps nothing and does nothing but write to its readers.
//!
//! It speaks as much of NATS as the load does. One thread takes what is published whenever there is
//! something, and between that writes to a few readers at a time: each gets all that it has not
//! seen in one call, so that readers who wait get more at once.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use serde_json::Value;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where to listen
    #[arg(long)]
    listen: SocketAddr,
}

const LISTENER: Token = Token(usize::MAX);
/// Readers that are written to before publishers are looked at again.
const FEW: usize = 64;
/// Bytes of one write.
const MOST: usize = 256 << 10;
/// Bytes that are kept while someone has not seen them.
const KEPT: usize = 1 << 20;

/// A connection.
struct Peer {
    socket: TcpStream,
    /// What it said, until it is a whole line or message.
    said: Vec<u8>,
    /// How far it has seen, if it reads.
    seen: Option<usize>,
}

/// Serves until it is stopped.
pub(crate) fn run(args: &Args) -> Result<Value> {
    let (mut poll, mut events) = (Poll::new()?, Events::with_capacity(1024));
    let mut listener = TcpListener::bind(args.listen)?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let (mut peers, mut log): (Vec<Option<Peer>>, Vec<u8>) = (Vec::new(), Vec::new());
    let (mut turn, mut behind) = (0, false);
    loop {
        poll.poll(&mut events, behind.then_some(Duration::ZERO))?;
        for event in &events {
            match event.token() {
                LISTENER => accept(&listener, &mut peers, &poll)?,
                Token(at) => {
                    let Some(slot) = peers.get_mut(at) else { continue };
                    if slot.as_mut().is_some_and(|peer| peer.hear(&mut log).is_err()) {
                        *slot = None;
                    }
                }
            }
        }
        // Readers have their turns in a circle.
        let mut looked = 0;
        behind = false;
        for _ in 0..peers.len() {
            turn = (turn + 1) % peers.len();
            let Some(slot) = peers.get_mut(turn) else { continue };
            let Some(peer) = slot.as_mut().filter(|peer| peer.waits(&log)) else { continue };
            match peer.tell(&log) {
                Ok(whole) => behind |= whole && peer.waits(&log),
                Err(_) => *slot = None,
            }
            looked += 1;
            if looked == FEW {
                behind = true;
                break;
            }
        }
        if log.len() > KEPT && peers.iter().flatten().all(|peer| !peer.waits(&log)) {
            log.clear();
            for peer in peers.iter_mut().flatten() {
                peer.seen = peer.seen.map(|_| 0);
            }
        }
    }
}

fn accept(listener: &TcpListener, peers: &mut Vec<Option<Peer>>, poll: &Poll) -> Result<()> {
    loop {
        match listener.accept() {
            Ok((mut socket, _)) => {
                socket.set_nodelay(true)?;
                let token = Token(peers.len());
                let interest = Interest::READABLE | Interest::WRITABLE;
                poll.registry().register(&mut socket, token, interest)?;
                peers.push(Some(Peer { socket, said: Vec::new(), seen: None }));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

impl Peer {
    fn waits(&self, log: &[u8]) -> bool {
        self.seen.is_some_and(|seen| seen < log.len())
    }

    /// Takes what it says.
    fn hear(&mut self, log: &mut Vec<u8>) -> Result<()> {
        let mut bytes = [0; 16 << 10];
        loop {
            match self.socket.read(&mut bytes) {
                Ok(0) => return Err(std::io::Error::from(ErrorKind::UnexpectedEof).into()),
                Ok(n) => self.said.extend_from_slice(bytes.get(..n).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        while let Some(end) = memchr::memchr(b'\n', &self.said) {
            let line = self.said.get(..end).unwrap_or_default();
            let mut used = end + 1;
            if line.starts_with(b"PUB ") {
                let line = String::from_utf8_lossy(line).trim_end().to_owned();
                let size: usize = line.rsplit(' ').next().unwrap_or_default().parse()?;
                let Some(message) = self.said.get(used..used + size + 2) else { return Ok(()) };
                log.extend_from_slice(format!("MSG s 1 {size}\r\n").as_bytes());
                log.extend_from_slice(message);
                used += size + 2;
            } else if line.starts_with(b"SUB ") {
                self.seen = Some(log.len());
            } else if line.starts_with(b"PING") {
                // Nobody asks so often that it would not fit.
                self.socket.write_all(b"PONG\r\n")?;
            }
            self.said.drain(..used);
        }
        Ok(())
    }

    /// Writes what it has not seen; whether it took all of one write.
    fn tell(&mut self, log: &[u8]) -> Result<bool> {
        let Some(seen) = self.seen else { return Ok(false) };
        let rest = log.get(seen..log.len().min(seen + MOST)).unwrap_or_default();
        match self.socket.write(rest) {
            Ok(n) => {
                self.seen = Some(seen + n);
                Ok(n == rest.len())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
