//! On which hosts, and on which of their cores, the processes of the job run.

use std::path::Path;

use collbench_formats::tree::{Place, TreeRules};
use collbench_trees::topology::of_sys;
use collbench_trees::wrappers::{Members, group_hosts, host_fits, place_on};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};

use crate::job::Process;
use crate::machine::online_cores;

/// Words of a set of cores, one bit for each.
const CORE_WORDS: usize = 16;
/// In the place of a number that is not known.
const UNKNOWN: u64 = u64::MAX;

/// The hosts of a job.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    /// Names, by number in the order of their first processes.
    pub(crate) names: Vec<String>,
    /// Host of each process.
    pub(crate) of_process: Vec<u32>,
    /// The cores that each process may run on; empty where that is not known.
    cores: Vec<Vec<u32>>,
    /// Core complex and socket of each process.
    places: Vec<(Option<u32>, Option<u32>)>,
}

impl Hosts {
    /// The hosts of all processes, which call this together.
    pub(crate) fn gather(world: &SimpleCommunicator, processes: &[Process]) -> Self {
        let words = own_core_words();
        let topology = of_sys(Path::new("/sys/devices/system/cpu"));
        let (complex, socket) =
            topology.map_or((None, None), |found| place_on(&found, &cores_of(&words)));
        let number = |known: Option<u32>| known.map_or(UNKNOWN, u64::from);
        let mut own = [0; CORE_WORDS + 2];
        own[..CORE_WORDS].copy_from_slice(&words);
        own[CORE_WORDS..].copy_from_slice(&[number(complex), number(socket)]);
        let mut all = vec![0; own.len() * world.size() as usize];
        world.all_gather_into(&own[..], &mut all[..]);
        let known = |word: u64| u32::try_from(word).ok();
        let mut hosts = Self::of(processes);
        for of_process in all.chunks_exact(own.len()) {
            let (words, numbers) = of_process.split_at(CORE_WORDS);
            hosts.cores.push(cores_of(words));
            hosts.places.push((known(numbers[0]), known(numbers[1])));
        }
        hosts
    }

    /// The hosts of processes of which nothing is known but these.
    fn of(processes: &[Process]) -> Self {
        let mut known: Vec<&Process> = Vec::new();
        let mut of_process = Vec::with_capacity(processes.len());
        for process in processes {
            let found = known.iter().position(|other| *other == process);
            of_process.push(found.unwrap_or(known.len()) as u32);
            if found.is_none() {
                known.push(process);
            }
        }
        Self {
            names: known.iter().map(|process| process.host.clone()).collect(),
            of_process,
            cores: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Some processes on hosts with these names, whose cores are not known.
    #[cfg(test)]
    pub(crate) fn named(of_processes: &[&str]) -> Self {
        let processes = of_processes.iter().map(|name| Process {
            clock: [0; 16],
            host: (*name).to_owned(),
        });
        Self::of(&processes.collect::<Vec<_>>())
    }

    /// How many leaves run on the host of a process, and on how many cores: all of the host, unless
    /// the process is bound to fewer.
    pub(crate) fn leaves_and_cores(&self, process: usize, n_threads: u32) -> (usize, usize) {
        let host = self.of_process[process];
        let n_processes = self.of_process.iter().filter(|of| **of == host).count();
        let online = online_cores();
        let bound_to = self.cores.get(process).map_or(0, Vec::len);
        let n_cores = match bound_to {
            0 => online,
            bound_to => online.min(n_processes * bound_to),
        };
        (n_processes * n_threads as usize, n_cores)
    }

    /// The places of all processes, with what a tree file says about their hosts.
    pub(crate) fn places(&self, rules: &TreeRules) -> Vec<Place> {
        let place = |(process, &host): (usize, &u32)| {
            let name = &self.names[host as usize];
            let is_described = |names: &[String]| names.iter().any(|named| host_fits(named, name));
            let described = rules.hosts.iter().find(|of| is_described(&of.hosts));
            let cores = self.cores.get(process);
            let (core_complex, socket) = match described {
                Some(described) => place_on(&described.topology, cores.map_or(&[], |all| all)),
                None => self.places.get(process).copied().unwrap_or_default(),
            };
            Place {
                host,
                socket,
                core_complex,
                ..Place::default()
            }
        };
        let mut places: Vec<Place> = self.of_process.iter().enumerate().map(place).collect();
        group_hosts(rules, &self.names, &mut places);
        places
    }

    /// The processes at these places, for making trees.
    pub(crate) fn members<'m>(&'m self, places: &'m [Place]) -> Members<'m> {
        Members {
            hosts: &self.names,
            places,
        }
    }
}

/// The cores that this process may run on, one bit for each; none if the kernel does not say.
fn own_core_words() -> [u64; CORE_WORDS] {
    let mut words = [0; CORE_WORDS];
    // SAFETY: there is room for as many bytes as are given.
    let failed =
        unsafe { libc::sched_getaffinity(0, size_of_val(&words), words.as_mut_ptr().cast()) != 0 };
    if failed { [0; CORE_WORDS] } else { words }
}

fn cores_of(words: &[u64]) -> Vec<u32> {
    let bits = (0..).zip(
        words
            .iter()
            .flat_map(|word| (0..64).map(move |bit| word >> bit & 1)),
    );
    bits.filter(|(_, bit)| *bit == 1)
        .map(|(core, _)| core)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_in_the_order_of_their_first_processes() {
        let hosts = Hosts::named(&["b", "a", "b", "c"]);
        assert_eq!(hosts.names, ["b", "a", "c"]);
        assert_eq!(hosts.of_process, [0, 1, 0, 2]);
        assert_eq!(hosts.leaves_and_cores(2, 3).0, 6);
        assert_eq!(hosts.leaves_and_cores(3, 1).0, 1);
    }

    #[test]
    fn threads_of_a_process_that_is_bound_to_one_core_share_it() {
        let mut hosts = Hosts::named(&["a"]);
        hosts.cores = vec![vec![0]];
        assert_eq!(hosts.leaves_and_cores(0, 4), (4, 1));
    }

    #[test]
    fn equal_names_with_different_clocks_are_different_hosts() {
        let process = |clock| Process {
            clock: [clock; 16],
            host: "localhost".to_owned(),
        };
        assert_eq!(Hosts::of(&[process(1), process(2)]).of_process, [0, 1]);
    }

    #[test]
    fn cores_are_the_bits_of_the_words() {
        assert_eq!(cores_of(&[0b101, 0, 1 << 63]), [0, 2, 191]);
    }
}
