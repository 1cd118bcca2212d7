//! The head of a request.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version, header};

/// Headers of a request; one with more is left to hyper.
const HEADERS: usize = 64;

/// A head, and how long what follows it is.
pub(super) struct Head {
    pub(super) method: Method,
    uri: Uri,
    headers: HeaderMap,
    /// Bytes of the head.
    bytes: usize,
    /// Bytes of the body.
    body: usize,
    /// Whether the connection ends with its answer.
    pub(super) last: bool,
}

/// What there is to read.
#[expect(clippy::large_enum_variant, reason = "boxed it would be allocated for each request")]
pub(super) enum Reading {
    Head(Head),
    /// Not all of it is there.
    More,
    /// Not for here.
    Other,
}

impl Head {
    /// Reads the head that a buffer begins with.
    pub(super) fn read(buffer: &[u8]) -> Reading {
        if buffer.is_empty() {
            return Reading::More;
        }
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(buffer) {
            Ok(httparse::Status::Complete(bytes)) => {
                ordinary(&request, bytes).map_or(Reading::Other, Reading::Head)
            }
            Ok(httparse::Status::Partial) => Reading::More,
            Err(_) => Reading::Other,
        }
    }

    /// Bytes of the whole request.
    pub(super) fn size(&self) -> usize {
        self.bytes.saturating_add(self.body)
    }

    /// The request, taken out of the buffer that it was read from, which has all of it.
    pub(super) fn request(self, buffer: &mut BytesMut) -> Request<Body> {
        let mut bytes = buffer.split_to(self.size().min(buffer.len()));
        let body = bytes.split_off(self.bytes.min(bytes.len()));
        let body = if body.is_empty() { Body::empty() } else { Body::from(body.freeze()) };
        let mut request = Request::new(body);
        *request.method_mut() = self.method;
        *request.uri_mut() = self.uri;
        *request.version_mut() = Version::HTTP_11;
        *request.headers_mut() = self.headers;
        request
    }
}

/// Whether a head may end in what came after so many bytes: there is an empty line.
pub(super) fn ends(buffer: &[u8], seen: usize) -> bool {
    let new = buffer.get(seen.saturating_sub(3)..).unwrap_or_default();
    memchr::memchr_iter(b'\n', new).any(|at| {
        let rest = new.get(at + 1..).unwrap_or_default();
        rest.starts_with(b"\n") || rest.starts_with(b"\r\n")
    })
}

/// A head with nothing out of the ordinary in it.
fn ordinary(request: &httparse::Request<'_, '_>, bytes: usize) -> Option<Head> {
    if request.version != Some(1) {
        return None;
    }
    let method = Method::from_bytes(request.method?.as_bytes()).ok()?;
    let path = request.path.filter(|path| path.starts_with('/'))?;
    let uri = Uri::from_maybe_shared(Bytes::copy_from_slice(path.as_bytes())).ok()?;
    if method == Method::CONNECT {
        return None;
    }
    let mut headers = HeaderMap::with_capacity(request.headers.len());
    let (mut body, mut last) = (None, false);
    for given in request.headers.iter() {
        let name = HeaderName::from_bytes(given.name.as_bytes()).ok()?;
        let value = HeaderValue::from_bytes(given.value).ok()?;
        match name {
            header::TRANSFER_ENCODING | header::EXPECT | header::UPGRADE | header::TE => {
                return None;
            }
            header::CONTENT_LENGTH => {
                let digits = given.value.iter().all(u8::is_ascii_digit);
                let text = std::str::from_utf8(given.value).ok().filter(|_| digits)?;
                // Said twice, it could be read in two ways.
                if body.replace(text.parse().ok()?).is_some() {
                    return None;
                }
            }
            header::CONNECTION => match given.value {
                value if value.eq_ignore_ascii_case(b"keep-alive") => {}
                value if value.eq_ignore_ascii_case(b"close") => last = true,
                _ => return None,
            },
            _ => {}
        }
        headers.append(name, value);
    }
    Some(Head { method, uri, headers, bytes, body: body.unwrap_or(0), last })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Head> {
        match Head::read(text.as_bytes()) {
            Reading::Head(head) => Some(head),
            Reading::More | Reading::Other => None,
        }
    }

    fn is_other(text: &str) -> bool {
        matches!(Head::read(text.as_bytes()), Reading::Other)
    }

    #[test]
    fn an_ordinary_request_is_taken_out_of_what_was_read() {
        let text = "POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nX: y\r\n\r\nabcGET / ";
        let head = read(text).unwrap();
        assert_eq!((head.size(), head.last), (text.len() - 6, false));
        let mut buffer = BytesMut::from(text);
        let request = head.request(&mut buffer);
        assert_eq!(&buffer[..], b"GET / ");
        assert_eq!(request.method(), Method::POST);
        assert_eq!(request.uri().path_and_query().unwrap(), "/a?b=c");
        assert_eq!(request.headers()["x"], "y");
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_left_to_hyper() {
        for line in [
            "Transfer-Encoding: chunked",
            "Content-Length: 1\r\nContent-Length: 1",
            "Content-Length: +1",
            "Content-Length: 1, 1",
            "Content-Length:",
            "Content-Length: 99999999999999999999999",
            "Expect: 100-continue",
            "Connection: upgrade\r\nUpgrade: websocket",
            "Connection: close, te",
        ] {
            assert!(is_other(&format!("POST / HTTP/1.1\r\n{line}\r\n\r\n")), "{line}");
        }
        for first in
            ["GET / HTTP/1.0", "CONNECT a:1 HTTP/1.1", "GET http://a/ HTTP/1.1", "GET /", "\0"]
        {
            assert!(is_other(&format!("{first}\r\n\r\n")), "{first}");
        }
    }

    #[test]
    fn the_end_of_a_head_is_seen_however_it_comes() {
        let text = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        for (seen, end) in (1..text.len()).map(|seen| (seen, seen + 1)) {
            assert_eq!(ends(&text[..end], seen), end == text.len(), "{seen}");
        }
        assert!(ends(b"GET / HTTP/1.1\n\n", 1));
    }

    #[test]
    fn a_head_is_waited_for_and_says_whether_it_is_the_last() {
        assert!(matches!(Head::read(b"GET / HTTP/1.1\r\nHost: x\r\n"), Reading::More));
        assert!(read("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n").unwrap().last);
        assert!(!read("GET / HTTP/1.1\r\nConnection: keep-alive\r\n\r\n").unwrap().last);
    }
}
