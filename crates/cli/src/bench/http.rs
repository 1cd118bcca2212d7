//! As much HTTP as a load needs.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A connection that is kept.
pub(super) struct Connection {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Connection {
    pub(super) async fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, answer: Vec::with_capacity(4096) })
    }

    /// Sends a request and waits for its answer; gives the answer's status.
    pub(super) async fn exchange(&mut self, request: &[u8]) -> io::Result<u16> {
        self.stream.write_all(request).await?;
        self.answer.clear();
        loop {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some((status, size)) = complete(&self.answer)
                && self.answer.len() >= size
            {
                return Ok(status);
            }
        }
    }

    /// The latest answer, with its head.
    pub(super) fn answer(&self) -> &[u8] {
        &self.answer
    }

    /// Sends a request whose answer goes on.
    pub(super) async fn stream(mut self, request: &[u8]) -> io::Result<TcpStream> {
        self.stream.write_all(request).await?;
        Ok(self.stream)
    }
}

/// A request with a body.
pub(super) fn post(path: &str, body: &str) -> Vec<u8> {
    let size = body.len();
    format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {size}\r\n\r\n{body}")
        .into()
}

/// A request without one.
pub(super) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").into()
}

/// The status of an answer and its whole size, once its head is there.
fn complete(answer: &[u8]) -> Option<(u16, usize)> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(answer.get(..end)?).ok()?;
    let status = head.get(9..12)?.parse().ok()?;
    let size = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    Some((status, end + size.unwrap_or(0)))
}
