//! How an MPI library makes progress, by its settings; and the cores and the memory of a process.

use std::collections::BTreeMap;

use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};

use super::workload::allowed_cores;
use crate::job::Process;

/// Settings that switch a progress thread on.
const PROGRESS_THREAD: [&str; 4] = [
    "MPICH_ASYNC_PROGRESS",
    "MPIR_CVAR_ASYNC_PROGRESS",
    "I_MPI_ASYNC_PROGRESS",
    "MV2_ASYNC_PROGRESS",
];
/// Parts of library versions, and how the library is told to start a progress thread.
const OFFERS: [(&str, &str); 4] = [
    (
        "MVAPICH",
        "MV2_ASYNC_PROGRESS=1 starts a progress thread, where it was built with one",
    ),
    (
        "Intel(R) MPI",
        "I_MPI_ASYNC_PROGRESS=1 starts a progress thread",
    ),
    ("MPICH", "MPICH_ASYNC_PROGRESS=1 starts a progress thread"),
    (
        "Open MPI",
        "Open MPI has no progress thread for collectives",
    ),
];

/// The name of a configuration: by whether a progress thread is switched on, and whether the
/// computation leaves it a core.
pub(super) fn label(settings: &BTreeMap<String, String>, leaves_cores: bool) -> &'static str {
    match (has_progress_thread(settings), leaves_cores) {
        (false, _) => "basic",
        (true, false) => "progress thread",
        (true, true) => "dedicated core",
    }
}

/// Whether these settings start a progress thread.
pub(super) fn has_progress_thread(settings: &BTreeMap<String, String>) -> bool {
    let is_on = |name: &str| {
        let value = settings.get(name).map(|value| value.to_ascii_lowercase());
        value.is_some_and(|value| {
            !["", "0", "no", "off", "false", "n", "disable"].contains(&&*value)
        })
    };
    PROGRESS_THREAD.iter().any(|name| is_on(name))
}

/// What the library offers for progress; `None` for a library that is not known.
pub(super) fn offer(library: &str) -> Option<&'static str> {
    let mut offers = OFFERS.iter();
    let found = offers.find(|(part, _)| library.contains(part));
    found.map(|(_, offer)| *offer)
}

/// What a process may use of its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Share {
    /// Core of each of its threads.
    pub(super) cores: Vec<usize>,
    /// Number of threads, by process.
    pub(super) threads: Vec<usize>,
    /// Bytes for its buffers, and for its matrices: the least of all processes.
    pub(super) memory: u64,
    /// Whether threads of several processes, or of one, are on one core.
    pub(super) shares_cores: bool,
    /// Whether every process leaves a core of its own without a thread.
    pub(super) leaves_cores: bool,
}

impl Share {
    /// Whether threads share cores: those that compute with one another, or with the progress thread
    /// that these settings start.
    pub(super) fn is_oversubscribed(&self, settings: &BTreeMap<String, String>) -> bool {
        self.shares_cores || has_progress_thread(settings) && !self.leaves_cores
    }

    /// The share of this process. Collective.
    pub(super) fn of(
        world: &SimpleCommunicator,
        processes: &[Process],
        threads: Option<usize>,
    ) -> Self {
        let cores = allowed_cores();
        let own = [cores_key(&cores), total_memory()];
        let mut all = vec![0u64; own.len() * processes.len()];
        world.all_gather_into(&own, &mut all[..]);
        let (all, _) = all.as_chunks::<2>();
        let rank = world.rank() as usize;
        let of_host = |other: &usize| processes[*other].clock == processes[rank].clock;
        let peers: Vec<usize> = (0..processes.len()).filter(of_host).collect();
        let sharing = peers.iter().filter(|peer| all[**peer][0] == own[0]);
        let (n_sharing, index) = sharing.fold((0, 0), |(n, index), &peer| {
            (n + 1, index + usize::from(peer < rank))
        });
        let allowed = cores;
        let cores = cores_of(&allowed, index, n_sharing, threads);
        let [available, wanted] = [allowed.len(), cores.len() * n_sharing];
        let memory = own[1] / 8 / peers.len().max(1) as u64;
        let own = [
            cores.len() as u64,
            memory,
            u64::from(wanted > available),
            u64::from(wanted < available),
        ];
        let mut all = vec![0u64; own.len() * processes.len()];
        world.all_gather_into(&own, &mut all[..]);
        let (all, _) = all.as_chunks::<4>();
        Self {
            cores,
            threads: all.iter().map(|share| share[0] as usize).collect(),
            memory: all.iter().map(|share| share[1]).min().unwrap_or(0),
            shares_cores: all.iter().any(|share| share[2] > 0),
            leaves_cores: all.iter().all(|share| share[3] > 0),
        }
    }
}

/// The core of each thread of a process, which is the one with this index of `n_sharing` that may
/// use the same cores. `threads` is the number of its threads, without which each core of its share
/// has one.
fn cores_of(
    allowed: &[usize],
    index: usize,
    n_sharing: usize,
    threads: Option<usize>,
) -> Vec<usize> {
    let n_cores = allowed.len().max(1);
    let of_process = (n_cores / n_sharing.max(1)).max(1);
    let core = |thread: usize| {
        let place = (index * of_process + thread) % n_cores;
        allowed.get(place).copied().unwrap_or(0)
    };
    (0..threads.unwrap_or(of_process)).map(core).collect()
}

/// Equal for equal sets of cores (FNV-1a).
fn cores_key(cores: &[usize]) -> u64 {
    cores.iter().fold(0xcbf2_9ce4_8422_2325, |key, &core| {
        (key ^ core as u64).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Memory of this host, bytes: all of it, not what is free at the moment, so that a measurement
/// that is continued is the same.
fn total_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = total.and_then(|total| total.trim().strip_suffix("kB"));
    kilobytes
        .and_then(|number| number.trim().parse::<u64>().ok())
        .unwrap_or(1 << 20)
        << 10
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::online_cores;

    fn label_of(name: &str, value: &str, leaves_cores: bool) -> &'static str {
        label(
            &BTreeMap::from([(name.to_owned(), value.to_owned())]),
            leaves_cores,
        )
    }

    #[test]
    fn a_configuration_is_named_by_its_progress_thread_and_a_core_for_it() {
        assert_eq!(label_of("OMPI_MCA_coll", "tuned", true), "basic");
        assert_eq!(label_of("MPICH_ASYNC_PROGRESS", "0", true), "basic");
        assert_eq!(
            label_of("MPICH_ASYNC_PROGRESS", "1", false),
            "progress thread"
        );
        assert_eq!(
            label_of("MPIR_CVAR_ASYNC_PROGRESS", "true", true),
            "dedicated core"
        );
    }

    #[test]
    fn a_progress_thread_without_a_core_of_its_own_shares_one() {
        let share = |leaves_cores| Share {
            cores: vec![0],
            threads: vec![1, 1],
            memory: 1 << 20,
            shares_cores: false,
            leaves_cores,
        };
        let settings =
            |value: &str| BTreeMap::from([("MPICH_ASYNC_PROGRESS".to_owned(), value.to_owned())]);
        assert!(share(false).is_oversubscribed(&settings("1")));
        assert!(!share(true).is_oversubscribed(&settings("1")));
        assert!(!share(false).is_oversubscribed(&settings("0")));
    }

    #[test]
    fn libraries_that_descend_from_another_are_told_apart() {
        let of = |version| offer(version).unwrap_or_default();
        assert!(of("MVAPICH Version: 3.0, based on MPICH").starts_with("MV2_"));
        assert!(of("MPICH Version: 4.0.2").starts_with("MPICH_"));
        assert!(of("Open MPI v4.1.4, package: x").contains("no progress thread"));
        assert_eq!(offer("another"), None);
    }

    #[test]
    fn processes_with_the_same_cores_divide_them() {
        let cores = [2, 3, 8, 9];
        let of = |index, n, threads| cores_of(&cores, index, n, threads);
        assert_eq!(of(0, 2, None), [2, 3]);
        assert_eq!(of(1, 2, None), [8, 9]);
        assert_eq!(of(1, 2, Some(1)), [8]);
        assert_eq!(of(0, 1, None), cores);
        // More processes than cores.
        assert_eq!(of(5, 6, None), [3]);
        assert_eq!(of(0, 1, Some(6)), [2, 3, 8, 9, 2, 3]);
    }

    #[test]
    fn this_host_has_memory_and_as_many_cores_as_a_process_may_use() {
        assert!(total_memory() > 1 << 20);
        assert!(online_cores() >= allowed_cores().len());
    }
}
