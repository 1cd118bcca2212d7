//! `ai-sdk-stream`: what only this dialect promises.
