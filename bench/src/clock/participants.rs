//! The participants: the first process of each host, or all processes if they have one clock.

use crate::job::{self, Process};

/// The participants of the job, the same in every process.
#[derive(Debug)]
pub(super) struct Participants {
    /// World rank and host of each participating process; the first is the reference.
    pub(super) participants: Vec<(i32, String)>,
    /// Whether all participants read the same clock.
    pub(super) has_one_clock: bool,
}

impl Participants {
    pub(super) fn of(processes: &[Process]) -> Self {
        let clocks = job::clocks(processes);
        let has_one_clock = clocks.iter().all(|&first| first == 0);
        let participants = (0..processes.len())
            .filter(|&rank| has_one_clock || clocks[rank] == rank)
            .map(|rank| (rank as i32, processes[rank].host.clone()));
        Self {
            participants: participants.collect(),
            has_one_clock,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn participants(hosts: &[(u8, &str)]) -> Participants {
        let processes = hosts.iter().map(|&(clock, host)| Process {
            clock: [clock; 16],
            host: host.to_owned(),
        });
        Participants::of(&processes.collect::<Vec<_>>())
    }

    #[test]
    fn of_several_hosts_the_first_process_of_each_takes_part() {
        let all = participants(&[(1, "a"), (2, "b"), (1, "a"), (3, "b"), (3, "b")]);
        let expected = [(0, "a"), (1, "b"), (3, "b")];
        let found = all.participants.iter();
        let found: Vec<_> = found.map(|(rank, name)| (*rank, name.as_str())).collect();
        assert_eq!(found, expected);
        assert!(!all.has_one_clock);
    }

    #[test]
    fn of_one_host_all_processes_take_part() {
        let all = participants(&[(1, "a"), (1, "a"), (1, "a")]);
        assert_eq!(all.participants.len(), 3);
        assert!(all.has_one_clock);
    }
}
