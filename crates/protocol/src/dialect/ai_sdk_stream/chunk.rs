//! The chunks of tools, sources, data and everything that is not text.

use super::encode::{Pending, Stream};
use crate::dialect::ai_sdk::json::Object;
use crate::dialect::ai_sdk::{Version, approval_prompt, meta};
use crate::dialect::ai_sdk_messages::tools::{error_text, event_data, whole_file, write_source};
use crate::journal::{Event, Kind};
use crate::json::{Raw, quote};

/// Whether a `data-*` chunk becomes part of the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lasting {
    Part,
    Transient,
}

/// An error.
pub(super) fn error(body: &str) -> String {
    let mut json = String::new();
    Object::new(&mut json).raw("type", "\"error\"").body("errorText", body).end();
    json
}

/// An event that the protocol has no chunk for. `without` is a field that was said elsewhere.
pub(super) fn data(event: &Event<'_>, lasting: Lasting, without: Option<&str>) -> String {
    let mut json = String::new();
    let mut object = Object::new(&mut json);
    object
        .raw("type", &quote(&format!("data-{}", event.kind().name())))
        .raw("data", &event_data(event, without));
    if lasting == Lasting::Transient {
        object.raw("transient", "true");
    }
    object.end();
    json
}

/// How an event that the protocol has no chunk for is sent; `None` if not at all.
pub(super) fn lasting(kind: Kind) -> Option<Lasting> {
    Some(match kind {
        Kind::AuthRequired
        | Kind::AuthCompleted
        | Kind::InputRequired
        | Kind::ToolInputRequired
        | Kind::InputReceived
        | Kind::FileWrite
        | Kind::DataWrite
        | Kind::DatasetWrite => Lasting::Part,
        Kind::TaskCreated
        | Kind::TaskStatus
        | Kind::SubtaskCreated
        | Kind::ToolStart
        | Kind::ToolProgress
        | Kind::LlmUsage
        | Kind::Message
        | Kind::ThreadCreated
        | Kind::ThreadUpdated
        | Kind::ParticipantJoined
        | Kind::ParticipantLeft
        | Kind::RouteDecided
        | Kind::CancelRequested
        | Kind::AttemptSuperseded => Lasting::Transient,
        _ => return None,
    })
}

impl Stream {
    pub(super) fn call_started(&mut self, event: &Event<'_>) {
        let Some(id) = event.get("toolCallId") else { return };
        let name = event.get("toolName").map_or(Raw::Ref("\"tool\""), Raw::to_owned);
        let mut json = String::new();
        let mut object = Object::new(&mut json);
        object.raw("type", "\"tool-input-start\"").raw("toolCallId", id).raw("toolName", &name);
        if self.version >= Version::V6 {
            object.some("inputEncoding", meta::find(event, "inputEncoding").as_deref());
        }
        self.tool_side(event, &mut object);
        object.end();
        self.has_call(id);
        let dynamic = meta::flag(event, "dynamic");
        let pending = Pending { name, input: None, dynamic, refused: None };
        self.pending.insert(id.to_string(), pending);
        self.send(json);
    }

    /// Takes note that the open message has a call.
    fn has_call(&mut self, id: &Raw<'_>) {
        if self.calls.insert(id.to_string()) {
            self.step_calls.push(id.to_string());
        }
    }

    /// Adds what stands beside a tool chunk's own fields.
    fn tool_side(&self, event: &Event<'_>, object: &mut Object<'_>) {
        let executed = event.get("providerExecuted").filter(|e| e.bool().is_some());
        object.some("providerExecuted", executed.map(Raw::as_str));
        let input = matches!(event.kind(), Kind::ToolCall | Kind::ToolStart);
        if self.version >= Version::V6 || input {
            object.some("providerMetadata", meta::find(event, "providerMetadata").as_deref());
        }
        if self.version >= Version::V6 {
            object.some("toolMetadata", meta::find(event, "toolMetadata").as_deref());
        }
        object.some("dynamic", meta::find(event, "dynamic").as_deref());
        if self.version >= Version::V6 && event.kind() != Kind::ToolComplete {
            object.some("title", meta::find(event, "title").as_deref());
        }
    }

    pub(super) fn call(&mut self, event: &Event<'_>, input: Raw<'static>) {
        let Some(id) = event.get("toolCallId") else { return };
        let before = self.pending.remove(id.as_str());
        let name = event.get("toolName").map(Raw::to_owned).or(before.map(|p| p.name));
        let name = name.unwrap_or(Raw::Ref("\"tool\""));
        let refused = meta::flag(event, "invalid");
        let pending = Pending {
            name: name.clone(),
            input: Some(input.clone()),
            dynamic: meta::flag(event, "dynamic"),
            refused: refused.then(|| event.to_owned()),
        };
        self.pending.insert(id.to_string(), pending);
        if refused {
            // Sent with the error, which comes next.
            return;
        }
        self.has_call(id);
        let mut json = String::new();
        let mut object = Object::new(&mut json);
        object
            .raw("type", "\"tool-input-available\"")
            .raw("toolCallId", id)
            .raw("toolName", &name)
            .raw("input", &input);
        self.tool_side(event, &mut object);
        object.end();
        self.send(json);
    }

    /// Sends a call again that the open message does not have, so that its return finds it.
    fn recall(&mut self, id: &Raw<'_>, name: Option<&Raw<'static>>) {
        if self.calls.contains(id.as_str()) {
            return;
        }
        let pending = self.pending.get(id.as_str());
        let name = match pending.map(|p| p.name.clone()).or(name.cloned()) {
            Some(name) => name,
            None if self.own => return,
            None => Raw::Ref("\"tool\""),
        };
        let input = pending.and_then(|p| p.input.clone()).unwrap_or(Raw::Ref("{}"));
        let dynamic = pending.is_some_and(|p| p.dynamic);
        let mut json = String::new();
        let mut object = Object::new(&mut json);
        object
            .raw("type", "\"tool-input-available\"")
            .raw("toolCallId", id)
            .raw("toolName", &name)
            .raw("input", &input);
        if dynamic {
            object.raw("dynamic", "true");
        }
        object.end();
        self.has_call(id);
        self.send(json);
    }

    pub(super) fn returned(&mut self, event: &Event<'_>, name: Option<Raw<'static>>) {
        let Some(id) = event.get("toolCallId") else { return };
        let pending = self.pending.get(id.as_str()).cloned();
        if let Some(pending) = &pending
            && let Some(call) = &pending.refused
        {
            self.refused(event, call, pending);
            self.pending.remove(id.as_str());
            return;
        }
        self.recall(id, name.as_ref());
        let outcome = event.get("outcome").and_then(Raw::body);
        let failed = event.get("success").and_then(Raw::bool) == Some(false)
            || event.get("success").is_none() && event.get("error").is_some();
        let asked = self.approvals.contains(id.as_str()) || pending.is_none();
        let mut json = String::new();
        let mut object = Object::new(&mut json);
        if outcome == Some("denied") && self.version >= Version::V6 && asked {
            object.raw("type", "\"tool-output-denied\"").raw("toolCallId", id).end();
            self.pending.remove(id.as_str());
            self.send(json);
            return;
        }
        if failed {
            object
                .raw("type", "\"tool-output-error\"")
                .raw("toolCallId", id)
                .raw("errorText", &error_text(event, outcome == Some("denied")));
        } else {
            object
                .raw("type", "\"tool-output-available\"")
                .raw("toolCallId", id)
                .raw("output", event.get("result").map_or("null", Raw::as_str));
        }
        self.tool_side(event, &mut object);
        if meta::find(event, "dynamic").is_none() && pending.is_some_and(|p| p.dynamic) {
            object.raw("dynamic", "true");
        }
        let preliminary = event.get("preliminary").filter(|p| p.bool() == Some(true));
        if !failed {
            object.some("preliminary", preliminary.map(Raw::as_str));
        }
        object.end();
        if preliminary.is_none() {
            self.pending.remove(id.as_str());
        }
        self.send(json);
    }

    /// A call whose input was refused, with its error.
    fn refused(&mut self, event: &Event<'_>, call: &Event<'_>, pending: &Pending) {
        let Some(id) = call.get("toolCallId") else { return };
        let mut json = String::new();
        let mut object = Object::new(&mut json);
        object
            .raw("type", "\"tool-input-error\"")
            .raw("toolCallId", id)
            .raw("toolName", &pending.name)
            .raw("input", pending.input.as_deref().unwrap_or("null"));
        self.tool_side(call, &mut object);
        object.raw("errorText", &error_text(event, false)).end();
        self.has_call(id);
        self.send(json);
    }

    /// An event that is not text, thought, call or return.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        let newest = self.version >= Version::V7;
        match event.kind() {
            Kind::Message => return self.message(event),
            Kind::Error => {
                return self.send(error(event.body("message").unwrap_or("error")));
            }
            Kind::Source => {
                let mut json = String::new();
                write_source(event, self.version, false, &mut json);
                return self.send(json);
            }
            Kind::System => return self.system(event),
            // The step may hold what others say.
            Kind::AttemptSuperseded if newest && !self.is_joint(event) => {
                return self.reset_step();
            }
            Kind::FileWrite => {
                if let Some((media, url)) = whole_file(event) {
                    let mut json = String::new();
                    Object::new(&mut json)
                        .raw("type", "\"file\"")
                        .body("mediaType", media)
                        .body("url", &url)
                        .end();
                    self.send(json);
                    if event.get("name").is_some() || meta::says_more(event, meta::FILE, &[]) {
                        self.send(data(event, Lasting::Transient, Some("data")));
                    }
                    return;
                }
            }
            Kind::InputRequired | Kind::ToolInputRequired if self.asked(event) => return,
            Kind::InputReceived if newest && self.answered(event) => return,
            _ => {}
        }
        let Some(lasting) = lasting(event.kind()) else { return };
        if event_data(event, None) != "{}" {
            self.send(data(event, lasting, None));
        }
    }

    fn asked(&mut self, event: &Event<'_>) -> bool {
        let (Some(id), Some(call)) = (event.get("inputId"), event.get("toolCallId")) else {
            return false;
        };
        let confirms = event.get("inputType").is_none_or(|t| t.is("confirmation"));
        let name = self.pending.get(call.as_str()).map(|p| p.name.clone());
        if self.version < Version::V6 || !confirms || name.is_none() {
            return false;
        }
        self.recall(call, None);
        self.approvals.insert(call.to_string());
        self.approvals.insert(id.to_string());
        let usual =
            approval_prompt(&name.and_then(|n| Some(n.str()?.into_owned())).unwrap_or_default());
        let prompt =
            event.get("prompt").filter(|p| !p.is(&usual) && !p.is("") && p.body().is_some());
        let side = |key| meta::find(event, key);
        let mut json = String::new();
        let mut object = Object::new(&mut json);
        object
            .raw("type", "\"tool-approval-request\"")
            .raw("approvalId", id)
            .raw("toolCallId", call)
            .some("approvalDescriptor", side("approvalDescriptor").as_deref())
            .some("inputSchemaInput", side("inputSchemaInput").as_deref());
        if self.version >= Version::V7 {
            object
                .some("reason", prompt.map(Raw::as_str))
                .some("isAutomatic", side("isAutomatic").as_deref());
        }
        object.some("signature", side("signature").as_deref()).end();
        self.send(json);
        if meta::says_more(event, meta::ASKED.0, meta::ASKED.1) {
            self.send(data(event, Lasting::Transient, None));
        }
        true
    }

    fn answered(&mut self, event: &Event<'_>) -> bool {
        let Some(id) = event.get("inputId").filter(|id| self.approvals.contains(id.as_str()))
        else {
            return false;
        };
        let approved = event.get("value").and_then(|value| {
            let doc = value.doc()?;
            doc.root().bool().or_else(|| doc.root().get("approved")?.bool())
        });
        let Some(approved) = approved else { return false };
        let reason = event.at("value", "/reason").filter(|r| r.body().is_some());
        let mut json = String::new();
        Object::new(&mut json)
            .raw("type", "\"tool-approval-response\"")
            .raw("approvalId", id)
            .raw("approved", if approved { "true" } else { "false" })
            .some("reason", reason.as_deref())
            .some("providerExecuted", meta::find(event, "providerExecuted").as_deref())
            .some("providerMetadata", meta::find(event, "providerMetadata").as_deref())
            .end();
        self.send(json);
        let user = event.get("providedBy").is_none_or(|by| by.is("user"));
        if !user || meta::says_more(event, meta::ANSWERED.0, meta::ANSWERED.1) {
            self.send(data(event, Lasting::Transient, None));
        }
        true
    }

    fn system(&mut self, event: &Event<'_>) {
        let data = event.get("data").map_or("null", Raw::as_str);
        let part = meta::find(event, "part");
        let mut json = String::new();
        let mut object = Object::new(&mut json);
        match part.as_ref().and_then(Raw::body) {
            Some("message-metadata") => {
                object.raw("type", "\"message-metadata\"").raw("messageMetadata", data).end();
            }
            Some("custom") if self.version >= Version::V7 => {
                let kind = event.at("data", "/kind");
                object
                    .raw("type", "\"custom\"")
                    .some("kind", kind.as_deref())
                    .some("providerMetadata", event.at("data", "/providerMetadata").as_deref())
                    .end();
            }
            _ => {
                let name = event.body("name").unwrap_or("system");
                let id = event.get("systemId").filter(|i| i.body().is_some());
                object.body("type", &format!("data-{name}"));
                object.some("id", id.map(Raw::as_str)).raw("data", data);
                object.some("transient", meta::find(event, "transient").as_deref()).end();
            }
        }
        self.send(json);
    }
}
