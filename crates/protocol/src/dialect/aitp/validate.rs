//! Checks.
use crate::diagnostic::Report;
use crate::json::Node;
use crate::validate::Validator;
pub(super) struct Checks;
impl Validator for Checks { fn value(&mut self, _p: &str, v: Node<'_, '_>, r: &mut Report) { super::capability::check(v, r); } }
