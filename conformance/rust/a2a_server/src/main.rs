//! An agent behind `a2a-server-lf` that answers in as many pieces as it is asked for: `count 100`.
//! Says where it listens, and ends with its parent.

use std::io::Read as _;
use std::sync::Arc;

use a2a::{
    A2AError, Artifact, Part, PartContent, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState,
    TaskStatus, TaskStatusUpdateEvent,
};
use a2a_server::jsonrpc::jsonrpc_router;
use a2a_server::{AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryTaskStore};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};

struct Counter;

#[async_trait::async_trait]
impl AgentExecutor for Counter {
    fn execute(
        &self,
        context: ExecutorContext,
    ) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        let (task, at) = context.task_info();
        let mut said = context.message.iter().flat_map(|message| &message.parts);
        let said = said.find_map(|part| match &part.content {
            PartContent::Text(text) => Some(text.clone()),
            _ => None,
        });
        let count = said.and_then(|said| said.strip_prefix("count ")?.parse().ok()).unwrap_or(1);
        let status = |state| TaskStatus { state, message: None, timestamp: None };
        let update = |state| {
            let status = status(state);
            let (task_id, context_id) = (task.clone(), at.clone());
            StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
                task_id,
                context_id,
                status,
                metadata: None,
            })
        };
        let begun = StreamResponse::Task(Task {
            id: task.clone(),
            context_id: at.clone(),
            status: status(TaskState::Submitted),
            artifacts: None,
            history: None,
            metadata: None,
        });
        let (first, last) = (update(TaskState::Working), update(TaskState::Completed));
        let pieces = (0..count).map(move |i: usize| {
            StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id: task.clone(),
                context_id: at.clone(),
                artifact: Artifact {
                    artifact_id: "answer".into(),
                    name: None,
                    description: None,
                    parts: vec![Part::text(format!("word{i} "))],
                    metadata: None,
                    extensions: None,
                },
                append: Some(i > 0),
                last_chunk: Some(i + 1 == count),
                metadata: None,
            })
        });
        let all = [begun, first].into_iter().chain(pieces).chain([last]);
        stream::iter(all.map(Ok).collect::<Vec<_>>()).boxed()
    }

    fn cancel(&self, _: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        stream::empty().boxed()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let handler = Arc::new(DefaultRequestHandler::new(Counter, InMemoryTaskStore::new()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, jsonrpc_router(handler)).await?;
    Ok(())
}
