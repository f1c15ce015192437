//! Where the processes run.

use std::path::Path;

use collbench_formats::tree::{Form, HostTopology, Place, TreeRules, Waiting};
use collbench_paths::{Idle, WaitPolicy};
use collbench_trees::topology::of_sys;
use collbench_trees::wrappers::{group_hosts, host_fits, place_on};

use super::sites::{MOST_HOSTS, RoundTrips, SitesFound};
use crate::host::{HostKey, boot_id, host_name, mix};

/// Processors in a mask.
const MASK_BITS: usize = 1024;
const MASK_BYTES: usize = MASK_BITS / 8;
/// Longest name of a host, bytes; longer ones are cut.
const NAME_BYTES: usize = 64;
/// Bytes in which a process says where it runs.
pub(super) const ENTRY_BYTES: usize = size_of::<HostKey>() + NAME_BYTES + MASK_BYTES + 8;

/// Where a process runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    /// Equal for processes that can share memory.
    key: HostKey,
    name: String,
    /// The processors that it may run on, one bit each.
    mask: [u8; MASK_BYTES],
    core_complex: Option<u32>,
    socket: Option<u32>,
}

impl Location {
    pub(super) fn of_this_process() -> Self {
        let mask = own_mask();
        let cores = of_sys(Path::new("/sys/devices/system/cpu")).unwrap_or_default();
        let (core_complex, socket) = place_on(&cores, &numbers(&mask));
        Self {
            key: memory_key(),
            name: host_name(),
            mask,
            core_complex,
            socket,
        }
    }

    /// The same for processes that can share memory, and different for others.
    pub(super) fn key(&self) -> HostKey {
        self.key
    }

    pub(super) fn encoded(&self) -> [u8; ENTRY_BYTES] {
        let mut entry = [0; ENTRY_BYTES];
        let (key, rest) = entry.split_at_mut(size_of::<HostKey>());
        let (name, rest) = rest.split_at_mut(NAME_BYTES);
        let (mask, numbers) = rest.split_at_mut(MASK_BYTES);
        key.copy_from_slice(&self.key);
        let n_bytes = self.name.len().min(NAME_BYTES);
        name[..n_bytes].copy_from_slice(&self.name.as_bytes()[..n_bytes]);
        mask.copy_from_slice(&self.mask);
        let of = |number: Option<u32>| number.map_or(0, |number| number + 1).to_le_bytes();
        numbers[..4].copy_from_slice(&of(self.core_complex));
        numbers[4..].copy_from_slice(&of(self.socket));
        entry
    }

    pub(super) fn decoded(entry: &[u8; ENTRY_BYTES]) -> Self {
        let (key, rest) = entry.split_at(size_of::<HostKey>());
        let (name, rest) = rest.split_at(NAME_BYTES);
        let (mask, numbers) = rest.split_at(MASK_BYTES);
        let end = name.iter().position(|&byte| byte == 0);
        let of = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let mut location = Self {
            key: HostKey::default(),
            name: String::from_utf8_lossy(&name[..end.unwrap_or(NAME_BYTES)]).into_owned(),
            mask: [0; MASK_BYTES],
            core_complex: of(&numbers[..4]).checked_sub(1),
            socket: of(&numbers[4..]).checked_sub(1),
        };
        location.key.copy_from_slice(key);
        location.mask.copy_from_slice(mask);
        location
    }
}

/// Of this host as this process sees it: memory is shared by way of `/proc`, and its numbers of
/// processes are those of a namespace.
fn memory_key() -> HostKey {
    let processes = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let text = format!("{} {} {}", boot_id(), host_name(), processes.display());
    let mut words: Vec<u64> = text.bytes().map(u64::from).collect();
    let mut key = HostKey::default();
    let (low, high) = key.split_at_mut(8);
    // All zeros mean that there is no process.
    low.copy_from_slice(&(mix(&words) | 1).to_le_bytes());
    words.push(1);
    high.copy_from_slice(&mix(&words).to_le_bytes());
    key
}

/// The processors that this process may run on.
fn own_mask() -> [u8; MASK_BYTES] {
    let mut mask = [0; MASK_BYTES];
    // SAFETY: the kernel stores at most as many bytes as there are.
    unsafe { libc::sched_getaffinity(0, MASK_BYTES, mask.as_mut_ptr().cast()) };
    mask
}

fn numbers(mask: &[u8; MASK_BYTES]) -> Vec<u32> {
    let is_set = |number: &u32| mask[*number as usize / 8] >> (number % 8) & 1 == 1;
    (0..MASK_BITS as u32).filter(is_set).collect()
}

/// The processes that were started together.
#[derive(Debug)]
pub(super) struct Hosts {
    /// Names of hosts, by their number in places.
    pub(super) names: Vec<String>,
    /// By world rank.
    pub(super) places: Vec<Place>,
    /// How the processes of each host wait.
    policies: Vec<WaitPolicy>,
    /// Whether a host has more processes than cores.
    pub(super) is_crowded: bool,
}

impl Hosts {
    /// From the locations of all processes, by world rank, and what the tree file says about hosts.
    pub(super) fn new(locations: &[Location], rules: &TreeRules) -> Self {
        let mut keys: Vec<HostKey> = Vec::new();
        let mut hosts = Self {
            names: Vec::new(),
            places: Vec::with_capacity(locations.len()),
            policies: Vec::new(),
            is_crowded: false,
        };
        let mut masks = Vec::new();
        for location in locations {
            let known = keys.iter().position(|key| *key == location.key);
            let host = known.unwrap_or_else(|| {
                keys.push(location.key);
                hosts.names.push(location.name.clone());
                masks.push(([0; MASK_BYTES], 0));
                keys.len() - 1
            });
            let (mask, n_processes) = &mut masks[host];
            for (all, own) in mask.iter_mut().zip(location.mask) {
                *all |= own;
            }
            *n_processes += 1;
            let (core_complex, socket) = match described(rules, &location.name) {
                Some(topology) => place_on(topology, &numbers(&location.mask)),
                None => (location.core_complex, location.socket),
            };
            hosts.places.push(Place {
                host: host as u32,
                core_complex,
                socket,
                ..Place::default()
            });
        }
        group_hosts(rules, &hosts.names, &mut hosts.places);
        let n_cores = |mask: &[u8; MASK_BYTES]| -> usize {
            mask.iter().map(|byte| byte.count_ones() as usize).sum()
        };
        let is_crowded =
            |(mask, n_processes): &([u8; MASK_BYTES], usize)| *n_processes > n_cores(mask);
        hosts.is_crowded = masks.iter().any(is_crowded);
        let policy = |(mask, n_processes): &([u8; MASK_BYTES], usize)| match rules.wait {
            None => WaitPolicy::for_cores(*n_processes, n_cores(mask)),
            Some(Waiting::Spin) => WaitPolicy::new(Idle::Spin),
            Some(Waiting::Yield) => WaitPolicy::new(Idle::Yield),
            Some(Waiting::Sleep) => WaitPolicy::new(Idle::Sleep),
        };
        hosts.policies = masks.iter().map(policy).collect();
        hosts
    }

    /// A host that a tree file names, and that is none of these.
    pub(super) fn unknown<'r>(&self, rules: &'r TreeRules) -> Option<&'r str> {
        let of_groups = rules.groups.iter().flat_map(|group| &group.hosts);
        let of_hosts = rules.hosts.iter().flat_map(|described| &described.hosts);
        let of_rules = rules.rules.iter().flat_map(|rule| match &rule.form {
            Form::Shaped(shaped) => &shaped.hosts[..],
            Form::Nodes(_) => &[],
        });
        let mut names = of_groups
            .chain(of_hosts)
            .chain(of_rules)
            .map(String::as_str);
        let is_known = |name: &str| self.names.iter().any(|host| host_fits(name, host));
        names.find(|name| !is_known(name))
    }

    /// The lowest rank of each host.
    pub(super) fn first_ranks(&self) -> Vec<usize> {
        let hosts = 0..self.names.len() as u32;
        let first = |host| self.places.iter().position(|place| place.host == host);
        hosts.filter_map(first).collect()
    }

    /// Sets the site of each host, if they are at more than one.
    pub(super) fn set_sites(&mut self, of_host: &[Option<u32>]) {
        for place in &mut self.places {
            place.site = of_host[place.host as usize];
        }
    }

    /// What round trips say about sites, for the user to see; `None` if there are too many or too few
    /// hosts for that.
    pub(super) fn sites_in_words(&self, found: Option<(&SitesFound, &RoundTrips)>) -> String {
        let one = |why: &str| {
            format!(
                "the tree file joins sites and has no [[site]]; all hosts count as one site: {why}"
            )
        };
        let name = |host: usize| &self.names[host];
        let pair = |(a, b): (usize, usize)| format!("{} and {}", name(a), name(b));
        match found {
            None => one(&format!(
                "others are found by round trips between 3 to {MOST_HOSTS} hosts"
            )),
            Some((SitesFound::One, measured)) => one(&format!(
                "round trips between them show no others, {}",
                range_in_words(measured, pair)
            )),
            Some((SitesFound::Unsure(unclear), measured)) => one(&format!(
                "round trips between them are {}, but those of {} of {} pairs, as {}, do not divide the \
                 hosts for sure, as where processes wait for cores; name the sites in the file, each as \
                 [[site]] with name = \"..\" and hosts = [\"{}\", ..]",
                range_in_words(measured, pair),
                unclear.len(),
                measured.len(),
                unclear
                    .first()
                    .map_or_else(String::new, |&first| pair(first)),
                name(0)
            )),
            Some((SitesFound::Sites(of_host), _)) => {
                let n_sites = of_host.iter().map(|site| site + 1).max().unwrap_or(0);
                let at_site = |site: u32| {
                    let all = of_host.iter().zip(&self.names);
                    let names = all.filter(|(of, _)| **of == site);
                    let names: Vec<&str> = names.map(|(_, name)| name.as_str()).collect();
                    names.join(" ")
                };
                let sites: Vec<String> = (0..n_sites).map(at_site).collect();
                format!(
                    "the tree file has no [[site]]; by round trips the sites are: {}",
                    sites.join("; ")
                )
            }
        }
    }

    /// How a process waits.
    pub(super) fn policy(&self, world_rank: u32) -> WaitPolicy {
        self.policies[self.places[world_rank as usize].host as usize]
    }
}

/// The shortest and the longest round trip, with the pairs of hosts that they are of.
fn range_in_words(measured: &RoundTrips, pair: impl Fn((usize, usize)) -> String) -> String {
    let mut all: Vec<_> = measured
        .iter()
        .map(|(&hosts, of)| (of.shortest_ns, hosts))
        .collect();
    all.sort_unstable();
    let one = |&(ns, hosts): &(u64, _)| format!("{:.2} ms ({})", ns as f64 / 1e6, pair(hosts));
    let ends: Vec<String> = [all.first(), all.last()]
        .into_iter()
        .flatten()
        .map(one)
        .collect();
    ends.join(" to ")
}

/// The cores of a host, if the tree file describes them.
fn described<'r>(rules: &'r TreeRules, host: &str) -> Option<&'r HostTopology> {
    let is_of = |names: &[String]| names.iter().any(|name| host_fits(name, host));
    let found = rules.hosts.iter().find(|of| is_of(&of.hosts));
    found.map(|of| &of.topology)
}

#[cfg(test)]
mod tests {
    use collbench_formats::tree::{HostGroup, Level};

    use super::*;

    fn location(host: u8, cpus: &[u8]) -> Location {
        let mut mask = [0; MASK_BYTES];
        for cpu in cpus {
            mask[*cpu as usize / 8] |= 1 << (cpu % 8);
        }
        Location {
            key: [host; 16],
            name: format!("h{host}"),
            mask,
            core_complex: Some(u32::from(host)),
            socket: None,
        }
    }

    #[test]
    fn a_location_is_decoded_as_it_was_encoded() {
        for location in [
            location(3, &[0, 9]),
            Location::of_this_process(),
            Location {
                name: "h".repeat(NAME_BYTES),
                ..location(1, &[])
            },
        ] {
            assert_eq!(Location::decoded(&location.encoded()), location);
        }
        let own = Location::of_this_process();
        assert!(own.key() != [0; 16] && !numbers(&own.mask).is_empty());
    }

    #[test]
    fn hosts_are_numbered_by_their_first_rank_and_wait_as_they_have_cores() {
        let rules = TreeRules {
            groups: vec![HostGroup {
                level: Level::Site,
                name: "s".to_owned(),
                hosts: vec!["h7".to_owned()],
            }],
            ..TreeRules::default()
        };
        let locations = [
            location(7, &[0]),
            location(4, &[0, 1]),
            location(7, &[0]),
            location(4, &[0, 1]),
        ];
        let hosts = Hosts::new(&locations, &rules);
        assert_eq!(hosts.names, ["h7", "h4"]);
        let numbers: Vec<u32> = hosts.places.iter().map(|place| place.host).collect();
        assert_eq!(numbers, [0, 1, 0, 1]);
        assert_eq!(hosts.places[2].site, Some(0));
        assert_eq!(hosts.places[1].site, None);
        assert_eq!(hosts.unknown(&rules), None);
        let others = HostGroup {
            hosts: vec!["h*".to_owned(), "k".to_owned()],
            ..rules.groups[0].clone()
        };
        let rules = TreeRules {
            groups: vec![others],
            ..rules
        };
        assert_eq!(hosts.unknown(&rules), Some("k"));
        assert_eq!(hosts.places[0].core_complex, Some(7));
        // Two processes on one core, two on two.
        assert!(hosts.is_crowded);
        assert_eq!(hosts.policy(2).idle(), Idle::Yield);
        assert_eq!(hosts.policy(3).idle(), Idle::Spin);
        for (wait, idle) in Waiting::ALL
            .into_iter()
            .zip([Idle::Spin, Idle::Yield, Idle::Sleep])
        {
            let rules = TreeRules {
                wait: Some(wait),
                ..rules.clone()
            };
            let hosts = Hosts::new(&locations, &rules);
            assert_eq!([2, 3].map(|rank| hosts.policy(rank).idle()), [idle; 2]);
        }
    }
}
