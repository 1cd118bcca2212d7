//! Events to UIMessages.

use super::chat::Chat;
use crate::dialect::ai_sdk::Version;
use crate::dialect::{EncodeOptions, Encoder, Records};
use crate::journal::Batch;

/// Folds events and writes the messages at the end.
pub(super) struct Writer {
    chat: Chat,
}

impl Writer {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        Self { chat: Chat::new(Version::of(options)) }
    }
}

impl Encoder for Writer {
    fn batch(&mut self, batch: &Batch<'_>, _out: &mut Records) {
        for event in &batch.events {
            self.chat.apply(event);
        }
    }

    fn pause(&mut self, out: &mut Records) {
        self.finish(out);
        self.chat.seal();
    }

    fn observe(&mut self, batch: &Batch<'_>) {
        for event in &batch.events {
            self.chat.apply(event);
        }
        self.chat.rest();
        self.chat.seal();
    }

    fn finish(&mut self, out: &mut Records) {
        let version = self.chat.version;
        for message in self.chat.rest() {
            let mut json = String::new();
            message.write(version, &mut json);
            out.item(json);
        }
    }
}
