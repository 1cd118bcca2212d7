//! Tables that say what a capability message looks like, and the check that reads them.

use crate::diagnostic::Report;
use crate::journal::kind::Need;
use crate::json::{Node, NodeKind};
use crate::validate::{brief, span};

/// An object: its fields, and whether it may have others.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) fields: &'static [Field],
    pub(super) extra: Extra,
    /// What the fields alone do not say.
    pub(super) check: Option<Check>,
}

/// A check of a whole object, at its pointer.
pub(super) type Check = fn(&str, Node<'_, '_>, &mut Report);

/// Whether an object may have fields its table does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extra {
    Allowed,
    Refused,
}

/// A field of an object.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) ty: Ty,
    pub(super) need: Need,
}

/// What a value must be.
#[derive(Debug)]
pub(super) enum Ty {
    /// Any string.
    Text,
    /// A string that should be an absolute URI.
    Uri,
    /// A string that should be an RFC 3339 date and time.
    DateTime,
    /// A string of this form.
    Form(fn(&str) -> bool, &'static str),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A whole number, not below this one.
    Integer(f64),
    /// A number between two.
    Number(f64, f64),
    /// A string or a number.
    TextOrNumber,
    Bool,
    /// An object of this shape.
    Object(&'static Shape),
    /// Any object.
    Free,
    /// An object whose values all are this.
    Map(&'static Ty),
    /// An array of these, at least so many.
    List(&'static Ty, usize),
}

/// A field that must be there.
pub(super) const fn must(name: &'static str, ty: Ty) -> Field {
    Field { name, ty, need: Need::Must }
}

/// A field that may be there.
pub(super) const fn may(name: &'static str, ty: Ty) -> Field {
    Field { name, ty, need: Need::May }
}

/// An object that has these fields and no others.
pub(super) const fn closed(fields: &'static [Field]) -> Shape {
    Shape { fields, extra: Extra::Refused, check: None }
}

/// An object that has these fields and maybe others.
pub(super) const fn open(fields: &'static [Field]) -> Shape {
    Shape { fields, extra: Extra::Allowed, check: None }
}

/// Any whole number.
pub(super) const INTEGER: Ty = Ty::Integer(f64::NEG_INFINITY);
/// Any number.
pub(super) const NUMBER: Ty = Ty::Number(f64::NEG_INFINITY, f64::INFINITY);

impl Shape {
    /// Adds a check of the whole object.
    pub(super) const fn with(mut self, check: Check) -> Self {
        self.check = Some(check);
        self
    }

    /// Checks an object against the table.
    pub(super) fn check(&self, pointer: &str, node: Node<'_, '_>, report: &mut Report) {
        if !node.is_object() {
            wrong(pointer, node, "an object", report);
            return;
        }
        for field in self.fields {
            match node.get(field.name) {
                Some(value) => value_is(&at(pointer, field.name), value, &field.ty, report),
                None if field.need == Need::Must => {
                    let message = format!("`{}` is missing", field.name);
                    report.error("missing-field", pointer, span(node), message);
                }
                None => {}
            }
        }
        if self.extra == Extra::Refused {
            for (key, value) in node.members() {
                let name = key.str().unwrap_or_default();
                if !self.fields.iter().any(|f| f.name == name) {
                    let message = format!("`{}` is not a field here", brief(&name));
                    report.error("unknown-field", &at(pointer, &name), span(value), message);
                }
            }
        }
        if let Some(check) = self.check {
            check(pointer, node, report);
        }
    }
}

/// The pointer to a member.
pub(super) fn at(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

fn value_is(pointer: &str, node: Node<'_, '_>, ty: &Ty, report: &mut Report) {
    match ty {
        Ty::Text if node.is_string() => {}
        Ty::Uri if node.is_string() => {
            if !node.str().is_some_and(|s| is_uri(&s)) {
                report.warning("aitp-uri", pointer, span(node), "expected an absolute URI");
            }
        }
        Ty::DateTime if node.is_string() => {
            if node.str().and_then(|s| crate::time::to_millis(&s)).is_none() {
                let message = "expected an RFC 3339 date and time";
                report.warning("aitp-date-time", pointer, span(node), message);
            }
        }
        Ty::Form(form, what) if node.is_string() => {
            if !node.str().is_some_and(|s| form(&s)) {
                let message = format!("expected {what}, found `{}`", brief(node.raw()));
                report.error("wrong-form", pointer, span(node), message);
            }
        }
        Ty::OneOf(values) if node.is_string() => {
            if !values.iter().any(|v| node.is(v)) {
                let found = brief(node.body());
                let message = format!("`{found}` is not one of {}", values.join(", "));
                report.error("unknown-value", pointer, span(node), message);
            }
        }
        Ty::Integer(least) => match node.f64().filter(|n| n.fract() == 0.0) {
            None => wrong(pointer, node, "a whole number", report),
            Some(number) if number < *least => {
                let message = format!("{} is below {least}", brief(node.raw()));
                report.error("out-of-range", pointer, span(node), message);
            }
            Some(_) => {}
        },
        Ty::Number(least, most) => match node.f64() {
            None => wrong(pointer, node, "a number", report),
            Some(number) if number < *least || number > *most => {
                let message = format!("{} is not in {least} to {most}", brief(node.raw()));
                report.error("out-of-range", pointer, span(node), message);
            }
            Some(_) => {}
        },
        Ty::TextOrNumber if node.is_string() || node.kind() == NodeKind::Number => {}
        Ty::Bool if node.kind() == NodeKind::Bool => {}
        Ty::Object(shape) => shape.check(pointer, node, report),
        Ty::Free if node.is_object() => {}
        Ty::Map(of) if node.is_object() => {
            for (key, value) in node.members() {
                let name = key.str().unwrap_or_default();
                value_is(&at(pointer, &name), value, of, report);
            }
        }
        Ty::List(of, least) if node.is_array() => {
            let mut count = 0;
            for (i, child) in node.children().enumerate() {
                value_is(&format!("{pointer}/{i}"), child, of, report);
                count += 1;
            }
            if count < *least {
                let message = format!("expected at least {least} element");
                report.error("too-few", pointer, span(node), message);
            }
        }
        Ty::Text | Ty::Uri | Ty::DateTime | Ty::Form(..) | Ty::OneOf(_) => {
            wrong(pointer, node, "a string", report);
        }
        Ty::TextOrNumber => wrong(pointer, node, "a string or a number", report),
        Ty::Bool => wrong(pointer, node, "a boolean", report),
        Ty::Free | Ty::Map(_) => wrong(pointer, node, "an object", report),
        Ty::List(..) => wrong(pointer, node, "an array", report),
    }
}

fn wrong(pointer: &str, node: Node<'_, '_>, expected: &str, report: &mut Report) {
    let message = format!("expected {expected}, found `{}`", brief(node.raw()));
    report.error("wrong-type", pointer, span(node), message);
}

/// Whether a text begins with a scheme and goes on.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        && !rest.is_empty()
        && !text.contains(char::is_whitespace)
}

/// `0x` and hexadecimal digits, exactly `len` of them, or any number if `None`.
pub(super) fn is_hex(text: &str, len: Option<usize>) -> bool {
    text.strip_prefix("0x").is_some_and(|digits| {
        digits.bytes().all(|b| b.is_ascii_hexdigit()) && len.is_none_or(|len| digits.len() == len)
    })
}

/// Reports ids that occur more than once in a list of objects.
pub(super) fn unique_ids(pointer: &str, list: Option<Node<'_, '_>>, report: &mut Report) {
    let mut seen = std::collections::HashSet::new();
    for (i, item) in list.into_iter().flat_map(Node::children).enumerate() {
        let Some(id) = item.get("id").filter(|id| id.is_string()) else { continue };
        let Some(text) = id.str() else { continue };
        if !seen.insert(text.clone()) {
            let message = format!("id `{}` is used twice", brief(&text));
            report.error("aitp-duplicate-id", &format!("{pointer}/{i}/id"), span(id), message);
        }
    }
}
