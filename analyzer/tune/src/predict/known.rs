//! What is known of the network between the processes of a class of calls.

use std::collections::BTreeMap;

use collbench_schedules::own_trees::InMemory;
use collbench_schedules::{Evaluator, Link, Network, Way};

use super::candidates::Candidate;
use super::draws::Draws;
use super::figure::Figure;
use super::memory::Memory;
use super::parameters::{Deviations, Parameters, UnknownHost};
use super::recorded::{Class, Instance, Recorded};

/// A schedule may have messages so many times as long as those that were recorded, and in any case such short ones, bytes.
const LONGER: u64 = 2;
const SHORTEST: u64 = 64;

/// What messages were measured, and what meetings in the memory of hosts.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) parameters: Parameters,
    pub(super) memory: Memory,
}

/// The network between the processes of a class of calls.
#[derive(Debug, Clone)]
pub(super) struct Known<'m> {
    memory: &'m Memory,
    network: Network,
    /// By class of links by how much messages deviate, and how long the longest one was, bytes.
    classes: Vec<(&'m Deviations, u64)>,
    is_one_host: bool,
}

/// A candidate, and the network for it.
#[derive(Debug, Clone)]
pub(super) struct Modelled<'m> {
    pub(super) candidate: Candidate,
    network: Network,
    /// By class of links by how much messages deviate.
    deviations: Vec<&'m Deviations>,
}

/// Why a schedule cannot be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unknown {
    /// Of its messages too little is known.
    #[error(
        "of its messages, between these hosts or as long, too few were recorded; record more calls, or longer ones"
    )]
    Messages,
    /// Values meet in the memory of a host, and it is not known what that costs.
    #[error(
        "{0} ranks of a host meet in its memory, and what that costs was not measured for such calls; record them over any \
         tree that joins as many ranks on a host, and give that run as --memory TRACE"
    )]
    Memory(usize),
}

impl Measured {
    /// Between the processes of a class.
    ///
    /// # Errors
    /// [`UnknownHost`] if it is not known where a process was.
    pub(super) fn between(
        &self,
        recorded: &Recorded,
        class: &Class,
    ) -> Result<Known<'_>, UnknownHost> {
        let (network, hosts) = self.parameters.network(recorded, class)?;
        let classes = self.parameters.classes.iter();
        Ok(Known {
            memory: &self.memory,
            network,
            classes: classes
                .map(|class| (&class.deviations, class.longest_bytes))
                .collect(),
            is_one_host: hosts.iter().all(|host| *host == hosts[0]),
        })
    }
}

impl<'m> Known<'m> {
    /// The link from one process to another; `None` if too little is known of it.
    pub(super) fn link(&self, [from, to]: [usize; 2]) -> Option<Link> {
        let class = self.network.way(from, to).class;
        self.network.classes.get(class).copied()
    }

    /// A candidate for a class, with the network for it.
    ///
    /// # Errors
    /// [`Unknown`] if too little is known of its messages.
    pub(super) fn modelled(
        &self,
        class: &Class,
        candidate: Candidate,
    ) -> Result<Modelled<'m>, Unknown> {
        let mut network = self.network.clone();
        let mut classes = self.classes.clone();
        if !candidate.in_memory.is_empty() {
            let mut numbers: BTreeMap<InMemory, usize> = BTreeMap::new();
            for &how in candidate.in_memory.values() {
                let link = self.memory.link(class, self.is_one_host, how);
                let (link, deviations) = link.ok_or(Unknown::Memory(how.contributors))?;
                numbers.entry(how).or_insert_with(|| {
                    network.classes.push(link);
                    classes.push((deviations, u64::MAX));
                    network.classes.len() - 1
                });
            }
            network =
                Network::new(
                    network.n_processes(),
                    network.classes,
                    |from, to| match candidate.in_memory.get(&(from, to)) {
                        Some(how) => Way {
                            class: numbers[how],
                            shared: None,
                        },
                        None => self.network.way(from, to),
                    },
                );
        }
        let is_known = |class: usize, bytes: u64| {
            let longest = classes.get(class).map(|(_, longest)| *longest);
            longest.is_some_and(|longest| bytes <= LONGER.saturating_mul(longest).max(SHORTEST))
        };
        let messages = candidate.schedule.messages().unwrap_or_default();
        let mut messages = messages.iter();
        if !messages.all(|of| is_known(network.way(of.from, of.to).class, of.bytes)) {
            return Err(Unknown::Messages);
        }
        Ok(Modelled {
            candidate,
            network,
            deviations: classes.into_iter().map(|(of, _)| of).collect(),
        })
    }
}

impl Modelled<'_> {
    /// Evaluates the schedule again and again; `None` if a message has one end only.
    pub(super) fn evaluator(&self) -> Option<Evaluating<'_>> {
        Some(Evaluating {
            evaluator: Evaluator::new(&self.candidate.schedule).ok()?,
            of: self,
        })
    }
}

/// A schedule that is evaluated.
pub(super) struct Evaluating<'e> {
    evaluator: Evaluator<'e>,
    of: &'e Modelled<'e>,
}

impl<'e> Evaluating<'e> {
    /// Deviations of messages that some numbers draw, on links that `link` draws; without it, on those as their parameters are.
    pub(super) fn draws(&self, numbers: &[u64], link: Option<u64>) -> Draws<'e> {
        Draws::new(&self.of.deviations, numbers, link)
    }

    /// When each process leaves, ns, if it enters at such a time, ns, with deviations that are drawn.
    pub(super) fn leaves_ns(&mut self, enters_ns: &[f64], draws: &mut Draws<'_>) -> &[f64] {
        self.evaluator
            .leaves_ns(&self.of.network, enters_ns, |class| draws.next(class))
    }

    /// How long an instance takes, ns, with deviations that are drawn.
    pub(super) fn takes_ns(
        &mut self,
        instance: &Instance,
        figure: Figure,
        draws: &mut Draws<'_>,
    ) -> f64 {
        let enters_ns = &instance.enters_ns;
        figure.takes_ns(enters_ns, self.leaves_ns(enters_ns, draws))
    }
}
