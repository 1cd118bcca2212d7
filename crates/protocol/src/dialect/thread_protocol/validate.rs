//! What a ThreadProtocol document must hold.

use crate::diagnostic::Report;
use crate::json::Node;
use crate::validate::Validator;

/// Checks a thread.
#[derive(Debug, Default)]
pub(super) struct Checks;

impl Validator for Checks {
    fn value(&mut self, _pointer: &str, _value: Node<'_, '_>, _report: &mut Report) {}
}
