//! The fields of messages, parts and content items, 2.x and 1.x together.

use crate::journal::kind::Type::{self, Any, Array, Bool, Integer, Number, Object, OneOf, Text};

/// A field that the package reads.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) ty: Type,
    pub(super) need: Need,
}

/// Whether a field must be there, and whether it may be null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// There and not null.
    Must,
    /// There, null or not.
    MustOrNull,
    /// Not null if it is there.
    May,
    /// As one likes.
    MayOrNull,
}

const fn f(name: &'static str, ty: Type, need: Need) -> Field {
    Field { name, ty, need }
}
const fn must(name: &'static str, ty: Type) -> Field {
    f(name, ty, Need::Must)
}
const fn may(name: &'static str, ty: Type) -> Field {
    f(name, ty, Need::May)
}
const fn opt(name: &'static str, ty: Type) -> Field {
    f(name, ty, Need::MayOrNull)
}

const OUTCOME: Type = OneOf(&["success", "failed", "denied", "interrupted", "retried"]);

/// A request.
pub(super) const REQUEST: &[Field] = &[
    must("parts", Array),
    opt("timestamp", Any),
    opt("instructions", Text),
    opt("run_id", Text),
    opt("conversation_id", Text),
    opt("metadata", Object),
    may("state", OneOf(&["complete", "interrupted"])),
];

/// A response.
pub(super) const RESPONSE: &[Field] = &[
    must("parts", Array),
    may("usage", Object),
    opt("model_name", Text),
    opt("model_id", Text),
    may("timestamp", Any),
    opt("provider_name", Text),
    opt("provider_url", Text),
    opt("canonical_system", Text),
    opt("provider_details", Object),
    opt("provider_response_id", Text),
    opt("finish_reason", OneOf(&["stop", "length", "content_filter", "tool_call", "error"])),
    opt("run_id", Text),
    opt("conversation_id", Text),
    opt("metadata", Object),
    opt("workspace_ref", Object),
    opt("history_digest", Text),
    opt("failed_attempts", Array),
    may("state", OneOf(&["complete", "incomplete", "suspended", "interrupted"])),
];

/// A response's usage.
pub(super) const USAGE: &[Field] = &[
    may("input_tokens", Integer),
    may("cache_write_tokens", Integer),
    may("cache_write_1h_tokens", Integer),
    may("cache_read_tokens", Integer),
    may("output_tokens", Integer),
    may("unmeasured_requests", Integer),
    may("output_reasoning_tokens", Integer),
    may("input_audio_tokens", Integer),
    may("cache_audio_read_tokens", Integer),
    may("output_audio_tokens", Integer),
    may("audio_seconds", Number),
    opt("details", Object),
];

const TOOL_CALL: &[Field] = &[
    must("tool_name", Text),
    may("tool_call_id", Text),
    opt("tool_kind", Text),
    opt("id", Text),
    opt("provider_name", Text),
    opt("provider_details", Object),
];
const COMPACTION: &[Field] = &[
    opt("content", Text),
    opt("id", Text),
    opt("provider_name", Text),
    opt("provider_details", Object),
    opt("metadata", Object),
];
const SPEECH: &[Field] = &[
    must("speaker", OneOf(&["user", "assistant"])),
    opt("transcript", Text),
    opt("audio", Object),
    opt("interrupted_at_ms", Integer),
    opt("timestamps", Array),
    opt("id", Text),
    opt("provider_name", Text),
    opt("provider_details", Object),
];

/// The parts of a request, by kind.
pub(super) const REQUEST_PARTS: &[(&str, &[Field])] = &[
    (
        "system-prompt",
        &[
            must("content", Text),
            may("timestamp", Any),
            opt("dynamic_ref", Text),
            opt("context_id", Text),
            may("scope", OneOf(&["conversation", "request"])),
            opt("metadata", Object),
        ],
    ),
    ("user-prompt", &[must("content", Any), may("timestamp", Any)]),
    (
        "tool-return",
        &[
            must("tool_name", Text),
            f("content", Any, Need::MustOrNull),
            may("tool_call_id", Text),
            opt("tool_kind", Text),
            may("timestamp", Any),
            may("outcome", OUTCOME),
            opt("retry", Object),
            may("content_file_digests", Array),
        ],
    ),
    (
        "retry-prompt",
        &[
            must("content", Any),
            opt("tool_name", Text),
            may("tool_call_id", Text),
            may("timestamp", Any),
        ],
    ),
    ("retry-feedback", &[must("content", Any), must("retry", Object), may("timestamp", Any)]),
    ("speech", SPEECH),
    ("tool-availability-delta", &[may("tools_added", Array), opt("tool_call_id", Text)]),
    ("capability-load-delta", &[may("loaded", Array), opt("tool_call_id", Text)]),
    ("model-settings-delta", &[must("settings", Object), may("top_level", Bool)]),
    (
        "instruction-delta",
        &[
            f("id", Any, Need::MustOrNull),
            f("content", Text, Need::MustOrNull),
            opt("base_hash", Text),
        ],
    ),
    ("instruction-baseline", &[must("instructions", Array)]),
    ("compaction", COMPACTION),
];

/// The parts of a response, by kind.
pub(super) const RESPONSE_PARTS: &[(&str, &[Field])] = &[
    (
        "text",
        &[
            must("content", Text),
            opt("id", Text),
            opt("provider_name", Text),
            opt("provider_details", Object),
            opt("citations", Array),
        ],
    ),
    (
        "thinking",
        &[
            must("content", Text),
            opt("id", Text),
            opt("signature", Text),
            opt("provider_name", Text),
            opt("provider_details", Object),
        ],
    ),
    ("tool-call", TOOL_CALL),
    ("builtin-tool-call", TOOL_CALL),
    (
        "builtin-tool-return",
        &[
            must("tool_name", Text),
            f("content", Any, Need::MustOrNull),
            may("tool_call_id", Text),
            opt("tool_kind", Text),
            may("timestamp", Any),
            may("outcome", OUTCOME),
            opt("provider_name", Text),
            opt("provider_details", Object),
            may("content_file_digests", Array),
        ],
    ),
    (
        "file",
        &[
            must("content", Object),
            opt("id", Text),
            opt("provider_name", Text),
            opt("provider_details", Object),
        ],
    ),
    ("compaction", COMPACTION),
    ("speech", SPEECH),
];

const URL: &[Field] = &[
    must("url", Text),
    opt("vendor_metadata", Object),
    opt("media_type", Text),
    opt("identifier", Text),
];

/// What a user prompt may hold besides text, by kind.
pub(super) const CONTENT: &[(&str, &[Field])] = &[
    ("text-content", &[must("content", Text)]),
    ("structured-content", &[f("value", Any, Need::MustOrNull), may("content", Text)]),
    ("image-url", URL),
    ("audio-url", URL),
    ("video-url", URL),
    ("document-url", URL),
    ("binary", BINARY),
    (
        "uploaded-file",
        &[
            must("file_id", Text),
            must("provider_name", Text),
            opt("vendor_metadata", Object),
            opt("media_type", Text),
            opt("identifier", Text),
        ],
    ),
    ("cache-point", &[may("ttl", OneOf(&["5m", "1h"]))]),
];

/// Bytes inside a message.
pub(super) const BINARY: &[Field] = &[
    must("data", Text),
    must("media_type", Text),
    opt("vendor_metadata", Object),
    opt("identifier", Text),
];

/// An error in feedback to the model.
pub(super) const ERROR: &[Field] = &[
    must("type", Text),
    must("loc", Array),
    must("msg", Text),
    f("input", Any, Need::MustOrNull),
    may("ctx", Object),
    may("url", Text),
];

/// Why a tool was to try again.
pub(super) const TOOL_RETRY: &[Field] = &[
    must("cause", OneOf(&["validation_error", "model_retry", "unknown_tool", "unavailable_tool"])),
    opt("attempt", Integer),
    opt("max_retries", Integer),
];

/// Why the model was to try again.
pub(super) const FEEDBACK_RETRY: &[Field] = &[
    must("cause", OneOf(&["validation_error", "no_output", "model_retry"])),
    opt("attempt", Integer),
    opt("max_retries", Integer),
];

/// A model call that failed before the one that answered.
pub(super) const ATTEMPT: &[Field] = &[
    must("model_name", Text),
    opt("provider_name", Text),
    must("outcome", OneOf(&["error", "rejected"])),
    opt("error", Text),
    must("timestamp", Any),
    must("duration", Any),
    opt("usage", Object),
];

/// The workspace a response was made in.
pub(super) const WORKSPACE: &[Field] = &[must("provider", Text), must("id", Text)];

/// What a stretch of text rests on.
pub(super) const CITATION: &[Field] = &[must("sources", Array), opt("anchor", Object)];

/// Where a citation points, by kind.
pub(super) const SOURCES: &[(&str, &[Field])] = &[
    ("web", &[must("url", Text), opt("title", Text), may("excerpts", Array)]),
    ("document", &[opt("document_id", Text), opt("title", Text), may("excerpts", Array)]),
];

/// When a word was spoken.
pub(super) const SPOKEN: &[Field] = &[
    must("text", Text),
    must("start_ms", Integer),
    must("duration_ms", Integer),
    may("granularity", OneOf(&["word", "segment"])),
];

/// Instructions of a baseline, by kind.
pub(super) const INSTRUCTIONS: &[(&str, &[Field])] = &[
    (
        "instruction",
        &[
            must("content", Text),
            may("dynamic", Bool),
            may("on_change", OneOf(&["rewrite", "append"])),
            opt("name", Text),
        ],
    ),
    ("instruction-digest", &[may("dynamic", Bool), must("content_hash", Text)]),
];

/// What a recorded change of model settings may hold.
pub(super) const SETTINGS: &[Field] =
    &[opt("thinking", OneOf(&["minimal", "low", "medium", "high", "xhigh", "max"]))];

/// What tools of the package itself return, by `tool_kind`.
pub(super) const OWN_RETURNS: &[(&str, &[Field])] = &[
    ("tool-search", &[must("discovered_tools", Array), may("message", Text)]),
    ("capability-load", &[may("message", Text), may("instructions", Text)]),
];
