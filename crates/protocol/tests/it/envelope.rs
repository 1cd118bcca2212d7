//! `envelope`: what only this dialect promises.
