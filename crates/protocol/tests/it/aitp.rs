//! `aitp`: what only this dialect promises.
