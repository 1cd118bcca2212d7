//! Arguments that several workloads have in common, and what they come to.

use anyhow::{Context as _, Result};

use crate::Server;
use crate::line::Line;
use crate::process::files;
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
