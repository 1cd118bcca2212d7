//! `selvedge serve`: the server.

mod agents;
mod log;
#[cfg(target_os = "linux")]
mod notify;
mod options;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use selvedge_server::App;
use selvedge_store::{Address, Store};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::args;
use crate::error::Error;
use crate::place::{Place, Shards, database};

/// Serve threads over HTTP
///
/// One process, one file. Threads are appended to and followed at /api/threads.
///
/// Without keys, everyone on this machine may do everything, and nobody else can reach it. As soon
/// as there is a key (see `selvedge keys`), every request needs one, and any address will do.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Serve on port 4180, with the journal in selvedge.db:
      selvedge serve

  Make a thread, append to it, follow it:
      curl -X POST localhost:4180/api/threads -d '{\"id\":\"t1\"}'
      curl -X POST localhost:4180/api/threads/t1/events \\
           -d '{\"kind\":\"message\",\"role\":\"user\",\"content\":\"hello\"}'
      curl -N localhost:4180/api/threads/t1/stream

  See three agents at work, without any key:
      selvedge serve --demo

  Serve others, encrypted, with keys, for the pages of one site:
      selvedge keys add --tenant acme --scope read,write --name app
      selvedge serve --listen 0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem \\
           --cors https://app.example")]
pub(crate) struct Args {
    /// Listen on this address
    #[arg(long, default_value = "127.0.0.1:4180", value_name = "ADDRESS")]
    listen: SocketAddr,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    shards: Shards,
    /// Read what was written long ago from this replica of the database, where it has come so far
    ///
    /// With --shard: once for each database, in their order.
    #[arg(long = "replica", env = "SELVEDGE_REPLICAS", hide_env_values = true, value_name = "URL",
          value_delimiter = ' ', requires = "store", value_parser = database)]
    replicas: Vec<Address>,
    /// Run the agents of this configuration (see `selvedge config`)
    #[arg(long, value_name = "FILE", conflicts_with = "demo")]
    config: Option<PathBuf>,
    /// Run three scripted agents that plan a trip, with real tools and without any key
    #[arg(long)]
    demo: bool,
    /// The agent that answers whoever names none
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    options: options::Settings,
    #[command(flatten)]
    log: log::Lines,
}

/// Serves until it is told to stop.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let failed = |cause| Error::Listen { address: args.listen.to_string(), cause };
    args.log.start();
    let desk = match (&args.config, args.demo) {
        (Some(file), _) => Some(agents::configured(file)?),
        (None, true) => Some(agents::demo()?),
        (None, false) => None,
    };
    let agent = args.agent.clone().or_else(|| args.demo.then(|| agents::FIRST.to_owned()));
    if let Some(name) = &agent
        && desk.as_ref().is_none_or(|desk| desk.member(name).is_none())
    {
        return Err(Error::Agents { cause: format!("there is no agent `{name}` here") });
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(failed)?.block_on(async {
        let alone = args.listen.ip().is_loopback();
        let exposed = || {
            let (address, place) = (args.listen.to_string(), args.place.option());
            Error::Exposed { address, place }
        };
        // Nothing is made for a server that will not start.
        if !alone && !args.options.takes_tokens() && args.place.missing().is_some() {
            return Err(exposed());
        }
        let mut opening = args.options.store();
        opening.shards = args.shards.addresses().to_vec();
        opening.replicas.clone_from(&args.replicas);
        let store = Store::open(args.place.address(), opening)?;
        let mut options = args.options.server();
        options.agents = desk;
        options.agent = agent;
        options.demo = args.config.is_none().then_some(agents::SHOWN);
        let app = App::new(store, options)?;
        app.prepare().await?;
        if app.is_open() && !alone {
            return Err(exposed());
        }
        let listener = TcpListener::bind(args.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let mut terminated = signal(SignalKind::terminate()).map_err(failed)?;
        greet(args, &app, address);
        #[cfg(target_os = "linux")]
        notify::ready();
        if args.demo && app.is_open() && app.options().tls.is_none() {
            tokio::spawn(agents::begin(format!("http://{address}")));
        }
        let stop = async move {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminated.recv() => {}
            }
            #[cfg(target_os = "linux")]
            notify::stopping();
        };
        selvedge_server::serve(app, listener, stop).await.map_err(failed)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Says where it listens and who may come.
fn greet(args: &Args, app: &App, address: SocketAddr) {
    let (name, dim) = (args::NAME, args::DIM);
    let encrypted = app.options().tls.is_some();
    let scheme = if encrypted { "https" } else { "http" };
    anstream::println!("{name}selvedge{name:#} listens on {scheme}://{address}");
    let who = if app.is_open() {
        "no keys: everyone on this machine may do everything"
    } else if encrypted || address.ip().is_loopback() {
        "every request needs a key"
    } else {
        "every request needs a key, which is sent in the clear: put TLS in front, or use --tls-cert"
    };
    let more = match args.shards.addresses() {
        [] => String::new(),
        shards => format!(" and {} more", shards.len()),
    };
    anstream::println!("{dim}journal in {}{more}; {who}{dim:#}", args.place.address());
    if let Some(desk) = &app.options().agents {
        let names: Vec<&str> = desk.members().map(|member| member.id()).collect();
        anstream::println!("{dim}agents: {}{dim:#}", names.join(", "));
    }
    if args.demo {
        let thread = agents::THREAD;
        anstream::println!(
            "{dim}see them at work: selvedge tail {thread} --url {scheme}://{address}{dim:#}"
        );
    }
}
