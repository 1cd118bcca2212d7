//! Tests of the workspace as a whole.

mod crate_directions;
