//! What a fuzzer begins with: the recordings of real writers, and the words in them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use selvedge_protocol::dialect::{self, DecodeOptions, EncodeOptions, Encoding, decode};

#[cfg(feature = "http")]
use crate::http::Set;
#[cfg(feature = "http")]
use crate::wire;
use crate::{Check, Target, regressions};

/// The largest file that is a seed: small inputs are tried often.
const LARGEST: u64 = 12 << 10;
/// Seeds of a target and words of a dictionary.
const SEEDS: usize = 400;
const WORDS: usize = 600;

/// What heads of requests are made of.
const LINES: &[&str] = &[
    "\\x0d\\x0a",
    "\\x0d\\x0a\\x0d\\x0a",
    "Content-Length: 12\\x0d\\x0a",
    "Content-Length: +12\\x0d\\x0a",
    "Transfer-Encoding: chunked\\x0d\\x0a",
    "Transfer-Encoding: identity\\x0d\\x0a",
    "Connection: close\\x0d\\x0a",
    "Connection: upgrade\\x0d\\x0a",
    "Expect: 100-continue\\x0d\\x0a",
    "If-Match: 1.1\\x0d\\x0a",
    "Idempotency-Key: k\\x0d\\x0a",
    " HTTP/1.0",
    " HTTP/1.1",
    "%2f",
    "?token=",
];

impl Target {
    /// Inputs that make sense.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let mut seeds = match self.check {
            Check::Dialect(own) => recordings()
                .into_iter()
                .filter_map(|text| {
                    let found = dialect::detect(&text)?;
                    let carried = own.carrier == dialect::Carrier::Frames;
                    match found.id == own.id {
                        true => Some(text.into_bytes()),
                        false if carried => Some(convert(found, own, &text)),
                        false => None,
                    }
                })
                .filter(|bytes| bytes.len() as u64 <= LARGEST * 2)
                .collect(),
            Check::Plain(_) => match self.name {
                "words" => words(),
                _ => recordings().into_iter().map(String::into_bytes).collect(),
            },
            #[cfg(feature = "http")]
            Check::Requests(set) => requests(set),
            #[cfg(feature = "http")]
            Check::Wire => wire::SEEDS.iter().map(|seed| seed.as_bytes().to_vec()).collect(),
        };
        // Evenly from all, as neighbours are alike.
        if seeds.len() > SEEDS {
            let every = seeds.len().div_ceil(SEEDS);
            seeds = seeds.into_iter().step_by(every).collect();
        }
        seeds.extend(files(&regressions().join(self.name)).iter().filter_map(|f| fs::read(f).ok()));
        seeds
    }

    /// Writes the seeds into a folder, and their words beside it as a dictionary.
    pub fn write_seeds(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let seeds = self.seeds();
        for (n, seed) in seeds.iter().enumerate() {
            fs::write(folder.join(format!("seed-{n:04}")), seed)?;
        }
        let mut words = BTreeSet::new();
        for seed in &seeds {
            let text = String::from_utf8_lossy(seed);
            // Every other piece between quotes is a string.
            words.extend(
                text.split('"')
                    .filter(|word| (2..=24).contains(&word.len()))
                    .filter(|word| word.bytes().all(|b| b.is_ascii_graphic() && b != b'\\'))
                    .map(|word| format!("\"\\\"{word}\\\"\"\n")),
            );
        }
        let every = words.len().div_ceil(WORDS).max(1);
        let marks = ["\\\\ud83d", "\\\\u0000", "\\x0a\\x0a", "data: ", "1e999", "-0.0", "[]", "{}"];
        let lines = match self.name {
            "http-wire" => LINES,
            _ => &[],
        };
        let marks = marks.iter().chain(lines);
        let mut dictionary: String = marks.map(|mark| format!("\"{mark}\"\n")).collect();
        words.iter().step_by(every).for_each(|word| dictionary.push_str(word));
        fs::write(folder.with_extension("dict"), dictionary)
    }
}

/// The recordings that are small, in order.
fn recordings() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/protocol/tests/fixtures");
    let small = |path: &PathBuf| fs::metadata(path).is_ok_and(|file| file.len() <= LARGEST);
    files(&root)
        .iter()
        .filter(|path| small(path))
        .filter_map(|p| fs::read_to_string(p).ok())
        .collect()
}

fn convert(
    from: &'static dialect::Dialect,
    to: &'static dialect::Dialect,
    source: &str,
) -> Vec<u8> {
    let mut encoding = Encoding::new(to, &EncodeOptions::default());
    let mut out = Vec::new();
    decode(from, &DecodeOptions::default(), source, |batch| encoding.batch(&batch, &mut out));
    encoding.finish(&mut out);
    out
}

fn words() -> Vec<Vec<u8>> {
    let words = [
        "12.34",
        "0.0",
        "18446744073709551615.1",
        "aGVsbG8=",
        "aGVs_-8",
        "2026-01-31T12:00:00Z",
        "2026-12-31t23:59:60.123456+02:00",
        "1969-12-31 23:59:59.999-23:59",
        "253402300799",
        "-1",
        "9223372036854775807",
    ];
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

/// Good bodies, each after the number of its request.
#[cfg(feature = "http")]
fn requests(set: Set) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (n, probe) in set.probes().iter().enumerate() {
        let number = u8::try_from(n).unwrap_or(0);
        seeds.extend(probe.good.iter().map(|body| [&[number], body.as_bytes()].concat()));
    }
    // Sources of every dialect are bodies of imports.
    if set == Set::Bodies {
        let sources = recordings().into_iter().step_by(8);
        seeds.extend(sources.map(|text| [&[1], text.as_bytes()].concat()));
    }
    seeds
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}
