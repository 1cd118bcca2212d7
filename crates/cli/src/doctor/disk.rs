//! How long the disk takes to be sure.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use super::{Health, middle_and_slow, millis};

/// What one commit writes, about.
const BLOCK: usize = 4096;
const TIMES: usize = 200;
/// A slow disk is not measured for ever.
const PATIENCE: Duration = Duration::from_secs(5);

/// Writes and syncs in the folder of a file, as every commit does.
pub(super) fn look(db: &Path) -> Health {
    let folder = db.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    match measure(folder) {
        Err(error) => Health::Bad(
            format!("cannot write in {}: {error}", folder.display()),
            "the server must be able to write there".to_owned(),
        ),
        Ok(times) => {
            let (middle, slow) = middle_and_slow(times);
            let seen = format!("a sync takes {}, p99 {}", millis(middle), millis(slow));
            if middle < Duration::from_micros(15) {
                let cure = "that is faster than disks are: is it memory, or does it not sync?";
                return Health::Doubtful(seen, cure.to_owned());
            }
            let cure = "every append waits for a sync: use a local SSD, not a network disk";
            Health::within(
                middle,
                Duration::from_millis(10),
                Duration::from_millis(100),
                seen,
                cure,
            )
        }
    }
}

fn measure(folder: &Path) -> io::Result<Vec<Duration>> {
    let mut file: File = tempfile::tempfile_in(folder)?;
    let block = [0x5a; BLOCK];
    let mut times = Vec::new();
    let until = Instant::now() + PATIENCE;
    while times.len() < TIMES && Instant::now() < until {
        file.write_all(&block)?;
        let from = Instant::now();
        file.sync_data()?;
        times.push(from.elapsed());
    }
    Ok(times)
}
