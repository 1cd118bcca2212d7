//! A store, where it is.

use std::path::Path;

use selvedge_store::{Address, Stage, check, check_places};

use super::bar;
use crate::args;
use crate::error::Error;
use crate::output;
use crate::remote;

/// Checks databases of one store, one after the other, and that threads are where the first says.
pub(super) fn verify_all(databases: &[Address]) -> Result<usize, Error> {
    let mut wrong = 0;
    for database in databases {
        wrong += verify(database)?;
    }
    let (good, bad) = (args::GOOD, args::ERROR);
    let checked = check_places(databases)?;
    for finding in &checked.findings {
        output::print(&format!("{bad}bad{bad:#} {}\n", output::tame(finding)))?;
    }
    if databases.len() > 1 && checked.findings.is_empty() {
        let told = "every thread is in the database that the directory names";
        output::print(&format!("{good}ok{good:#}  {told}\n"))?;
    }
    Ok(wrong + checked.findings.len())
}

/// Checks a file or a database and says what is wrong; how much that is.
pub(super) fn verify(at: &Address) -> Result<usize, Error> {
    let read = |cause| Error::Read { name: at.to_string(), cause };
    let mut scratch = tempfile::Builder::new();
    let scratch = scratch.prefix(".selvedge-verify-");
    let (scratch, first) = match at {
        Address::File(db) => {
            if !db.is_file() {
                return Err(read(std::io::ErrorKind::NotFound.into()));
            }
            let beside = db.parent().filter(|folder| !folder.as_os_str().is_empty());
            (scratch.tempdir_in(beside.unwrap_or(Path::new("."))), "pages ")
        }
        Address::Postgres(_) => (scratch.tempdir(), "copy  "),
    };
    let scratch = scratch.map_err(read)?;
    let bar = bar("{msg} {bar:40} {percent}%");
    let checked = remote::run(async {
        let progress = |stage: Stage, now: selvedge_store::Progress| {
            bar.set_message(match stage {
                Stage::File => first,
                Stage::Rows => "rows  ",
                Stage::Rebuild => "anew  ",
            });
            bar.set_length(now.total);
            bar.set_position(now.done);
        };
        Ok(check(at, scratch.path(), progress).await?)
    })?;
    bar.finish_and_clear();
    let (good, bad) = (args::GOOD, args::ERROR);
    for finding in &checked.findings {
        output::print(&format!("{bad}bad{bad:#} {}\n", output::tame(finding)))?;
    }
    let wrong = checked.findings.len();
    if wrong == 0 {
        let looked = match at {
            Address::File(_) => "pages, rows, lists and search",
            Address::Postgres(_) => "rows, heads, lists and search",
        };
        let chained = match checked.chained {
            0 => String::new(),
            chained => format!(", {chained} entries by their hash chain"),
        };
        let behind = match checked.behind {
            0 => String::new(),
            behind => format!("; lists of {behind} threads are still to be followed"),
        };
        output::print(&format!(
            "{good}ok{good:#}  {} threads, {} events in {} appends; {looked}{chained}{behind}\n",
            checked.threads, checked.events, checked.appends
        ))?;
    }
    Ok(wrong)
}
