//! OpenAI's Responses API, without anything kept there.

use selvedge_protocol::perspective::responses;
use serde_json::{Value, json};

use super::body::{put, temperature, tools};
use super::output::Output;
use super::read::{Object, tokens};
use super::{Done, Failure, Finish, Request};

pub(super) fn body(model: &str, request: &Request<'_>) -> String {
    let seen = responses(request.history, request.view, request.system);
    let settings = request.settings;
    let mut members = json!({"model": model, "stream": true, "store": false});
    put(&mut members, "max_output_tokens", settings.max_tokens.map(|tokens| json!(tokens)));
    put(&mut members, "temperature", temperature(settings));
    if let Some(thinking) = settings.thinking {
        let effort = thinking.effort().name();
        put(&mut members, "reasoning", Some(json!({"effort": effort, "summary": "auto"})));
        // Models that do not think refuse to be asked for it.
        put(&mut members, "include", Some(json!(["reasoning.encrypted_content"])));
    }
    let tools = tools(request.tools, |tool, schema| {
        let (name, description) = (&tool.name, &tool.description);
        // Strict schemas are a dialect of their own, and the default here.
        json!({"type": "function", "name": name, "description": description,
            "parameters": schema, "strict": false})
    });
    put(&mut members, "tools", tools);
    super::body::body(&seen, members, settings)
}

/// Reads the events of a response.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The item whose text or thought has come in pieces.
    streamed: Option<u64>,
    refused: bool,
    model: Option<String>,
}

impl Reader {
    pub(super) fn take(&mut self, event: &Value, output: &mut Output) -> Result<(), Failure> {
        let event = Object::of(event)?;
        let delta = || event.text("delta").map(Option::unwrap_or_default);
        match event.text("type")?.unwrap_or_default() {
            "response.created" | "response.in_progress" => self.meet(event.object("response")?),
            "response.output_item.added" => match event.object("item")? {
                Some(item) if item.text("type")? == Some("function_call") => {
                    let name = item.text("name")?.unwrap_or_default();
                    output.begin_call(slot(event)?, item.text("call_id")?, name)
                }
                _ => Ok(()),
            },
            "response.output_text.delta" => {
                self.streamed = event.index("output_index")?;
                output.text(delta()?)
            }
            "response.refusal.delta" => {
                self.streamed = event.index("output_index")?;
                self.refused = true;
                output.text(delta()?)
            }
            "response.reasoning_summary_part.added" => {
                let again = event.index("summary_index")?.unwrap_or(0) > 0;
                output.thought(if again { "\n\n" } else { "" })
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.streamed = event.index("output_index")?;
                output.thought(delta()?)
            }
            "response.function_call_arguments.delta" => output.call_piece(slot(event)?, delta()?),
            "response.output_item.done" => match event.object("item")? {
                Some(item) => self.item(slot(event)?, item, output),
                None => Ok(()),
            },
            "response.completed" | "response.incomplete" => {
                self.meet(event.object("response")?)?;
                self.end(event.object("response")?, output)
            }
            "response.failed" => match event.object("response")? {
                Some(response) => Err(Failure::told(response.0, None)),
                None => Err(Failure::told(event.0, None)),
            },
            "error" => Err(Failure::told(event.0, None)),
            // Steps within what was told already, and what there may be some day.
            _ => Ok(()),
        }
    }

    fn meet(&mut self, response: Option<Object<'_>>) -> Result<(), Failure> {
        if let Some(response) = response {
            self.model = response.text("model")?.map(str::to_owned).or(self.model.take());
        }
        Ok(())
    }

    /// An item is complete, and told once more as a whole.
    fn item(&mut self, slot: u64, item: Object<'_>, output: &mut Output) -> Result<(), Failure> {
        let streamed = self.streamed == Some(slot);
        match item.text("type")?.unwrap_or_default() {
            "function_call" => {
                if output.open_call(slot).is_none() {
                    let name = item.text("name")?.unwrap_or_default();
                    output.begin_call(slot, item.text("call_id")?, name)?;
                }
                output.end_call(slot, item.text("arguments")?)
            }
            "reasoning" => {
                if !streamed {
                    for part in item.list("summary")? {
                        output.thought(Object::of(part)?.text("text")?.unwrap_or_default())?;
                    }
                }
                output.end_thought(item.text("encrypted_content")?.map(str::to_owned))
            }
            "message" if !streamed => {
                for part in item.list("content")? {
                    let part = Object::of(part)?;
                    self.refused |= part.get("refusal").is_some();
                    output.text(part.text("text")?.unwrap_or_default())?;
                    output.text(part.text("refusal")?.unwrap_or_default())?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn end(&self, response: Option<Object<'_>>, output: &mut Output) -> Result<(), Failure> {
        let response = response.unwrap_or(Object(&Value::Null));
        let details = response.object("incomplete_details")?;
        let reason = match details {
            Some(details) => details.text("reason")?,
            None => None,
        };
        let finish = match (response.text("status")?, reason) {
            (_, Some("max_output_tokens")) => Finish::Length,
            (_, Some("content_filter")) => Finish::ContentFilter,
            (_, Some(_)) | (Some("incomplete"), _) => Finish::Other,
            _ if self.refused => Finish::ContentFilter,
            _ if output.has_calls() => Finish::ToolCalls,
            _ => Finish::Stop,
        };
        let usage = response.object("usage")?.map(|told| {
            tokens(
                told.count("/input_tokens"),
                told.count("/output_tokens"),
                told.count("/input_tokens_details/cached_tokens"),
                told.count("/output_tokens_details/reasoning_tokens"),
            )
        });
        output.end(Done { finish, usage, model: self.model.clone() })
    }
}

fn slot(event: Object<'_>) -> Result<u64, Failure> {
    let index = event.index("output_index")?;
    index.ok_or_else(|| Failure::nonsense("an event does not say which item it is of"))
}
