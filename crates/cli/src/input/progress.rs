//! A progress bar, for large sources and people who watch.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};

/// Smaller sources are done before a bar could be read.
const LARGE: u64 = 4 * 1024 * 1024;

/// When a command's output shows on the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// While the source is read: a bar would stand in its way.
    Meanwhile,
    /// When the source has been read, or not at all.
    AtTheEnd,
}

/// How far a source has been read, on standard error.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A bar, if the source is large, standard error is a terminal, and no output goes there.
    pub(super) fn new(size: Option<u64>, shown: Shown) -> Self {
        let watched = shown == Shown::AtTheEnd && io::stderr().is_terminal();
        let size = size.filter(|size| watched && *size >= LARGE);
        let bar = size.map(|size| {
            let bar = ProgressBar::new(size);
            let template = "{bar:40} {percent:>3} %  {bytes} of {total_bytes}  \
                            {bytes_per_sec}  {eta} left";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        });
        Self { bar }
    }

    /// So many bytes have been read.
    pub(super) fn set(&self, read: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(read);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
