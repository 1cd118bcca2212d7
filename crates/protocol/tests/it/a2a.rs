//! `a2a`: what only this dialect promises.
