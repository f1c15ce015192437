//! The names of the algorithms that the MPI library started in the calls of an instance.
//!
//! Each call has a list of names, in the order in which the algorithms were started: an algorithm
//! composed of others reports its own name and theirs. Mostly all processes of an instance report
//! the same list; if not, all distinct lists are kept. A process that reports nothing contradicts
//! no other.

use std::collections::BTreeSet;
use std::num::NonZeroU128;

use collbench_formats::{Definition, Note, Record};
use collbench_text::inert;
use collbench_trees::library_name::LibraryName;
use serde::{Deserialize, Serialize};

use crate::trace::rank_file::RankFile;

/// Characters of a name that are kept.
pub(crate) const MAX_NAME: usize = 128;
/// Names of a run, and indexes of a process, that are distinguished.
const MAX_NAMES: usize = 1 << 12;

/// The number of a name, the same in all processes, > 0.
type Number = u16;

/// Not a name: separates the lists of different processes.
const OTHERS: Number = Number::MAX;
/// Not a name: more were reported than are kept.
const MORE: Number = Number::MAX - 1;
/// A name of which there is no definition.
const UNNAMED: Number = Number::MAX - 2;
/// Names that are kept of an instance.
const MOST: usize = 8;

/// The names by which the MPI library calls its algorithms, of all processes of a run.
#[derive(Debug, Default)]
pub(crate) struct NameTable {
    /// In their order; the number of a name is its position, from 1.
    list: Vec<(String, Option<LibraryName>)>,
    /// By process, then index of the definition.
    of_processes: Vec<Box<[Number]>>,
}

impl NameTable {
    pub(crate) fn new(processes: &[RankFile<'_>]) -> Self {
        let defined = |file: &RankFile<'_>| -> Vec<(usize, String)> {
            let definitions = file.trace.definitions.iter();
            let algorithms = definitions.filter_map(|definition| match definition {
                Definition::Algorithm { index, name } => {
                    Some((index as usize, inert::cut(&name, MAX_NAME)))
                }
                _ => None,
            });
            algorithms.filter(|(index, _)| *index < MAX_NAMES).collect()
        };
        let of_processes: Vec<_> = processes.iter().map(defined).collect();
        let all = of_processes.iter().flatten().map(|(_, name)| name);
        let all: BTreeSet<&String> = all.collect();
        let list: Vec<&String> = all.into_iter().take(MAX_NAMES).collect();
        let number = |name: &String| match list.binary_search(&name) {
            Ok(at) => at as Number + 1,
            Err(_) => UNNAMED,
        };
        Self {
            of_processes: of_processes
                .iter()
                .map(|defined| {
                    let n = defined.iter().map(|(index, _)| index + 1).max();
                    let mut numbers = vec![UNNAMED; n.unwrap_or(0)];
                    for (index, name) in defined {
                        numbers[*index] = number(name);
                    }
                    numbers.into_boxed_slice()
                })
                .collect(),
            list: (list.into_iter())
                .map(|name| (name.clone(), LibraryName::of(name)))
                .collect(),
        }
    }

    /// The numbers of the names of a process, by index of their definition.
    pub(crate) fn of_process(&self, process: usize) -> &[Number] {
        self.of_processes.get(process).map_or(&[], |own| own)
    }

    /// The distinct lists of names that the processes of an instance reported, without names whose
    /// meaning is unknown.
    pub(crate) fn known(
        &self,
        reported: AlgorithmNames,
    ) -> impl Iterator<Item = Vec<LibraryName>> + '_ {
        let known = |&number: &Number| self.list.get(usize::from(number) - 1)?.1;
        let of_calls = reported.of_calls().into_iter();
        of_calls.map(move |names| names.iter().filter_map(known).collect())
    }

    /// In words: `reduce_intra_binary + bcast_intra_binomial`; different lists are separated by ` |
    /// `.
    pub(crate) fn in_words(&self, reported: AlgorithmNames) -> String {
        let name = |&number: &Number| match number {
            MORE => "...",
            UNNAMED => "an algorithm without a name",
            _ => self
                .list
                .get(usize::from(number) - 1)
                .map_or("", |of| &of.0),
        };
        let of_calls = reported.of_calls().into_iter();
        let of_calls = of_calls.map(|names| {
            let names: Vec<&str> = names.iter().map(name).collect();
            names.join(" + ")
        });
        of_calls.collect::<Vec<_>>().join(" | ")
    }
}

/// The names reported for a call, or for all calls of an instance; at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AlgorithmNames(NonZeroU128);

impl AlgorithmNames {
    fn of(numbers: &[Number]) -> Option<Self> {
        let words = numbers.iter().enumerate();
        let all = words.fold(0, |all, (at, &number)| {
            all | u128::from(number) << (Number::BITS as usize * at)
        });
        NonZeroU128::new(all).map(Self)
    }

    fn numbers(self) -> impl Iterator<Item = Number> {
        let at = move |at: usize| (self.0.get() >> (Number::BITS as usize * at)) as Number;
        (0..MOST).map(at).take_while(|&number| number != 0)
    }

    /// The distinct lists of numbers.
    fn of_calls(self) -> Vec<Vec<Number>> {
        let numbers: Vec<Number> = self.numbers().collect();
        let lists = numbers.split(|&number| number == OTHERS);
        lists.map(<[Number]>::to_vec).collect()
    }

    /// The distinct lists of both.
    #[cold]
    fn and(self, other: Self) -> Self {
        let mut lists = self.of_calls();
        lists.extend(other.of_calls());
        // The result must not depend on the order of processes.
        lists.sort_unstable();
        lists.dedup();
        let mut numbers = lists.join(&OTHERS);
        if numbers.len() > MOST {
            numbers[MOST - 1] = MORE;
            numbers.truncate(MOST);
        }
        Self::of(&numbers).unwrap_or(self)
    }
}

/// The names of one call while its notes are looked at.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NamesInCall {
    numbers: [Number; MOST],
    n: usize,
}

impl NamesInCall {
    /// Takes a note that follows the call; `numbers` are those of the names of the process.
    #[inline]
    pub(crate) fn add_note(&mut self, record: &Record, numbers: &[Number]) {
        if let Some(Note::Algorithm(begun)) = record.note() {
            let number = numbers.get(begun.index as usize);
            self.add(number.copied().unwrap_or(UNNAMED));
        }
    }

    fn add(&mut self, number: Number) {
        // However often it was started.
        if self.numbers[..self.n].contains(&number) {
            return;
        }
        match self.numbers.get_mut(self.n) {
            Some(at) => {
                *at = number;
                self.n += 1;
            }
            None => self.numbers[MOST - 1] = MORE,
        }
    }

    /// `None`: nothing.
    pub(crate) fn reported(&self) -> Option<AlgorithmNames> {
        match self.n {
            0 => None,
            n => AlgorithmNames::of(&self.numbers[..n]),
        }
    }
}

/// The names reported by the calls of an instance so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NamesOfInstance(Option<AlgorithmNames>);

impl NamesOfInstance {
    /// Adds the names that one more call reported, if any.
    #[inline]
    pub(crate) fn add(&mut self, call: Option<AlgorithmNames>) {
        match (self.0, call) {
            (Some(own), Some(call)) if own != call => self.0 = Some(own.and(call)),
            (None, _) => self.0 = call,
            _ => {}
        }
    }

    pub(crate) fn reported(self) -> Option<AlgorithmNames> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(numbers: &[Number]) -> Option<AlgorithmNames> {
        let mut names_in_call = NamesInCall::default();
        numbers.iter().for_each(|&number| names_in_call.add(number));
        names_in_call.reported()
    }

    fn of_all(calls: &[&[Number]]) -> Option<AlgorithmNames> {
        let mut all = NamesOfInstance::default();
        calls.iter().for_each(|call| all.add(reported(call)));
        all.reported()
    }

    #[test]
    fn what_all_say_is_said_once_and_what_differs_is_kept_whoever_said_it_first() {
        assert_eq!(of_all(&[&[], &[]]), None);
        assert_eq!(of_all(&[&[3, 4], &[], &[3, 4]]), reported(&[3, 4]));
        let both = of_all(&[&[3, 4], &[2], &[3, 4]]).unwrap();
        assert_eq!(both.of_calls(), [vec![2], vec![3, 4]]);
        assert_eq!(of_all(&[&[2], &[3, 4], &[2]]), Some(both));
        // In another order it is another thing, but once is as often as twice.
        assert_ne!(reported(&[3, 4]), reported(&[4, 3]));
        assert_eq!(reported(&[3, 4, 3, 3]), reported(&[3, 4]));
    }

    #[test]
    fn what_does_not_fit_is_not_forgotten_without_a_word() {
        let many: Vec<Number> = (1..20).collect();
        let all = of_all(&[&many, &[1], &[2], &[3], &[4]]).unwrap();
        assert_eq!(all.numbers().last(), Some(MORE));
        assert_eq!(reported(&many).unwrap().numbers().count(), MOST);
        let names = NameTable {
            list: (1..20).map(|number| (number.to_string(), None)).collect(),
            of_processes: Vec::new(),
        };
        let in_words = names.in_words(reported(&many).unwrap());
        assert_eq!(in_words, "1 + 2 + 3 + 4 + 5 + 6 + 7 + ...");
        assert_eq!(
            names.in_words(of_all(&[&[2, 1], &[3]]).unwrap()),
            "2 + 1 | 3"
        );
        assert_eq!(
            names.in_words(reported(&[UNNAMED]).unwrap()),
            "an algorithm without a name"
        );
    }
}
