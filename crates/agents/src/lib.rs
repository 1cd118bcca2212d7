//! Agents at work in threads: models, tools, the turn loop, the router.

pub mod model;
pub mod turn;
