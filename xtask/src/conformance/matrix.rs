//! The matrix: every source, in every dialect, converted to every dialect that has
//! a real peer, and loaded by that peer.

use serde_json::json;

use crate::conformance::check::{Check, Conversion, Demand};
use crate::conformance::peer::{self, Peer};
use crate::conformance::recordings::initial_message;
use crate::conformance::source::{Kind, Source};

/// A column of the matrix: where to convert to, and who loads the result.
struct Target {
    to: &'static str,
    version: Option<&'static str>,
    peer: Peer,
}

const fn target(to: &'static str, version: Option<&'static str>, peer: Peer) -> Target {
    Target { to, version, peer }
}

const TARGETS: [Target; 13] = [
    target("pydantic-ai", Some("pydantic-ai@2"), peer::PYDANTIC_AI_2),
    target("pydantic-ai", Some("pydantic-ai@1"), peer::PYDANTIC_AI_1),
    target("ai-sdk-stream", Some("ai@5"), peer::AI_STREAM[0].1),
    target("ai-sdk-stream", Some("ai@6"), peer::AI_STREAM[1].1),
    target("ai-sdk-stream", Some("ai@7"), peer::AI_STREAM[2].1),
    target("ai-sdk-messages", Some("ai@5"), peer::AI_MESSAGES[0].1),
    target("ai-sdk-messages", Some("ai@6"), peer::AI_MESSAGES[1].1),
    target("ai-sdk-messages", Some("ai@7"), peer::AI_MESSAGES[2].1),
    target("a2a", Some("a2a@1.0"), peer::A2A_V1),
    target("a2a", Some("a2a@0.3"), peer::A2A_V03),
    target("ag-ui", None, peer::AG_UI_EVENTS),
    target("openai-threads", None, peer::OPENAI_THREADS),
    target("agent-api", None, peer::AGENT_API),
];

/// Every source with every target.
pub(crate) fn checks(sources: &[Source]) -> Vec<Check> {
    let mut checks = Vec::new();
    for source in sources {
        let Some(from) = source.kind.dialect() else {
            continue;
        };
        for target in &TARGETS {
            checks.push(check(source, from, target));
        }
    }
    checks
}

fn check(source: &Source, from: &'static str, target: &Target) -> Check {
    let same_dialect = from == target.to;
    let mut request = json!({});
    if same_dialect {
        // What the source itself had of its own, the target may have too.
        request["strict"] = json!(false);
        if let Some(initial) = initial_message(&source.path) {
            request["initial"] = json!(initial);
        }
    }
    Check {
        id: format!("matrix/{}/{}", target.peer.name, source.name),
        peer: target.peer,
        source: source.path.clone(),
        convert: Some(Conversion { from, to: target.to, target: target.version }),
        request,
        demand: demand(source.kind, target),
    }
}

/// What goes back to its writer must be in the writer's exact form; a history or a
/// stream always leaves something; a lone event or object may leave nothing.
fn demand(kind: Kind, target: &Target) -> Demand {
    match (kind, target.version) {
        (Kind::PydanticAi(2), Some("pydantic-ai@2"))
        | (Kind::PydanticAi(1), Some("pydantic-ai@1")) => Demand::Identical,
        (Kind::PydanticAi(_) | Kind::AiStream(_) | Kind::AiMessages(..), _) => Demand::Records,
        _ => Demand::Nothing,
    }
}
