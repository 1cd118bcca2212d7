//! Checks.
use crate::diagnostic::Report;
use crate::json::Node;
use crate::validate::Validator;
#[derive(Default)]
pub(super) struct Checks;
impl Validator for Checks {
    fn value(&mut self, _p: &str, _v: Node<'_, '_>, _r: &mut Report) {}
}
