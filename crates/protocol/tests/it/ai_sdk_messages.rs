//! `ai-sdk-messages`: what only this dialect promises.
