//! `multipart/form-data`, as clients send files: whole, within the server's bound to bodies.

use bytes::Bytes;
use http::{HeaderMap, header};

use super::bodies::wrong;
use crate::Error;

/// Parts of a form.
const PARTS: usize = 32;

/// A field of a form.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) filename: Option<String>,
    pub(super) media_type: Option<String>,
    pub(super) body: Bytes,
}

/// The fields of a form.
pub(super) fn fields(headers: &HeaderMap, body: &Bytes) -> Result<Vec<Field>, Error> {
    let bad = |message: &str| wrong(message, "");
    let sort = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let sort = sort.filter(|sort| sort.to_ascii_lowercase().starts_with("multipart/form-data"));
    let boundary = sort.and_then(|sort| parameter(sort, "boundary"));
    let boundary = boundary.filter(|boundary| (1..=70).contains(&boundary.len()));
    let boundary = boundary.ok_or_else(|| bad("expected multipart/form-data with a boundary"))?;
    let cut = format!("--{boundary}");
    let mut at = find(body, cut.as_bytes(), 0).ok_or_else(|| bad("the form has no beginning"))?;
    let mut fields = Vec::new();
    loop {
        at += cut.len();
        let rest = body.get(at..).unwrap_or_default();
        if rest.starts_with(b"--") {
            return Ok(fields);
        }
        let head =
            find(body, b"\r\n\r\n", at).ok_or_else(|| bad("a part has no end of its head"))?;
        let mark = format!("\r\n{cut}");
        let end = find(body, mark.as_bytes(), head + 2);
        let end = end.ok_or_else(|| bad("the form has no end"))?;
        if fields.len() == PARTS {
            return Err(bad("the form has too many parts"));
        }
        let lines = String::from_utf8_lossy(body.get(at..head).unwrap_or_default()).into_owned();
        let line = |name: &str| {
            lines.lines().find_map(|line| {
                let (own, value) = line.split_once(':')?;
                own.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            })
        };
        let said = line("content-disposition").unwrap_or_default();
        let name = parameter(&said, "name").ok_or_else(|| bad("a part has no name"))?;
        fields.push(Field {
            name,
            filename: parameter(&said, "filename"),
            media_type: line("content-type"),
            body: body.slice((head + 4).min(end)..end),
        });
        at = end + 2;
    }
}

/// A parameter of a header, quoted or not.
fn parameter(header: &str, name: &str) -> Option<String> {
    let mut rest = header;
    while let Some((_, more)) = rest.split_once(';') {
        rest = more.trim_start();
        let Some((own, value)) = rest.split_once('=') else { continue };
        let quoted = value.strip_prefix('"');
        let (value, after) = match quoted {
            Some(value) => value.split_once('"').unwrap_or((value, "")),
            None => value.split_once(';').map_or((value, ""), |(value, _)| (value, value)),
        };
        if own.trim().eq_ignore_ascii_case(name) {
            return Some(value.trim().to_owned());
        }
        if quoted.is_some() {
            rest = after;
        }
    }
    None
}

fn find(body: &[u8], what: &[u8], from: usize) -> Option<usize> {
    let first = *what.first()?;
    let mut at = from;
    while let Some(found) = body.get(at..)?.iter().position(|byte| *byte == first) {
        at += found;
        if body.get(at..)?.starts_with(what) {
            return Some(at);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sort: &str, body: &'static str) -> Result<Vec<Field>, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, sort.parse().unwrap());
        fields(&headers, &Bytes::from_static(body.as_bytes()))
    }

    #[test]
    fn a_form_is_cut_into_its_fields() {
        let body = "--x\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n\
                    --x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a; b.txt\"\r\n\
                    Content-Type: text/plain\r\n\r\nline\r\n--\r\n\r\n--x--\r\n";
        let read = read("multipart/form-data; boundary=x", body).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!((&*read[0].name, &read[0].body[..]), ("purpose", &b"assistants"[..]));
        assert_eq!(read[1].filename.as_deref(), Some("a; b.txt"));
        assert_eq!(read[1].media_type.as_deref(), Some("text/plain"));
        assert_eq!(&read[1].body[..], b"line\r\n--\r\n");
    }

    #[test]
    fn what_is_no_form_is_refused() {
        for (sort, body) in [
            ("application/json", "{}"),
            ("multipart/form-data", "--x--"),
            ("multipart/form-data; boundary=x", ""),
            ("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data"),
            ("multipart/form-data; boundary=x", "--x\r\n\r\n\r\nbody\r\n--x--"),
            (
                "multipart/form-data; boundary=x",
                "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb",
            ),
        ] {
            assert!(read(sort, body).is_err(), "{sort} {body}");
        }
    }
}
