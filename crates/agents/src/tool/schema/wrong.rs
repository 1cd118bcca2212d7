//! What is wrong with a value, as data and in words.

use std::fmt;

use serde_json::Value;

use super::compile::Bound;

/// Something in a value that the schema does not allow.
#[derive(Debug, Clone, PartialEq)]
pub struct Misfit {
    /// Where in the value, as a JSON pointer; what is missing is named as if it were there.
    pub pointer: String,
    /// What.
    pub wrong: Wrong,
}

/// What is wrong with a value. Shown, it says what the value must be.
#[derive(Debug, Clone, PartialEq)]
pub enum Wrong {
    /// Nothing may be there.
    NotAllowed,
    /// It is not there.
    Missing,
    /// It is not there, and another member needs it.
    MissingFor(String),
    /// It has another type.
    Type {
        /// The names of those that it may have.
        wanted: Vec<String>,
        /// The name of the one it has.
        found: &'static str,
    },
    /// It is none of these.
    Value(Vec<Value>),
    /// It fits none of the schemas that it may fit.
    None,
    /// It fits several schemas where it must fit one.
    Several,
    /// It fits a schema that it must not fit.
    Forbidden,
    /// A number beyond its bound.
    Number(Bound, f64),
    /// A text without this pattern.
    Pattern(String),
    /// Too few of something.
    Few {
        /// Of what.
        of: &'static str,
        /// At least so many.
        least: u64,
        /// Not so many.
        found: u64,
    },
    /// Too many of something.
    Many {
        /// Of what.
        of: &'static str,
        /// At most so many.
        most: u64,
        /// Not so many.
        found: u64,
    },
    /// The same item twice.
    Twice,
    /// So many items that fit are too few or too many.
    Contains(u64),
    /// To find out takes too long.
    TooMuch,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAllowed => f.write_str("is not allowed"),
            Self::Missing => f.write_str("is missing"),
            Self::MissingFor(name) => write!(f, "is missing, which `{name}` needs"),
            Self::Type { wanted, found } => {
                write!(f, "must be {}, not {found}", wanted.join(" or "))
            }
            Self::Value(values) => write!(f, "must be {}", listed(values)),
            Self::None => f.write_str("fits none of what is allowed"),
            Self::Several => f.write_str("fits more than one of what is allowed"),
            Self::Forbidden => f.write_str("is what is not allowed"),
            Self::Number(bound, limit) => write!(f, "must be {} {limit}", bound.words()),
            Self::Pattern(pattern) => write!(f, "must fit the pattern {pattern}"),
            Self::Few { of, least, found } => {
                write!(f, "must have at least {least} {of}, not {found}")
            }
            Self::Many { of, most, found } => {
                write!(f, "must have at most {most} {of}, not {found}")
            }
            Self::Twice => f.write_str("must not have the same twice"),
            Self::Contains(count) => write!(f, "has {count} items of the kind it must have"),
            Self::TooMuch => f.write_str("too much to be checked"),
        }
    }
}

impl Bound {
    fn words(self) -> &'static str {
        match self {
            Self::AtLeast => "at least",
            Self::AtMost => "at most",
            Self::Above => "above",
            Self::Below => "below",
            Self::MultipleOf => "a multiple of",
        }
    }
}

/// The first values of a list, as JSON.
fn listed(values: &[Value]) -> String {
    let shown: Vec<String> = values.iter().take(20).map(Value::to_string).collect();
    shown.join(" or ")
}
