//! End-to-end tests; see the test targets.
