//! `selvedge serve`: the server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use selvedge_server::{App, Options};
use selvedge_store::Store;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::args;
use crate::error::Error;

/// Serve threads over HTTP
///
/// One process, one file. Threads are appended to and followed at /api/threads.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Serve on port 4180, with the journal in selvedge.db:
      selvedge serve

  Make a thread, append to it, follow it:
      curl -X POST localhost:4180/api/threads -d '{\"id\":\"t1\"}'
      curl -X POST localhost:4180/api/threads/t1/events \\
           -d '{\"kind\":\"message\",\"role\":\"user\",\"content\":\"hello\"}'
      curl -N localhost:4180/api/threads/t1/stream")]
pub(crate) struct Args {
    /// Listen on this address
    #[arg(long, default_value = "127.0.0.1:4180", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// Keep the journal in this file; it is made if it is not there
    #[arg(long, default_value = "selvedge.db", value_name = "FILE")]
    db: PathBuf,
}

/// Serves until it is told to stop.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let failed = |cause| Error::Listen { address: args.listen.to_string(), cause };
    if !args.listen.ip().is_loopback() {
        return Err(Error::Exposed { address: args.listen.to_string() });
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(failed)?.block_on(async {
        let store = Store::open(&args.db, selvedge_store::Options::default())?;
        let app = App::new(store, Options::default());
        let listener = TcpListener::bind(args.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let mut terminated = signal(SignalKind::terminate()).map_err(failed)?;
        let (name, dim) = (args::NAME, args::DIM);
        anstream::println!("{name}selvedge{name:#} listens on http://{address}");
        anstream::println!(
            "{dim}journal in {}; no keys: everyone on this machine may do everything{dim:#}",
            args.db.display()
        );
        let stop = async move {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminated.recv() => {}
            }
        };
        selvedge_server::serve(app, listener, stop).await.map_err(failed)
    })?;
    Ok(ExitCode::SUCCESS)
}
