//! Lists in pages: by the ids of their items, never by times, so that nothing between two pages is
//! lost or comes twice.

use axum::response::{IntoResponse as _, Response};
use http::header;
use serde_json::{Value, json};

use crate::query::Query;
use crate::{Error, ErrorCode};

/// Items of a page, unless asked otherwise, and at most.
const PAGE: usize = 20;
const PAGE_MAX: usize = 100;

/// Which way a list goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Ascending,
    Descending,
}

/// Which page is asked for.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) order: Order,
    pub(super) limit: usize,
    pub(super) after: Option<String>,
    pub(super) before: Option<String>,
}

impl Asked {
    pub(super) fn new(query: &Query<'_>) -> Result<Self, Error> {
        let order = match query.get("order") {
            None | Some("desc") => Order::Descending,
            Some("asc") => Order::Ascending,
            Some(_) => {
                let message = "`order` must be asc or desc";
                return Err(Error::new(ErrorCode::BadParameter, message).at("/order"));
            }
        };
        let limit = query.limit(PAGE, PAGE_MAX).map_err(|error| error.at("/limit"))?;
        let named = |name| query.get(name).map(str::to_owned);
        Ok(Self { order, limit, after: named("after"), before: named("before") })
    }

    /// Whether the page, and that there is more, can be told from the end of a list alone.
    pub(super) fn is_in<T>(&self, end: &[T], id: impl Fn(&T) -> &str) -> bool {
        let upto = match &self.after {
            Some(after) => end.iter().position(|item| id(item) == after),
            None => Some(end.len()),
        };
        let from_the_end = self.order == Order::Descending && self.before.is_none();
        from_the_end && upto.is_some_and(|upto| upto > self.limit)
    }

    /// The page of a list, which comes in ascending order. An item is looked at only if it is on
    /// the page.
    pub(super) fn of<T>(
        &self,
        mut items: Vec<T>,
        id: impl Fn(&T) -> &str,
    ) -> Result<Page<T>, Error> {
        if self.order == Order::Descending {
            items.reverse();
        }
        let place = |named: &Option<String>, name: &str| match named {
            None => Ok(None),
            Some(wanted) => {
                items.iter().position(|item| id(item) == wanted).map(Some).ok_or_else(|| {
                    let wanted = selvedge_protocol::validate::brief(wanted);
                    let message = format!("`{name}` is `{wanted}`, which is not in this list");
                    Error::new(ErrorCode::BadParameter, message).at(format!("/{name}"))
                })
            }
        };
        let (after, before) = (place(&self.after, "after")?, place(&self.before, "before")?);
        let upto = before.unwrap_or(items.len());
        let from = after.map_or(0, |at| at + 1).min(upto);
        // What comes right before an item is its page, not what the list begins with.
        let (first, last) = match (self.before.is_some(), self.after.is_some()) {
            (true, false) => (upto.saturating_sub(self.limit).max(from), upto),
            _ => (from, upto.min(from + self.limit)),
        };
        let has_more =
            if self.before.is_some() && self.after.is_none() { first > from } else { last < upto };
        items.truncate(last);
        items.drain(..first);
        Ok(Page { items, has_more })
    }
}

/// Items on a page.
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    pub(super) has_more: bool,
}

/// A page as OpenAI's lists are.
pub(super) fn list(page: Page<Value>) -> Response {
    let id = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
    let (first, last) = (id(page.items.first()), id(page.items.last()));
    answer(&json!({
        "object": "list", "data": page.items, "first_id": first, "last_id": last,
        "has_more": page.has_more,
    }))
}

/// An answer in JSON.
pub(super) fn answer(body: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(query: &str) -> (String, bool) {
        let asked = Asked::new(&Query::new(Some(query))).unwrap();
        let all: Vec<String> = "abcdefg".chars().map(String::from).collect();
        let page = asked.of(all, |item| item).unwrap();
        (page.items.concat(), page.has_more)
    }

    #[test]
    fn pages_join_to_the_list_in_both_orders() {
        assert_eq!(page("order=asc&limit=3"), ("abc".to_owned(), true));
        assert_eq!(page("order=asc&limit=3&after=c"), ("def".to_owned(), true));
        assert_eq!(page("order=asc&limit=3&after=f"), ("g".to_owned(), false));
        assert_eq!(page("limit=3"), ("gfe".to_owned(), true));
        assert_eq!(page("limit=9&after=e"), ("dcba".to_owned(), false));
        assert_eq!(page("order=asc&limit=2&before=d"), ("bc".to_owned(), true));
        assert_eq!(page("order=asc&limit=3&before=d"), ("abc".to_owned(), false));
        assert_eq!(page("order=asc&limit=9&after=b&before=e"), ("cd".to_owned(), false));
    }

    #[test]
    fn a_place_that_is_not_in_the_list_is_named() {
        let asked = Asked::new(&Query::new(Some("after=x"))).unwrap();
        let error = asked.of(vec!["a".to_owned()], |item| item).err().unwrap();
        assert_eq!(error.pointer.as_deref(), Some("/after"));
    }
}
