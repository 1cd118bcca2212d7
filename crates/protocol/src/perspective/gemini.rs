//! placeholder
use super::{History, View};
/// placeholder
pub fn gemini(_history: &History, _view: View<'_>) -> String {
    String::new()
}
