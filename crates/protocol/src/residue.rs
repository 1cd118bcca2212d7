//! What events cannot hold of the bytes they came from, and how to get the bytes back.
//!
//! A source is cut into records so that every byte belongs to exactly one. A record's [`Frame`] is
//! its text as a template: literal chunks with slots between them. A slot is *bound* to an event
//! field, a *leaf* whose literal is kept, or a *list* of smaller templates. Templates are interned
//! as [`Shape`]s, so a frame stores only a shape and the leaves that differ from the shape's.
//!
//! Invariant: `render(frame, events)` is the record's text, byte for byte, for unchanged events;
//! when a bound field changed, exactly that slot shows the new value.
//!
//! Invariant: no bound value is stored twice, so a frame is what is left over, not a copy.

mod build;
mod render;
mod respell;
mod shape;
mod store;

pub use build::{Marks, Shapes};
pub use render::{Missing, Text, render};
pub use respell::Respelled;
pub use shape::{Codec, Frame, Instance, Leaf, Shape, Slot};
pub use store::{Numbers, ShapeReader, ShapeWriter, read_value, write_value};
