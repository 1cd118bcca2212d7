//! A thread as one agent sees it.
