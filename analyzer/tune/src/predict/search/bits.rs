//! Which bits the results of reductions that round have.
//!
//! Which operator and type a reduction had is not recorded: each counts as one that rounds.

use collbench_formats::Operation;
use collbench_formats::tree::{Level, Place, Wrappers};
use collbench_schedules::open_mpi::Named;
use collbench_schedules::{Grouping, Numerics, mpich, open_mpi, own_trees};

use super::super::candidates::{self, Candidate};
use super::super::library::KnownLibrary;
use super::super::own_trees as trees;
use super::super::recorded::Class;
use super::objective::{Objective, OfClass, Trial};

/// Which results may have other bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Results {
    /// Those of what ran, as long as they are the same on all ranks and in each run.
    #[default]
    Reproducible,
    /// None.
    Same,
    /// Any.
    Any,
}

/// What is the same to the bit with a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bits {
    /// On all ranks, from run to run, for other mappings, and for other numbers of ranks.
    pub numerics: Numerics,
    /// As what ran: `None` where that is not known.
    pub same_as_ran: Option<bool>,
}

/// Whether an operation combines what processes contribute.
pub(super) fn is_reduction(operation: Operation) -> bool {
    use Operation as Op;
    matches!(
        operation,
        Op::Allreduce
            | Op::Reduce
            | Op::ReduceScatter
            | Op::ReduceScatterBlock
            | Op::Scan
            | Op::Exscan
    )
}

/// An algorithm, and those of which it consists.
fn named(candidate: &Candidate) -> Vec<Named<'_>> {
    let named = candidate.named.iter();
    let named = named.map(|(name, parameters)| Named {
        name,
        parameters: *parameters,
    });
    named.collect()
}

/// The grouping of an algorithm.
fn of_algorithm(library: KnownLibrary, class: &Class, candidate: &Candidate) -> Option<Grouping> {
    let (named, call) = (named(candidate), candidates::call(class));
    match library {
        KnownLibrary::OpenMpi(_) => open_mpi::grouping(&named, &call),
        KnownLibrary::Mpich(_) => {
            let first = named.first()?;
            mpich::grouping(first.name, &call, &first.parameters)
        }
    }
}

fn numerics_of_algorithm(library: KnownLibrary, class: &Class, candidate: &Candidate) -> Numerics {
    let (named, call) = (named(candidate), candidates::call(class));
    match (library, &named[..]) {
        (_, []) => Numerics::default(),
        (KnownLibrary::OpenMpi(_), named) => open_mpi::numerics(named, &call),
        (KnownLibrary::Mpich(_), [first, ..]) => {
            mpich::numerics(first.name, &call, &first.parameters)
        }
    }
}

/// Other mappings of the ranks to the same hosts: host by host and site by site; and so that each rank is at another site than
/// the one before, or on another host if there is only one site.
fn mapped(places: &[Place]) -> [Vec<Place>; 2] {
    let mut blocks = places.to_vec();
    blocks.sort_by_key(|place| (place.site, place.switch, place.host));
    let across = Level::across(places);
    let mut left: Vec<Place> = blocks.iter().rev().copied().collect();
    let mut in_turns: Vec<Place> = Vec::with_capacity(blocks.len());
    while let Some(last) = left.last() {
        let before = in_turns.last().and_then(|of| of.at(across));
        let is_other = |place: &Place| place.at(across) != before;
        let at = left.iter().rposition(is_other);
        in_turns.push(match at {
            Some(at) => left.remove(at),
            None => *last,
        });
        if at.is_none() {
            left.pop();
        }
    }
    [blocks, in_turns]
}

/// The places of so many ranks: the same as long as there are, further ones on the same hosts.
fn extended(places: &[Place], n: usize) -> Vec<Place> {
    places.iter().copied().cycle().take(n).collect()
}

impl OfClass<'_, '_> {
    /// In which grouping a trial combines; `None` where that is not known.
    pub(super) fn grouping(&self, trial: &Trial) -> Option<Grouping> {
        let over = |tree: &Wrappers| {
            let call = trees::call(self.class)?;
            own_trees::grouping(tree, &call).ok().flatten()
        };
        match (trial, &self.class.tree) {
            (Trial::Tree(form), _) => over(&self.tree(form)?),
            (Trial::Ran, Some(tree)) => over(&tree.wrappers),
            _ => of_algorithm(self.model.library, self.class, &self.candidate(trial)?),
        }
    }

    fn numerics(&self, trial: &Trial) -> Option<Numerics> {
        let Trial::Tree(form) = trial else {
            let candidate = self.candidate(trial)?;
            return Some(numerics_of_algorithm(
                self.model.library,
                self.class,
                &candidate,
            ));
        };
        let tree = self.tree(form)?;
        let call = trees::call(self.class)?;
        let others = mapped(&self.places);
        let others = others.iter().map(|places| self.tree_at(form, places));
        let others: Option<Vec<Wrappers>> = others.collect();
        let among = |n: usize| self.tree_at(form, &extended(&self.places, n));
        own_trees::numerics(&tree, &call, &others.unwrap_or_default(), among).ok()
    }
}

impl Objective<'_, '_> {
    /// Whether the results that a trial gives may be taken.
    pub(super) fn is_allowed(&self, trial: &Trial, results: Results) -> bool {
        if !is_reduction(self.classes[0].class.operation) || results == Results::Any {
            return true;
        }
        self.classes.iter().zip(&self.ran).all(|(of, ran)| {
            let grouping = of.grouping(trial);
            match results {
                Results::Same => ran
                    .as_ref()
                    .zip(grouping)
                    .is_some_and(|(ran, grouping)| grouping.has_same_bits_as(ran)),
                // What arrives first decides in no algorithm whose grouping is known.
                _ => grouping.is_some_and(|of| of.is_same_on_all_ranks()),
            }
        })
    }

    /// What is the same to the bit with a trial, in the first class; `None` where nothing is combined.
    pub(super) fn bits(&self, trial: &Trial) -> Option<Bits> {
        let of = &self.classes[0];
        if !is_reduction(of.class.operation) {
            return None;
        }
        let both = of.grouping(trial).zip(self.ran[0].as_ref());
        Some(Bits {
            numerics: of.numerics(trial).unwrap_or_default(),
            same_as_ran: both.map(|(grouping, ran)| grouping.has_same_bits_as(ran)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_mappings_are_site_by_site_and_in_turns() {
        let place = |(host, site): (u32, u32)| Place {
            host,
            site: Some(site),
            ..Place::default()
        };
        let places = [(0, 0), (1, 1), (2, 1), (3, 0)].map(place);
        let [blocks, in_turns] = mapped(&places);
        let hosts = |of: &[Place]| of.iter().map(|of| of.host).collect::<Vec<_>>();
        assert_eq!(hosts(&blocks), [0, 3, 1, 2]);
        assert_eq!(hosts(&in_turns), [0, 1, 3, 2]);
        let on_one_site = [0, 0, 1, 1].map(|host| Place {
            host,
            ..Place::default()
        });
        assert_eq!(hosts(&mapped(&on_one_site)[1]), [0, 1, 0, 1]);
    }
}
