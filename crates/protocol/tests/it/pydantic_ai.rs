//! `pydantic-ai`: what only this dialect promises.
