//! What a caller may ask of a decoder or an encoder.

use super::{Carrier, Dialect};

/// How to read a source.
#[derive(Debug, Clone, Default)]
pub struct DecodeOptions {
    /// The thread's id, where the source does not say.
    pub thread_id: Option<String>,
    /// The agent that spoke, where the source does not say.
    pub agent: Option<String>,
    /// Whether the source begins a thread or adds to one.
    pub start: Start,
    /// Whether what events cannot hold of the source is kept.
    pub frames: Frames,
}

/// Whether decoding leaves frames, where the dialect can do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Frames {
    /// It does: the source's bytes can be had again, and losses named.
    #[default]
    Keep,
    /// It does not: for a target that needs the events only.
    Skip,
}

impl Frames {
    /// What a conversion needs. Frames are written into carriers, of use in their own dialect,
    /// and may come out of carriers; naming losses takes them too.
    pub fn needed(from: &Dialect, to: &Dialect) -> Self {
        let carried = [from, to].iter().any(|dialect| dialect.carrier == Carrier::Frames);
        // Also where they are not replayed: a record of its own may tell a dialect more.
        let own = from.id == to.id;
        if carried || own { Self::Keep } else { Self::Skip }
    }
}

/// Whether a source begins a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// It does: `thread-created` comes first.
    #[default]
    NewThread,
    /// It adds to a thread that is there already.
    Continue,
}

/// How to write an output.
#[derive(Debug, Clone, Default)]
pub struct EncodeOptions {
    /// The thread's id, where the events do not say.
    pub thread_id: Option<String>,
    /// Write the thread as this agent sees it.
    pub agent: Option<String>,
    /// The peer's version to write for.
    pub target: Option<Target>,
}

/// A peer and its version, such as `ai@6`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The package, such as `ai` or `pydantic-ai`.
    pub package: String,
    /// Its version, such as `6`.
    pub version: String,
}

impl EncodeOptions {
    /// Whether everything is to be written anew, also what came in the same dialect.
    pub fn anew(&self) -> bool {
        self.target.is_some() || self.agent.is_some()
    }

    /// The first number of the version asked for.
    pub fn major(&self) -> Option<u32> {
        let version = &self.target.as_ref()?.version;
        version.split('.').next()?.parse().ok()
    }
}

impl std::str::FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('@') {
            Some((package, version)) if !package.is_empty() && !version.is_empty() => {
                Ok(Self { package: package.to_owned(), version: version.to_owned() })
            }
            _ => Err(format!("`{text}` is not `<package>@<version>`, such as `ai@6`")),
        }
    }
}
