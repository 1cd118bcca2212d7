//! Writing.
