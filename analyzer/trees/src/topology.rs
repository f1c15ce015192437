//! The cores of a host, from the files of `/sys/devices/system/cpu`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use collbench_formats::tree::{Cpu, HostTopology};

/// Largest number of a processor that is looked at.
const MAX_CPUS: u32 = 1 << 16;

/// The processors of the host that this folder describes: `/sys/devices/system/cpu`, or a copy;
/// `None` if it describes none. Processors that are off are left out.
///
/// The core complex of a processor are those that share its last level of cache; without any, its
/// socket.
#[must_use]
pub fn of_sys(folder: &Path) -> Option<HostTopology> {
    let text = |path: String| fs::read_to_string(folder.join(path)).ok();
    let online = text("online".to_owned()).or_else(|| text("present".to_owned()));
    let numbers = online.map(|list| cpu_list(&list)).unwrap_or_default();
    let mut cores = Numbers::default();
    let mut core_complexes = Numbers::default();
    let mut sockets = Numbers::default();
    let mut cpus = Vec::new();
    for number in numbers {
        let own = |file: &str| text(format!("cpu{number}/{file}"));
        let id = |file: &str| own(&format!("topology/{file}")).map(|id| id.trim().to_owned());
        let Some(socket) = id("physical_package_id") else {
            continue;
        };
        let core = id("core_id").unwrap_or_else(|| number.to_string());
        let shared = last_level(own).unwrap_or_default();
        cpus.push(Cpu {
            number,
            core: cores.of(format!("{socket} {core}")),
            core_complex: core_complexes.of(format!("{socket} {shared}")),
            socket: sockets.of(socket),
        });
    }
    (!cpus.is_empty()).then_some(HostTopology { cpus })
}

/// Numbers from 0 in the order in which names come.
#[derive(Debug, Default)]
struct Numbers(BTreeMap<String, u32>);

impl Numbers {
    fn of(&mut self, name: String) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(name).or_insert(next)
    }
}

/// The list of processors that share the last level of cache of one.
fn last_level(own: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut last: Option<(u32, String)> = None;
    for index in 0.. {
        let Some(level) = own(&format!("cache/index{index}/level")) else {
            break;
        };
        let level = level.trim().parse().unwrap_or(0);
        let shared = own(&format!("cache/index{index}/shared_cpu_list")).unwrap_or_default();
        if last.as_ref().is_none_or(|&(widest, _)| level > widest) {
            last = Some((level, shared.trim().to_owned()));
        }
    }
    last.map(|(_, shared)| shared)
}

/// The numbers of a list such as `0-3,8`, ascending.
fn cpu_list(list: &str) -> BTreeSet<u32> {
    let mut numbers = BTreeSet::new();
    for part in list.trim().split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (Ok(from), Ok(to)) = (from.trim().parse::<u32>(), to.trim().parse::<u32>()) else {
            continue;
        };
        numbers.extend(from..=to.min(MAX_CPUS));
    }
    numbers
}
