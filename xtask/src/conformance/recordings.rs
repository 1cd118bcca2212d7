//! The recordings as they are: a peer that refused its own bytes would show that
//! its driver is wrong.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::conformance::check::{Check, Demand};
use crate::conformance::peer::{self, Peer};
use crate::conformance::source::{A2aVersion, Kind, Source};

/// Every recording with every peer that reads its kind.
pub(crate) fn checks(sources: &[Source]) -> Vec<Check> {
    sources.iter().flat_map(checks_of).collect()
}

fn checks_of(source: &Source) -> Vec<Check> {
    match source.kind {
        Kind::PydanticAi(1) => vec![
            check(source, peer::PYDANTIC_AI_1, json!({}), Demand::Identical),
            check(source, peer::PYDANTIC_AI_2, json!({}), Demand::Records),
        ],
        Kind::PydanticAi(_) => {
            vec![check(source, peer::PYDANTIC_AI_2, json!({}), Demand::Identical)]
        }
        Kind::AiStream(version) => peer::AI_STREAM
            .into_iter()
            .filter_map(|(reader, peer)| stream_check(source, version, reader, peer))
            .collect(),
        Kind::AiMessages(from, to) => peer::AI_MESSAGES
            .into_iter()
            .filter(|(reader, _)| (from..=to).contains(reader))
            .map(|(_, peer)| check(source, peer, json!({}), Demand::Records))
            .collect(),
        Kind::AgUi => vec![simple(source, peer::AG_UI_EVENTS)],
        Kind::AgUiMessages => vec![simple(source, peer::AG_UI_MESSAGES)],
        Kind::AgUiInput => vec![simple(source, peer::AG_UI_INPUT)],
        Kind::AgentApi => vec![simple(source, peer::AGENT_API)],
        Kind::A2aV1 | Kind::A2aOther(A2aVersion::V1) => vec![simple(source, peer::A2A_V1)],
        Kind::A2aV03 | Kind::A2aOther(A2aVersion::V03) => vec![simple(source, peer::A2A_V03)],
        Kind::OpenAiThreads => vec![simple(source, peer::OPENAI_THREADS)],
        Kind::Example(_) => Vec::new(),
    }
}

/// A stream is reduced by its own version, and by others whose result is recorded;
/// the result must be the recorded one.
fn stream_check(source: &Source, version: u8, reader: u8, peer: Peer) -> Option<Check> {
    let recorded = reduced_by(&source.path, reader);
    if recorded.is_none() && reader != version {
        return None;
    }
    let mut request = json!({});
    match initial_message(&source.path) {
        // What the client made of the message before it sent it is not recorded.
        Some(initial) => request["initial"] = json!(initial),
        None => request["expect"] = json!(recorded),
    }
    Some(check(source, peer, request, Demand::Records))
}

/// The recorded reduction of a stream by this version of `ai`.
fn reduced_by(stream: &Path, reader: u8) -> Option<PathBuf> {
    let stem = stream.file_stem()?.to_str()?;
    let folder = stream.parent()?;
    let own = folder.file_name()?.to_str()?;
    let prefix = if own.starts_with(&format!("ai_{reader}.")) {
        format!("{stem}.ui_message.json")
    } else {
        format!("{stem}.ui_message_by_ai{reader}.")
    };
    find(folder, &prefix)
}

/// The message that a stream continues: a tool call that was approved in the turn
/// before belongs to the same assistant message.
pub(crate) fn initial_message(stream: &Path) -> Option<PathBuf> {
    let stem = stream.file_stem()?.to_str()?;
    let folder = stream.parent()?;
    if let Some(input) = find(folder, &format!("{stem}.input_ui_messages.json")) {
        return Some(input);
    }
    let approval = folder.file_name()?.to_str()?.contains("approval");
    let turn = stem.strip_prefix("turn2.").filter(|_| approval)?;
    find(folder, &format!("turn1.{turn}.ui_message_by_ai"))
}

fn find(folder: &Path, prefix: &str) -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.starts_with(prefix))
        })
        .collect();
    found.sort();
    found.into_iter().next()
}

fn simple(source: &Source, peer: Peer) -> Check {
    check(source, peer, json!({}), Demand::Records)
}

fn check(source: &Source, peer: Peer, request: Value, demand: Demand) -> Check {
    Check {
        id: format!("recordings/{}/{}", peer.name, source.name),
        peer,
        source: source.path.clone(),
        convert: None,
        request,
        demand,
    }
}
