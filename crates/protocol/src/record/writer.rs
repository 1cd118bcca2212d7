//! Putting records back together.

use super::{Framing, Role};

/// Writes records with the separators of a framing.
#[derive(Debug)]
pub struct Writer {
    framing: Framing,
    items: usize,
    headed: bool,
    tail: Option<String>,
}

impl Writer {
    /// A writer for one output.
    pub fn new(framing: Framing) -> Self {
        Self { framing, items: 0, headed: false, tail: None }
    }

    /// Whether a document's head has been written.
    pub fn headed(&self) -> bool {
        self.headed
    }

    /// Whether a tail has been set.
    pub fn tailed(&self) -> bool {
        self.tail.is_some()
    }

    /// Items written so far.
    pub fn items(&self) -> usize {
        self.items
    }

    /// Writes a record, with its own glue if it has any. A tail is held back until the end.
    pub fn record(&mut self, role: Role, glue: Option<&str>, body: &str, out: &mut Vec<u8>) {
        match role {
            Role::Head => {
                out.extend_from_slice(glue.unwrap_or("").as_bytes());
                self.headed = true;
            }
            Role::Item => self.before_item(glue, out),
            Role::Tail => {
                let mut tail = glue.unwrap_or("").to_owned();
                tail.push_str(body);
                self.tail = Some(tail);
                return;
            }
        }
        out.extend_from_slice(body.as_bytes());
    }

    /// Writes what stands before an item; the caller writes the item.
    pub fn before_item(&mut self, glue: Option<&str>, out: &mut Vec<u8>) {
        let glue = glue.unwrap_or_else(|| self.framing.glue(self.items));
        out.extend_from_slice(glue.as_bytes());
        self.items += 1;
    }

    /// Takes back an item that could not be written.
    pub fn undo_item(&mut self) {
        self.items = self.items.saturating_sub(1);
    }

    /// Writes a record of our own.
    pub fn item(&mut self, body: &str, out: &mut Vec<u8>) {
        self.record(Role::Item, None, body, out);
    }

    /// Writes what comes after the last record.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        match self.tail.take() {
            Some(tail) => out.extend_from_slice(tail.as_bytes()),
            None => out.extend_from_slice(self.framing.end(self.items).as_bytes()),
        }
    }
}
