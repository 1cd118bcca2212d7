//! Checking a value, within a number of steps.

use serde_json::Value;

use super::compile::{At, Bound, Node, Rule, Size, escaped};
use super::pattern::Pattern;
use super::wrong::{Misfit, Wrong};

/// Schemas within schemas at once.
const DEPTH: u32 = 256;

/// What one check may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Comparisons.
    pub(crate) steps: u32,
    /// Misfits that are told.
    pub(crate) misfits: usize,
}

/// A check that goes on.
pub(super) struct Check<'s> {
    nodes: &'s [Node],
    steps: u32,
    most: usize,
    depth: u32,
    found: Vec<Misfit>,
    /// Whether misfits count: not where others may fit.
    quiet: u32,
}

/// Whether something fits. Out of steps, nothing is known.
type Fits = Result<bool, Exhausted>;

struct Exhausted;

impl<'s> Check<'s> {
    /// Everything that is wrong with a value, as far as the effort goes.
    pub(super) fn run(nodes: &'s [Node], value: &Value, effort: Effort) -> Vec<Misfit> {
        let Effort { steps, misfits: most } = effort;
        let mut check = Self { nodes, steps, most, depth: DEPTH, found: Vec::new(), quiet: 0 };
        if let Err(Exhausted) = check.fits(0, value, &mut String::new()) {
            return vec![Misfit { pointer: String::new(), wrong: Wrong::TooMuch }];
        }
        check.found
    }

    fn fits(&mut self, node: At, value: &Value, at: &mut String) -> Fits {
        let nodes = self.nodes;
        let Some(Node(rules)) = nodes.get(node) else { return Ok(true) };
        self.depth = self.depth.checked_sub(1).ok_or(Exhausted)?;
        let mut fits = true;
        for rule in rules {
            fits &= self.holds(rule, value, at)?;
            if !fits && self.quiet > 0 {
                break;
            }
        }
        self.depth += 1;
        Ok(fits)
    }

    fn holds(&mut self, rule: &'s Rule, value: &Value, at: &mut String) -> Fits {
        self.step()?;
        match (rule, value) {
            (Rule::Never, _) => Ok(self.wrong(at, || Wrong::NotAllowed)),
            (Rule::Type(types), _) => {
                let fits = types.iter().any(|name| is(value, name));
                let wrong = || Wrong::Type { wanted: types.clone(), found: name(value) };
                Ok(fits || self.wrong(at, wrong))
            }
            (Rule::OneOfValues(values), _) => {
                let mut fits = false;
                for wanted in values {
                    fits |= self.same(wanted, value)?;
                }
                Ok(fits || self.wrong(at, || Wrong::Value(values.clone())))
            }
            (Rule::All(all), _) => self.each(all.iter().map(|node| (*node, value)), at),
            (Rule::Any(any), _) => {
                let count = self.count(any, value, at)?;
                if count > 0 {
                    return Ok(true);
                }
                self.explain(any, value, at)
            }
            (Rule::One(one), _) => match self.count(one, value, at)? {
                1 => Ok(true),
                0 => self.explain(one, value, at),
                _ => Ok(self.wrong(at, || Wrong::Several)),
            },
            (Rule::Not(not), _) => {
                let fits = self.quietly(*not, value, at)?;
                Ok(!fits || self.wrong(at, || Wrong::Forbidden))
            }
            (Rule::If { test, then, otherwise }, _) => {
                let next = if self.quietly(*test, value, at)? { then } else { otherwise };
                self.each(next.iter().map(|node| (*node, value)), at)
            }
            (Rule::Number(bound, limit), Value::Number(number)) => {
                let number = number.as_f64().unwrap_or_default();
                Ok(within(*bound, number, *limit)
                    || self.wrong(at, || Wrong::Number(*bound, *limit)))
            }
            (Rule::Text(size), Value::String(text)) => {
                self.sized(*size, text.chars().count(), "characters", at)
            }
            (Rule::Pattern(pattern), Value::String(text)) => self.pattern(pattern, text, at),
            (Rule::Count(size), Value::Array(items)) => self.sized(*size, items.len(), "items", at),
            (Rule::Members(size), Value::Object(members)) => {
                self.sized(*size, members.len(), "members", at)
            }
            (Rule::Unique, Value::Array(items)) => {
                for (i, item) in items.iter().enumerate() {
                    for other in items.iter().take(i) {
                        if self.same(item, other)? {
                            return Ok(self.wrong(at, || Wrong::Twice));
                        }
                    }
                }
                Ok(true)
            }
            (Rule::Items { first, rest }, Value::Array(items)) => {
                let mut fits = true;
                for (i, item) in items.iter().enumerate() {
                    if let Some(node) = first.get(i).or(rest.as_ref()) {
                        fits &= self.inside(*node, item, &i.to_string(), at)?;
                    }
                }
                Ok(fits)
            }
            (Rule::Contains { what, least, most }, Value::Array(items)) => {
                let mut count = 0;
                for item in items {
                    count += u64::from(self.quietly(*what, item, at)?);
                }
                let fits = (*least..=*most).contains(&count);
                Ok(fits || self.wrong(at, || Wrong::Contains(count)))
            }
            (Rule::Properties { known, patterns, rest }, Value::Object(members)) => {
                let mut fits = true;
                for (name, member) in members {
                    let mut is_known = false;
                    if let Some(node) = known.get(name) {
                        is_known = true;
                        fits &= self.inside(*node, member, name, at)?;
                    }
                    for (pattern, node) in patterns {
                        self.step()?;
                        if pattern.fits(name) {
                            is_known = true;
                            fits &= self.inside(*node, member, name, at)?;
                        }
                    }
                    if let (false, Some(node)) = (is_known, rest) {
                        fits &= self.inside(*node, member, name, at)?;
                    }
                }
                Ok(fits)
            }
            (Rule::Names(node), Value::Object(members)) => {
                let mut fits = true;
                for name in members.keys() {
                    fits &= self.inside(*node, &Value::String(name.clone()), name, at)?;
                }
                Ok(fits)
            }
            (Rule::Required(names), Value::Object(members)) => {
                let mut fits = true;
                for name in names.iter().filter(|name| !members.contains_key(*name)) {
                    fits = self.wrong(&format!("{at}/{}", escaped(name)), || Wrong::Missing);
                }
                Ok(fits)
            }
            (Rule::With(name, others, schema), Value::Object(members))
                if members.contains_key(name) =>
            {
                let mut fits = true;
                for other in others.iter().filter(|other| !members.contains_key(*other)) {
                    let at = format!("{at}/{}", escaped(other));
                    fits = self.wrong(&at, || Wrong::MissingFor(name.clone()));
                }
                Ok(fits & self.each(schema.iter().map(|node| (*node, value)), at)?)
            }
            _ => Ok(true),
        }
    }

    fn each<'v>(&mut self, all: impl Iterator<Item = (At, &'v Value)>, at: &mut String) -> Fits {
        let mut fits = true;
        for (node, value) in all {
            fits &= self.fits(node, value, at)?;
        }
        Ok(fits)
    }

    /// A member or an item.
    fn inside(&mut self, node: At, value: &Value, name: &str, at: &mut String) -> Fits {
        let end = at.len();
        at.push('/');
        at.push_str(&escaped(name));
        let fits = self.fits(node, value, at);
        at.truncate(end);
        fits
    }

    fn quietly(&mut self, node: At, value: &Value, at: &mut String) -> Fits {
        self.quiet += 1;
        let fits = self.fits(node, value, at);
        self.quiet -= 1;
        fits
    }

    fn count(&mut self, nodes: &[At], value: &Value, at: &mut String) -> Result<usize, Exhausted> {
        let mut count = 0;
        for node in nodes {
            count += usize::from(self.quietly(*node, value, at)?);
        }
        Ok(count)
    }

    /// None of these fits: says why the first that could be meant does not.
    fn explain(&mut self, nodes: &[At], value: &Value, at: &mut String) -> Fits {
        if self.quiet == 0 {
            self.wrong(at, || Wrong::None);
            if let [only] = nodes {
                self.fits(*only, value, at)?;
            }
        }
        Ok(false)
    }

    fn sized(&mut self, Size(least, most): Size, count: usize, of: &'static str, at: &str) -> Fits {
        let count = count as u64;
        Ok(match count {
            _ if count < least => self.wrong(at, || Wrong::Few { of, least, found: count }),
            _ if count > most => self.wrong(at, || Wrong::Many { of, most, found: count }),
            _ => true,
        })
    }

    fn pattern(&mut self, pattern: &Pattern, text: &str, at: &str) -> Fits {
        Ok(pattern.fits(text) || self.wrong(at, || Wrong::Pattern(pattern.text.clone())))
    }

    /// Whether two values are the same; 1 and 1.0 are.
    fn same(&mut self, one: &Value, other: &Value) -> Fits {
        self.step()?;
        match (one, other) {
            (Value::Number(one), Value::Number(other)) => {
                Ok(one == other || one.as_f64() == other.as_f64())
            }
            (Value::Array(one), Value::Array(other)) => {
                if one.len() != other.len() {
                    return Ok(false);
                }
                for (one, other) in one.iter().zip(other) {
                    if !self.same(one, other)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Value::Object(one), Value::Object(other)) => {
                if one.len() != other.len() {
                    return Ok(false);
                }
                for (name, one) in one {
                    let Some(other) = other.get(name) else { return Ok(false) };
                    if !self.same(one, other)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(one == other),
        }
    }

    fn step(&mut self) -> Result<(), Exhausted> {
        self.steps = self.steps.checked_sub(1).ok_or(Exhausted)?;
        Ok(())
    }

    /// Takes down what is wrong; always `false`.
    fn wrong(&mut self, at: &str, wrong: impl FnOnce() -> Wrong) -> bool {
        if self.quiet == 0 && self.found.len() < self.most {
            self.found.push(Misfit { pointer: at.to_owned(), wrong: wrong() });
        }
        false
    }
}

fn within(bound: Bound, number: f64, limit: f64) -> bool {
    match bound {
        Bound::AtLeast => number >= limit,
        Bound::AtMost => number <= limit,
        Bound::Above => number > limit,
        Bound::Below => number < limit,
        Bound::MultipleOf => {
            // 0.3 is a multiple of 0.1, though not for a computer.
            let times = number / limit;
            (times - times.round()).abs() < 1e-9 * times.abs().max(1.0)
        }
    }
}

fn is(value: &Value, name: &str) -> bool {
    match (name, value) {
        ("integer", Value::Number(number)) => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        ("number", Value::Number(_)) => true,
        (other, value) => other == self::name(value),
    }
}

fn name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
