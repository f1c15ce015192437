//! What the commands that compare all calls with schedules, or groupings, have in common.

use std::process::ExitCode;

use super::Schedules;

/// What a command was asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The name of a library.
    pub library: String,
    /// Sizes of communicators.
    pub processes: Vec<usize>,
    /// Payloads, bytes.
    pub lengths: Vec<u64>,
    /// Numbers of the algorithms of Open MPI.
    pub algorithms: Vec<u32>,
    /// How often.
    pub n_runs: u64,
}

impl Asked {
    /// From the command line; where it does not say something, as in `self`.
    ///
    /// # Errors
    /// The status with which to end: after printing `help`, or saying what is wrong.
    pub fn or_by_words(mut self, name: &str, help: &str) -> Result<Self, ExitCode> {
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            if word == "--help" {
                print!("{help}");
                return Err(ExitCode::SUCCESS);
            }
            let value = words.next().unwrap_or_default();
            let numbers = value.split(',').map(str::parse);
            // Only what the help names is an option.
            let is_known = help.contains(&format!("[{word} "));
            match (&*word, numbers.collect::<Result<Vec<u64>, _>>()) {
                ("--library", _) => self.library = value,
                ("--processes", Ok(of)) => {
                    self.processes = of.into_iter().map(|n| n as usize).collect();
                }
                ("--bytes", Ok(of)) => self.lengths = of,
                ("--algorithm", Ok(of)) => {
                    self.algorithms = of.into_iter().map(|n| n as u32).collect();
                }
                ("--runs", Ok(of)) if is_known => self.n_runs = of[0],
                _ => {
                    eprintln!("{name}: {word} {value}");
                    return Err(ExitCode::from(2));
                }
            }
        }
        Ok(self)
    }
}

impl Schedules {
    /// Prints what was compared, and ends with status 1 where something differs.
    #[must_use]
    pub fn report(&self) -> ExitCode {
        for difference in &self.differences {
            let short: String = difference.chars().take(600).collect();
            println!("{short}");
        }
        for (algorithm, n) in &self.equal {
            println!("{n:6} {algorithm}");
        }
        println!(
            "{} calls, {} refused by the library, {} that cannot be compared, {} differences",
            self.equal.values().sum::<u64>(),
            self.refused,
            self.not_comparable,
            self.differences.len()
        );
        ExitCode::from(u8::from(!self.differences.is_empty()))
    }
}
