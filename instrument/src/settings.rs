//! What the user asked for, passed from collbench-record to the preloaded library.

mod environment;
mod exchange;
mod layers;

pub use environment::{
    Form, Settings, SettingsError, clock_of_name, environment_of, name_of_clock,
};
pub use exchange::{ExchangeSettings, Scheme};
pub use layers::{Layers, LayersError};
