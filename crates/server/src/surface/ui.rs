//! The web UI: a page and its files, which hold no data; what they show comes from the native API.
//!
//! Files are embedded (a debug build reads the folder, so that a reload shows an edit). A page names
//! them below a digest of all of them, so that a browser keeps them for good and never mixes two
//! versions. The page itself is asked for again each time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Arc, LazyLock, OnceLock};

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use rust_embed::RustEmbed;
use sha2::{Digest as _, Sha256};

use crate::auth::Scope;
use crate::routes::Route;
use crate::{Error, ErrorCode};

#[derive(RustEmbed)]
#[folder = "ui/"]
#[include = "*.html"]
#[include = "*.js"]
#[include = "*.css"]
#[include = "*.svg"]
#[include = "*.woff2"]
struct Files;

/// The page, and where in it the names of its files go.
const PAGE: &str = "index.html";
const PLACE: &str = "<!-- files -->";

/// The style sheet, made of all of them; beside them, so that what they name is found.
const STYLE: &str = "style/all.css";

/// Nothing from elsewhere, nothing inline, no text that becomes markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; \
    img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Digits of the digest that files are asked for below.
const DIGITS: usize = 16;

/// A file as it is sent.
struct Asset {
    kind: &'static str,
    tag: String,
    plain: Bytes,
    /// Where it is worth it; made when it is first asked for.
    gzip: OnceLock<Option<Bytes>>,
}

/// Every file, and a digest of them all.
struct Bundle {
    digest: String,
    assets: BTreeMap<String, Asset>,
}

static RELEASED: LazyLock<Arc<Bundle>> = LazyLock::new(|| Arc::new(Bundle::read()));

pub(crate) fn routes() -> Vec<Route> {
    let page = |path, about| Route {
        method: Method::GET,
        path,
        scope: Scope::Nobody,
        about,
        handler: get(page),
    };
    vec![
        page("/", "The web UI"),
        page("/threads", "The web UI: all threads"),
        page("/threads/{*place}", "The web UI: a thread"),
        page("/inbox", "The web UI: what waits for a person"),
        page("/usage", "The web UI: tokens, cost and latency"),
        page("/connections", "The web UI: who reads, and how far behind"),
        Route {
            method: Method::GET,
            path: "/ui/{*file}",
            scope: Scope::Nobody,
            about: "A file of the web UI",
            handler: get(file),
        },
    ]
}

/// `GET /`, and every link into the UI.
async fn page(headers: HeaderMap) -> Response {
    match bundle().assets.get(PAGE) {
        Some(asset) => asset.answer(&headers, "no-cache"),
        None => Error::new(ErrorCode::NotFound, "this server was built without its web UI")
            .into_response(),
    }
}

/// `GET /ui/{file}`, or below a digest.
async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    let bundle = bundle();
    let (digest, name) = match path.split_once('/') {
        Some((digest, name)) if is_digest(digest) => (digest, name),
        _ => ("", path.as_str()),
    };
    // A page from before an update gets what is there now, and asks again next time.
    let keep =
        if digest == bundle.digest { "public, max-age=31536000, immutable" } else { "no-cache" };
    match bundle.assets.get(name).filter(|_| name != PAGE) {
        Some(asset) => asset.answer(&headers, keep),
        None => Error::new(ErrorCode::NotFound, "there is no such file").into_response(),
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn bundle() -> Arc<Bundle> {
    if cfg!(debug_assertions) { Arc::new(Bundle::read()) } else { RELEASED.clone() }
}

impl Bundle {
    fn read() -> Self {
        let mut files: BTreeMap<Cow<'static, str>, Cow<'static, [u8]>> = Files::iter()
            .filter_map(|name| Files::get(&name).map(|file| (name, file.data)))
            .collect();
        let mut all = Sha256::new();
        for (name, data) in &files {
            all.update(name.as_bytes());
            all.update([0]);
            all.update(data);
        }
        let mut digest = hex(&all.finalize());
        digest.truncate(DIGITS);
        let style = style(&mut files);
        files.insert(STYLE.into(), style.into());
        if let Some(page) = files.get(PAGE) {
            let page = String::from_utf8_lossy(page).replace(PLACE, &links(&digest, files.keys()));
            files.insert(PAGE.into(), page.into_bytes().into());
        }
        let assets = files.into_iter().map(|(name, data)| {
            let asset = Asset::new(&name, slim(&name, data.into_owned()));
            (name.into_owned(), asset)
        });
        Self { assets: assets.collect(), digest }
    }
}

/// What the page asks for at once, so that no file waits for another to name it.
fn links<'a>(digest: &str, names: impl Iterator<Item = &'a Cow<'static, str>>) -> String {
    let mut links = Vec::new();
    for name in names {
        let at = format!("/ui/{digest}/{name}");
        links.push(if name == STYLE {
            format!("<link rel=\"stylesheet\" href=\"{at}\">")
        } else if name.ends_with(".woff2") {
            let kind = "as=\"font\" type=\"font/woff2\" crossorigin";
            format!("<link rel=\"preload\" {kind} href=\"{at}\">")
        } else if name == "app.js" {
            format!("<script type=\"module\" src=\"{at}\"></script>")
        } else if name == "mark.svg" {
            format!("<link rel=\"icon\" type=\"image/svg+xml\" href=\"{at}\">")
        } else if name.ends_with(".js") {
            format!("<link rel=\"modulepreload\" href=\"{at}\">")
        } else {
            continue;
        });
    }
    links.join("\n")
}

/// Takes the style sheets out and makes one of them, which is smaller and is there sooner.
fn style(files: &mut BTreeMap<Cow<'static, str>, Cow<'static, [u8]>>) -> Vec<u8> {
    let is_style = |name: &str| name.starts_with("style/") && name.ends_with(".css");
    let mut sheets: Vec<_> = files.extract_if(.., |name, _| is_style(name)).collect();
    // What others build on comes first.
    let first = ["style/tokens.css", "style/base.css"];
    sheets.sort_by_key(|(name, _)| first.iter().position(|f| f == name).unwrap_or(first.len()));
    sheets.into_iter().flat_map(|(_, data)| [&*data, b"\n"].concat()).collect()
}

impl Asset {
    fn new(name: &str, data: Vec<u8>) -> Self {
        let kind = match name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("woff2") => "font/woff2",
            _ => "application/octet-stream",
        };
        let tag = format!("\"{}\"", hex(&Sha256::digest(&data)));
        Self { kind, tag, plain: data.into(), gzip: OnceLock::new() }
    }

    fn gzip(&self) -> Option<&Bytes> {
        let made = || (self.kind != "font/woff2").then(|| gzip(&self.plain)).flatten();
        self.gzip.get_or_init(made).as_ref()
    }

    fn answer(&self, headers: &HeaderMap, keep: &'static str) -> Response {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let fixed = [
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::CACHE_CONTROL, keep),
            (header::VARY, "accept-encoding"),
        ];
        let known = text(header::IF_NONE_MATCH).is_some_and(|tags| tags.contains(&self.tag));
        let taken = text(header::ACCEPT_ENCODING).unwrap_or_default();
        let takes =
            taken.split(',').any(|one| one.trim() == "gzip" || one.trim().starts_with("gzip;"));
        let small = if takes && !known { self.gzip() } else { None };
        let mut response = match (known, small) {
            (true, _) => StatusCode::NOT_MODIFIED.into_response(),
            (false, Some(gzip)) => {
                ([(header::CONTENT_ENCODING, "gzip")], gzip.clone()).into_response()
            }
            (false, None) => self.plain.clone().into_response(),
        };
        let own = response.headers_mut();
        for (name, value) in fixed {
            own.insert(name, HeaderValue::from_static(value));
        }
        own.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        if let Ok(tag) = HeaderValue::from_str(&self.tag) {
            own.insert(header::ETAG, tag);
        }
        response
    }
}

/// A file of ours without its comments and indents, which nobody but its readers need.
fn slim(name: &str, data: Vec<u8>) -> Vec<u8> {
    let ours = !name.starts_with("vendor/") && (name.ends_with(".js") || name.ends_with(".css"));
    let Some(text) = ours.then(|| std::str::from_utf8(&data).ok()).flatten() else { return data };
    let mut out = String::with_capacity(text.len());
    let mut comment = false;
    for line in text.lines() {
        let mut line = line.trim();
        if comment || line.starts_with("/*") {
            let end = line.split_once("*/");
            comment = end.is_none();
            line = end.map_or("", |(_, rest)| rest.trim());
        }
        if !line.is_empty() && !line.starts_with("//") {
            out.push_str(line);
            out.push('\n');
        }
    }
    out.into_bytes()
}

/// Smaller, unless it fails or is not.
fn gzip(data: &[u8]) -> Option<Bytes> {
    let level = if cfg!(debug_assertions) { Compression::fast() } else { Compression::best() };
    let mut encoder = GzEncoder::new(Vec::new(), level);
    encoder.write_all(data).ok()?;
    let small = encoder.finish().ok()?;
    (small.len() < data.len()).then(|| small.into())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a first visit may cost, with fonts and libraries, gzipped.
    const BOUND: usize = 250_000;

    #[test]
    fn all_files_together_stay_small() {
        let sent = |asset: &Asset| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(&asset.plain).unwrap();
            encoder.finish().unwrap().len().min(asset.plain.len())
        };
        let total: usize = Bundle::read().assets.values().map(sent).sum();
        assert!(total < BOUND, "{total} bytes, more than {BOUND}");
    }

    #[test]
    fn sheets_are_one_and_begin_with_what_others_build_on() {
        let bundle = Bundle::read();
        let sheets: Vec<_> = bundle.assets.keys().filter(|name| name.ends_with(".css")).collect();
        assert_eq!(sheets, [STYLE]);
        let style = String::from_utf8(bundle.assets[STYLE].plain.to_vec()).unwrap();
        let at = |text: &str| style.find(text).unwrap_or_else(|| panic!("no {text}"));
        assert!(at("@font-face") < at("#app {") && at("#app {") < at(".uplot"));
        for name in Files::iter().filter(|name| name.starts_with("style/")) {
            let own = slim(&name, Files::get(&name).unwrap().data.into_owned());
            assert!(style.contains(std::str::from_utf8(&own).unwrap().trim()), "{name}");
        }
    }

    #[test]
    fn comments_are_left_out_and_code_is_not() {
        let source = "/** What\n * it is.\n */\nconst a = 1; // kept\n\n  // gone\n  /* one */ b(`x\n  y`);\n/^z/.test(c);\n";
        let slim = slim("lib/a.js", source.into());
        let slim = String::from_utf8(slim).unwrap();
        assert_eq!(slim, "const a = 1; // kept\nb(`x\ny`);\n/^z/.test(c);\n");
        assert_eq!(super::slim("vendor/a.js", b"// licence".to_vec()), b"// licence");
    }

    #[test]
    fn the_page_names_every_file_once_and_has_nothing_inline() {
        let bundle = Bundle::read();
        let page = String::from_utf8(bundle.assets[PAGE].plain.to_vec()).unwrap();
        for name in bundle.assets.keys().filter(|name| *name != PAGE) {
            assert_eq!(page.matches(&format!("{}/{name}\"", bundle.digest)).count(), 1, "{name}");
        }
        assert_eq!(page.matches("<script").count(), 1);
        assert!(!page.contains("<style") && !page.contains("style=") && !page.contains("onload="));
    }

    #[test]
    fn no_file_of_ours_turns_text_into_markup_or_asks_elsewhere() {
        for name in Files::iter().filter(|name| !name.starts_with("vendor/")) {
            let text = String::from_utf8_lossy(&Files::get(&name).unwrap().data).into_owned();
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "dangerouslySet", "eval("]
            {
                assert!(!text.contains(word), "{name} has `{word}`");
            }
            for word in ["from 'http", "import('http", "url(http", "src=\"http"] {
                assert!(!text.contains(word), "{name} asks elsewhere: `{word}`");
            }
        }
    }
}
