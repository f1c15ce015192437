//! Sites of hosts that a tree file does not name, found by round trips between the hosts.
//!
//! Each process would measure something else: so one process of each host measures, the first process
//! decides, and all get what it has found.
//!
//! A wrong site is worse than none, and where processes wait for cores, a round trip says more about
//! them than about the network. That a round trip is short is always true. That it is long is believed
//! only if it is so again and again, to the same length, while both processes have looked for the message
//! often enough to know when it came; and only if all pairs of hosts agree about where the sites are.
//! Whoever waits meanwhile gives its core to others.

use std::collections::BTreeMap;
use std::time::Duration;

use collbench_formats::tree::{Form, Level, TreeRules};
use collbench_trees::sites::Sites;

use crate::exchange::{CallFailed, CommunicatorTransport, Pair, Transport, WORDS};

/// Fewer are one site: a long round trip may as well be that of all links.
const LEAST_HOSTS: usize = 3;
/// With more hosts, pairs of all of them would take too long.
pub(super) const MOST_HOSTS: usize = 16;
/// Round trips of a pair: at least so many, so that one is not disturbed.
const LEAST: usize = 5;
/// At most so many.
const MOST: usize = 200;
/// No further round trip begins later than this after the first one, ns.
const LONGEST_NS: u64 = 50_000_000;
/// So many round trips of known length must repeat the shortest one.
const REPEATED: usize = 3;
/// Round trips repeat one another if they differ by no more than this part of their length, and their
/// length is known if it is uncertain by no more than that.
const WITHIN: u64 = 4;
/// Round trips between the hosts of two sites differ by no more than this factor.
const ALIKE: u64 = 2;

/// First word of a question, and of what says that there is none any more.
const ASKED: u64 = 1;
const ENOUGH: u64 = 2;
/// It is not known when a message has come.
const UNKNOWN_NS: u64 = u64::MAX / 4;

/// What messages are carried by: a process may look whether there is one.
pub(super) trait Polled: Transport {
    /// The next message from this process, if it has come.
    fn try_receive(&mut self, from: usize) -> Result<Option<[u64; WORDS]>, Self::Error>;
}

impl Polled for CommunicatorTransport {
    fn try_receive(&mut self, from: usize) -> Result<Option<[u64; WORDS]>, CallFailed> {
        if self.has_come(from)? {
            return self.receive(from).map(Some);
        }
        Ok(None)
    }
}

/// Waits for a message, and offers the core to others meanwhile. Returns how long it may have been there
/// at most, ns.
fn await_message<W: Polled>(
    transport: &mut W,
    from: usize,
) -> Result<([u64; WORDS], u64), W::Error> {
    let mut missing = None;
    loop {
        let begin = transport.now();
        if let Some(words) = transport.try_receive(from)? {
            let there = missing.map_or(UNKNOWN_NS, |since| transport.now().saturating_sub(since));
            return Ok((words, there));
        }
        missing = Some(begin);
        std::thread::yield_now();
    }
}

/// Waits for a message that comes when others have measured, and leaves the core to them.
pub(super) fn await_others<W: Polled>(
    transport: &mut W,
    from: usize,
) -> Result<[u64; WORDS], W::Error> {
    const INTERVAL: Duration = Duration::from_micros(200);
    loop {
        if let Some(words) = transport.try_receive(from)? {
            return Ok(words);
        }
        std::thread::sleep(INTERVAL);
    }
}

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

/// What is known of the round trips between two hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measured {
    shortest_ns: u64,
    /// Whether it is not longer because of anything but the network.
    is_sure: bool,
}

/// Whether enough of some round trips of known length repeat the shortest of all.
fn is_repeated(shortest_ns: u64, known: &[u64]) -> bool {
    let most = shortest_ns.saturating_add(shortest_ns / WITHIN);
    known.iter().filter(|&&ns| ns <= most).count() >= REPEATED
}

/// Measures round trips to a process that [answers](answer).
fn ask<W: Polled>(transport: &mut W, peer: usize) -> Result<Measured, W::Error> {
    let mut measured = Measured {
        shortest_ns: u64::MAX,
        is_sure: false,
    };
    let mut known = Vec::new();
    let mut first = None;
    for nth in 1..=MOST {
        let asked = transport.now();
        transport.send(peer, [ASKED, 0, 0, 0])?;
        let sent = transport.now();
        let ([took, there, ..], here) = await_message(transport, peer)?;
        let now = transport.now();
        let ns = now.saturating_sub(asked).saturating_sub(took).max(1);
        measured.shortest_ns = measured.shortest_ns.min(ns);
        let uncertain_ns = there.saturating_add(here).saturating_add(sent - asked);
        if uncertain_ns <= ns / WITHIN {
            known.push(ns);
        }
        measured.is_sure = is_repeated(measured.shortest_ns, &known);
        let elapsed = now.saturating_sub(*first.get_or_insert(now));
        if nth >= LEAST && measured.is_sure || elapsed >= LONGEST_NS {
            break;
        }
    }
    transport.send(peer, [ENOUGH, 0, 0, 0])?;
    Ok(measured)
}

/// Answers a process that [asks](ask), with the time that this takes, and how long the question may have
/// been there before.
fn answer<W: Polled>(transport: &mut W, peer: usize) -> Result<(), W::Error> {
    while let ([ASKED, ..], there) = await_message(transport, peer)? {
        let received = transport.now();
        let took = transport.now().saturating_sub(received);
        transport.send(peer, [took, there, 0, 0])?;
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
/// gets all, the others nothing.
pub(super) fn round_trips<W: Polled>(
    transport: &mut W,
    leaders: &[usize],
    own: usize,
) -> Result<BTreeMap<(usize, usize), Measured>, W::Error> {
    let mut found = BTreeMap::new();
    let pairs = pairs(leaders.len());
    for &Pair { reference, local } in &pairs {
        if reference == own {
            found.insert((reference, local), ask(transport, leaders[local])?);
        } else if local == own {
            answer(transport, leaders[reference])?;
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
            let ([shortest_ns, is_sure, ..], _) = await_message(transport, leader)?;
            let of = Measured {
                shortest_ns,
                is_sure: is_sure != 0,
            };
            found.insert((reference, local), of);
        }
    }
    Ok(found)
}

/// Whether round trips between so many hosts are measured.
pub(super) fn are_measured(n_hosts: usize) -> bool {
    (LEAST_HOSTS..=MOST_HOSTS).contains(&n_hosts)
}

/// What round trips say about sites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SitesFound {
    /// The site of each host.
    Sites(Vec<u32>),
    /// They divide nothing.
    One,
    /// They may, but not for sure.
    Unsure,
}

/// In a message: a byte for each host, its site from 1, or 0.
const _: () = assert!(MOST_HOSTS <= WORDS * size_of::<u64>());

impl SitesFound {
    pub(super) fn message(&self) -> [u64; WORDS] {
        let mut bytes = [[0; size_of::<u64>()]; WORDS];
        if let Self::Sites(sites) = self {
            for (to, site) in bytes.as_flattened_mut().iter_mut().zip(sites) {
                *to = *site as u8 + 1;
            }
        }
        bytes.map(u64::from_le_bytes)
    }
}

/// The site of each host, if there are several, as a [message](SitesFound::message) says it.
pub(super) fn of_message(words: [u64; WORDS]) -> impl Iterator<Item = Option<u32>> {
    let bytes = words.into_iter().flat_map(u64::to_le_bytes);
    bytes.map(|site| u32::from(site).checked_sub(1))
}

/// Finds the sites of hosts by what is known of the round trips between them.
pub(super) fn sites_of(
    n_hosts: usize,
    measured: &BTreeMap<(usize, usize), Measured>,
) -> SitesFound {
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

    /// Ranks on hosts of two sites, connected by channels; a message between sites is under way for
    /// some time.
    struct Threads {
        /// Each with the instant from which on it is there.
        to: Vec<Sender<(Instant, [u64; WORDS])>>,
        from: Vec<Receiver<(Instant, [u64; WORDS])>>,
        /// What is still under way, by sender.
        under_way: Vec<Option<(Instant, [u64; WORDS])>>,
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
            await_others(self, from)
        }
    }

    impl Polled for Threads {
        fn try_receive(&mut self, from: usize) -> Result<Option<[u64; WORDS]>, ()> {
            let waiting = self.under_way[from].take();
            match waiting.or_else(|| self.from[from].try_recv().ok()) {
                Some((at, words)) if at <= Instant::now() => Ok(Some(words)),
                later => {
                    self.under_way[from] = later;
                    Ok(None)
                }
            }
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
                under_way: vec![None; n],
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
                std::thread::spawn(move || round_trips(&mut transport, &leaders, own).unwrap())
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
    fn a_message_that_was_there_at_the_first_look_may_have_been_there_for_long() {
        let (sender, receiver) = channel();
        let mut one = Threads {
            to: vec![sender],
            from: vec![receiver],
            under_way: vec![None],
            rank: 0,
            begin: Instant::now(),
        };
        one.send(0, [7; WORDS]).unwrap();
        assert_eq!(await_message(&mut one, 0), Ok(([7; WORDS], UNKNOWN_NS)));
        let later = Instant::now() + Duration::from_millis(2);
        one.to[0].send((later, [8; WORDS])).unwrap();
        let (words, there) = await_message(&mut one, 0).unwrap();
        assert!(words == [8; WORDS] && there < UNKNOWN_NS);
    }

    #[test]
    fn what_is_found_is_the_same_after_a_message() {
        let sites = vec![0, 1, 1, 0, 2];
        let all: Vec<_> = of_message(SitesFound::Sites(sites.clone()).message()).collect();
        assert!(all.iter().flatten().eq(&sites));
        assert_eq!(all.len(), 32);
        assert!(of_message(SitesFound::Unsure.message()).all(|site| site.is_none()));
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
        assert!(!are_measured(2) && are_measured(3) && are_measured(16) && !are_measured(17));
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
    fn a_long_round_trip_is_sure_if_it_repeats_itself() {
        assert!(is_repeated(100, &[900, 125, 101, 102]));
        assert!(!is_repeated(100, &[900, 126, 101, 102]));
        assert!(!is_repeated(100, &[]));
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
