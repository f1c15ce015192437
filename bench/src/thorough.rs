//! The switch between a first answer and a thorough one.

use clap::Args;

/// Without it a measurement answers its main question within two minutes on two ranks; with it other
/// options have other defaults, which their help names.
#[derive(Debug, Args)]
pub(crate) struct Thorough {
    /// Measure longer, for narrower errors and finer grids: options have the defaults that they name
    /// for it
    #[arg(id = "thorough", long = "thorough")]
    pub(crate) is_asked: bool,
}
