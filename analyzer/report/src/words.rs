//! Results to sentences, for the screen, the page and pictures alike.

pub(crate) mod advice;
pub(crate) mod comparison;
mod facts;
pub(crate) mod hang;
pub(crate) mod inside;
mod links;
#[cfg(test)]
mod nothing;
pub(crate) mod overview;
pub(crate) mod remarks;
pub(crate) mod why_late;

pub(crate) use facts::*;
