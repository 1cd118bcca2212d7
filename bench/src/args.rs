//! Arguments that several workloads have in common, and what they come to.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};

use crate::Server;
use crate::line::Line;
use crate::process::{Tree, files};
use crate::reader::Reader;

/// Files that are open besides those of readers.
const SPARE: usize = 100;

/// Appends for a while.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct Appends {
    /// Events of one append
    #[arg(long, default_value_t = 1)]
    pub(crate) batch: usize,
    /// For how long it is measured
    #[arg(long, default_value_t = 4.0)]
    pub(crate) seconds: f64,
    /// Bytes of an event
    #[arg(long, default_value_t = 300)]
    pub(crate) size: usize,
}

/// Appends of many.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct Writers {
    /// How many write at the same time
    #[arg(long)]
    pub(crate) writers: usize,
    #[command(flatten)]
    pub(crate) appends: Appends,
}

/// The other nodes of a server, and the database that they share.
#[derive(clap::Args)]
pub(crate) struct Nodes {
    /// Where the others listen: writers take turns
    #[arg(long, value_delimiter = ',')]
    nodes: Vec<SocketAddr>,
    /// Their processes
    #[arg(long, value_delimiter = ',')]
    processes: Vec<u32>,
    /// The database's process
    #[arg(long)]
    database: Option<u32>,
}

impl Nodes {
    /// Whose turn it is, of the first and the others.
    pub(crate) fn turn(&self, first: &Server, number: usize) -> Server {
        let at = number % (self.nodes.len() + 1);
        let address = at.checked_sub(1).and_then(|at| self.nodes.get(at)).copied();
        first.at(address.unwrap_or(first.address))
    }

    /// The processes of all of them.
    pub(crate) fn trees(&self, first: &Server) -> Vec<Tree> {
        let others = self.processes.iter().map(|process| Tree::of(*process));
        std::iter::once(first.tree()).chain(others).collect()
    }

    /// Those of the database, if it has its own.
    pub(crate) fn database(&self) -> Vec<Tree> {
        self.database.iter().map(|process| Tree::of(*process)).collect()
    }
}

/// Many readers of one stream.
#[derive(clap::Args)]
pub(crate) struct Readers {
    #[command(flatten)]
    pub(crate) server: Server,
    /// How many there are, if the limit of open files allows
    #[arg(long)]
    pub(crate) readers: usize,
    /// The stream's name
    #[arg(long, default_value = "read")]
    pub(crate) name: String,
}

impl Readers {
    /// How many the limit of open files allows.
    pub(crate) fn allowed(&self) -> usize {
        self.readers.min(files().saturating_sub(SPARE))
    }

    /// One of them.
    pub(crate) fn one(&self, number: usize) -> Result<Reader> {
        let (wire, address) = (self.server.peer.wire(), self.server.address);
        let reader = Reader::open(address, wire, &self.name, number);
        reader.with_context(|| format!("reader {number}"))
    }

    /// All that are allowed.
    pub(crate) fn open(&self) -> Result<Vec<Reader>> {
        (0..self.allowed()).map(|number| self.one(number)).collect()
    }
}

/// A stream of a certain length.
#[derive(clap::Args)]
pub(crate) struct Stream {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Its name
    #[arg(long)]
    pub(crate) name: String,
    /// How many events it has
    #[arg(long)]
    pub(crate) events: u64,
}

impl Server {
    /// The same elsewhere.
    pub(crate) fn at(&self, address: SocketAddr) -> Self {
        Self { address, peer: self.peer, process: self.process }
    }

    /// A connection to it, over which a stream was made.
    pub(crate) fn stream(&self, name: &str) -> Result<Line> {
        let wire = self.peer.wire();
        let mut line = Line::open(self.address, wire)?;
        if let Some(made) = wire.make(name) {
            line.exchange(&made, 1).with_context(|| format!("could not make {name}"))?;
        }
        Ok(line)
    }
}
