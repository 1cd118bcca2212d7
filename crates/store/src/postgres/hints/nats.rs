//! Telling and hearing by NATS, on one subject and one connection.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::{Ear, rest};
use crate::Service;

/// Bytes of one message: none of ours is longer.
const LONGEST: usize = 1 << 16;
/// Answers to the server's pings that may wait.
const PONGS: usize = 4;

/// Passes on what others publish, and publishes what it is given; a connection that broke is made
/// anew, and what could not be said is lost.
pub(super) async fn speak(at: Service, subject: String, ear: Ear, mut told: Receiver<String>) {
    let mut tries = 0;
    loop {
        let _ = talk(&at, &subject, &ear, &mut told, &mut tries).await;
        if told.is_closed() {
            return;
        }
        rest(&mut tries).await;
    }
}

async fn talk(
    at: &Service,
    subject: &str,
    ear: &Ear,
    told: &mut Receiver<String>,
    tries: &mut u32,
) -> io::Result<()> {
    let stream = TcpStream::connect((at.host.as_str(), at.port)).await?;
    stream.set_nodelay(true)?;
    let (read, mut write) = stream.into_split();
    let hello = format!("CONNECT {}\r\nSUB {subject} 1\r\nPING\r\n", login(at));
    write.write_all(hello.as_bytes()).await?;
    let (pong, mut pongs) = channel(PONGS);
    // Ends with this, and this with it.
    let listening = Listening(tokio::spawn(hear(BufReader::new(read), ear.clone(), pong)));
    let mut is_new = true;
    loop {
        let message = tokio::select! {
            biased;
            pong = pongs.recv() => match pong {
                Some(Server::Ping) => "PONG\r\n".to_owned(),
                // It has taken the subscription.
                Some(Server::Pong) => {
                    if std::mem::take(&mut is_new) {
                        *tries = 0;
                        ear.missed();
                    }
                    continue;
                }
                None => break,
            },
            message = told.recv() => match message {
                Some(message) => format!("PUB {subject} {}\r\n{message}\r\n", message.len()),
                None => break,
            },
        };
        write.write_all(message.as_bytes()).await?;
    }
    drop(listening);
    Ok(())
}

struct Listening(tokio::task::JoinHandle<io::Result<()>>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What a server says that wants an answer, or is one.
enum Server {
    Ping,
    Pong,
}

async fn hear(
    mut server: BufReader<OwnedReadHalf>,
    ear: Ear,
    pong: Sender<Server>,
) -> io::Result<()> {
    let mut line = String::new();
    loop {
        line.clear();
        if server.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut words = line.split_ascii_whitespace();
        let said = match words.next() {
            Some("MSG") => {
                let size = words.next_back().and_then(|size| size.parse::<usize>().ok());
                let Some(size) = size.filter(|size| *size <= LONGEST) else {
                    return Err(io::ErrorKind::InvalidData.into());
                };
                let mut message = vec![0; size + 2];
                server.read_exact(&mut message).await?;
                message.truncate(size);
                ear.heard(&String::from_utf8_lossy(&message));
                continue;
            }
            Some("PING") => Server::Ping,
            Some("PONG") => Server::Pong,
            Some("-ERR") => return Err(io::Error::other(line)),
            _ => continue,
        };
        if pong.send(said).await.is_err() {
            return Ok(());
        }
    }
}

/// Who asks, as JSON.
fn login(at: &Service) -> String {
    let quote = selvedge_protocol::json::quote;
    let who = match (&at.user, &at.password) {
        (Some(user), Some(password)) => {
            format!(r#","user":{},"pass":{}"#, quote(user), quote(password))
        }
        (Some(token), None) => format!(r#","auth_token":{}"#, quote(token)),
        _ => String::new(),
    };
    format!(r#"{{"verbose":false,"pedantic":false,"name":"selvedge","echo":false{who}}}"#)
}
