//! `looopy`: what only this dialect promises.
