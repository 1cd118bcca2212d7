//! Gemini's `streamGenerateContent`.
//!
//! Signatures come on the parts that thoughts led to. They are told as the end of the thought
//! before that part, which is how a thread keeps them and gives them back.

use selvedge_protocol::journal::fold::Tokens;
use selvedge_protocol::perspective::gemini;
use serde_json::{Value, json};

use super::body::{put, temperature, tools};
use super::output::Output;
use super::read::{Object, tokens};
use super::{Done, Effort, Failure, Finish, Request, Thinking};

/// Where a model is asked. A name may say more than the model's own, such as `tunedModels/x`.
pub(super) fn path(model: &str) -> String {
    let folder = if model.contains('/') { "" } else { "models/" };
    format!("{folder}{model}:streamGenerateContent")
}

pub(super) fn body(request: &Request<'_>) -> String {
    let seen = gemini(request.history, request.view, request.system);
    let settings = request.settings;
    let mut config = json!({});
    put(&mut config, "maxOutputTokens", settings.max_tokens.map(|tokens| json!(tokens)));
    put(&mut config, "temperature", temperature(settings));
    let thinking = settings.thinking.map(|thinking| match thinking {
        Thinking::Tokens(tokens) => json!({"includeThoughts": true, "thinkingBudget": tokens}),
        Thinking::Effort(effort) => {
            let level = match effort {
                Effort::Minimal => "minimal",
                Effort::Low => "low",
                Effort::Medium => "medium",
                Effort::High | Effort::Max => "high",
            };
            json!({"includeThoughts": true, "thinkingLevel": level})
        }
    });
    put(&mut config, "thinkingConfig", thinking);
    let mut members = json!({"generationConfig": config});
    let declarations = tools(
        request.tools,
        |tool, schema| json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": schema}),
    );
    let tools = declarations.map(|declarations| json!([{"functionDeclarations": declarations}]));
    put(&mut members, "tools", tools);
    super::body::body(&seen, members, settings)
}

/// Reads the chunks of an answer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    finish: Option<Finish>,
    model: Option<String>,
    usage: Option<Tokens>,
    calls: u64,
}

impl Reader {
    pub(super) fn done(&self, output: &Output) -> Option<Done> {
        let finish = match self.finish? {
            Finish::Stop if output.has_calls() => Finish::ToolCalls,
            finish => finish,
        };
        Some(Done { finish, usage: self.usage, model: self.model.clone() })
    }

    pub(super) fn take(&mut self, chunk: &Value, output: &mut Output) -> Result<(), Failure> {
        let chunk = Object::of(chunk)?;
        if chunk.get("error").is_some() {
            return Err(Failure::told(chunk.0, None));
        }
        if let Some(model) = chunk.text("modelVersion")? {
            self.model = Some(model.to_owned());
        }
        if let Some(told) = chunk.object("usageMetadata")? {
            self.usage = Some(usage(told));
        }
        // A question that was not to be asked has no candidates.
        let feedback = chunk.object("promptFeedback")?;
        if feedback.is_some_and(|feedback| feedback.get("blockReason").is_some()) {
            self.finish = Some(Finish::ContentFilter);
        }
        let Some(candidate) = chunk.list("candidates")?.first() else { return Ok(()) };
        let candidate = Object::of(candidate)?;
        if let Some(content) = candidate.object("content")? {
            for part in content.list("parts")? {
                self.part(Object::of(part)?, output)?;
            }
        }
        if let Some(reason) = candidate.text("finishReason")? {
            let message = candidate.text("finishMessage")?.unwrap_or(reason);
            self.finish = Some(finish(reason, message)?);
        }
        Ok(())
    }

    fn part(&mut self, part: Object<'_>, output: &mut Output) -> Result<(), Failure> {
        let signature = part.text("thoughtSignature")?.map(str::to_owned);
        let text = part.text("text")?;
        if part.get("thought").and_then(Value::as_bool) == Some(true) {
            output.thought(text.unwrap_or_default())?;
            return match signature {
                Some(signature) => output.end_thought(Some(signature)),
                None => Ok(()),
            };
        }
        if let Some(call) = part.object("functionCall")? {
            let arguments = call.object("args")?.map(|args| args.0.to_string());
            let (id, name) = (call.text("id")?, call.text("name")?.unwrap_or_default());
            let slot = self.calls;
            self.calls += 1;
            output.end_thought(signature)?;
            output.begin_call(slot, id, name)?;
            return output.end_call(slot, arguments.as_deref());
        }
        let text = text.unwrap_or_default();
        match signature {
            // Text that goes on is not cut in two: the signature comes after it.
            Some(signature) if text.is_empty() || output.is_text() => {
                output.text(text)?;
                output.end_thought(Some(signature))
            }
            Some(signature) => {
                output.end_thought(Some(signature))?;
                output.text(text)
            }
            None => output.text(text),
        }
    }
}

fn usage(told: Object<'_>) -> Tokens {
    let thinking = told.count("/thoughtsTokenCount");
    tokens(
        told.count("/promptTokenCount") + told.count("/toolUsePromptTokenCount"),
        told.count("/candidatesTokenCount") + thinking,
        told.count("/cachedContentTokenCount"),
        thinking,
    )
}

fn finish(reason: &str, message: &str) -> Result<Finish, Failure> {
    Ok(match reason {
        "STOP" => Finish::Stop,
        // Nothing that Google documents, but a mock of it and servers alike say so.
        "FUNCTION_CALL" => Finish::ToolCalls,
        "MAX_TOKENS" => Finish::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Finish::ContentFilter,
        // The model wrote something that is no call; another try may.
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => {
            return Err(Failure::nonsense(format!("{reason}: {message}")));
        }
        _ => Finish::Other,
    })
}
