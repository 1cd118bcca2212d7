//! `agent-api`: what only this dialect promises.
