//! A store's file.

use std::path::Path;

use selvedge_store::{Stage, check};

use super::bar;
use crate::args;
use crate::error::Error;
use crate::output;
use crate::remote;

/// Checks a file and says what is wrong; how much that is.
pub(super) fn verify(db: &Path) -> Result<usize, Error> {
    let name = db.display().to_string();
    let read = |cause| Error::Read { name: name.clone(), cause };
    if !db.is_file() {
        return Err(read(std::io::ErrorKind::NotFound.into()));
    }
    let beside = db.parent().filter(|folder| !folder.as_os_str().is_empty());
    let scratch = tempfile::Builder::new()
        .prefix(".selvedge-verify-")
        .tempdir_in(beside.unwrap_or(Path::new(".")))
        .map_err(read)?;
    let bar = bar("{msg} {bar:40} {percent}%");
    let checked = remote::run(async {
        let progress = |stage: Stage, now: selvedge_store::Progress| {
            bar.set_message(match stage {
                Stage::File => "pages ",
                Stage::Rows => "rows  ",
                Stage::Rebuild => "anew  ",
            });
            bar.set_length(now.total);
            bar.set_position(now.done);
        };
        Ok(check(db, scratch.path(), progress).await?)
    })?;
    bar.finish_and_clear();
    let (good, bad) = (args::GOOD, args::ERROR);
    for finding in &checked.findings {
        output::print(&format!("{bad}bad{bad:#} {}\n", output::tame(finding)))?;
    }
    let wrong = checked.findings.len();
    if wrong == 0 {
        let chained = match checked.chained {
            0 => String::new(),
            chained => format!(", {chained} entries by their hash chain"),
        };
        output::print(&format!(
            "{good}ok{good:#}  {} threads, {} events in {} appends; pages, rows, lists and search\
             {chained}\n",
            checked.threads, checked.events, checked.appends
        ))?;
    }
    Ok(wrong)
}
