//! Every agent-conversation protocol, read and written without loss.

pub mod base64;
pub mod canonical;
pub mod diagnostic;
pub mod dialect;
pub mod ident;
pub mod journal;
pub mod json;
pub mod loss;
pub mod perspective;
pub mod record;
pub mod residue;
pub mod sse;
pub mod time;
pub mod validate;
