//! `openai-threads`: what only this dialect promises.
