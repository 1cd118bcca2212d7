//! What any input must come to: a target for each decoder and for the bodies of requests.
//!
//! A target takes any bytes and panics if a promise is broken. A fuzzer calls it with what it
//! makes up (`cargo xtask fuzz`), and the tests with what fuzzers have found before.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "targets are tests")]

mod bytes;
mod dialects;
#[cfg(feature = "http")]
mod http;
mod json;
pub mod seeds;
mod sse;
#[cfg(feature = "http")]
mod wire;
mod words;

use std::path::PathBuf;

use selvedge_protocol::dialect::{self, Dialect};

/// Something that takes any bytes.
#[derive(Clone, Copy)]
pub struct Target {
    /// What it is called: a dialect, or another thing that is read.
    pub name: &'static str,
    check: Check,
}

#[derive(Clone, Copy)]
enum Check {
    Dialect(&'static Dialect),
    Plain(fn(&[u8])),
    #[cfg(feature = "http")]
    Requests(http::Set),
    #[cfg(feature = "http")]
    Wire,
}

impl Target {
    /// Panics if the bytes show that a promise is broken.
    pub fn check(&self, bytes: &[u8]) {
        match self.check {
            Check::Dialect(dialect) => dialects::check(dialect, bytes),
            Check::Plain(check) => check(bytes),
            #[cfg(feature = "http")]
            Check::Requests(set) => http::check(set, bytes),
            #[cfg(feature = "http")]
            Check::Wire => wire::check(bytes),
        }
    }

    /// How many bytes it may hold at once for an input of that size. What serves requests holds
    /// caches and pages besides, which do not grow with a request.
    pub fn memory(&self, bytes: usize) -> usize {
        let base = match self.check {
            #[cfg(feature = "http")]
            Check::Requests(_) | Check::Wire => 96 << 20,
            _ => 4 << 20,
        };
        base + 1024 * bytes
    }
}

/// Every target.
pub fn all() -> Vec<Target> {
    let dialects = dialect::ALL
        .iter()
        .map(|dialect| Target { name: dialect.id.name(), check: Check::Dialect(dialect) });
    let plain = [("json", json::check as fn(&[u8])), ("sse", sse::check), ("words", words::check)]
        .map(|(name, check)| Target { name, check: Check::Plain(check) });
    let targets = dialects.chain(plain);
    #[cfg(feature = "http")]
    let targets = targets.chain(
        [("http-append", http::Set::Appends), ("http-bodies", http::Set::Bodies)]
            .map(|(name, set)| Target { name, check: Check::Requests(set) })
            .into_iter()
            .chain([Target { name: "http-wire", check: Check::Wire }]),
    );
    targets.collect()
}

/// The target of that name.
pub fn named(name: &str) -> Option<Target> {
    all().into_iter().find(|target| target.name == name)
}

/// Inputs that broke a promise once, by target.
pub fn regressions() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("regressions")
}
