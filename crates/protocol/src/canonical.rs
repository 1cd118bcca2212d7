//! Canonical JSON (RFC 8785) and digests.
