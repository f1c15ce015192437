//! From a call of the program to the algorithms that run, one after another.
//!
//! What follows which function of MPICH 4.0: [`Planner::mpir`] `MPIR_Bcast` and its kin, and
//! [`Planner::implementation`] `MPIR_Bcast_impl`, both made by `maint/gen_coll.py`;
//! [`Planner::device`] `MPID_Bcast` of `src/mpid/ch4/src/ch4_coll.h`; [`Planner::composition`]
//! `src/mpid/ch4/src/ch4_coll_impl.h`, built for one network alone (`MPIDI_CH4_DIRECT_NETMOD`), as
//! ch4:ucx is unless it is told otherwise: collectives within a host go over the network's code
//! too, and no file for shared memory is read.

use std::collections::BTreeMap;

use super::call::{Call, Communicator, Layout};
use super::measures::collective;
use super::parts::{Part, RootPlace, hierarchical_parts};
use super::search::{Found, Known, Question, Search};
use super::settings::Settings;
use super::tree::{Selection, What};
use super::version::{Algorithm, Restriction, Version, Violation};
use crate::problem::Position;

/// What chooses algorithms in a run.
#[derive(Debug)]
pub struct Chooser<'a> {
    /// The library.
    pub version: &'static Version,
    /// Its file of algorithms, compiled in or of the run.
    pub mpir: &'a Selection,
    /// Its file of compositions.
    pub ch4: &'a Selection,
    /// Variables of the run.
    pub settings: &'a Settings,
}

/// Something that runs as part of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// 0 for what the call consists of; more inside an algorithm that calls collectives itself.
    pub depth: usize,
    /// The collective, as files call it.
    pub collective: &'static str,
    /// On which processes.
    pub communicator: Communicator,
    /// The algorithm, as files call it.
    pub algorithm: String,
    /// Parameters that its file gives it.
    pub parameters: Vec<String>,
    /// What chose it.
    pub by: By,
    /// The setting that would have chosen otherwise, if its algorithm could do this call.
    pub instead_of: Option<String>,
    /// What chose to run this collective on this communicator, if it is not the call's own.
    pub composed_by: Option<Place>,
}

/// What chose an algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// A place of a file.
    File(Place),
    /// A setting, as `NAME=VALUE`.
    Setting(String),
}

/// A place of a file of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// What the file is for.
    pub kind: super::tree::Kind,
    /// The key of the choice.
    pub at: Position,
}

/// What a call comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What holds of the calls that come to this: tests that are not known of the call.
    pub given: Vec<(String, bool)>,
    /// What runs, in this order.
    pub steps: Vec<Step>,
    /// What then ends the program, or makes its result undefined.
    pub failure: Option<Failure>,
}

/// Why a call does not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Where the file says so, if it does.
    pub at: Option<Place>,
    /// Why.
    pub why: String,
    /// The library checks for it and ends the program; otherwise its result is undefined.
    pub checked: bool,
}

/// No call is followed further than this many tests that are not known of it.
const MAX_QUESTIONS: usize = 6;

impl Chooser<'_> {
    /// What a call on a communicator of `layout` comes to on `rank`: one plan for each combination of
    /// the tests that are not known of it.
    #[must_use]
    pub fn plans(&self, call: &Call, layout: &Layout, rank: u32) -> Vec<Plan> {
        let mut plans = Vec::new();
        let mut open = vec![Answers::default()];
        while let Some(answers) = open.pop() {
            let mut planner = Planner {
                chooser: self,
                layout,
                rank,
                answers,
                steps: Vec::new(),
                composed_by: None,
            };
            match planner.call(call) {
                Ok(()) => plans.push(planner.plan(None)),
                Err(Stop::Failure(failure)) => plans.push(planner.plan(Some(failure))),
                Err(Stop::Question(Question(key))) if planner.answers.0.len() < MAX_QUESTIONS => {
                    for answer in [false, true] {
                        let mut answers = planner.answers.clone();
                        answers.0.insert(key.clone(), answer);
                        open.push(answers);
                    }
                }
                Err(Stop::Question(Question(key))) => {
                    let why =
                        format!("too many tests are not known of this call, `{key}` among them");
                    plans.push(planner.plan(Some(Failure {
                        at: None,
                        why,
                        checked: false,
                    })));
                }
            }
        }
        plans
    }

    /// What the file of algorithms alone makes of a call on the whole of a communicator, as for those
    /// that the library makes when a communicator is created.
    #[must_use]
    pub fn by_file(&self, call: &Call, layout: &Layout) -> Plan {
        let answers = Answers::default();
        let mut planner = Planner {
            chooser: self,
            layout,
            rank: 0,
            answers,
            steps: Vec::new(),
            composed_by: None,
        };
        match planner.automatic(call, layout.whole(), 0, None) {
            Ok(()) => planner.plan(None),
            Err(Stop::Failure(failure)) => planner.plan(Some(failure)),
            Err(Stop::Question(Question(key))) => {
                let why = format!("`{key}` is not known of this call");
                planner.plan(Some(Failure {
                    at: None,
                    why,
                    checked: false,
                }))
            }
        }
    }
}

/// Tests that are not known of a call, with what is assumed of them.
#[derive(Debug, Clone, Default)]
struct Answers(BTreeMap<String, bool>);

impl Known for Answers {
    fn answer(&self, key: &str) -> Option<bool> {
        let given = |key| self.0.get(key).copied();
        // MPI's own operations are commutative.
        let implied = match key {
            "is_op_built_in=yes" => given("is_commutative=yes").filter(|commutative| !commutative),
            "is_commutative=yes" => given("is_op_built_in=yes").filter(|built_in| *built_in),
            _ => None,
        };
        given(key).or(implied)
    }
}

enum Stop {
    Question(Question),
    Failure(Failure),
}

impl From<Question> for Stop {
    fn from(question: Question) -> Self {
        Self::Question(question)
    }
}

struct Planner<'a> {
    chooser: &'a Chooser<'a>,
    layout: &'a Layout,
    rank: u32,
    answers: Answers,
    steps: Vec<Step>,
    composed_by: Option<Place>,
}

/// Bounds the algorithms that run inside one another: a communicator with a hierarchy has parts that
/// have none.
const MAX_DEPTH: usize = 8;

impl Planner<'_> {
    fn plan(self, failure: Option<Failure>) -> Plan {
        Plan {
            given: self.answers.0.into_iter().collect(),
            steps: self.steps,
            failure,
        }
    }

    /// What `MPI_Bcast` and its kin do before `MPIR_Bcast`: `early_return` in
    /// `src/binding/c/coll_api.txt`.
    fn call(&mut self, call: &Call) -> Result<(), Stop> {
        let whole = self.layout.whole();
        let one = whole.size == 1;
        let nothing = call.bytes == 0;
        let name = call.collective.name;
        let blocking = name
            .strip_prefix('i')
            .filter(|name| collective(name).is_some())
            .unwrap_or(name);
        let done = match blocking {
            "allgather" | "alltoall" | "exscan" | "scan" | "gather" | "scatter" => nothing,
            "allgatherv" | "allreduce" | "barrier" | "bcast" | "reduce_scatter" => one,
            "reduce" | "reduce_scatter_block" => one || nothing,
            _ => false,
        };
        if done {
            Ok(())
        } else {
            self.mpir(call, whole, 0)
        }
    }

    fn mpir(&mut self, call: &Call, on: Communicator, depth: usize) -> Result<(), Stop> {
        if depth > MAX_DEPTH {
            let why = "algorithms that call each other without end".to_owned();
            return Err(Stop::Failure(Failure {
                at: None,
                why,
                checked: false,
            }));
        }
        if self.chooser.settings.device(call.collective.name).0 {
            self.device(call, on, depth)
        } else {
            self.implementation(call, on, depth)
        }
    }

    fn search(&self, selection: &Selection, call: &Call, on: Communicator) -> Result<Found, Stop> {
        let search = Search {
            tree: &selection.tree,
            version: self.chooser.version,
            communicator: on,
            known: &self.answers,
        };
        Ok(search.search(call)?)
    }

    fn device(&mut self, call: &Call, on: Communicator, depth: usize) -> Result<(), Stop> {
        let ch4 = self.chooser.ch4;
        // Nonblocking ones are not composed: `MPID_Ibcast` of `src/mpid/ch4/src/ch4_coll.h`.
        if call.collective.name.starts_with('i') {
            return self.implementation(call, on, depth);
        }
        let node = match self.search(ch4, call, on)? {
            Found::Nothing => return self.implementation(call, on, depth),
            Found::Choice(node) => node,
            other => return Err(failed(ch4, other)),
        };
        let at = Place {
            kind: ch4.kind,
            at: ch4.tree.nodes[node].at,
        };
        let What::Composition(name) = &ch4.tree.nodes[node].what else {
            return Err(failed(ch4, Found::Undefined(node)));
        };
        let begin = format!(
            "MPIDI_{}_intra_composition_",
            super::version::capitalized(call.collective.name)
        );
        let Some(letter) = name.strip_prefix(&begin) else {
            let why = format!(
                "MPI_{} has no case for {name}",
                super::version::capitalized(call.collective.name)
            );
            return Err(Stop::Failure(Failure {
                at: Some(at),
                why,
                checked: true,
            }));
        };
        let before = self.composed_by.replace(at);
        self.composition(letter, call, on, depth, at)?;
        self.composed_by = before;
        Ok(())
    }

    /// The parts that a composition consists of on this rank.
    fn composition(
        &mut self,
        letter: &str,
        call: &Call,
        on: Communicator,
        depth: usize,
        at: Place,
    ) -> Result<(), Stop> {
        let parts = match (call.collective.name, letter) {
            ("barrier", "alpha") => {
                vec![Part::Node("barrier"), Part::Roots("barrier"), Part::Release]
            }
            ("bcast", "alpha" | "beta")
            | ("reduce", "alpha" | "beta")
            | ("allreduce" | "scan", "alpha") => self.parts_by_host(call, letter, at, on)?,
            _ => return self.implementation(call, on, depth),
        };
        self.parts(&parts, call, on, |planner, call, on| {
            planner.implementation(call, on, depth)
        })
    }

    fn parts_by_host(
        &self,
        call: &Call,
        letter: &str,
        at: Place,
        on: Communicator,
    ) -> Result<Vec<Part>, Stop> {
        let name = call.collective.name;
        // Without a hierarchy there are neither parts nor tables of ranks.
        if !on.is_parent() && matches!(name, "bcast" | "reduce") {
            let why =
                format!("composition {letter} on a communicator without a hierarchy of hosts");
            return Err(Stop::Failure(Failure {
                at: Some(at),
                why,
                checked: false,
            }));
        }
        Ok(hierarchical_parts(
            name,
            letter,
            self.place_of_root(call.root),
        ))
    }

    fn place_of_root(&self, root: u32) -> RootPlace {
        let beside = self.layout.beside(self.rank);
        match beside.iter().position(|rank| *rank == root) {
            None => RootPlace::Elsewhere,
            Some(0) => RootPlace::First,
            Some(_) => RootPlace::Later,
        }
    }

    /// Runs those of `parts` that this rank takes part in.
    fn parts(
        &mut self,
        parts: &[Part],
        call: &Call,
        on: Communicator,
        mut run: impl FnMut(&mut Self, &Call, Communicator) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if !on.is_parent() {
            return Ok(());
        }
        let beside = self.layout.beside(self.rank);
        let n_beside = u32::try_from(beside.len()).unwrap_or(u32::MAX);
        let is_first = beside.first() == Some(&self.rank);
        let is_on_first_host = self.layout.beside(0).contains(&self.rank);
        for part in parts {
            let (name, on) = match part {
                Part::Node(name) if n_beside > 1 => (*name, Communicator::node(n_beside)),
                Part::Release | Part::Noneed if n_beside > 1 => {
                    ("bcast", Communicator::node(n_beside))
                }
                Part::Prefix if n_beside > 1 && !is_on_first_host => {
                    ("bcast", Communicator::node(n_beside))
                }
                Part::Roots(name) if is_first => {
                    (*name, Communicator::node_roots(self.layout.n_hosts()))
                }
                _ => continue,
            };
            let Some(collective) = collective(name) else {
                continue;
            };
            let mut call = call.of(collective);
            match part {
                Part::Release => (call.bytes, call.count) = (1, Some(1)),
                Part::Noneed => (call.bytes, call.count) = (4, Some(1)),
                _ => {}
            }
            // Roots are told by their place in the hierarchy from here on, which the tests do not ask.
            run(self, &call, on)?;
        }
        Ok(())
    }

    fn implementation(&mut self, call: &Call, on: Communicator, depth: usize) -> Result<(), Stop> {
        let settings = self.chooser.settings;
        let Some((value, setting)) = settings.algorithm(call.collective.name, true) else {
            return self.automatic(call, on, depth, None);
        };
        let Some(algorithm) = self
            .chooser
            .version
            .by_setting(call.collective.name, true, value)
        else {
            let why = format!(
                "{setting}: MPICH {} does not know this algorithm",
                self.chooser.version.number
            );
            return Err(Stop::Failure(Failure {
                at: None,
                why,
                checked: true,
            }));
        };
        match self.violated(algorithm.entry.restrictions, call, on)? {
            None => self.run(
                algorithm,
                Vec::new(),
                By::Setting(setting),
                None,
                call,
                on,
                depth,
            ),
            Some(restriction) if settings.fallback_is_error() => {
                let why = format!("{setting} needs {}", restriction.words());
                Err(Stop::Failure(Failure {
                    at: None,
                    why,
                    checked: true,
                }))
            }
            Some(restriction) => {
                let instead_of = format!("{setting}, which needs {}", restriction.words());
                self.automatic(call, on, depth, Some(instead_of))
            }
        }
    }

    /// `MPIR_Bcast_allcomm_auto` and its kin.
    fn automatic(
        &mut self,
        call: &Call,
        on: Communicator,
        depth: usize,
        instead_of: Option<String>,
    ) -> Result<(), Stop> {
        let mpir = self.chooser.mpir;
        let node = match self.search(mpir, call, on)? {
            Found::Choice(node) => node,
            other => return Err(failed(mpir, other)),
        };
        let at = Place {
            kind: mpir.kind,
            at: mpir.tree.nodes[node].at,
        };
        let What::Algorithm {
            algorithm,
            parameters,
        } = &mpir.tree.nodes[node].what
        else {
            return Err(failed(mpir, Found::Undefined(node)));
        };
        let unknown = self
            .chooser
            .version
            .unknown_when_run
            .contains(&algorithm.name().as_str());
        if algorithm.collective != call.collective.name || unknown {
            let name = super::version::capitalized(call.collective.name);
            let why = format!("MPI_{name} has no case for {}", algorithm.name());
            return Err(Stop::Failure(Failure {
                at: Some(at),
                why,
                checked: true,
            }));
        }
        let undefined = |why| {
            Err(Stop::Failure(Failure {
                at: Some(at),
                why,
                checked: false,
            }))
        };
        if algorithm.on == "inter" {
            return undefined(format!("{} is for intercommunicators", algorithm.name()));
        }
        for &restriction in algorithm.entry.restrictions {
            let violation = algorithm.violation(restriction);
            if violation != Violation::Harmless
                && self.violated(&[restriction], call, on)?.is_some()
            {
                let why = format!("{} needs {}", algorithm.name(), restriction.words());
                let checked = violation == Violation::Ends;
                return Err(Stop::Failure(Failure {
                    at: Some(at),
                    why,
                    checked,
                }));
            }
        }
        self.run(
            *algorithm,
            parameters.clone(),
            By::File(at),
            instead_of,
            call,
            on,
            depth,
        )
    }

    /// The first of `restrictions` that `call` does not keep.
    fn violated(
        &self,
        restrictions: &[Restriction],
        call: &Call,
        on: Communicator,
    ) -> Result<Option<Restriction>, Stop> {
        let known = |fact: Option<bool>, key: &str| {
            fact.or_else(|| self.answers.answer(key))
                .ok_or_else(|| Stop::Question(Question(key.to_owned())))
        };
        for &restriction in restrictions {
            let kept = match restriction {
                // Without a hierarchy it only copies the data, which is right where there are none.
                Restriction::ParentComm
                    if call.collective.name == "allreduce" && call.bytes == 0 =>
                {
                    true
                }
                Restriction::ParentComm => on.is_parent(),
                Restriction::PowerOfTwo => on.size.is_power_of_two(),
                Restriction::InPlace => known(call.in_place, "is_sendbuf_inplace=yes")?,
                Restriction::NotInPlace => !known(call.in_place, "is_sendbuf_inplace=yes")?,
                Restriction::Commutative => known(call.commutative, "is_commutative=yes")?,
                Restriction::SeveralProcesses => on.size > 1,
                Restriction::Regular => known(call.regular, "is_block_regular=yes")?,
                Restriction::BuiltIn => known(call.built_in, "is_op_built_in=yes")?,
                Restriction::NodeConsecutive => on.consecutive,
                Restriction::OrderedDisplacements => {
                    known(None, "displacements in the order of ranks")?
                }
                Restriction::CountAtLeastPowerOfTwo => {
                    let enough = call
                        .count
                        .map(|count| count >= u64::from(on.power_of_two()));
                    !known(enough.map(|enough| !enough), "count<pow2")?
                }
            };
            if !kept {
                return Ok(Some(restriction));
            }
        }
        Ok(None)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "they are the fields of the step that is added"
    )]
    fn run(
        &mut self,
        algorithm: Algorithm,
        parameters: Vec<String>,
        by: By,
        instead_of: Option<String>,
        call: &Call,
        on: Communicator,
        depth: usize,
    ) -> Result<(), Stop> {
        if let Some(restriction) = self.violated(algorithm.entry.needs, call, on)? {
            let at = match by {
                By::File(at) => Some(at),
                By::Setting(_) => None,
            };
            let why = format!("{} needs {}", algorithm.name(), restriction.words());
            return Err(Stop::Failure(Failure {
                at,
                why,
                checked: true,
            }));
        }
        self.steps.push(Step {
            depth,
            collective: call.collective.name,
            communicator: on,
            algorithm: algorithm.name(),
            parameters,
            by,
            instead_of,
            composed_by: self.composed_by,
        });
        self.inside(algorithm, call, on, depth + 1)
    }

    /// The collectives that an algorithm calls itself.
    fn inside(
        &mut self,
        algorithm: Algorithm,
        call: &Call,
        on: Communicator,
        depth: usize,
    ) -> Result<(), Stop> {
        let name = call.collective.name;
        let parts = match (name, algorithm.entry.name) {
            (_, "nb") => {
                let Some(nonblocking) = collective(&format!("i{name}")) else {
                    return Ok(());
                };
                return self.mpir(&call.of(nonblocking), on, depth);
            }
            ("barrier", "smp") => {
                vec![Part::Node("barrier"), Part::Roots("barrier"), Part::Release]
            }
            ("bcast", "smp") => {
                let short = self.chooser.settings.number("BCAST_SHORT_MSG_SIZE", 12_288);
                let long = self.chooser.settings.number("BCAST_LONG_MSG_SIZE", 524_288);
                let few = self.chooser.settings.number("BCAST_MIN_PROCS", 8);
                let letter = if call.bytes == 0 {
                    return Ok(());
                } else if call.bytes < short || u64::from(on.size) < few {
                    "alpha"
                } else if call.bytes < long && on.size.is_power_of_two() {
                    "beta"
                } else {
                    return self.ring_in_place_of_smp(call, on, depth);
                };
                hierarchical_parts(name, letter, self.place_of_root(call.root))
            }
            ("reduce", "smp") => hierarchical_parts(name, "beta", self.place_of_root(call.root)),
            ("allreduce" | "scan", "smp") => {
                hierarchical_parts(name, "alpha", RootPlace::Elsewhere)
            }
            _ => return Ok(()),
        };
        self.parts(&parts, call, on, |planner, call, on| {
            planner.mpir(call, on, depth)
        })
    }

    /// `MPIR_Bcast_intra_smp` of long messages is another algorithm of the whole communicator.
    fn ring_in_place_of_smp(
        &mut self,
        call: &Call,
        on: Communicator,
        depth: usize,
    ) -> Result<(), Stop> {
        let Some(ring) = self
            .chooser
            .version
            .by_setting("bcast", true, "scatter_ring_allgather")
        else {
            return Ok(());
        };
        let by = self
            .steps
            .last()
            .map_or(By::Setting(String::new()), |step| step.by.clone());
        self.run(ring, Vec::new(), by, None, call, on, depth)
    }
}

fn failed(selection: &Selection, found: Found) -> Stop {
    let place = |node: usize| Place {
        kind: selection.kind,
        at: selection.tree.nodes[node].at,
    };
    Stop::Failure(match found {
        Found::Ends(node, why) => Failure {
            at: Some(place(node)),
            why,
            checked: true,
        },
        Found::Undefined(node) | Found::Choice(node) => {
            let why = "the library takes this key for a collective".to_owned();
            Failure {
                at: Some(place(node)),
                why,
                checked: false,
            }
        }
        Found::Nothing => {
            let why = "no rule of the file fits the call, and the library asserts that one does"
                .to_owned();
            Failure {
                at: None,
                why,
                checked: true,
            }
        }
    })
}
