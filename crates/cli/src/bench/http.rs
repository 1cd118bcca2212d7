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
            if let Some(head) = Head::of(&self.answer)
                && self.answer.len() >= head.end + head.size.unwrap_or(0)
            {
                return Ok(head.status);
            }
        }
    }

    /// Sends a request and waits for all of its answer, however long it goes on.
    pub(super) async fn whole(&mut self, request: &[u8]) -> io::Result<Answer> {
        self.stream.write_all(request).await?;
        self.answer.clear();
        let mut head = None;
        loop {
            let read = self.stream.read_buf(&mut self.answer).await?;
            head = head.or_else(|| Head::of(&self.answer));
            let Some(own) = &head else {
                if read == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                continue;
            };
            let over = match own.size {
                Some(size) => self.answer.len() >= own.end + size,
                None if own.chunked => self.answer.ends_with(b"0\r\n\r\n"),
                None => read == 0,
            };
            if over || read == 0 {
                let body = self.answer.get(own.end - 1..).unwrap_or_default();
                let frames = memchr::memmem::find_iter(body, b"\ndata:").count();
                let stays = over && own.stays && (own.chunked || own.size.is_some());
                return Ok(Answer { status: own.status, frames, stays });
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

/// What there is to know of an answer.
pub(super) struct Answer {
    pub(super) status: u16,
    /// Events of a stream.
    pub(super) frames: usize,
    /// Whether the connection can be used again.
    pub(super) stays: bool,
}

/// The head of an answer.
struct Head {
    status: u16,
    /// Where the body begins.
    end: usize,
    size: Option<usize>,
    chunked: bool,
    stays: bool,
}

impl Head {
    /// Once it is there.
    fn of(answer: &[u8]) -> Option<Self> {
        let end = memchr::memmem::find(answer, b"\r\n\r\n")? + 4;
        let head = std::str::from_utf8(answer.get(..end)?).ok()?;
        let status = head.get(9..12)?.parse().ok()?;
        let field = |wanted: &str| {
            head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case(wanted).then(|| value.trim())
            })
        };
        let size = field("content-length").and_then(|size| size.parse().ok());
        let chunked = field("transfer-encoding").is_some();
        let stays = field("connection").is_none_or(|value| !value.eq_ignore_ascii_case("close"));
        Some(Self { status, end, size, chunked, stays })
    }
}

/// A request with a body and headers.
pub(super) fn post_with(path: &str, headers: &[String], body: &str) -> Vec<u8> {
    let mut head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n",
        body.len()
    );
    for header in headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    format!("{head}\r\n{body}").into()
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
