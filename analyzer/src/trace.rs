//! A directory of rank files: what is in it, and where its records stand.

pub(crate) mod algorithm_names;
pub(crate) mod call_sites;
pub(crate) mod error;
pub(crate) mod files;
pub(crate) mod manifest;
pub(crate) mod rank_file;
pub(crate) mod record_at;
pub(crate) mod records;
pub(crate) mod ring_window;
pub(crate) mod run;
