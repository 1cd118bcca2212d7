//! Every agent-conversation protocol, read and written without loss.
