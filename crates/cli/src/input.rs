//! Sources: files or standard input, read piece by piece.

mod progress;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use selvedge_protocol::dialect::{self, DecodeOptions, Decoding, Dialect};
use selvedge_protocol::journal::Batch;
use selvedge_protocol::json::SyntaxError;

use crate::error::Error;
pub(crate) use progress::Shown;

use progress::Progress;

/// How much of a source its dialect is judged by.
const HEAD: usize = 64 * 1024;

/// How much is read at a time.
const CHUNK: usize = 256 * 1024;

/// A source, open for reading.
pub(crate) struct Source {
    name: String,
    reader: Box<dyn Read>,
    size: Option<u64>,
    /// What was read to judge the dialect by, not passed on yet.
    head: Vec<u8>,
}

/// Takes what a source says.
pub(crate) trait Sink {
    /// Takes what one record says.
    fn batch(&mut self, batch: &Batch<'_>);

    /// When its output shows on the terminal.
    fn shown(&self) -> Shown {
        Shown::AtTheEnd
    }

    /// A piece of the source has been read.
    fn piece(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

impl Source {
    /// Opens a file; `-` is standard input.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        if path == Path::new("-") {
            return Ok(Self {
                name: "standard input".to_owned(),
                reader: Box::new(io::stdin().lock()),
                size: None,
                head: Vec::new(),
            });
        }
        let name = format!("`{}`", path.display());
        let fail = |cause| Error::Read { name: name.clone(), cause };
        let file = File::open(path).map_err(fail)?;
        let meta = file.metadata().map_err(fail)?;
        if meta.is_dir() {
            return Err(fail(io::ErrorKind::IsADirectory.into()));
        }
        let size = meta.is_file().then_some(meta.len());
        Ok(Self { name, reader: Box::new(file), size, head: Vec::new() })
    }

    /// What to call it in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The beginning of the source, as text as far as it is text.
    pub(crate) fn head(&mut self) -> Result<&str, Error> {
        self.read_head()?;
        let valid = match std::str::from_utf8(&self.head) {
            Ok(text) => return Ok(text),
            Err(e) => e.valid_up_to(),
        };
        Ok(std::str::from_utf8(self.head.get(..valid).unwrap_or(&[])).unwrap_or(""))
    }

    /// The dialect: the one given, or else the one its beginning shows. `option` is how to give it.
    pub(crate) fn dialect(
        &mut self,
        given: Option<&'static Dialect>,
        option: &'static str,
    ) -> Result<&'static Dialect, Error> {
        if let Some(dialect) = given {
            return Ok(dialect);
        }
        self.read_head()?;
        if self.head.iter().all(u8::is_ascii_whitespace) && self.head.len() < HEAD {
            return Err(Error::Empty { name: self.name.clone() });
        }
        match detect(&self.head) {
            Ok(Some(dialect)) => Ok(dialect),
            Ok(None) => Err(Error::Undetected { name: self.name.clone(), option }),
            Err(at) => Err(Error::NotUtf8 { name: self.name.clone(), at: at as u64 }),
        }
    }

    /// Reads the whole source.
    pub(crate) fn read_all(mut self) -> Result<Vec<u8>, Error> {
        let mut all = std::mem::take(&mut self.head);
        let size = self.size.and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
        // A size that lies costs address space, not memory; an absurd one is not believed.
        all.reserve(size.saturating_sub(all.len()).min(1 << 30));
        self.reader
            .read_to_end(&mut all)
            .map_err(|cause| Error::Read { name: self.name.clone(), cause })?;
        Ok(all)
    }

    /// Reads the source piece by piece and passes on what it says.
    pub(crate) fn decode(
        mut self,
        dialect: &Dialect,
        options: &DecodeOptions,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        let mut decoding = Decoding::new(dialect, options);
        let progress = Progress::new(self.size, sink.shown());
        let mut read = 0_u64;
        let mut piece = std::mem::take(&mut self.head);
        loop {
            if piece.is_empty() {
                // A record longer than a piece is looked at anew with every piece: as it grows,
                // so do the pieces, and the whole stays linear.
                self.read_piece(decoding.pending().max(CHUNK), &mut piece)?;
            }
            if piece.is_empty() {
                break;
            }
            read += piece.len() as u64;
            decoding
                .push(&piece, |batch| sink.batch(&batch))
                .map_err(|error| self.not_utf8(read - decoding.pending() as u64, error))?;
            sink.piece()?;
            progress.set(read);
            piece.clear();
        }
        let held = read - decoding.pending() as u64;
        decoding.finish(|batch| sink.batch(&batch)).map_err(|error| self.not_utf8(held, error))?;
        sink.piece()
    }

    fn not_utf8(&self, from: u64, error: SyntaxError) -> Error {
        Error::NotUtf8 { name: self.name.clone(), at: from + error.at as u64 }
    }

    fn read_head(&mut self) -> Result<(), Error> {
        let mut head = std::mem::take(&mut self.head);
        let missing = HEAD.saturating_sub(head.len());
        let result = (&mut self.reader).take(missing as u64).read_to_end(&mut head);
        self.head = head;
        result.map(drop).map_err(|cause| Error::Read { name: self.name.clone(), cause })
    }

    /// Reads what is there, up to `limit` bytes: a live source is not waited for.
    fn read_piece(&mut self, limit: usize, piece: &mut Vec<u8>) -> Result<(), Error> {
        piece.resize(limit, 0);
        let got = loop {
            match self.reader.read(piece) {
                Ok(got) => break got,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(Error::Read { name: self.name.clone(), cause }),
            }
        };
        piece.truncate(got);
        Ok(())
    }
}

/// The dialect that the beginning of a source shows, or where it stops being UTF-8.
pub(crate) fn detect(head: &[u8]) -> Result<Option<&'static Dialect>, usize> {
    let head = head.get(..HEAD).unwrap_or(head);
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The last character may be cut in two.
        Err(e) if e.error_len().is_none() && head.len() == HEAD => {
            let valid = head.get(..e.valid_up_to()).unwrap_or(&[]);
            std::str::from_utf8(valid).unwrap_or("")
        }
        Err(e) => return Err(e.valid_up_to()),
    };
    Ok(dialect::detect(text))
}
