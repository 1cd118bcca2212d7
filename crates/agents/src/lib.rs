//! Agents at work in threads: models, tools, the turn loop, the router.

pub mod agent;
pub mod config;
pub mod credential;
pub mod fits;
pub mod journal;
pub mod model;
mod net;
pub mod remote;
pub mod router;
pub mod runner;
pub mod script;
pub mod tool;
pub mod turn;
pub mod wish;

pub use agent::{Agent, Coordination, Coordinator, Limits, Member, Mind, Saying, Trace, Worker};
pub use credential::Vault;
pub use journal::{Journal, JournalError};
pub use remote::Remote;
pub use runner::{Desk, Runner};
pub use tool::{Consent, Doer, Interrupted, Invocation, Run, SchemaError, Tool, ToolError};
pub use turn::{Left, Turn};
