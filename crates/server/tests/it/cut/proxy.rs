//! A proxy that cuts connections. Also used by the tests of the command.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Listens, and passes on so many bytes of every answer before it cuts the connection.
pub(crate) async fn proxy(upstream: String, bytes: Range<u64>) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let cuts = Arc::new(AtomicU64::new(0));
    let counted = cuts.clone();
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let (upstream, bytes) = (upstream.clone(), bytes.clone());
            let nth = counted.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let Ok(mut server) = TcpStream::connect(upstream).await else { return };
                let (mut from, mut to) = server.split();
                let (mut asks, mut answers) = client.split();
                // Each time elsewhere.
                let mut left = bytes.start + (nth * 7919 + 13) % (bytes.end - bytes.start);
                let mut up = [0; 4096];
                let mut down = [0; 512];
                loop {
                    tokio::select! {
                        n = asks.read(&mut up) => match n {
                            Ok(n) if n > 0 && to.write_all(&up[..n]).await.is_ok() => {}
                            _ => return,
                        },
                        n = from.read(&mut down) => match n {
                            Ok(n) if n > 0 => {
                                let n = n.min(left as usize);
                                left -= n as u64;
                                if answers.write_all(&down[..n]).await.is_err() || left == 0 {
                                    return;
                                }
                            }
                            _ => return,
                        },
                    }
                }
            });
        }
    });
    (address, cuts)
}
