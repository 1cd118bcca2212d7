//! Query strings.

use std::borrow::Cow;
use std::str::FromStr;

use crate::{Error, ErrorCode};

/// The parameters of a request, decoded; the last of a name counts.
#[derive(Debug, Default)]
pub(crate) struct Query<'a> {
    pairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<'a> Query<'a> {
    pub(crate) fn new(raw: Option<&'a str>) -> Self {
        Self { pairs: form_urlencoded::parse(raw.unwrap_or("").as_bytes()).collect() }
    }

    /// The value of a parameter; one that is there but empty is not.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.pairs.iter().rev().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_ref()).filter(|value| !value.is_empty())
    }

    /// All values of a parameter, also those that are lists.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let values = self.pairs.iter().filter(|(n, _)| n == name);
        let values = values.flat_map(|(_, value)| value.split(','));
        values.map(str::trim).filter(|v| !v.is_empty()).map(str::to_owned).collect()
    }

    /// Parameters whose names begin so, by the rest of their names.
    pub(crate) fn prefixed(&self, prefix: &str) -> impl Iterator<Item = (String, String)> {
        let pairs = self.pairs.iter().filter_map(move |(name, value)| {
            Some((name.strip_prefix(prefix)?.to_owned(), value.as_ref().to_owned()))
        });
        pairs.collect::<Vec<_>>().into_iter()
    }

    /// How many are asked for: some number unless told, and never more than another.
    pub(crate) fn limit(&self, unless: usize, most: usize) -> Result<usize, Error> {
        Ok(self.count("limit", most)?.unwrap_or(unless))
    }

    /// A number of things, up to so many.
    pub(crate) fn count(&self, name: &str, most: usize) -> Result<Option<usize>, Error> {
        let is = format!("a number from 1 to {most}");
        match self.parsed(name, &is)? {
            Some(count) if !(1..=most).contains(&count) => {
                Err(Error::new(ErrorCode::BadParameter, format!("`{name}` must be {is}")))
            }
            count => Ok(count),
        }
    }

    /// A value of another type than text.
    pub(crate) fn parsed<T: FromStr>(&self, name: &str, is: &str) -> Result<Option<T>, Error> {
        let Some(text) = self.get(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| {
            let message = format!("`{name}` must be {is}, not `{}`", brief(text));
            Error::new(ErrorCode::BadParameter, message)
        })
    }
}

fn brief(text: &str) -> String {
    selvedge_protocol::validate::brief(text)
}
