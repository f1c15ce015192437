//! A directory of rank files: what is in it, and where its records stand.

pub(crate) mod error;
pub(crate) mod files;
pub(crate) mod manifest;
pub(crate) mod place;
pub(crate) mod rank_file;
pub(crate) mod records;
pub(crate) mod ring_window;
pub(crate) mod run;
pub(crate) mod said;
