//! Events to the Assistants stream.
use super::super::{EncodeOptions, Encoder, Records};
use crate::journal::{Batch, Kind};
pub(super) struct Writer;
impl Writer {
    pub(super) fn new(_: &EncodeOptions) -> Self {
        Self
    }
}
impl Encoder for Writer {
    fn batch(&mut self, _b: &Batch<'_>, _o: &mut Records) {}
}
pub(super) fn carries(_: Kind, _: &str) -> bool {
    false
}
