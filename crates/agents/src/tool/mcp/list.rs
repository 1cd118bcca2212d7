//! The tools that a server lists.
//!
//! Invariant: a list is asked for once, and again only when it has become old.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::PaginatedRequestParams;

use super::call::Remote;
use super::connection::{Connection, Patient};
use super::{BETWEEN, Rerun};
use crate::model::ToolSpec;
use crate::tool::{Interrupted, Tool, ToolError};

/// Tools of one server.
const TOOLS: usize = 512;
/// Pages of one list.
const PAGES: usize = 64;
/// Bytes of a description.
const DESCRIPTION: usize = 8 << 10;
/// Bytes of a tool's name that every model takes.
const NAME: usize = 64;

/// Counts how often the list became old. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Age(Arc<AtomicU64>);

impl Age {
    pub(super) fn grow(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// The list, once it was asked for.
#[derive(Default)]
pub(super) struct List(Mutex<Option<Listed>>);

#[derive(Clone)]
struct Listed {
    age: u64,
    tools: Arc<[Arc<Tool>]>,
}

impl List {
    pub(super) async fn get(
        &self,
        connection: &Arc<Connection>,
    ) -> Result<Arc<[Arc<Tool>]>, ToolError> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match &last {
            Some(last) if last.age == connection.age.get() => return Ok(last.tools.clone()),
            _ => {}
        }
        let age = connection.age.get();
        match ask(connection).await {
            Ok(tools) => {
                let tools: Arc<[Arc<Tool>]> = tools.into();
                let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                *list = Some(Listed { age, tools: tools.clone() });
                Ok(tools)
            }
            // It may be back when one of them is used.
            Err(error) => last.map(|last| last.tools).ok_or(error),
        }
    }
}

/// Asks a server for all its tools.
async fn ask(connection: &Arc<Connection>) -> Result<Vec<Arc<Tool>>, ToolError> {
    let open = connection.open(Patient::No).await?;
    let (mut tools, mut names) = (Vec::new(), HashSet::new());
    let mut cursor = None;
    for _ in 0..PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let page =
            tokio::time::timeout(connection.options.start, open.peer.list_tools(Some(params)));
        let page = match page.await {
            Ok(Ok(page)) => page,
            Ok(Err(error)) => {
                return Err(connection.error(&format!("does not list its tools: {error}")));
            }
            Err(_) => return Err(connection.error("does not list its tools in time")),
        };
        for listed in page.tools {
            let name = name(&connection.options.name, &listed.name);
            if tools.len() == TOOLS || !names.insert(name.clone()) {
                tracing::warn!(tool = name, "an MCP server lists too much");
                continue;
            }
            match tool(connection, name.clone(), listed) {
                Ok(tool) => tools.push(Arc::new(tool)),
                Err(error) => tracing::warn!(tool = name, %error, "an MCP tool is left out"),
            }
        }
        match page.next_cursor {
            Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
            _ => break,
        }
    }
    connection.works().await;
    Ok(tools)
}

fn tool(
    connection: &Arc<Connection>,
    name: String,
    listed: rmcp::model::Tool,
) -> Result<Tool, crate::tool::SchemaError> {
    let mut description = listed.description.unwrap_or_default().into_owned();
    description.truncate(description.floor_char_boundary(DESCRIPTION));
    let schema = serde_json::Value::Object((*listed.input_schema).clone());
    let remote = Remote { connection: connection.clone(), name: listed.name.into_owned() };
    let mut tool = Tool::here(ToolSpec { name, description, schema }, Arc::new(remote))?;
    let hints = listed.annotations.unwrap_or_default();
    let harmless = hints.read_only_hint == Some(true) || hints.idempotent_hint == Some(true);
    tool.interrupted = match connection.options.interrupted {
        Rerun::All(interrupted) => interrupted,
        Rerun::IfHarmless if harmless => Interrupted::Again,
        Rerun::IfHarmless => Interrupted::Fail,
    };
    tool.consent = connection.options.consent;
    tool.auth = connection.options.auth.clone();
    tool.patience = connection.options.manner.patience;
    tool.urgency = connection.options.manner.urgency;
    tool.timeout = connection.options.timeout;
    Ok(tool)
}

/// A tool's name as a model knows it: `server__tool`, in letters that every model takes.
pub(super) fn name(server: &str, tool: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let own = tool.chars().map(|c| if fits(c) { c } else { '_' });
    let mut name: String = server.chars().chain(BETWEEN.chars()).chain(own).collect();
    name.truncate(NAME);
    name
}
