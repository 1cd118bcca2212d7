//! Events to envelopes.
use crate::dialect::{EncodeOptions, Encoder, Records};
use crate::journal::Batch;
pub(super) struct Writer;
impl Writer {
    pub(super) fn new(_options: &EncodeOptions) -> Self {
        Self
    }
}
impl Encoder for Writer {
    fn batch(&mut self, _batch: &Batch<'_>, _out: &mut Records) {}
}
