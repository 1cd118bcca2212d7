//! Rows as CSV and as lines of JSON.

use std::collections::HashMap;

use selvedge_protocol::json::{Doc, Node, compact};

use crate::{Error, ErrorCode};

/// Columns of a table, and bytes of one.
const COLUMNS: usize = 1000;
const BYTES: usize = 128 << 20;

/// Rows as CSV (RFC 4180), with a column for each member of a row, in the order they come first.
pub(super) fn csv(rows: &str) -> Result<String, Error> {
    let Ok(doc) = Doc::parse(rows) else { return Ok(String::new()) };
    let mut columns: HashMap<String, usize> = HashMap::new();
    let mut header = Vec::new();
    for row in doc.root().children().filter(|row| row.is_object()) {
        for (name, _) in row.members() {
            let name = name.str().unwrap_or_default();
            if !columns.contains_key(name.as_ref()) {
                columns.insert(name.clone().into_owned(), header.len());
                header.push(field(&name));
            }
        }
        if header.len() > COLUMNS {
            return Err(too_large(format!("more than {COLUMNS} columns; ask for ndjson")));
        }
    }
    // Rows that are no objects have one field.
    let plain = header.is_empty();
    let mut out = if plain { "value".to_owned() } else { header.join(",") };
    out.push_str("\r\n");
    let mut cells = vec![String::new(); header.len().max(1)];
    for row in doc.root().children() {
        cells.iter_mut().for_each(String::clear);
        if row.is_object() {
            for (name, value) in row.members() {
                let at = name.str().and_then(|name| columns.get(name.as_ref()).copied());
                if let Some(place) = at.and_then(|at| cells.get_mut(at)) {
                    *place = cell(value);
                }
            }
        } else if let Some(first) = cells.first_mut() {
            *first = cell(row);
        }
        out.push_str(&cells.join(","));
        out.push_str("\r\n");
        if out.len() > BYTES {
            return Err(too_large(format!("more than {BYTES} bytes; ask for ndjson")));
        }
    }
    Ok(out)
}

/// Rows as JSON, one a line.
pub(super) fn lines(rows: &str) -> String {
    let Ok(doc) = Doc::parse(rows) else { return String::new() };
    let mut out = String::with_capacity(rows.len());
    for row in doc.root().children() {
        // Rows came as one line each, but who knows what else wrote the journal.
        out.push_str(&if row.raw().contains(['\n', '\r']) {
            compact(row)
        } else {
            row.raw().to_owned()
        });
        out.push('\n');
    }
    out
}

fn cell(value: Node<'_, '_>) -> String {
    match value.str() {
        Some(text) => field(&text),
        None if value.is_null() => String::new(),
        None => field(value.raw()),
    }
}

fn field(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

fn too_large(message: String) -> Error {
    Error::new(ErrorCode::BodyTooLarge, format!("the table has {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_has_a_column_and_every_row_all_of_them() {
        let rows = r#"[{"a":1,"b":"x,\"y\""},{"c":{"d":[1]},"a":null},7]"#;
        let expected =
            concat!("a,b,c\r\n", "1,\"x,\"\"y\"\"\",\r\n", ",,\"{\"\"d\"\":[1]}\"\r\n", "7,,\r\n");
        assert_eq!(csv(rows).unwrap(), expected);
        assert_eq!(csv("[1,\"two\"]").unwrap(), "value\r\n1\r\ntwo\r\n");
        assert_eq!(lines("[{\"a\": 1},\n2]"), "{\"a\": 1}\n2\n");
    }
}
