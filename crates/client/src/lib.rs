//! The Rust SDK: threads over HTTP.
//!
//! ```no_run
//! use selvedge_client::{Client, Follow};
//!
//! # async fn run() -> Result<(), selvedge_client::Error> {
//! let client = Client::new("http://127.0.0.1:4180");
//! client.create(&serde_json::json!({"id": "t1"})).await?;
//! client.append("t1", r#"{"kind":"message","role":"user","content":"hello"}"#).await?;
//! let mut tail = client.follow("t1", Follow::default());
//! while let Some(frame) = tail.next().await? {
//!     println!("{} {}", frame.event, frame.data);
//! }
//! # Ok(())
//! # }
//! ```

mod acts;
mod error;
mod requests;
mod tail;
mod tls;

pub use acts::{Acts, Base, NewVersion, Version, Written};
pub use error::Error;
pub use requests::{Appended, Client, Pieces};
pub use selvedge_protocol::sse::Frame;
pub use tail::{Follow, Tail, Until};
pub use tls::Authorities;
