//! Times one conversion of one file: `convert FROM TO FILE [REPETITIONS [TIMES]]`.
//!
//! Prints `{"bytes": …, "cpu_ms": […]}`: CPU time of the whole process, for reading the
//! file's bytes to events and writing them anew, `TIMES` times over in one measurement. The
//! first measurement is not counted. With `FROM` equal to `TO` the bytes must come back.
//! `cargo xtask bench convert` runs it beside the real peers.

use std::error::Error;
use std::hint::black_box;
use std::{env, fs};

use cpu_time::ProcessTime;
use selvedge_protocol::dialect::{
    self, DecodeOptions, Dialect, EncodeOptions, Encoding, Frames, decode,
};
use selvedge_protocol::json::from_utf8;

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo bench` adds an argument of its own.
    let args: Vec<String> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let [from, to, path, rest @ ..] = args.as_slice() else {
        println!("usage: convert FROM TO FILE [REPETITIONS [TIMES]]");
        return Ok(());
    };
    let number = |at: usize| rest.get(at).map_or(Ok(1), |text| text.parse::<usize>());
    let (repetitions, times) = (number(0)?, number(1)?);
    let named = |name: &str| dialect::named(name).ok_or(format!("no dialect `{name}`"));
    let (reader, writer) = (named(from)?, named(to)?);

    let source = fs::read(path)?;
    let mut cpu_ms = Vec::new();
    let mut out = Vec::with_capacity(source.len());
    for _ in 0..=repetitions {
        let begin = ProcessTime::try_now()?;
        for _ in 0..times {
            out.clear();
            convert(reader, writer, black_box(&source), &mut out)?;
        }
        cpu_ms.push(begin.try_elapsed()?.as_secs_f64() * 1000.0);
        if black_box(out.is_empty()) || from == to && out != source {
            return Err("the bytes did not come back".into());
        }
    }
    let cpu_ms = cpu_ms.get(1..).unwrap_or_default();
    println!("{{\"bytes\":{},\"cpu_ms\":{cpu_ms:?}}}", source.len());
    Ok(())
}

/// Bytes to bytes: what the peers do too, so checking UTF-8 is part of it.
fn convert(
    from: &Dialect,
    to: &'static Dialect,
    source: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Box<dyn Error>> {
    let source = from_utf8(source)?;
    let write = EncodeOptions::default();
    let read = DecodeOptions { frames: Frames::needed(from, to), ..Default::default() };
    let mut encoding = Encoding::new(to, &write);
    decode(from, &read, source, |batch| encoding.batch(&batch, out));
    encoding.finish(out);
    Ok(())
}
