//! placeholder
use super::{History, View};
/// placeholder
pub fn openai(_history: &History, _view: View<'_>) -> String {
    String::new()
}
