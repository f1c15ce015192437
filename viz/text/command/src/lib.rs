//! What every command prints about itself, for its installation: a completion script, and man pages.
#![forbid(unsafe_code)]

mod man_page;

use std::io;

use clap::CommandFactory;
use clap_complete::Shell;

/// The options that ask for it.
#[derive(Debug, clap::Args)]
pub struct Installation {
    /// Print a completion script for this shell and exit
    #[arg(long, value_name = "SHELL", exclusive = true)]
    completions: Option<Shell>,

    /// Print the man page and exit
    #[arg(long, exclusive = true)]
    man: bool,
}

impl Installation {
    /// The script, or the page of the command and those of its subcommands; `None` if neither is asked for.
    ///
    /// # Errors
    /// If a page is not UTF-8.
    pub fn asked_for<Options: CommandFactory>(&self) -> io::Result<Option<Vec<u8>>> {
        let mut command = Options::command();
        if let Some(shell) = self.completions {
            let (name, mut script) = (command.get_name().to_owned(), Vec::new());
            clap_complete::generate(shell, &mut command, name, &mut script);
            return Ok(Some(script));
        }
        if !self.man {
            return Ok(None);
        }
        command.build();
        let subcommands: Vec<clap::Command> = command
            .get_subcommands()
            .filter(|subcommand| subcommand.get_name() != "help")
            .cloned()
            .collect();
        let pages = std::iter::once(command).chain(subcommands);
        let pages: String = pages.map(man_page::of).collect::<io::Result<_>>()?;
        Ok(Some(pages.into_bytes()))
    }
}
