//! Sites of hosts that a tree file does not name, found by round trips between the hosts.
//!
//! Each process would measure something else: so one process of each host measures, the first process
//! decides, and all get what it has found.
//!
//! A wrong site is worse than none, and where processes wait for cores, a round trip says more about
//! them than about the network. That a round trip is short is always true. That it is long is believed
//! only if it is so again and again, to the same length, while both processes have looked for the message
//! often enough to know when it came; and only if all pairs of hosts agree about where the sites are.
//!
//! First many pairs are measured at the same time. Where processes share cores they disturb each other:
//! pairs that are not sure then are measured again one by one, while all others sleep.

use std::collections::BTreeMap;
use std::time::Duration;

use collbench_formats::tree::{Form, Level, Rule, TreeRules};
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
/// More than the least begin no later than this after the first one, ns.
const LONGEST_NS: u64 = 50_000_000;
/// So many round trips of known length must repeat the shortest one.
const REPEATED: usize = 3;
/// Round trips repeat one another if they differ by no more than this part of their length, and their
/// length is known if it is uncertain by no more than that.
const WITHIN: u64 = 4;
/// Round trips between the hosts of two sites differ by no more than this factor.
const ALIKE: u64 = 2;
/// A round trip is not short from how many times the shortest of all on.
const LONG: u64 = 2;
/// No pair is measured again later than this after all were measured, ns.
const AGAIN_NS: u64 = 2_000_000_000;

/// Who waits for a message looks for it again after this part of the time that it has waited, if that is
/// not too short for a sleep, and no later than after the interval.
const UNSEEN: u64 = 16;
const LEAST_SLEEP_NS: u64 = 50_000;
const INTERVAL: Duration = Duration::from_micros(200);

/// First word of a question, and of what says that there is none any more.
const ASKED: u64 = 1;
const ENOUGH: u64 = 2;
/// First words of what the first process tells the others: measure a pair again, and what was found.
const ASK: u64 = 1;
const ANSWER: u64 = 2;
const FOUND: u64 = 3;
/// It is not known when a message has come.
const UNKNOWN_NS: u64 = u64::MAX / 4;

/// What messages are carried by: a process may look whether there is one.
pub(super) trait Polled: Transport {
    /// The next message from this process, if it has come.
    fn try_receive(&mut self, from: usize) -> Result<Option<[u64; WORDS]>, Self::Error>;
}

impl Polled for CommunicatorTransport {
    fn try_receive(&mut self, from: usize) -> Result<Option<[u64; WORDS]>, CallFailed> {
        // Open MPI looks at what it has received before it receives more: only the second answer is about
        // all that was there when the first one was asked for.
        if self.has_come(from)? || self.has_come(from)? {
            return self.receive(from).map(Some);
        }
        Ok(None)
    }
}

/// Waits for a message, and leaves the core to others meanwhile. Returns how long it may have been there
/// at most, ns.
fn await_message<W: Polled>(
    transport: &mut W,
    from: usize,
) -> Result<([u64; WORDS], u64), W::Error> {
    let begin = transport.now();
    let mut missing = None;
    loop {
        let look = transport.now();
        if let Some(words) = transport.try_receive(from)? {
            let there = missing.map_or(UNKNOWN_NS, |since| transport.now().saturating_sub(since));
            return Ok((words, there));
        }
        missing = Some(look);
        // A small part of a long round trip. Who wakes up gets its core sooner than who has offered it.
        match look.saturating_sub(begin) / UNSEEN {
            ..LEAST_SLEEP_NS => std::thread::yield_now(),
            ns => std::thread::sleep(Duration::from_nanos(ns).min(INTERVAL)),
        }
    }
}

/// Waits for a message that comes when others have measured, and leaves the core to them.
pub(super) fn await_others<W: Polled>(
    transport: &mut W,
    from: usize,
) -> Result<[u64; WORDS], W::Error> {
    loop {
        if let Some(words) = transport.try_receive(from)? {
            return Ok(words);
        }
        std::thread::sleep(INTERVAL);
    }
}

/// Whether a tree depends on sites, and the file does not say which hosts are at which site.
pub(super) fn are_wanted(rules: &TreeRules) -> bool {
    let is_of_sites = |rule: &Rule| match (&rule.form, rule.calls.across) {
        (_, Some(Level::Host | Level::Site)) => true,
        (Form::Shaped(shaped), _) => shaped.joins.iter().any(|(level, _)| *level == Level::Site),
        (Form::Nodes(_), _) => false,
    };
    let mut groups = rules.groups.iter();
    rules.rules.iter().any(is_of_sites) && groups.all(|group| group.level != Level::Site)
}

/// What is known of the round trips between two hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) shortest_ns: u64,
    /// Whether it is not longer because of anything but the network.
    is_sure: bool,
}

/// By pair of hosts, ascending.
pub(super) type RoundTrips = BTreeMap<(usize, usize), Measured>;

impl Measured {
    fn message(self) -> [u64; WORDS] {
        [self.shortest_ns, u64::from(self.is_sure), 0, 0]
    }

    fn of_message([shortest_ns, is_sure, ..]: [u64; WORDS]) -> Self {
        Self {
            shortest_ns,
            is_sure: is_sure != 0,
        }
    }

    /// Of what was measured once, and again.
    fn merge(&mut self, again: Self) {
        let shortest_ns = self.shortest_ns.min(again.shortest_ns);
        let is_repeated = |of: &Self| of.is_sure && repeats(of.shortest_ns, shortest_ns);
        self.is_sure = is_repeated(self) || is_repeated(&again);
        self.shortest_ns = shortest_ns;
    }
}

/// Whether a round trip repeats the shortest one.
fn repeats(ns: u64, shortest_ns: u64) -> bool {
    ns <= shortest_ns.saturating_add(shortest_ns / WITHIN)
}

/// Whether enough of some round trips of known length repeat the shortest of all.
fn is_repeated(shortest_ns: u64, known: &[u64]) -> bool {
    known.iter().filter(|&&ns| repeats(ns, shortest_ns)).count() >= REPEATED
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
        if nth >= LEAST && (measured.is_sure || elapsed >= LONGEST_NS) {
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
fn round_trips<W: Polled>(
    transport: &mut W,
    leaders: &[usize],
    own: usize,
) -> Result<RoundTrips, W::Error> {
    let mut found = RoundTrips::new();
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
            transport.send(leaders[0], of.message())?;
        }
        return Ok(RoundTrips::new());
    }
    for (reference, &leader) in leaders.iter().enumerate().skip(1) {
        for local in reference + 1..leaders.len() {
            let (words, _) = await_message(transport, leader)?;
            found.insert((reference, local), Measured::of_message(words));
        }
    }
    Ok(found)
}

/// Measures a pair again, for the first process, which is `own` 0.
fn measure_again<W: Polled>(
    transport: &mut W,
    leaders: &[usize],
    (reference, local): (usize, usize),
) -> Result<Measured, W::Error> {
    transport.send(leaders[local], [ANSWER, reference as u64, 0, 0])?;
    if reference == 0 {
        return ask(transport, leaders[local]);
    }
    transport.send(leaders[reference], [ASK, local as u64, 0, 0])?;
    await_others(transport, leaders[reference]).map(Measured::of_message)
}

/// Finds the sites of the hosts of these processes, of which the caller is the first one, and tells the
/// others, who [take part](take_part).
pub(super) fn find<W: Polled>(
    transport: &mut W,
    leaders: &[usize],
) -> Result<(SitesFound, RoundTrips), W::Error> {
    let mut measured = round_trips(transport, leaders, 0)?;
    let begin = transport.now();
    let mut found = sites_of(leaders.len(), &measured);
    while let SitesFound::Unsure(unclear) = &found
        && transport.now().saturating_sub(begin) < AGAIN_NS
    {
        for &pair in unclear {
            if transport.now().saturating_sub(begin) < AGAIN_NS {
                let again = measure_again(transport, leaders, pair)?;
                measured.entry(pair).and_modify(|of| of.merge(again));
            }
        }
        found = sites_of(leaders.len(), &measured);
    }
    for &other in &leaders[1..] {
        transport.send(other, found.message())?;
    }
    Ok((found, measured))
}

/// Takes part while the first of these processes [finds](find) the sites; `own` is the place of the
/// caller among them. Returns the [message](SitesFound::message) with what it has found.
pub(super) fn take_part<W: Polled>(
    transport: &mut W,
    leaders: &[usize],
    own: usize,
) -> Result<[u64; WORDS], W::Error> {
    round_trips(transport, leaders, own)?;
    loop {
        let words = await_others(transport, leaders[0])?;
        let peer = || leaders[words[1] as usize];
        match words[0] {
            ASK => {
                let measured = ask(transport, peer())?;
                transport.send(leaders[0], measured.message())?;
            }
            ANSWER => answer(transport, peer())?,
            _ => return Ok(words),
        }
    }
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
    /// They may, but not for sure, because of these pairs.
    Unsure(Vec<(usize, usize)>),
}

/// In a message: a word that says so, then a byte for each host, its site from 1, or 0.
const _: () = assert!(MOST_HOSTS <= (WORDS - 1) * size_of::<u64>());

impl SitesFound {
    /// What was found, unless some pairs are not clear.
    fn unless_unclear(
        self,
        measured: &RoundTrips,
        is_unclear: impl Fn((usize, usize), &Measured) -> bool,
    ) -> Self {
        let unclear = measured.iter().filter(|&(&pair, of)| is_unclear(pair, of));
        let unclear: Vec<_> = unclear.map(|(&pair, _)| pair).collect();
        if unclear.is_empty() {
            self
        } else {
            Self::Unsure(unclear)
        }
    }

    pub(super) fn message(&self) -> [u64; WORDS] {
        let mut words = [FOUND; WORDS];
        let mut bytes = [[0; size_of::<u64>()]; WORDS - 1];
        if let Self::Sites(sites) = self {
            for (to, site) in bytes.as_flattened_mut().iter_mut().zip(sites) {
                *to = *site as u8 + 1;
            }
        }
        words[1..].copy_from_slice(&bytes.map(u64::from_le_bytes));
        words
    }
}

/// The site of each host, if there are several, as a [message](SitesFound::message) says it.
pub(super) fn of_message(words: [u64; WORDS]) -> impl Iterator<Item = Option<u32>> {
    let bytes = words.into_iter().skip(1).flat_map(u64::to_le_bytes);
    bytes.map(|site| u32::from(site).checked_sub(1))
}

/// Finds the sites of hosts by what is known of the round trips between them.
fn sites_of(n_hosts: usize, measured: &RoundTrips) -> SitesFound {
    let ns = |of: &Measured| i64::try_from(of.shortest_ns).unwrap_or(i64::MAX);
    let round_trips = measured.iter().map(|(&pair, of)| (pair, ns(of))).collect();
    let Some(sites) = Sites::find(n_hosts, &round_trips) else {
        let shortest_ns = measured.values().map(|of| of.shortest_ns).min();
        let long_ns = shortest_ns.unwrap_or(0).saturating_mul(LONG);
        return SitesFound::One
            .unless_unclear(measured, |_, of| !of.is_sure && of.shortest_ns >= long_ns);
    };
    let of_pair = |(a, b): (usize, usize)| {
        let (one, other) = (sites.of_host[a], sites.of_host[b]);
        (one.min(other), one.max(other))
    };
    let mut least: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (&pair, of) in measured {
        let ns = least.entry(of_pair(pair)).or_insert(of.shortest_ns);
        *ns = of.shortest_ns.min(*ns);
    }
    let is_unclear = |pair, of: &Measured| {
        let (one, other) = of_pair(pair);
        let is_near = ns(of) <= sites.within_ns;
        let are_alike = of.shortest_ns <= ALIKE * least[&(one, other)];
        let is_clear = is_near || (of.is_sure && are_alike);
        (one == other) != is_near || !is_clear
    };
    let of_host = sites.of_host.iter().map(|&site| site as u32).collect();
    SitesFound::Sites(of_host).unless_unclear(measured, is_unclear)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use collbench_formats::tree::{Calls, Collectors, CollectorsOfKinds, HostGroup, Shape, Shaped};

    use super::*;

    /// A process on a host of one of two sites. Its clock goes on as it looks for messages, each of which
    /// is there from some time on.
    struct Simulated {
        to: Vec<Sender<(u64, [u64; WORDS])>>,
        from: Vec<Receiver<(u64, [u64; WORDS])>>,
        /// What is still under way, by sender.
        under_way: Vec<Option<(u64, [u64; WORDS])>>,
        rank: usize,
        now: u64,
        network: Network,
    }

    #[derive(Clone, Copy)]
    struct Network {
        /// How long a message between the sites is under way.
        far_ns: u64,
        /// So long processes wait for cores, and look for messages too seldom.
        disturbed_until: u64,
    }

    const SITE_OF_RANK: [u32; 5] = [0, 1, 1, 0, 1];

    impl Transport for Simulated {
        type Error = ();

        fn now(&mut self) -> u64 {
            self.now
        }

        fn send(&mut self, to: usize, words: [u64; WORDS]) -> Result<(), ()> {
            let is_far = SITE_OF_RANK[self.rank] != SITE_OF_RANK[to];
            let way = if is_far { self.network.far_ns } else { 50_000 };
            self.to[to].send((self.now + way, words)).map_err(drop)
        }

        fn receive(&mut self, from: usize) -> Result<[u64; WORDS], ()> {
            await_others(self, from)
        }
    }

    impl Polled for Simulated {
        fn try_receive(&mut self, from: usize) -> Result<Option<[u64; WORDS]>, ()> {
            let (at, words) = match self.under_way[from].take() {
                Some(message) => message,
                None => self.from[from].recv().map_err(drop)?,
            };
            if self.now >= at {
                return Ok(Some(words));
            }
            // It last looks in vain so long before.
            let before_ns = match self.now < self.network.disturbed_until {
                true => self.network.far_ns,
                false => 5_000,
            };
            self.now = if self.now + before_ns < at {
                at - before_ns
            } else {
                at
            };
            self.under_way[from] = Some((at, words));
            Ok(None)
        }
    }

    /// What the first leader finds, when, and what the others get.
    fn found(network: Network) -> (SitesFound, u64, Vec<[u64; WORDS]>) {
        let n = SITE_OF_RANK.len();
        let mut all: Vec<Simulated> = (0..n)
            .map(|rank| Simulated {
                to: Vec::new(),
                from: Vec::new(),
                under_way: vec![None; n],
                rank,
                now: 1,
                network,
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
        let leaders = [0, 1, 2, 3, 4];
        let mut all = all.into_iter().enumerate();
        let (_, mut first) = all.next().unwrap();
        let others: Vec<_> = all
            .map(|(own, mut transport)| {
                std::thread::spawn(move || take_part(&mut transport, &leaders, own).unwrap())
            })
            .collect();
        let (found, measured) = find(&mut first, &leaders).unwrap();
        assert_eq!(measured.len(), n * (n - 1) / 2);
        for (&(one, other), of) in &measured {
            let is_far = SITE_OF_RANK[one] != SITE_OF_RANK[other];
            let least_ns = if is_far { 2 * network.far_ns } else { 0 };
            assert!(of.shortest_ns >= least_ns, "{one} to {other}: {of:?}");
        }
        let others = others.into_iter().map(|one| one.join().unwrap());
        (found, first.now, others.collect())
    }

    #[test]
    fn pairs_that_were_disturbed_are_measured_again_and_all_get_the_sites() {
        let sites = SitesFound::Sites(SITE_OF_RANK.to_vec());
        for (far_ns, disturbed_until) in [
            (2_000_000, 0),
            (2_000_000, 600_000_000),
            // So long a way takes more than the time of a pair.
            (40_000_000, 0),
        ] {
            let (found, _, others) = found(Network {
                far_ns,
                disturbed_until,
            });
            assert_eq!(found, sites, "{far_ns}, {disturbed_until}");
            assert!(others.iter().all(|of| *of == sites.message()));
        }
    }

    #[test]
    fn pairs_that_stay_disturbed_are_given_up() {
        let (found, now, others) = found(Network {
            far_ns: 2_000_000,
            disturbed_until: u64::MAX,
        });
        assert!(matches!(found, SitesFound::Unsure(_)), "{found:?}");
        assert!(others.iter().all(|of| *of == found.message()));
        // All pairs once, and again.
        assert!((AGAIN_NS..2 * AGAIN_NS).contains(&now), "{now}");
    }

    #[test]
    fn a_message_that_was_there_at_the_first_look_may_have_been_there_for_long() {
        let (sender, receiver) = channel();
        let mut one = Simulated {
            to: vec![sender],
            from: vec![receiver],
            under_way: vec![None],
            rank: 0,
            now: 1,
            network: Network {
                far_ns: 0,
                disturbed_until: 0,
            },
        };
        one.to[0].send((1, [7; WORDS])).unwrap();
        assert_eq!(await_message(&mut one, 0), Ok(([7; WORDS], UNKNOWN_NS)));
        one.to[0].send((100_000, [8; WORDS])).unwrap();
        assert_eq!(await_message(&mut one, 0), Ok(([8; WORDS], 5_000)));
    }

    #[test]
    fn what_is_found_is_the_same_after_a_message() {
        let sites = vec![0, 1, 1, 0, 2];
        let all: Vec<_> = of_message(SitesFound::Sites(sites.clone()).message()).collect();
        assert!(all.iter().flatten().eq(&sites));
        assert_eq!(all.len(), 24);
        assert!(of_message(SitesFound::One.message()).all(|site| site.is_none()));
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
        let unsure = SitesFound::Unsure(vec![(0, 1)]);
        assert_eq!(changed((0, 1), of(FAR, false)), unsure);
        // Pairs between two sites that are far from alike, and a pair within a site that looks like one
        // between sites.
        assert_eq!(changed((0, 1), of(3 * FAR, true)), unsure);
        assert_ne!(changed((0, 3), of(FAR, true)), expected);
        // A host that is near to one of each site.
        assert_ne!(changed((0, 1), of(200_000, true)), expected);
        // Nothing divides hosts at one site, but for what is not sure.
        let mut one = measured(&[0; 4]);
        one.insert((1, 2), of(300_000, false));
        assert_eq!(sites_of(4, &one), SitesFound::One);
        one.insert((1, 2), of(900_000, false));
        assert_eq!(sites_of(4, &one), SitesFound::Unsure(vec![(1, 2)]));
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
                across: None,
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
