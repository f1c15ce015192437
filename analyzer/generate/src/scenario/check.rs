//! Checks a scenario file.

use std::collections::BTreeMap;

use toml::Spanned;

use super::written::{Placement, Written};
use super::{Latency, Scenario, ScenarioError};
use crate::messages::Network;
use crate::summary::TruthDetail;
use file::{Check, MAX_NS, line_of};
use steps::{completes_elsewhere, has_gaps, has_messages};

mod delays;
mod faults;
mod file;
mod hosts;
mod messages;
mod own_trees;
mod steps;

/// The version of scenario files that this crate reads.
const SCHEMA: u64 = 1;

impl Scenario {
    /// Reads and checks a scenario file.
    ///
    /// # Errors
    /// [`ScenarioError`] for the first error; valid files are described in the documentation of
    /// this crate.
    pub(crate) fn parse(text: &str) -> Result<Self, ScenarioError> {
        let written: Written = toml::from_str(text).map_err(|error| ScenarioError {
            line: line_of(text, error.span().unwrap_or(0..0)),
            found: error.message().trim().replace('\n', ", "),
            expected: "the fields of a scenario, version 1 (see collbench-generate --help)".into(),
        })?;
        Check {
            text,
            n_ranks: 0,
            hosts: Vec::new(),
            host_of: Vec::new(),
            latency: Latency {
                base_ns: 2_000,
                departure_ns: 0,
                across_hosts_ns: 0,
                jitter: None,
            },
            own_trees: Vec::new(),
            call_sites: Vec::new(),
            n_calls: 0,
            n_delays: 0,
        }
        .scenario(written)
    }
}

impl Check<'_> {
    fn scenario(mut self, written: Written) -> Result<Scenario, ScenarioError> {
        if *written.schema.get_ref() != SCHEMA {
            let found = format!("schema = {}", written.schema.get_ref());
            return self.wrong(written.schema.span(), found, format!("schema = {SCHEMA}"));
        }
        let grid_ns = self.number("grid_ns", written.grid_ns, 1, 1..=1_000_000_000)?;
        // A host that has been up for a month shows the effect of large numbers on small
        // differences.
        let uptime_ns = self.number(
            "uptime_ns",
            written.uptime_ns,
            2_592_000_000_000_000,
            0..=MAX_NS,
        )?;
        let started_unix_ns = self.number(
            "started_unix_ns",
            written.started_unix_ns,
            1_700_000_000_000_000_000,
            0..=1 << 62,
        )?;
        let chunk_calls = self.number("chunk_calls", written.chunk_calls, 2_000, 1..=1 << 20)?;
        let mut keep_chunks = Vec::new();
        for number in written.keep_chunks {
            let number = self.number("keep_chunks", Some(number), 1, 1..=1 << 20)?;
            keep_chunks.push(number as usize);
        }
        let init_ns = self.number("init_ns", written.init_ns, 1_000_000, 0..=MAX_NS)?;
        let finalize_ns = self.number("finalize_ns", written.finalize_ns, 1_000_000, 0..=MAX_NS)?;
        self.read_hosts(
            written.hosts,
            written.placement.unwrap_or(Placement::Block),
            uptime_ns,
            started_unix_ns,
        )?;
        let exchanges = match written.exchanges {
            None => None,
            Some(exchanges) => Some(self.read_exchanges(exchanges)?),
        };
        if let Some(latency) = written.latency {
            self.latency = self.read_latency(latency)?;
        }
        let network = match written.network {
            None => Network::default(),
            Some(network) => self.read_network(network)?,
        };
        let threads = self.read_threads(written.threads)?;
        let trees = self.read_own_trees(written.trees)?;
        self.own_trees = trees.iter().map(|tree| tree.name.clone()).collect();
        let program = self.read_steps(written.program)?;
        let has_messages = has_messages(&program);
        let has_gaps = has_gaps(&program);
        let has_leaves = trees.iter().any(|tree| tree.threads > 1);
        let has_threads = !threads.is_empty() || completes_elsewhere(&program) || has_leaves;
        let faults = self.read_faults(written.faults, has_threads)?;
        Ok(Scenario {
            name: written.name,
            seed: written.seed.unwrap_or(1),
            grid_ns,
            started_unix_ns,
            chunk_calls: chunk_calls as usize,
            keep_chunks,
            truth: written.truth.unwrap_or(TruthDetail::Full),
            init_ns,
            finalize_ns,
            hosts: self.hosts,
            exchanges,
            host_of: self.host_of,
            threads,
            has_threads,
            network,
            has_messages,
            has_gaps,
            trees,
            call_sites: self.call_sites,
            program,
            faults,
        })
    }

    fn read_threads(
        &self,
        written: BTreeMap<String, Spanned<u32>>,
    ) -> Result<BTreeMap<String, u32>, ScenarioError> {
        let mut threads = BTreeMap::new();
        for (name, thread) in written {
            if *thread.get_ref() > 1023 {
                let found = format!("thread {}", thread.get_ref());
                return self.wrong(thread.span(), found, "0 to 1023");
            }
            threads.insert(name, thread.into_inner());
        }
        Ok(threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const HEAD: &str = "schema = 1\n[[hosts]]\nname = \"a\"\nranks = 4\n";

    pub(super) fn error(rest: &str) -> ScenarioError {
        Scenario::parse(&format!("{HEAD}{rest}")).unwrap_err()
    }

    #[test]
    fn a_wrong_line_is_named_with_what_was_expected() {
        let wrong = error("[[program]]\noperation = \"MPI_Barier\"\n");
        assert_eq!(wrong.line, 6);
        assert!(wrong.found.contains("MPI_Barier"), "{wrong}");
        assert!(wrong.expected.contains("MPI_Barrier, "), "{wrong}");
        let wrong = error("[[program]]\noperation = \"MPI_Bcast\"\n\nroot = 4\n");
        assert_eq!((wrong.line, wrong.found.as_str()), (8, "root = 4"));
        let wrong = error("[[program]]\noperation = \"MPI_Bcast\"\nroots = 1\n");
        assert_eq!(wrong.line, 7);
        assert!(wrong.found.contains("roots"), "{wrong}");
        let wrong = error("[[program]]\nwork = [\n  { constant_ns = 5 },\n  { share = 0.5 },\n]\n");
        assert_eq!(wrong.line, 8);
        let wrong = error("[[program]]\noperation = \"MPI_Bcast\"\nbytes = \"many\"\n");
        assert_eq!(wrong.line, 7);
        assert!(wrong.found.contains("a number of bytes"), "{wrong}");
    }

    #[test]
    fn another_schema_is_refused() {
        let wrong = Scenario::parse("schema = 2\nhosts = []\nprogram = []\n").unwrap_err();
        assert_eq!(wrong.to_string(), "line 1: schema = 2; expected schema = 1");
    }

    #[test]
    fn faults_of_ranks_that_do_not_exist_are_refused() {
        let program = "[[program]]\noperation = \"MPI_Barrier\"\n";
        let wrong = error(&format!("{program}[[faults]]\nrank = 4\nmissing = true\n"));
        assert_eq!((wrong.line, wrong.expected.as_str()), (7, "0 to 3"));
    }
}
