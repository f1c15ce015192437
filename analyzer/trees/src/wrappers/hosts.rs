//! Hosts by name, and the places of processes.

use collbench_formats::tree::{Cpu, HostTopology, Level, Place, TreeRules};

/// Whether a host has a name as a tree file gives it: `*` stands for any characters, also none.
#[must_use]
pub fn host_fits(pattern: &str, host: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| host.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Sets sites and switches as a tree file groups hosts; `hosts` are names by their number in
/// places. Where the file has no sites, those that the places have remain, and so do switches.
pub fn group_hosts(rules: &TreeRules, hosts: &[String], places: &mut [Place]) {
    for level in [Level::Site, Level::Switch] {
        let groups: Vec<_> = rules
            .groups
            .iter()
            .filter(|group| group.level == level)
            .collect();
        if groups.is_empty() {
            continue;
        }
        let of_host: Vec<Option<u32>> = hosts
            .iter()
            .map(|host| {
                let is_in = |names: &[String]| names.iter().any(|name| host_fits(name, host));
                let group = groups.iter().position(|group| is_in(&group.hosts));
                group.map(|group| group as u32)
            })
            .collect();
        for place in &mut *places {
            let group = of_host.get(place.host as usize).copied().flatten();
            match level {
                Level::Site => place.site = group,
                _ => place.switch = group,
            }
        }
    }
}

/// The core complex and the socket of a process that may run on these processors, by their numbers
/// in affinity masks; `None` where it is not bound to one of them, or a processor is not known.
#[must_use]
pub fn place_on(topology: &HostTopology, cpus: &[u32]) -> (Option<u32>, Option<u32>) {
    let known = |number: &u32| topology.cpus.iter().find(|cpu| cpu.number == *number);
    let cpus: Option<Vec<&Cpu>> = cpus.iter().map(known).collect();
    let cpus = cpus.unwrap_or_default();
    let common = |of: fn(&Cpu) -> u32| {
        let first = of(cpus.first()?);
        cpus.iter().all(|cpu| of(cpu) == first).then_some(first)
    };
    (common(|cpu| cpu.core_complex), common(|cpu| cpu.socket))
}
