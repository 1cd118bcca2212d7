//! A copy of a journal with its hash chain.

use std::io::BufRead as _;
use std::path::Path;

use selvedge_store::ArchiveCheck;

use crate::args;
use crate::error::Error;
use crate::output;

/// Checks an archive and says what is wrong; how much that is.
pub(super) fn verify(file: &Path) -> Result<usize, Error> {
    let name = file.display().to_string();
    let read = |cause| Error::Read { name: name.clone(), cause };
    let lines = std::io::BufReader::new(std::fs::File::open(file).map_err(read)?).lines();
    let mut check = ArchiveCheck::default();
    for line in lines {
        check.line(&line.map_err(read)?);
    }
    let (good, bad) = (args::GOOD, args::ERROR);
    for finding in &check.findings {
        output::print(&format!("{bad}bad{bad:#} {}\n", output::tame(finding)))?;
    }
    if check.findings.is_empty() {
        let link = check.link.map_or_else(|| "none".to_owned(), |link| link.hex());
        output::print(&format!(
            "{good}ok{good:#}  {} entries, {} of them chained, {} folded or redacted; the last link \
             is {link}\n",
            check.entries, check.chained, check.replaced
        ))?;
    }
    Ok(check.findings.len())
}
