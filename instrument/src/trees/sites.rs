//! Sites of hosts that a tree file does not name, found by round trips between the hosts.
//!
//! Each process would measure something else: so one process of each host measures, the first process
//! decides, and all get what it has found.
//!
//! A wrong site is worse than none, and where processes wait for cores, a round trip says more about
//! them than about the network. That a round trip is short is always true. That it is long is believed
//! only if it is so again and again, to the same length, while neither process has waited for its core;
//! and only if all pairs of hosts agree about where the sites are.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use collbench_formats::tree::{Form, Level, TreeRules};
use collbench_trees::sites::Sites;

use crate::exchange::{Pair, Transport};

/// With more hosts, pairs of all of them would take too long.
const MOST_HOSTS: usize = 16;
/// Round trips of a pair: at least so many, so that one is not disturbed.
const LEAST: usize = 5;
/// At most so many.
const MOST: usize = 200;
/// No further round trip begins later than this after the first one, ns.
const LONGEST_NS: u64 = 100_000_000;
/// So many round trips without waiting must repeat the shortest one.
const REPEATED: usize = 3;
/// Round trips repeat one another if they differ by no more than a quarter.
const REPEATS_WITHIN: u64 = 4;
/// Part of a round trip that its processes may wait for cores.
const WAITED_PART: u64 = 20;
/// Round trips between the hosts of two sites differ by no more than this factor.
const ALIKE: u64 = 2;

/// Words of a question: whether there is one, and what the process that asks has waited so far.
const ASKED: u64 = 1;
const ENOUGH: u64 = 2;

/// Whether a tree joins sites, and the file does not say which hosts are at which site.
pub(super) fn are_wanted(rules: &TreeRules) -> bool {
    let is_of_sites = |form: &Form| match form {
        Form::Shaped(shaped) => shaped.joins.iter().any(|(level, _)| *level == Level::Site),
        Form::Nodes(_) => false,
    };
    let mut groups = rules.groups.iter();
    rules.rules.iter().any(|rule| is_of_sites(&rule.form))
        && groups.all(|group| group.level != Level::Site)
}

/// The time that this thread has waited for a core so far.
#[derive(Debug)]
pub(super) struct WaitedForCore(Option<File>);

impl WaitedForCore {
    pub(super) fn of_this_thread() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Nanoseconds; always more if the kernel does not say.
    fn ns(&self, before: u64) -> u64 {
        let mut text = [0; 96];
        let read = |file: &File| {
            let n = file.read_at(&mut text, 0).ok()?;
            let text = std::str::from_utf8(&text[..n]).ok()?;
            text.split_ascii_whitespace().nth(1)?.parse().ok()
        };
        let found: Option<u64> = self.0.as_ref().and_then(read);
        found.unwrap_or(before.saturating_add(LONGEST_NS))
    }
}

/// What is known of the round trips between two hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measured {
    shortest_ns: u64,
    /// Whether it is not longer because of anything but the network.
    is_sure: bool,
}

/// Whether enough of some round trips without waiting repeat the shortest of all.
fn is_repeated(shortest_ns: u64, undisturbed: &[u64]) -> bool {
    let most = shortest_ns + shortest_ns / REPEATS_WITHIN;
    undisturbed.iter().filter(|&&ns| ns <= most).count() >= REPEATED
}

/// Measures round trips to a process that [answers](answer).
fn ask<W: Transport>(
    transport: &mut W,
    peer: usize,
    waited: &WaitedForCore,
) -> Result<Measured, W::Error> {
    let mut measured = Measured {
        shortest_ns: u64::MAX,
        is_sure: false,
    };
    let mut undisturbed = Vec::new();
    let mut begin = None;
    let (mut here, mut there) = (waited.ns(0), None);
    for nth in 1..=MOST {
        let asked = transport.now();
        transport.send(peer, [ASKED, 0, 0, 0])?;
        let [took, waited_there, ..] = transport.receive(peer)?;
        let now = transport.now();
        let waited_here = waited.ns(here);
        let ns = now.saturating_sub(asked).saturating_sub(took).max(1);
        measured.shortest_ns = measured.shortest_ns.min(ns);
        let before = there.replace(waited_there);
        // What the other one had waited before is not known in the first round trip.
        let waited_ns = before.map_or(u64::MAX, |before| waited_there.saturating_sub(before));
        if waited_ns.saturating_add(waited_here - here) <= ns / WAITED_PART {
            undisturbed.push(ns);
        }
        here = waited_here;
        measured.is_sure = is_repeated(measured.shortest_ns, &undisturbed);
        let elapsed = now.saturating_sub(*begin.get_or_insert(now));
        if nth >= LEAST && measured.is_sure || elapsed >= LONGEST_NS {
            break;
        }
    }
    transport.send(peer, [ENOUGH, 0, 0, 0])?;
    Ok(measured)
}

/// Answers a process that [asks](ask), with the time that this takes.
fn answer<W: Transport>(
    transport: &mut W,
    peer: usize,
    waited: &WaitedForCore,
) -> Result<(), W::Error> {
    let mut so_far = 0;
    while let [ASKED, ..] = transport.receive(peer)? {
        let received = transport.now();
        so_far = waited.ns(so_far);
        let took = transport.now().saturating_sub(received);
        transport.send(peer, [took, so_far, 0, 0])?;
    }
    Ok(())
}

/// All pairs of hosts, in an order in which many are measured at the same time: in round r each host
/// meets another one.
fn pairs(n_hosts: usize) -> Vec<Pair> {
    let n = n_hosts.next_multiple_of(2);
    let mut all = Vec::new();
    for round in 0..n - 1 {
        // One stays, the others go around it.
        let at = |nth: usize| match nth {
            0 => n - 1,
            _ => (round + nth) % (n - 1),
        };
        let met = |nth: usize| (at(nth), at(n - 1 - nth));
        let of_round = (0..n / 2).map(met).map(|(a, b)| Pair {
            reference: a.min(b),
            local: a.max(b),
        });
        all.extend(of_round.filter(|pair| pair.local < n_hosts));
    }
    all
}

/// Measures round trips between all pairs of hosts, ascending. `leaders` has the rank of one process
/// of each host, and all of these call it: `own` is the place of the caller among them. The first one
/// gets all, the others nothing. With too many hosts nothing is measured.
pub(super) fn round_trips<W: Transport>(
    transport: &mut W,
    leaders: &[usize],
    own: usize,
    waited: &WaitedForCore,
) -> Result<BTreeMap<(usize, usize), Measured>, W::Error> {
    let mut found = BTreeMap::new();
    if leaders.len() > MOST_HOSTS {
        return Ok(found);
    }
    let pairs = pairs(leaders.len());
    for &Pair { reference, local } in &pairs {
        if reference == own {
            found.insert((reference, local), ask(transport, leaders[local], waited)?);
        } else if local == own {
            answer(transport, leaders[reference], waited)?;
        }
    }
    if own > 0 {
        for of in found.values() {
            let is_sure = u64::from(of.is_sure);
            transport.send(leaders[0], [of.shortest_ns, is_sure, 0, 0])?;
        }
        return Ok(BTreeMap::new());
    }
    for (reference, &leader) in leaders.iter().enumerate().skip(1) {
        for local in reference + 1..leaders.len() {
            let [shortest_ns, is_sure, ..] = transport.receive(leader)?;
            let of = Measured {
                shortest_ns,
                is_sure: is_sure != 0,
            };
            found.insert((reference, local), of);
        }
    }
    Ok(found)
}

/// What round trips say about sites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SitesFound {
    /// The site of each host.
    Sites(Vec<u32>),
    /// They are measured between at most so many hosts.
    TooMany(usize),
    /// They divide nothing.
    One,
    /// They may, but not for sure.
    Unsure,
}

/// Finds the sites of hosts by what is known of the round trips between them.
pub(super) fn sites_of(
    n_hosts: usize,
    measured: &BTreeMap<(usize, usize), Measured>,
) -> SitesFound {
    if n_hosts > MOST_HOSTS {
        return SitesFound::TooMany(MOST_HOSTS);
    }
    let ns = |of: &Measured| i64::try_from(of.shortest_ns).unwrap_or(i64::MAX);
    let round_trips = measured.iter().map(|(&pair, of)| (pair, ns(of))).collect();
    let Some(sites) = Sites::find(n_hosts, &round_trips) else {
        return SitesFound::One;
    };
    let mut between: BTreeMap<(usize, usize), (u64, u64)> = BTreeMap::new();
    for (&(a, b), of) in measured {
        let (one, other) = (sites.of_host[a], sites.of_host[b]);
        let is_near = ns(of) <= sites.within_ns;
        if (one == other) != is_near || !(is_near || of.is_sure) {
            return SitesFound::Unsure;
        }
        if one != other {
            let range = between.entry((one.min(other), one.max(other)));
            let (least, most) = range.or_insert((of.shortest_ns, of.shortest_ns));
            *least = of.shortest_ns.min(*least);
            *most = of.shortest_ns.max(*most);
        }
    }
    if between.values().any(|(least, most)| *most > ALIKE * least) {
        return SitesFound::Unsure;
    }
    SitesFound::Sites(sites.of_host.iter().map(|&site| site as u32).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::{Duration, Instant};

    use collbench_formats::tree::{
        Calls, Collectors, CollectorsOfKinds, HostGroup, Rule, Shape, Shaped,
    };

    use super::*;
    use crate::exchange::WORDS;

    /// Ranks on hosts of two sites, connected by channels; a message between sites is under way for
    /// some time.
    struct Threads {
        /// Each with the instant from which on it is there.
        to: Vec<Sender<(Instant, [u64; WORDS])>>,
        from: Vec<Receiver<(Instant, [u64; WORDS])>>,
        rank: usize,
        begin: Instant,
    }

    const SITE_OF_RANK: [usize; 5] = [0, 1, 1, 0, 1];

    impl Transport for Threads {
        type Error = ();

        fn now(&mut self) -> u64 {
            self.begin.elapsed().as_nanos() as u64 + 1
        }

        fn send(&mut self, to: usize, words: [u64; WORDS]) -> Result<(), ()> {
            let is_far = SITE_OF_RANK[self.rank] != SITE_OF_RANK[to];
            let way = Duration::from_millis(if is_far { 20 } else { 0 });
            self.to[to]
                .send((Instant::now() + way, words))
                .map_err(drop)
        }

        fn receive(&mut self, from: usize) -> Result<[u64; WORDS], ()> {
            let (at, words) = self.from[from].recv().map_err(drop)?;
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            Ok(words)
        }
    }

    #[test]
    fn the_first_leader_gets_the_round_trips_of_all_pairs() {
        let n = SITE_OF_RANK.len();
        let begin = Instant::now();
        let mut all: Vec<Threads> = (0..n)
            .map(|rank| Threads {
                to: Vec::new(),
                from: Vec::new(),
                rank,
                begin,
            })
            .collect();
        for from in 0..n {
            for to in 0..n {
                let (sender, receiver) = channel();
                all[from].to.push(sender);
                // By sender, since they are the outer loop.
                all[to].from.push(receiver);
            }
        }
        // The ranks of hosts 0 to 4.
        let leaders = [0, 1, 2, 3, 4];
        let threads: Vec<_> = (0..n)
            .zip(all)
            .map(|(own, mut transport)| {
                std::thread::spawn(move || {
                    let waited = WaitedForCore::of_this_thread();
                    round_trips(&mut transport, &leaders, own, &waited).unwrap()
                })
            })
            .collect();
        let found: Vec<_> = threads.into_iter().map(|one| one.join().unwrap()).collect();
        assert!(found[1..].iter().all(BTreeMap::is_empty));
        assert_eq!(found[0].len(), n * (n - 1) / 2);
        for (&(one, other), of) in &found[0] {
            let is_far = SITE_OF_RANK[one] != SITE_OF_RANK[other];
            assert!(
                !is_far || of.shortest_ns >= 40_000_000,
                "{one} to {other}: {of:?}"
            );
        }
    }

    #[test]
    fn each_pair_is_measured_once_and_each_host_at_most_once_at_a_time() {
        for n_hosts in 1..=MOST_HOSTS {
            let pairs = pairs(n_hosts);
            let mut sorted: Vec<_> = pairs.iter().map(|of| (of.reference, of.local)).collect();
            sorted.sort_unstable();
            let expected = (0..n_hosts).flat_map(|a| (a + 1..n_hosts).map(move |b| (a, b)));
            assert!(sorted.into_iter().eq(expected), "{n_hosts}");
            for round in pairs.chunks((n_hosts / 2).max(1)) {
                let hosts = round.iter().flat_map(|of| [of.reference, of.local]);
                let different: std::collections::BTreeSet<_> = hosts.collect();
                assert_eq!(different.len(), 2 * round.len(), "{n_hosts}: {round:?}");
            }
        }
    }

    const FAR: u64 = 4_000_000;

    /// Round trips of hosts at these sites, all of them sure.
    fn measured(sites: &[u32]) -> BTreeMap<(usize, usize), Measured> {
        let n = sites.len();
        let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
        let of_pair = |(a, b): (usize, usize)| {
            let is_far = sites[a] != sites[b];
            let of = Measured {
                shortest_ns: if is_far { FAR } else { 200_000 } + (a + b) as u64,
                is_sure: true,
            };
            ((a, b), of)
        };
        pairs.map(of_pair).collect()
    }

    #[test]
    fn sites_are_those_of_all_pairs() {
        for sites in [
            vec![0, 1, 1, 0],
            vec![0, 0, 1],
            vec![0, 1, 2, 2, 1, 0, 0, 1],
        ] {
            let found = sites_of(sites.len(), &measured(&sites));
            assert_eq!(found, SitesFound::Sites(sites));
        }
        assert_eq!(sites_of(4, &measured(&[0; 4])), SitesFound::One);
        assert_eq!(sites_of(2, &measured(&[0, 1])), SitesFound::One);
        let many = [0; MOST_HOSTS + 1];
        assert_eq!(
            sites_of(many.len(), &BTreeMap::new()),
            SitesFound::TooMany(MOST_HOSTS)
        );
    }

    #[test]
    fn nothing_is_taken_that_is_not_sure() {
        let sites = [0, 1, 1, 0];
        let changed = |pair: (usize, usize), of: Measured| {
            let mut measured = measured(&sites);
            measured.insert(pair, of);
            sites_of(4, &measured)
        };
        let of = |shortest_ns, is_sure| Measured {
            shortest_ns,
            is_sure,
        };
        let expected = SitesFound::Sites(sites.to_vec());
        // Short ones are always true.
        assert_eq!(changed((0, 3), of(200_000, false)), expected);
        assert_eq!(changed((0, 1), of(FAR, false)), SitesFound::Unsure);
        // A pair within a site that looks like one between sites, and pairs between two sites that
        // are far from alike.
        assert_ne!(changed((0, 3), of(FAR, true)), expected);
        assert_eq!(changed((0, 1), of(3 * FAR, true)), SitesFound::Unsure);
        // A host that is near to one of each site.
        assert_ne!(changed((0, 1), of(200_000, true)), expected);
    }

    #[test]
    fn a_long_round_trip_is_sure_if_it_repeats_itself_without_waiting() {
        assert!(is_repeated(100, &[900, 125, 101, 102]));
        assert!(!is_repeated(100, &[900, 126, 101, 102]));
        assert!(!is_repeated(100, &[]));
    }

    #[test]
    fn where_the_kernel_does_not_say_how_long_a_thread_waits_it_always_does() {
        let unknown = WaitedForCore(None);
        assert!(unknown.ns(unknown.ns(0)) >= 2 * LONGEST_NS);
        let known = WaitedForCore::of_this_thread();
        if known.0.is_some() {
            assert!(known.ns(0) <= known.ns(0));
        }
    }

    #[test]
    fn sites_are_measured_only_for_trees_that_join_sites_which_nobody_names() {
        let rule = Rule {
            line: 1,
            calls: Calls {
                operations: Vec::new(),
                ranks: (2, 9),
                bytes: (0, 9),
            },
            form: Form::Shaped(Shaped {
                joins: vec![(Level::Rank, Shape::Binomial), (Level::Site, Shape::Linear)],
                root: None,
                hosts: Vec::new(),
            }),
            collectors: CollectorsOfKinds::uniform(Collectors::NONE),
        };
        let mut rules = TreeRules::default();
        assert!(!are_wanted(&rules));
        rules.rules.push(rule);
        assert!(are_wanted(&rules));
        rules.groups.push(HostGroup {
            level: Level::Site,
            name: "s".to_owned(),
            hosts: vec!["a".to_owned()],
        });
        assert!(!are_wanted(&rules));
    }
}
