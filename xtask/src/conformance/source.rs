//! The recordings and examples, each with its dialect, told by folder and name.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

/// A file of the fixtures.
pub(crate) struct Source {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Its path below the fixtures, with `/`.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) kind: Kind,
}

/// What a file holds, with the version of the writer where readers differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// ModelMessages of this major version.
    PydanticAi(u8),
    /// A UI message stream for this major version.
    AiStream(u8),
    /// UI messages for this major version and later ones up to the second.
    AiMessages(u8, u8),
    /// AG-UI events.
    AgUi,
    /// AG-UI messages, which are no conversation of their own.
    AgUiMessages,
    /// The input of an AG-UI run.
    AgUiInput,
    /// Agent API events.
    AgentApi,
    /// A2A 1.0.
    A2aV1,
    /// A2A 0.3.
    A2aV03,
    /// An A2A card or error: real, but no conversation.
    A2aOther(A2aVersion),
    /// OpenAI threads.
    OpenAiThreads,
    /// In this dialect, but written by none of its peers.
    Example(&'static str),
}

/// A version of A2A.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum A2aVersion {
    /// 1.0.
    V1,
    /// 0.3.
    V03,
}

impl Kind {
    /// The dialect to convert from; none if the file is no conversation.
    pub(crate) fn dialect(self) -> Option<&'static str> {
        match self {
            Self::PydanticAi(_) => Some("pydantic-ai"),
            Self::AiStream(_) => Some("ai-sdk-stream"),
            Self::AiMessages(..) => Some("ai-sdk-messages"),
            Self::AgUi => Some("ag-ui"),
            Self::AgentApi => Some("agent-api"),
            Self::A2aV1 | Self::A2aV03 => Some("a2a"),
            Self::OpenAiThreads => Some("openai-threads"),
            Self::Example(dialect) => Some(dialect),
            Self::AgUiMessages | Self::AgUiInput | Self::A2aOther(_) => None,
        }
    }
}

/// Every dialect an example may be in.
const DIALECTS: [&str; 12] = [
    "thread-protocol",
    "aitp",
    "openai-threads",
    "envelope",
    "looopy",
    "agent-api",
    "a2a",
    "ai-sdk-stream",
    "ai-sdk-messages",
    "pydantic-ai",
    "ag-ui",
    "journal",
];

/// Finds every file the suite knows, in a stable order.
pub(crate) fn find(fixtures: &Path) -> Result<Vec<Source>> {
    let mut files = Vec::new();
    walk(fixtures, &mut files)?;
    files.sort();
    let mut sources: Vec<Source> = Vec::new();
    for path in files {
        let name = name_below(fixtures, &path);
        if let Some(kind) = kind_of(&name)
            && !is_empty_list(&path)?
        {
            sources.push(Source { path, name, kind });
        }
    }
    sources.extend(examples(fixtures)?);
    Ok(sources)
}

fn kind_of(name: &str) -> Option<Kind> {
    let (folder, _) = name.split_once('/')?;
    let file = name.rsplit('/').next()?;
    match folder {
        "pydantic" | "pydantic_kitchen" => kind_of_pydantic(file, 2),
        "pydantic_legacy_v1.107.10" => kind_of_pydantic(file, 1),
        "ai_5.0.277" => kind_of_ai(file, 5),
        "ai_6.0.326" => kind_of_ai(file, 6),
        "ai_7.0.169" => kind_of_ai(file, 7),
        _ if file.ends_with(".md") => None,
        "agent-api" => Some(Kind::AgentApi),
        "a2a_1.0" if is_a2a_other(file) => Some(Kind::A2aOther(A2aVersion::V1)),
        "a2a_1.0" => Some(Kind::A2aV1),
        "a2a_0.3" if is_a2a_other(file) => Some(Kind::A2aOther(A2aVersion::V03)),
        "a2a_0.3" => Some(Kind::A2aV03),
        "ag-ui" if file.ends_with("run_agent_input.json") => Some(Kind::AgUiInput),
        "ag-ui" => Some(Kind::AgUi),
        "openai-threads" => Some(Kind::OpenAiThreads),
        // Beside the threads lie lone capability messages, some invalid on purpose.
        "aitp" if name.starts_with("aitp/threads/") => Some(Kind::Example("aitp")),
        // The other files hold inputs and outputs of the document's adapters.
        "envelope" if file.starts_with("mux_chain.") => Some(Kind::Example("envelope")),
        "looopy" => Some(Kind::Example("looopy")),
        "thread-protocol" if file.starts_with("invalid-") || file == "index.json" => None,
        "thread-protocol" => Some(Kind::Example("thread-protocol")),
        _ => None,
    }
}

/// `version` is that of the writer, except where a file says otherwise.
fn kind_of_pydantic(file: &str, version: u8) -> Option<Kind> {
    if file.ends_with(".agui.sse") {
        return Some(Kind::AgUi);
    }
    if file.starts_with("agui_messages.") {
        return Some(Kind::AgUiMessages);
    }
    for ai in [5, 6, 7] {
        if file.ends_with(&format!(".vercel_sdk{ai}.sse")) {
            return Some(Kind::AiStream(ai));
        }
        if file.contains(&format!(".ui_message_by_ai{ai}.")) {
            return Some(Kind::AiMessages(ai, ai));
        }
    }
    // pydantic-ai writes the same messages for 6 and 7.
    if file.ends_with("ui_messages.dump_sdk5.json") {
        Some(Kind::AiMessages(5, 5))
    } else if file.ends_with("ui_messages.dump_sdk6.json") {
        Some(Kind::AiMessages(6, 7))
    } else if file.ends_with(".reloaded_by_2.66.json") {
        Some(Kind::PydanticAi(2))
    } else if file.ends_with(".messages.json") || file.starts_with("messages.") {
        Some(Kind::PydanticAi(version))
    } else {
        None
    }
}

fn kind_of_ai(file: &str, version: u8) -> Option<Kind> {
    if file.ends_with(".sse") {
        Some(Kind::AiStream(version))
    } else if file.ends_with("ui_message.json") || file.ends_with("ui_messages.json") {
        Some(Kind::AiMessages(version, version))
    } else if file.ends_with("model_messages_by_pydantic.json") {
        Some(Kind::PydanticAi(2))
    } else {
        None
    }
}

fn is_a2a_other(file: &str) -> bool {
    file.starts_with("agent_card") || file.ends_with(".error.json")
}

/// The examples of the documents, by their index. A schematic one is a template
/// that is no valid document.
fn examples(fixtures: &Path) -> Result<Vec<Source>> {
    let folder = fixtures.join("documents");
    let Ok(index) = fs::read_to_string(folder.join("index.json")) else {
        return Ok(Vec::new());
    };
    let index: Value = serde_json::from_str(&index).context("documents/index.json")?;
    let mut sources = Vec::new();
    for entry in index.as_array().context("documents/index.json: no array")? {
        let file = entry["file"].as_str().context("an example without file")?;
        let dialect = DIALECTS
            .into_iter()
            .find(|dialect| entry["dialect"] == *dialect)
            .with_context(|| format!("example {file} has an unknown dialect"))?;
        if !file.contains("schematic") {
            sources.push(Source {
                path: folder.join(file),
                name: format!("documents/{file}"),
                kind: Kind::Example(dialect),
            });
        }
    }
    Ok(sources)
}

/// An empty history is real, but there is nothing in it for a peer to load.
fn is_empty_list(path: &Path) -> Result<bool> {
    Ok(fs::read(path)?.trim_ascii() == b"[]")
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("no folder {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn name_below(fixtures: &Path, path: &Path) -> String {
    let below = path.strip_prefix(fixtures).unwrap_or(path);
    let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::{Kind, kind_of};

    #[test]
    fn names_tell_the_kind() {
        for (name, kind) in [
            ("pydantic/s01/messages.json", Some(Kind::PydanticAi(2))),
            ("pydantic/s01/messages.reloaded_from_ui_sdk5.json", Some(Kind::PydanticAi(2))),
            ("pydantic/s01/turn1.vercel_sdk6.sse", Some(Kind::AiStream(6))),
            (
                "pydantic/s01/turn1.vercel_sdk6.ui_message_by_ai7.0.169.json",
                Some(Kind::AiMessages(7, 7)),
            ),
            ("pydantic/s01/ui_messages.dump_sdk6.json", Some(Kind::AiMessages(6, 7))),
            ("pydantic/s01/agui_messages.dump.json", Some(Kind::AgUiMessages)),
            ("pydantic_kitchen/ModelMessages.schema.validation.json", None),
            ("ai_5.0.277/a01_text.headers.json", None),
            ("ai_5.0.277/a01_text.model_messages.json", None),
            ("README.md", None),
        ] {
            assert_eq!(kind_of(name), kind, "{name}");
        }
    }
}
