//! Events to stream responses.
use crate::dialect::{EncodeOptions, Encoder, Records};
use crate::journal::{Batch, Kind};
pub(super) struct Writer;
impl Writer {
    pub(super) fn new(_: &EncodeOptions) -> Self {
        Self
    }
}
impl Encoder for Writer {
    fn batch(&mut self, _batch: &Batch<'_>, _out: &mut Records) {}
}
pub(super) fn carries(_: Kind, _: &str) -> bool {
    false
}
