//! Lists that come in pages.

use std::fmt;

use crate::ReadError;

/// Where a page of a list ended; what is in it is nobody's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(String);

impl Place {
    /// A place that was handed out before.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn of<const N: usize>(numbers: [i64; N]) -> Self {
        Self::of_list(&numbers)
    }

    pub(crate) fn of_list(numbers: &[i64]) -> Self {
        let numbers: Vec<String> = numbers.iter().map(|number| format!("{number:x}")).collect();
        Self(numbers.join("."))
    }

    pub(crate) fn list(&self) -> Result<Vec<i64>, ReadError> {
        let numbers = self.0.split('.').map(|number| i64::from_str_radix(number, 16));
        numbers.collect::<Result<_, _>>().map_err(|_| self.bad())
    }

    /// The error of one that was not handed out for that list.
    pub(crate) fn bad(&self) -> ReadError {
        ReadError::BadPlace(self.0.chars().take(100).collect())
    }

    pub(crate) fn numbers<const N: usize>(&self) -> Result<[i64; N], ReadError> {
        self.list()?.try_into().map_err(|_| self.bad())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where the next page begins, if there may be one.
    pub next: Option<Place>,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self { items: Vec::new(), next: None }
    }
}
