//! Telling and hearing by Redis: `PUBLISH` on one connection, `SUBSCRIBE` on another.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::mpsc::Receiver;

use super::{Ear, rest};
use crate::Service;

/// Bytes of one word of an answer: no message of ours is longer.
const LONGEST: usize = 1 << 16;

/// Passes on what others publish; a connection that broke is made anew.
pub(super) async fn listen(at: Service, channel: String, ear: Ear) {
    let mut tries = 0;
    loop {
        let _ = hear(&at, &channel, &ear, &mut tries).await;
        rest(&mut tries).await;
    }
}

async fn hear(at: &Service, channel: &str, ear: &Ear, tries: &mut u32) -> io::Result<()> {
    let mut server = connect(at).await?;
    server.write_all(&command(&["SUBSCRIBE", channel])).await?;
    loop {
        let words = answer(&mut server).await?;
        match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["subscribe", ..] => {
                *tries = 0;
                ear.missed();
            }
            ["message", _, told] => ear.heard(told),
            _ => {}
        }
    }
}

/// Publishes what it is given; what cannot be published is lost.
pub(super) async fn publish(at: Service, channel: String, mut told: Receiver<String>) {
    let mut tries = 0;
    loop {
        if let Ok(mut server) = connect(&at).await {
            tries = 0;
            while let Some(message) = told.recv().await {
                let told = server.write_all(&command(&["PUBLISH", &channel, &message])).await;
                if told.is_err() || answer(&mut server).await.is_err() {
                    break;
                }
            }
        }
        if told.is_closed() {
            return;
        }
        rest(&mut tries).await;
    }
}

async fn connect(at: &Service) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect((at.host.as_str(), at.port)).await?;
    stream.set_nodelay(true)?;
    let mut server = BufReader::new(stream);
    let login = match (&at.user, &at.password) {
        (Some(user), Some(password)) => vec!["AUTH", user, password],
        (None, Some(password)) => vec!["AUTH", password],
        _ => return Ok(server),
    };
    server.write_all(&command(&login)).await?;
    answer(&mut server).await?;
    Ok(server)
}

/// A command as it is sent.
fn command(words: &[&str]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", words.len());
    for word in words {
        out.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    out.into_bytes()
}

/// The words of one answer.
async fn answer(server: &mut BufReader<TcpStream>) -> io::Result<Vec<String>> {
    let (mut words, mut left) = (Vec::new(), 1);
    while left > 0 {
        left -= 1;
        let mut line = String::new();
        if server.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        let kind = line.chars().next().unwrap_or_default();
        let rest = line.get(kind.len_utf8()..).unwrap_or_default();
        match kind {
            '+' | ':' => words.push(rest.to_owned()),
            '*' => left += rest.parse::<usize>().unwrap_or(0).min(LONGEST),
            '$' => {
                let Ok(size) = rest.parse::<usize>() else { continue };
                if size > LONGEST {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                let mut word = vec![0; size + 2];
                server.read_exact(&mut word).await?;
                word.truncate(size);
                words.push(String::from_utf8_lossy(&word).into_owned());
            }
            _ => return Err(io::Error::other(line.to_owned())),
        }
    }
    Ok(words)
}
