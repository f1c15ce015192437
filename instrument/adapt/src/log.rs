//! Decisions as lines of text.
