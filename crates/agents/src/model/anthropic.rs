//! Anthropic's Messages API.

use std::collections::BTreeMap;

use selvedge_protocol::perspective::{REDACTED, anthropic};
use serde_json::{Value, json};

use super::body::{put, temperature, tools};
use super::output::Output;
use super::read::{Object, tokens};
use super::{Done, Effort, Failure, Finish, Request, Thinking};

/// The version of the API that is spoken here.
pub(super) const VERSION: &str = "2023-06-01";
/// The API wants a greatest length; without one that is said, this is left for the answer.
const USUAL_LENGTH: u32 = 8192;
/// Blocks of an answer, at most.
const MOST_BLOCKS: usize = 4096;

pub(super) fn body(model: &str, request: &Request<'_>) -> String {
    let seen = anthropic(request.history, request.view, request.system);
    let settings = request.settings;
    let budget = match settings.thinking {
        Some(Thinking::Tokens(tokens)) => tokens,
        _ => 0,
    };
    let length = settings.max_tokens.unwrap_or(USUAL_LENGTH.saturating_add(budget));
    let mut members = json!({"model": model, "max_tokens": length, "stream": true});
    // What a thought says is asked for: not every model tells it by itself.
    let thinking = settings.thinking.map(|thinking| match thinking {
        Thinking::Tokens(tokens) => {
            json!({"type": "enabled", "budget_tokens": tokens, "display": "summarized"})
        }
        Thinking::Effort(_) => json!({"type": "adaptive", "display": "summarized"}),
    });
    let effort = match settings.thinking {
        Some(Thinking::Effort(Effort::Minimal)) => Some(json!({"effort": "low"})),
        Some(Thinking::Effort(effort)) => Some(json!({"effort": effort.name()})),
        _ => None,
    };
    put(&mut members, "thinking", thinking);
    put(&mut members, "output_config", effort);
    put(&mut members, "temperature", temperature(settings));
    let tools = tools(
        request.tools,
        |tool, schema| json!({"name": tool.name, "description": tool.description, "input_schema": schema}),
    );
    put(&mut members, "tools", tools);
    super::body::body(&seen, members, settings)
}

/// Reads the events of a message.
#[derive(Debug, Default)]
pub(super) struct Reader {
    blocks: BTreeMap<u64, Block>,
    finish: Option<Finish>,
    model: Option<String>,
    usage: Option<Usage>,
}

#[derive(Debug)]
enum Block {
    Thought {
        signature: String,
    },
    Call {
        input: Option<String>,
    },
    /// Text, which needs nothing to be remembered, or something that the provider did itself.
    Other,
}

/// Tokens, each count the latest that was told.
#[derive(Debug, Default, Clone, Copy)]
struct Usage {
    input: u64,
    written: u64,
    cached: u64,
    output: u64,
    thinking: u64,
}

impl Reader {
    pub(super) fn done(&self) -> Option<Done> {
        let usage = self.usage.map(|u| {
            // Input is told without what the cache took and gave.
            tokens(u.input + u.written + u.cached, u.output, u.cached, u.thinking)
        });
        Some(Done { finish: self.finish?, usage, model: self.model.clone() })
    }

    pub(super) fn take(&mut self, event: &Value, output: &mut Output) -> Result<(), Failure> {
        let event = Object::of(event)?;
        match event.text("type")? {
            Some("message_start") => {
                let Some(message) = event.object("message")? else { return Ok(()) };
                self.model = message.text("model")?.map(str::to_owned);
                self.count(message.object("usage")?);
                Ok(())
            }
            Some("content_block_start") => self.start(event, output),
            Some("content_block_delta") => self.delta(event, output),
            Some("content_block_stop") => self.stop(event, output),
            Some("message_delta") => {
                self.count(event.object("usage")?);
                let Some(delta) = event.object("delta")? else { return Ok(()) };
                if let Some(reason) = delta.text("stop_reason")? {
                    self.finish = Some(finish(reason));
                }
                Ok(())
            }
            Some("message_stop") => {
                self.finish.get_or_insert(Finish::Other);
                self.done().map_or(Ok(()), |done| output.end(done))
            }
            Some("error") => Err(Failure::told(event.0, None)),
            // Keep-alives, and what there may be some day.
            _ => Ok(()),
        }
    }

    fn start(&mut self, event: Object<'_>, output: &mut Output) -> Result<(), Failure> {
        let index = index(event)?;
        let Some(block) = event.object("content_block")? else { return Ok(()) };
        if self.blocks.len() == MOST_BLOCKS {
            return Err(Failure::nonsense(format!("the answer has more than {MOST_BLOCKS} parts")));
        }
        let begun = match block.text("type")? {
            Some("text") => {
                output.text(block.text("text")?.unwrap_or_default())?;
                Block::Other
            }
            Some("thinking") => {
                output.end_thought(None)?;
                output.thought(block.text("thinking")?.unwrap_or_default())?;
                let signature = block.text("signature")?.unwrap_or_default().to_owned();
                Block::Thought { signature }
            }
            Some("redacted_thinking") => {
                output.end_thought(None)?;
                let data = block.text("data")?.map(str::to_owned);
                output.end_thought_as(REDACTED, data)?;
                Block::Other
            }
            Some("tool_use") => {
                let name = block.text("name")?.unwrap_or_default();
                output.begin_call(index, block.text("id")?, name)?;
                // Usually empty, and written after it piece by piece.
                let input = block.get("input").and_then(Value::as_object);
                let input = input.filter(|input| !input.is_empty());
                Block::Call { input: input.and_then(|input| serde_json::to_string(input).ok()) }
            }
            _ => Block::Other,
        };
        self.blocks.insert(index, begun);
        Ok(())
    }

    fn delta(&mut self, event: Object<'_>, output: &mut Output) -> Result<(), Failure> {
        let index = index(event)?;
        let Some(delta) = event.object("delta")? else { return Ok(()) };
        let text = |key: &str| delta.text(key).map(Option::unwrap_or_default);
        match (delta.text("type")?, self.blocks.get_mut(&index)) {
            (Some("text_delta"), _) => output.text(text("text")?),
            (Some("thinking_delta"), _) => output.thought(text("thinking")?),
            (Some("signature_delta"), Some(Block::Thought { signature })) => {
                let piece = text("signature")?;
                signature.push_str(piece);
                output.grow(piece.len())
            }
            (Some("input_json_delta"), Some(Block::Call { input })) => {
                *input = None;
                output.call_piece(index, text("partial_json")?)
            }
            _ => Ok(()),
        }
    }

    fn stop(&mut self, event: Object<'_>, output: &mut Output) -> Result<(), Failure> {
        let index = index(event)?;
        match self.blocks.get_mut(&index) {
            Some(Block::Thought { signature }) => {
                let signature = std::mem::take(signature);
                output.end_thought(Some(signature).filter(|s| !s.is_empty()))
            }
            Some(Block::Call { input }) => output.end_call(index, input.take().as_deref()),
            Some(Block::Other) | None => Ok(()),
        }
    }

    fn count(&mut self, told: Option<Object<'_>>) {
        let Some(told) = told else { return };
        let usage = self.usage.get_or_insert_default();
        for (pointer, count) in [
            ("/input_tokens", &mut usage.input),
            ("/cache_creation_input_tokens", &mut usage.written),
            ("/cache_read_input_tokens", &mut usage.cached),
            ("/output_tokens", &mut usage.output),
            ("/output_tokens_details/thinking_tokens", &mut usage.thinking),
        ] {
            if told.0.pointer(pointer).is_some_and(Value::is_u64) {
                *count = told.count(pointer);
            }
        }
    }
}

fn index(event: Object<'_>) -> Result<u64, Failure> {
    event
        .index("index")?
        .ok_or_else(|| Failure::nonsense("an event does not say which part it is of"))
}

fn finish(reason: &str) -> Finish {
    match reason {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "tool_use" => Finish::ToolCalls,
        "refusal" => Finish::ContentFilter,
        _ => Finish::Other,
    }
}
