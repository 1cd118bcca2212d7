//! Where output goes: standard output, or a file that is there only when it is complete.

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::input::Shown;

/// An output, open for writing.
pub(crate) struct Output {
    name: String,
    writer: Box<dyn Write>,
    shown: Shown,
    /// The file being written and the name it gets in the end.
    pending: Option<(PathBuf, PathBuf)>,
}

impl Output {
    /// A file, or standard output.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Self {
                name: "standard output".to_owned(),
                writer: Box::new(io::stdout().lock()),
                shown: if io::stdout().is_terminal() { Shown::Meanwhile } else { Shown::AtTheEnd },
                pending: None,
            });
        };
        let name = format!("`{}`", path.display());
        Self::file(path, &name).map_err(|cause| Error::Write { name, cause })
    }

    /// A file, or standard error for `-`: a report beside the output.
    pub(crate) fn report(path: &Path) -> Result<Self, Error> {
        if path == Path::new("-") {
            let writer = Box::new(io::stderr().lock());
            return Ok(Self {
                name: "standard error".to_owned(),
                writer,
                pending: None,
                shown: Shown::AtTheEnd,
            });
        }
        Self::open(Some(path))
    }

    fn file(path: &Path, name: &str) -> io::Result<Self> {
        let meta = fs::metadata(path).ok();
        if meta.as_ref().is_some_and(|meta| !meta.is_file()) {
            // A device or a pipe is written to, not replaced.
            let writer = Box::new(File::options().write(true).open(path)?);
            return Ok(Self {
                name: name.to_owned(),
                writer,
                pending: None,
                shown: Shown::AtTheEnd,
            });
        }
        // Behind a link, the file is replaced and not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut part = path.clone().into_os_string();
        part.push(format!(".{}.part", std::process::id()));
        let part = PathBuf::from(part);
        let file = File::create_new(&part)?;
        let output = Self {
            name: name.to_owned(),
            writer: Box::new(file),
            pending: Some((part, path)),
            shown: Shown::AtTheEnd,
        };
        if let (Some(meta), Some((part, _))) = (meta, &output.pending) {
            fs::set_permissions(part, meta.permissions())?;
        }
        Ok(output)
    }

    /// When it shows on the terminal.
    pub(crate) fn shown(&self) -> Shown {
        self.shown
    }

    /// Writes bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.writer.write_all(bytes).map_err(|cause| self.fail(cause))
    }

    /// Passes on what was written so far.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.writer.flush().map_err(|cause| self.fail(cause))
    }

    /// The output is complete.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        self.flush()?;
        match self.pending.take() {
            Some((part, path)) => fs::rename(part, path).map_err(|cause| self.fail(cause)),
            None => Ok(()),
        }
    }

    fn fail(&self, cause: io::Error) -> Error {
        Error::Write { name: self.name.clone(), cause }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some((part, _)) = &self.pending {
            // The command failed and has said why; what is left of its output goes.
            let _ = fs::remove_file(part);
        }
    }
}

/// Writes text to standard output, with its colours where they can be seen.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut stdout = anstream::AutoStream::auto(io::stdout().lock());
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|cause| Error::Write { name: "standard output".to_owned(), cause })
}

/// Text of a source with nothing in it that a terminal would act on.
pub(crate) fn tame(text: &str) -> String {
    text.chars().map(|c| if is_harmless(c) { c } else { '\u{fffd}' }).collect()
}

/// Text of others in one line of at most so many characters.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let mut out: String = text.chars().take(most).map(in_line).collect();
    if text.chars().nth(most).is_some() {
        out.push('…');
    }
    out
}

fn in_line(c: char) -> char {
    match c {
        '\n' | '\r' => '⏎',
        c if is_harmless(c) => c,
        _ => '·',
    }
}

/// Not a control character, nor one that turns the direction of writing.
pub(crate) fn is_harmless(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
