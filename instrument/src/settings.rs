//! What the user asked for, passed from collbench-record to the preloaded library.

mod environment;
mod exchange;

pub use environment::{
    Form, Layers, Settings, SettingsError, clock_of_name, environment_of, name_of_clock,
};
pub use exchange::{ExchangeSettings, Scheme};
