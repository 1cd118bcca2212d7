//! A node's way to its database: open, silent, closed, or to another one.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// What becomes of what is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::chaos) enum Way {
    /// It comes to this socket.
    To(PathBuf),
    /// It comes nowhere, and nobody is told.
    Silent,
    /// The same for connections that are there, for good; new ones come to this socket.
    Anew(PathBuf),
    /// Connections end, and new ones do at once.
    Closed,
}

/// A port before a database.
pub(in crate::chaos) struct Gate {
    pub(in crate::chaos) address: SocketAddr,
    way: watch::Sender<Way>,
}

impl Gate {
    /// Open to a socket.
    pub(in crate::chaos) async fn to(socket: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (way, seen) = watch::channel(Way::To(socket.to_owned()));
        tokio::spawn(async move {
            let mut gone = seen.clone();
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let Ok((node, _)) = accepted else { continue };
                        tokio::spawn(pass(node, seen.clone()));
                    }
                    changed = gone.changed() => if changed.is_err() { return },
                }
            }
        });
        Self { address, way }
    }

    pub(in crate::chaos) fn set(&self, way: Way) {
        self.way.send_replace(way);
    }
}

/// Passes on what one connection sends and gets, as long as it may.
async fn pass(mut node: TcpStream, mut way: watch::Receiver<Way>) {
    let _ = node.set_nodelay(true);
    let target = loop {
        let now = way.borrow_and_update().clone();
        match now {
            Way::To(target) | Way::Anew(target) => break target,
            Way::Silent if way.changed().await.is_ok() => {}
            Way::Silent | Way::Closed => return,
        }
    };
    let Ok(mut database) = UnixStream::connect(&target).await else { return };
    let (mut asks, mut answers) = node.split();
    let (mut from, mut to) = database.split();
    let (mut up, mut down) = (vec![0; 16 << 10], vec![0; 16 << 10]);
    let began = way.borrow().clone();
    loop {
        let now = way.borrow_and_update().clone();
        match now {
            Way::Anew(_) if now != began => {
                // Held, so that the node hears nothing of it.
                std::future::pending::<()>().await;
            }
            Way::To(now) | Way::Anew(now) if now == target => {}
            Way::Silent if way.changed().await.is_ok() => continue,
            _ => return,
        }
        tokio::select! {
            changed = way.changed() => if changed.is_err() { return },
            n = asks.read(&mut up) => match n {
                Ok(n) if n > 0 && to.write_all(&up[..n]).await.is_ok() => {}
                _ => return,
            },
            n = from.read(&mut down) => match n {
                Ok(n) if n > 0 && answers.write_all(&down[..n]).await.is_ok() => {}
                _ => return,
            },
        }
    }
}
