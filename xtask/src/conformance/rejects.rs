//! Small wrong files that a peer has to refuse: a driver that accepted everything
//! would make the rest of the suite worthless.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use crate::conformance::check::{Check, Demand};
use crate::conformance::peer::{self, Peer};

/// The peers that read each folder of `conformance/rejects/`.
const READERS: [(&str, &[Peer]); 8] = [
    ("pydantic-ai", &[peer::PYDANTIC_AI_2, peer::PYDANTIC_AI_1]),
    ("ai-stream", &[peer::AI_STREAM[0].1, peer::AI_STREAM[1].1, peer::AI_STREAM[2].1]),
    ("ai-messages", &[peer::AI_MESSAGES[0].1, peer::AI_MESSAGES[1].1, peer::AI_MESSAGES[2].1]),
    ("a2a-1.0", &[peer::A2A_V1]),
    ("a2a-0.3", &[peer::A2A_V03]),
    ("ag-ui", &[peer::AG_UI_EVENTS]),
    ("openai-threads", &[peer::OPENAI_THREADS]),
    ("agent-api", &[peer::AGENT_API]),
];

/// Every wrong file with every peer that reads its kind.
pub(crate) fn checks(folder: &Path) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    for (name, peers) in READERS {
        let folder = folder.join(name);
        let entries =
            fs::read_dir(&folder).with_context(|| format!("no folder {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            let file = path.file_name().context("a file without a name")?;
            for &peer in peers {
                checks.push(Check {
                    id: format!("rejects/{}/{}", peer.name, file.display()),
                    peer,
                    source: path.clone(),
                    convert: None,
                    request: json!({}),
                    demand: Demand::Refusal,
                });
            }
        }
    }
    checks.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(checks)
}
