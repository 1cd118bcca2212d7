//! placeholder
use super::{History, View};
/// placeholder
pub fn anthropic(_history: &History, _view: View<'_>) -> String {
    String::new()
}
