//! When, by whom and where a job measured: what times depend on besides the MPI library.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use serde::{Deserialize, Serialize};

/// When, by whom and where a job measured. `None` and empty: unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(crate) struct Surroundings {
    /// Begin of the measurement in UTC: `2026-11-23T22:40:05Z`.
    pub(crate) date: Option<String>,
    /// Name of the user.
    pub(crate) user: Option<String>,
    /// Network in the words of the user, else the interfaces of the hosts.
    pub(crate) network: Vec<String>,
    /// By rank, where the process ran.
    pub(crate) placement: Vec<Place>,
}

/// Where a process ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Place {
    /// Name of its host.
    pub(crate) host: String,
    /// Cores that it may run on, as Linux writes them: `0-3,8`.
    pub(crate) cores: Option<String>,
    /// Core on which it ran at the begin.
    pub(crate) core: Option<usize>,
    /// Frequency of the core on which it ran at the begin, and at the end, MHz.
    pub(crate) core_mhz: [Option<f64>; 2],
}

/// What one process tells the others.
#[derive(Debug, Serialize, Deserialize)]
struct Own {
    place: Place,
    interfaces: Vec<String>,
}

impl Surroundings {
    /// At the begin of a measurement; collective. `network` is its name in the words of the user.
    pub(super) fn gather(world: &SimpleCommunicator, network: Option<&str>) -> Self {
        let core = current_core();
        let own = Own {
            place: Place {
                host: read_line("/proc/sys/kernel/hostname").unwrap_or_default(),
                cores: allowed_cores(),
                core,
                core_mhz: [core.and_then(frequency_mhz), None],
            },
            interfaces: interfaces(Path::new("/sys/class")),
        };
        let all = exchange(world, &own);
        Self {
            date: Some(utc_words(SystemTime::now())),
            user: user(),
            network: match network {
                Some(name) => vec![name.to_owned()],
                None => interfaces_in_words(&all),
            },
            placement: all.into_iter().map(|of| of.place).collect(),
        }
    }

    /// Adds what is known at the end of the measurement; collective.
    pub(super) fn complete(&mut self, world: &SimpleCommunicator) {
        let own = current_core().and_then(frequency_mhz).unwrap_or(f64::NAN);
        let mut all = vec![0.0f64; world.size() as usize];
        world.all_gather_into(&own, &mut all[..]);
        for (place, mhz) in self.placement.iter_mut().zip(all) {
            place.core_mhz[1] = Some(mhz).filter(|mhz| mhz.is_finite());
        }
    }

    /// Names of the hosts, in the order of their first ranks.
    pub(crate) fn hosts(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for place in &self.placement {
            if !names.contains(&place.host.as_str()) {
                names.push(&place.host);
            }
        }
        names
    }

    /// Where the processes ran: `node1: ranks 0-3 on cores 0-3; node2: ...`; empty if unknown.
    pub(crate) fn placement_in_words(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        for host in self.hosts() {
            let mut by_cores: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
            for (rank, place) in self.placement.iter().enumerate() {
                if place.host == host {
                    let cores = place.cores.as_deref().unwrap_or("unknown");
                    by_cores.entry(cores).or_default().push(rank);
                }
            }
            let mut sets: Vec<(&str, Vec<usize>)> = by_cores.into_iter().collect();
            sets.sort_by_key(|(_, ranks)| ranks[0]);
            let sets = sets
                .iter()
                .map(|(cores, ranks)| format!("ranks {} on cores {cores}", ranges(ranks)));
            words.push(format!("{host}: {}", sets.collect::<Vec<_>>().join(", ")));
        }
        words.join("; ")
    }

    /// The least and the greatest frequency of the cores of all processes, MHz: `2445 to 3210 MHz`;
    /// empty if unknown.
    pub(crate) fn frequency_in_words(&self) -> String {
        let all = self.placement.iter().flat_map(|place| place.core_mhz);
        let ends = all.flatten().fold(None, |ends: Option<(f64, f64)>, mhz| {
            let (low, high) = ends.unwrap_or((mhz, mhz));
            Some((low.min(mhz), high.max(mhz)))
        });
        match ends {
            None => String::new(),
            Some((low, high)) if high - low < 1.0 => format!("{low:.0} MHz"),
            Some((low, high)) => format!("{low:.0} to {high:.0} MHz"),
        }
    }
}

/// Numbers, ascending, with runs of neighbours as ranges: `0-3,8`.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let words = runs.map(|run| match run {
        [one] => one.to_string(),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    words.collect::<Vec<_>>().join(",")
}

/// What all processes tell, by rank; collective. One that cannot be read is left out.
fn exchange(world: &SimpleCommunicator, own: &Own) -> Vec<Own> {
    let mut text = serde_json::to_vec(own).unwrap_or_default();
    let n = world.size() as usize;
    let mut lengths = vec![0u64; n];
    world.all_gather_into(&(text.len() as u64), &mut lengths[..]);
    let longest = lengths.iter().copied().max().unwrap_or(0) as usize;
    text.resize(longest, b' ');
    let mut all = vec![0u8; longest * n];
    world.all_gather_into(&text[..], &mut all[..]);
    let texts = all.chunks_exact(longest.max(1));
    texts
        .filter_map(|text| serde_json::from_slice(text).ok())
        .collect()
}

/// Interfaces of all hosts: those that not all hosts have with the names of their hosts.
fn interfaces_in_words(all: &[Own]) -> Vec<String> {
    let mut hosts_of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut hosts: Vec<&str> = Vec::new();
    for own in all {
        let host = own.place.host.as_str();
        if hosts.contains(&host) {
            continue;
        }
        hosts.push(host);
        for interface in &own.interfaces {
            hosts_of.entry(interface).or_default().push(host);
        }
    }
    let words = hosts_of.into_iter().map(|(interface, of)| {
        if of.len() == hosts.len() {
            interface.to_owned()
        } else {
            format!("{interface} on {}", of.join(", "))
        }
    });
    words.collect()
}

/// Interfaces of this host that are up, with their rates as far as known: of InfiniBand, and of
/// others but loopback and bridges. `class` is `/sys/class`.
fn interfaces(class: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for device in entries(&class.join("infiniband")) {
        for port in entries(&device.join("ports")) {
            if read(&port.join("state")).is_some_and(|state| state.contains("ACTIVE")) {
                let rate = read(&port.join("rate")).map_or(String::new(), |of| format!(", {of}"));
                found.push(format!("{} port {}{rate}", name(&device), name(&port)));
            }
        }
    }
    for interface in entries(&class.join("net")) {
        let is_up = read(&interface.join("operstate")).is_some_and(|state| state == "up");
        if !is_up || name(&interface) == "lo" || interface.join("bridge").exists() {
            continue;
        }
        let speed: Option<i64> =
            read(&interface.join("speed")).and_then(|speed| speed.parse().ok());
        let speed = speed.filter(|speed| *speed > 0);
        let rate = speed.map_or(String::new(), |speed| format!(", {speed} Mb/s"));
        found.push(format!("{}{rate}", name(&interface)));
    }
    found
}

/// Entries of a folder by name; none if it cannot be read.
fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let read = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> = read.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn read(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

fn read_line(path: &str) -> Option<String> {
    read(Path::new(path))
}

/// Cores that this process may run on, as Linux writes them.
fn allowed_cores() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = status.lines();
    let cores = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(cores.trim().to_owned())
}

/// Core on which this process runs at the moment.
fn current_core() -> Option<usize> {
    // SAFETY: takes nothing and touches no memory of ours.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Frequency of a core at the moment, MHz: what its governor says, else the processor's own figure.
fn frequency_mhz(core: usize) -> Option<f64> {
    let of_governor = format!("/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq");
    let khz: Option<f64> = read_line(&of_governor).and_then(|khz| khz.parse().ok());
    khz.map(|khz| khz / 1e3)
        .or_else(|| frequency_in(&fs::read_to_string("/proc/cpuinfo").ok()?, core))
}

/// Frequency of a core in the text of `/proc/cpuinfo`, MHz.
fn frequency_in(cpuinfo: &str, core: usize) -> Option<f64> {
    let value = |line: &str, name: &str| -> Option<String> {
        let (found, value) = line.split_once(':')?;
        (found.trim() == name).then(|| value.trim().to_owned())
    };
    let core = core.to_string();
    let mut lines = cpuinfo
        .lines()
        .skip_while(|line| value(line, "processor").is_none_or(|found| found != core))
        .skip(1)
        .take_while(|line| value(line, "processor").is_none());
    lines.find_map(|line| value(line, "cpu MHz"))?.parse().ok()
}

/// Name of the user of this process, else its number.
fn user() -> Option<String> {
    // SAFETY: takes nothing.
    let id = unsafe { libc::geteuid() };
    let mut space = vec![0; 16_384];
    // SAFETY: all zeros is a valid passwd, a plain struct of numbers and pointers.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    // SAFETY: places that are valid for writing, and the length of the space.
    let code =
        unsafe { libc::getpwuid_r(id, &mut entry, space.as_mut_ptr(), space.len(), &mut found) };
    if code != 0 || found.is_null() {
        return Some(id.to_string());
    }
    // SAFETY: the entry was found, so its name is a C string in the space, which still lives.
    let name = unsafe { CStr::from_ptr(entry.pw_name) };
    Some(name.to_string_lossy().into_owned())
}

/// A time in UTC to the second: `2026-11-23T22:40:05Z`.
///
/// # Source
/// Howard Hinnant, chrono-compatible low-level date algorithms, civil_from_days.
fn utc_words(time: SystemTime) -> String {
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March of the year 0, in eras of 400 years.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        of_day / 3_600,
        of_day / 60 % 60,
        of_day % 60
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn place(host: &str, cores: &str, core_mhz: [Option<f64>; 2]) -> Place {
        Place {
            host: host.to_owned(),
            cores: Some(cores.to_owned()),
            core: None,
            core_mhz,
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar_with_its_leap_years() {
        let of = |seconds| utc_words(UNIX_EPOCH + Duration::from_secs(seconds));
        // Taken from date -u -d @SECONDS.
        assert_eq!(of(0), "1970-01-01T00:00:00Z");
        assert_eq!(of(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(of(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(of(1_735_689_599), "2024-12-31T23:59:59Z");
        assert_eq!(of(4_107_542_400), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn processes_are_placed_by_host_and_cores() {
        let surroundings = Surroundings {
            placement: vec![
                place("a", "0-1", [Some(2_000.0), Some(3_000.4)]),
                place("a", "2", [None, Some(2_500.0)]),
                place("b", "0-3", [None, None]),
                place("a", "0-1", [Some(1_999.9), None]),
            ],
            ..Surroundings::default()
        };
        assert_eq!(surroundings.hosts(), ["a", "b"]);
        assert_eq!(
            surroundings.placement_in_words(),
            "a: ranks 0,3 on cores 0-1, ranks 1 on cores 2; b: ranks 2 on cores 0-3"
        );
        assert_eq!(surroundings.frequency_in_words(), "2000 to 3000 MHz");
        let unknown = Surroundings::default();
        assert_eq!(
            unknown.frequency_in_words() + &unknown.placement_in_words(),
            ""
        );
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    }

    #[test]
    fn the_frequency_is_that_of_the_core() {
        let text = "processor\t: 0\ncpu MHz\t\t: 2445.4\nflags\t: fpu\n\nprocessor\t: 11\n\
                    model name\t: x\ncpu MHz\t\t: 1500.25\n\nprocessor\t: 1\nflags\t: fpu\n";
        assert_eq!(frequency_in(text, 0), Some(2_445.4));
        assert_eq!(frequency_in(text, 11), Some(1_500.25));
        assert_eq!(frequency_in(text, 1), None);
        assert_eq!(frequency_in(text, 2), None);
    }

    #[test]
    fn only_interfaces_that_are_up_are_named_with_their_rates() {
        let folder = tempfile::tempdir().unwrap();
        let file = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for (interface, state, speed) in [
            ("eth0", "up", "10000"),
            ("eth1", "down", "1000"),
            ("lo", "up", ""),
            ("tap0", "up", "-1"),
        ] {
            file(&format!("net/{interface}/operstate"), &format!("{state}\n"));
            file(&format!("net/{interface}/speed"), &format!("{speed}\n"));
        }
        file("net/br0/operstate", "up\n");
        file("net/br0/bridge/bridge_id", "x");
        file("infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
        file("infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
        file("infiniband/mlx5_0/ports/2/state", "1: DOWN\n");
        let expected = [
            "mlx5_0 port 1, 100 Gb/sec (4X EDR)",
            "eth0, 10000 Mb/s",
            "tap0",
        ];
        assert_eq!(interfaces(folder.path()), expected);
    }

    #[test]
    fn an_interface_that_not_all_hosts_have_is_named_with_its_hosts() {
        let own = |host: &str, interfaces: &[&str]| Own {
            place: place(host, "0", [None, None]),
            interfaces: interfaces.iter().map(|name| (*name).to_owned()).collect(),
        };
        let all = [
            own("a", &["eth0", "ib0"]),
            own("b", &["eth0"]),
            own("a", &["eth0", "ib0"]),
        ];
        assert_eq!(interfaces_in_words(&all), ["eth0", "ib0 on a"]);
    }
}
