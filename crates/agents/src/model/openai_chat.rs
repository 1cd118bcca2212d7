//! Chat completions: OpenAI's, DeepSeek's, Ollama's, and of all who spell them alike.
//!
//! Servers differ in what they leave out. Calls are told apart by their index, or by their id where
//! there is no index or where it is always the same.

use selvedge_protocol::journal::fold::Tokens;
use selvedge_protocol::perspective::openai;
use serde_json::{Value, json};

use super::body::{put, temperature, tools};
use super::output::Output;
use super::read::{Object, tokens};
use super::{Done, Failure, Finish, Provider, Request};

pub(super) fn body(provider: Provider, model: &str, request: &Request<'_>) -> String {
    let seen = openai(request.history, request.view, request.system);
    let settings = request.settings;
    let mut members = json!({
        "model": model,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    let length = match provider {
        Provider::OpenAiChat => "max_completion_tokens",
        _ => "max_tokens",
    };
    put(&mut members, length, settings.max_tokens.map(|tokens| json!(tokens)));
    put(&mut members, "temperature", temperature(settings));
    if let Some(thinking) = settings.thinking {
        let effort = json!(thinking.effort().name());
        match provider {
            Provider::OpenAiChat | Provider::Ollama => {
                put(&mut members, "reasoning_effort", Some(effort));
            }
            Provider::DeepSeek => {
                put(&mut members, "thinking", Some(json!({"type": "enabled"})));
                put(&mut members, "reasoning_effort", Some(effort));
            }
            // How others are told, only the configuration knows.
            _ => {}
        }
    }
    let tools = tools(request.tools, |tool, schema| {
        let (name, description) = (&tool.name, &tool.description);
        let function = json!({"name": name, "description": description, "parameters": schema});
        json!({"type": "function", "function": function})
    });
    put(&mut members, "tools", tools);
    super::body::body(&seen, members, settings)
}

/// Reads the chunks of a completion.
#[derive(Debug, Default)]
pub(super) struct Reader {
    finish: Option<Finish>,
    refused: bool,
    model: Option<String>,
    usage: Option<Tokens>,
    /// The call that was written last.
    last: u64,
    /// The first slot that no index of the provider's names.
    next: u64,
    /// Calls whose name has not come yet: slot, id and arguments.
    nameless: Vec<(u64, Option<String>, String)>,
}

impl Reader {
    pub(super) fn done(&self, output: &Output) -> Option<Done> {
        let finish = match self.finish? {
            _ if self.refused => Finish::ContentFilter,
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
        if let Some(model) = chunk.text("model")?.filter(|model| !model.is_empty()) {
            self.model = Some(model.to_owned());
        }
        if let Some(told) = chunk.object("usage")? {
            self.usage = Some(usage(told));
        }
        for choice in chunk.list("choices")? {
            let choice = Object::of(choice)?;
            // One answer was asked for.
            if choice.index("index")?.unwrap_or(0) > 0 {
                continue;
            }
            if let Some(delta) = choice.object("delta")? {
                self.delta(delta, output)?;
            }
            if let Some(reason) = choice.text("finish_reason")?.filter(|r| !r.is_empty()) {
                self.finish = Some(finish(reason)?);
                if !self.nameless.is_empty() {
                    return Err(Failure::nonsense("the model calls a tool without a name"));
                }
            }
        }
        Ok(())
    }

    fn delta(&mut self, delta: Object<'_>, output: &mut Output) -> Result<(), Failure> {
        // DeepSeek and many after it say the one; Ollama, OpenRouter and vLLM the other.
        let thought = match delta.text("reasoning_content")? {
            Some(thought) => Some(thought),
            None => delta.get("reasoning").and_then(Value::as_str),
        };
        output.thought(thought.unwrap_or_default())?;
        match delta.get("content") {
            Some(Value::Array(parts)) => self.parts(parts, output)?,
            _ => output.text(delta.text("content")?.unwrap_or_default())?,
        }
        if let Some(refusal) = delta.text("refusal")?.filter(|text| !text.is_empty()) {
            self.refused = true;
            output.text(refusal)?;
        }
        for call in delta.list("tool_calls")? {
            self.call(Object::of(call)?, output)?;
        }
        Ok(())
    }

    /// Content in parts, as Mistral's thinking models have it.
    fn parts(&mut self, parts: &[Value], output: &mut Output) -> Result<(), Failure> {
        for part in parts {
            let part = Object::of(part)?;
            match part.text("type")? {
                Some("thinking") => {
                    for thought in part.list("thinking")? {
                        let thought = Object::of(thought)?.text("text")?;
                        output.thought(thought.unwrap_or_default())?;
                    }
                }
                _ => output.text(part.text("text")?.unwrap_or_default())?,
            }
        }
        Ok(())
    }

    fn call(&mut self, call: Object<'_>, output: &mut Output) -> Result<(), Failure> {
        let id = call.text("id")?.filter(|id| !id.is_empty());
        let function = call.object("function")?;
        let name = match function {
            Some(function) => function.text("name")?.filter(|name| !name.is_empty()),
            None => None,
        };
        let arguments = match function.and_then(|function| function.get("arguments")) {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            // Whole, and not as text.
            Some(value) => value.to_string(),
        };
        let slot = self.slot(call.index("index")?, id, name, output);
        self.last = slot;
        if output.open_call(slot).is_some() {
            return output.call_piece(slot, &arguments);
        }
        let at = self.nameless.iter().position(|(nameless, ..)| *nameless == slot);
        let (given, before) = match at {
            Some(at) => {
                let (_, given, before) = self.nameless.swap_remove(at);
                (given, before)
            }
            None => (None, String::new()),
        };
        let (given, written) = (id.map(str::to_owned).or(given), before + &arguments);
        let Some(name) = name else {
            output.grow(arguments.len() + 1)?;
            self.nameless.push((slot, given, written));
            return Ok(());
        };
        output.begin_call(slot, given.as_deref(), name)?;
        output.call_piece(slot, &written)
    }

    /// Which call a delta belongs to.
    fn slot(
        &mut self,
        index: Option<u64>,
        id: Option<&str>,
        name: Option<&str>,
        output: &Output,
    ) -> u64 {
        /// Above any index that means something.
        const UNNUMBERED: u64 = 1 << 32;
        let begins = match index {
            Some(index) => match (output.open_call(index), id, name) {
                // The same place, but another call: the server numbers all alike.
                (Some(Some(known)), Some(id), Some(_)) if known != id => true,
                _ => return self.moved(index, output),
            },
            None => match (id, name) {
                (Some(id), _) => output.open_call(self.last).flatten() != Some(id),
                (None, Some(_)) => true,
                (None, None) => false,
            },
        };
        if begins {
            self.next += 1;
            UNNUMBERED + self.next
        } else {
            self.last
        }
    }

    /// Deltas of a place that was used again belong to the call that came last there.
    fn moved(&self, index: u64, output: &Output) -> u64 {
        let again = self.next > 0 && output.open_call(self.last).is_some();
        if again && output.open_call(index).is_some() { self.last } else { index }
    }
}

fn usage(told: Object<'_>) -> Tokens {
    let cached = match told.count("/prompt_tokens_details/cached_tokens") {
        0 => told.count("/prompt_cache_hit_tokens"),
        cached => cached,
    };
    let thinking = told.count("/completion_tokens_details/reasoning_tokens");
    let (input, output) = (told.count("/prompt_tokens"), told.count("/completion_tokens"));
    // Some resellers tell what it cost.
    let cost = told.get("cost").and_then(Value::as_f64).unwrap_or(0.0);
    Tokens { cost, ..tokens(input, output, cached, thinking) }
}

fn finish(reason: &str) -> Result<Finish, Failure> {
    Ok(match reason {
        "stop" => Finish::Stop,
        "length" => Finish::Length,
        "tool_calls" | "function_call" => Finish::ToolCalls,
        "content_filter" => Finish::ContentFilter,
        // DeepSeek broke off, and OpenRouter's provider did.
        "insufficient_system_resource" | "error" => {
            return Err(Failure::told(&json!({"type": reason, "message": reason}), None));
        }
        _ => Finish::Other,
    })
}
