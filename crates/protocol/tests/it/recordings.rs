//! Where the recordings are and which dialect each is in.

use std::fs;
use std::path::{Path, PathBuf};

/// A recording and the dialect that its writer speaks.
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) dialect: &'static str,
    pub(crate) text: String,
}

/// The dialect of a recording, by its place in the fixtures.
fn dialect_of(path: &str) -> Option<&'static str> {
    let file = path.rsplit('/').next()?;
    Some(match path {
        _ if file.ends_with(".headers.json") || file.contains("schema") || file == "index.json" => {
            return None;
        }
        _ if file == "agui_messages.dump.json" || file.ends_with(".md") => return None,
        _ if file.ends_with(".agui.sse") => "ag-ui",
        _ if file.contains("ui_message") && file.ends_with(".json") => {
            if file.starts_with("messages.reloaded") { "pydantic-ai" } else { "ai-sdk-messages" }
        }
        _ if file.contains("model_messages_by_pydantic") => "pydantic-ai",
        _ if file.contains("model_messages") => return None,
        _ if path.starts_with("pydantic") && file.ends_with(".json") => "pydantic-ai",
        _ if path.starts_with("pydantic") && file.ends_with(".sse") => "ai-sdk-stream",
        _ if path.starts_with("ai_") && file.ends_with(".sse") => "ai-sdk-stream",
        _ if path.starts_with("agent-api/") => "agent-api",
        _ if path.starts_with("a2a_") => "a2a",
        _ if path.starts_with("ag-ui/") => "ag-ui",
        _ if path.starts_with("openai-threads/") => "openai-threads",
        _ if path.starts_with("aitp/") && !file.starts_with("invalid") => "aitp",
        _ if path.starts_with("looopy/") => "looopy",
        _ if path.starts_with("envelope/") => "envelope",
        _ if path.starts_with("thread-protocol/") => "thread-protocol",
        _ => return None,
    })
}

/// The text of a fixture.
pub(crate) fn fixture(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    fs::read_to_string(root.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Every recording of a dialect that exists.
pub(crate) fn all() -> Vec<Recording> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut files = Vec::new();
    walk(&root, &mut files);
    files.sort();
    files
        .into_iter()
        .filter_map(|path| {
            let name = path.strip_prefix(&root).ok()?.to_str()?.to_owned();
            let dialect = dialect_of(&name)?;
            Some(Recording { name, dialect, text: fs::read_to_string(&path).ok()? })
        })
        .collect()
}

/// The recordings, read once.
pub(crate) fn cached() -> &'static [Recording] {
    static ALL: std::sync::OnceLock<Vec<Recording>> = std::sync::OnceLock::new();
    ALL.get_or_init(all)
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, files);
        } else {
            files.push(path);
        }
    }
}
