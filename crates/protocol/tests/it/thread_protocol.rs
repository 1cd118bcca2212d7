//! `thread-protocol`: what only this dialect promises.
