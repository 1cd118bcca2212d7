//! A connection that is asked and waited for.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use socket2::{Domain, Protocol, Socket, Type};

use crate::decode::{Decoder, Progress};
use crate::wire::Wire;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Connections from one address, so that ports do not run out.
const FROM_ONE: usize = 8000;

pub(crate) struct Line {
    stream: TcpStream,
    pub(crate) decoder: Decoder,
    bytes: Vec<u8>,
}

impl Line {
    /// Connects and greets.
    pub(crate) fn open(address: SocketAddr, wire: &dyn Wire) -> Result<Self> {
        Self::nth(address, wire, 0)
    }

    /// The same for one of many connections.
    pub(crate) fn nth(address: SocketAddr, wire: &dyn Wire, number: usize) -> Result<Self> {
        let stream = connect(address, number)?;
        let bytes = vec![0; 256 << 10];
        let mut line = Self { stream, decoder: wire.decoder(), bytes };
        wire.greet(&mut line)?;
        Ok(line)
    }

    /// Sends a request and takes its answers.
    pub(crate) fn exchange(&mut self, request: &[u8], answers: usize) -> Result<()> {
        self.ask(request, answers)?;
        while self.read(&mut |_| {})? == Progress::More {}
        Ok(())
    }

    /// Sends a request.
    pub(crate) fn ask(&mut self, request: &[u8], answers: usize) -> Result<()> {
        self.decoder.expect(answers);
        self.stream.write_all(request).context("the server takes nothing")
    }

    /// Takes what is there of the answers.
    pub(crate) fn read(&mut self, body: &mut dyn FnMut(&[u8])) -> Result<Progress> {
        match self.stream.read(&mut self.bytes) {
            Ok(0) => bail!("the server hung up"),
            Ok(n) => self.decoder.feed(self.bytes.get(..n).unwrap_or_default(), body),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Progress::More),
            Err(error) => Err(error).context("the server says nothing"),
        }
    }

    /// The connection itself, for those who wait for many, and how far its answers were read.
    pub(crate) fn release(self) -> Result<(mio::net::TcpStream, Decoder)> {
        self.stream.set_nonblocking(true)?;
        Ok((mio::net::TcpStream::from_std(self.stream), self.decoder))
    }
}

fn connect(address: SocketAddr, number: usize) -> Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    let from = Ipv4Addr::new(127, 0, 0, 1 + (number / FROM_ONE) as u8);
    socket.bind(&SocketAddr::V4(SocketAddrV4::new(from, 0)).into())?;
    socket.connect(&address.into()).with_context(|| format!("nobody listens at {address}"))?;
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}
