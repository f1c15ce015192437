//! LogGP parameters of classes of links, from the messages of a recorded run.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use collbench_schedules::{Link, Network, Shared, Way};

use super::eager::eager_bytes;
use super::links::{MeasuredClass, MeasuredLinks};
use super::recorded::{Class, Recorded, Sample};

/// Messages that show a parameter, at least.
pub(super) const LEAST: usize = 30;
/// Messages that count as short, bytes.
const SHORT: u64 = 4096;
/// A new class begins where messages take so many times as long.
const FACTOR: f64 = 2.5;
/// The standard error of a median of n values, by the distance of their quartiles and the square root of n, if
/// they are normally distributed: 1.2533 / 1.3490.
const ERROR_OF_MEDIAN: f64 = 0.929;
/// The part of messages that are taken for the fastest ones.
const FASTEST: f64 = 0.1;
/// The quantile of calls to send and receive that is their overhead: what is longer was disturbed.
const UNDISTURBED: f64 = 0.1;
/// A link between sites of which a byte takes so many times as long as of those of single hosts is what limits them.
const SLOWER: f64 = 1.5;

/// A class of links.
#[derive(Debug, Clone)]
pub struct LinkClass {
    /// `same host`, or `between hosts`, with a number where there are several; or the name in the links file.
    pub name: String,
    /// Its parameters.
    pub link: Link,
    /// Whether they are those of the links file.
    pub is_measured: bool,
    /// How many messages of the run they are from, or are known to have been alone on its links.
    pub n_messages: usize,
    /// The longest of these messages, bytes.
    pub longest_bytes: u64,
    /// The median of messages of each length, ns.
    usual_ns: BTreeMap<u64, f64>,
    /// How exactly its parameters are known.
    pub deviations: Deviations,
}

/// By how much messages take longer than the parameters of their class say.
#[derive(Debug, Clone, Default)]
pub struct Deviations {
    /// Of those that were recorded, ns: instance by instance in the order of time, since what delays one message of an instance
    /// delays others.
    pub of_messages_ns: Vec<f64>,
    /// Of all messages on one link of the class, ns; empty where that is not known.
    pub of_links_ns: Vec<f64>,
}

/// Classes of links, and which class the links between hosts are of.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    /// The classes.
    pub classes: Vec<LinkClass>,
    /// Links of which too little is known.
    pub too_few: Vec<LinkTooFew>,
    /// By pair of hosts, the lower index first.
    of_hosts: BTreeMap<[usize; 2], usize>,
    shared: SharedLinks,
}

/// Links on which too few short messages were alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkTooFew {
    /// As of a [`LinkClass`].
    pub name: String,
    /// How many were.
    pub n_messages: usize,
}

/// Links between sites.
#[derive(Debug, Clone, Default)]
struct SharedLinks {
    /// The site of each host.
    of_host: Vec<usize>,
    /// By sites of the sender and the receiver.
    of_sites: BTreeMap<[usize; 2], usize>,
    all: Vec<Shared>,
}

impl SharedLinks {
    fn between(&self, from: usize, to: usize) -> Option<usize> {
        let way = [*self.of_host.get(from)?, *self.of_host.get(to)?];
        self.of_sites.get(&way).copied()
    }
}

/// It is not known where a process was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no file of rank {0}: record all ranks")]
pub struct UnknownHost(pub u32);

/// The messages on some links.
#[derive(Debug, Default)]
struct Messages {
    /// How long each took, ns, by length: those that were alone, and all.
    alone_ns: BTreeMap<u64, Vec<f64>>,
    all_ns: Vec<f64>,
    send_ns: Vec<f64>,
    late_receive_ns: Vec<f64>,
}

/// A quantile of some numbers, which are sorted.
pub(super) fn quantile(numbers: &mut [f64], part: f64) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let last = numbers.len().checked_sub(1)?;
    Some(numbers[(last as f64 * part).round() as usize])
}

impl Messages {
    fn add(&mut self, sample: &Sample) {
        if let Some(ns) = sample.one_way_ns() {
            if sample.is_alone {
                self.alone_ns
                    .entry(sample.bytes)
                    .or_default()
                    .push(ns as f64);
            }
            if sample.bytes <= SHORT {
                self.all_ns.push(ns as f64);
            }
        }
        if sample.bytes <= SHORT {
            self.send_ns.extend(sample.send_ns().map(|ns| ns as f64));
            let late_ns = sample.late_receive_ns().map(|ns| ns as f64);
            self.late_receive_ns.extend(late_ns);
        }
    }
}

impl Parameters {
    /// The parameters of a links file, and those that the messages of some of the classes of a run show of other links.
    #[must_use]
    pub fn of<'c>(
        recorded: &Recorded,
        classes: impl Iterator<Item = &'c Class> + Clone,
        measured: Option<&MeasuredLinks>,
    ) -> Self {
        let mut of_links: BTreeMap<[usize; 2], Messages> = BTreeMap::new();
        for class in classes.clone() {
            each_sample(recorded, class, |hosts, sample| {
                of_links.entry(hosts).or_default().add(sample);
            });
        }
        let mut parameters = Self::default();
        let known = measured_groups(recorded, measured);
        let is_known = |hosts: &[usize; 2]| known.iter().any(|(.., group)| group.contains(hosts));
        let others = groups(recorded, &mut of_links, |hosts| !is_known(hosts));
        for (class, link, hosts) in known {
            let messages = Messages::taken(&mut of_links, &hosts);
            parameters.add(LinkClass::measured(class, link, messages), &hosts);
        }
        for (name, hosts) in &others {
            let mut messages = Messages::taken(&mut of_links, hosts);
            let is_between = hosts[0][0] != hosts[0][1];
            match LinkClass::of(name, &mut messages, is_between) {
                Some(class) => parameters.add(class, hosts),
                None => parameters.too_few.push(LinkTooFew {
                    name: name.clone(),
                    n_messages: messages.short_alone(),
                }),
            }
        }
        parameters.shared = parameters.shared(recorded).unwrap_or_default();
        for class in classes {
            parameters.add_deviations(recorded, class);
        }
        parameters
    }

    fn add(&mut self, class: LinkClass, hosts: &[[usize; 2]]) {
        let number = self.classes.len();
        self.of_hosts
            .extend(hosts.iter().map(|&hosts| (hosts, number)));
        self.classes.push(class);
    }

    /// Adds by how much the messages of a class of calls took longer than those of their length.
    fn add_deviations(&mut self, recorded: &Recorded, class: &Class) {
        each_sample(recorded, class, |[from, to], sample| {
            let number = self.of_hosts.get(&[from.min(to), from.max(to)]);
            let ns = sample.one_way_ns().filter(|_| sample.is_alone);
            if let (Some(&number), Some(ns)) = (number, ns) {
                let class = &mut self.classes[number];
                if let Some(usual_ns) = class.usual_ns.get(&sample.bytes) {
                    class.deviations.of_messages_ns.push(ns as f64 - usual_ns);
                }
            }
        });
    }

    /// The network of the processes of a class, and their hosts. Links of which too little is known are of
    /// no class: [`usize::MAX`].
    ///
    /// # Errors
    /// [`UnknownHost`] if it is not known where a process was.
    pub fn network(
        &self,
        recorded: &Recorded,
        class: &Class,
    ) -> Result<(Network, Vec<usize>), UnknownHost> {
        let host = |rank: u32| {
            let host = recorded.host_of_rank.get(rank as usize).copied().flatten();
            host.ok_or(UnknownHost(rank))
        };
        let hosts: Vec<usize> = class
            .ranks
            .iter()
            .map(|&rank| host(rank))
            .collect::<Result<_, _>>()?;
        let classes = self.classes.iter().map(|class| class.link).collect();
        let class_of = |a: usize, b: usize| self.of_hosts.get(&[a.min(b), a.max(b)]).copied();
        let mut network = Network::new(hosts.len(), classes, |from, to| {
            let (a, b) = (hosts[from], hosts[to]);
            Way {
                class: class_of(a, b).unwrap_or(usize::MAX),
                shared: self.shared.between(a, b),
            }
        });
        network.shared.clone_from(&self.shared.all);
        Ok((network, hosts))
    }

    /// The links between sites, which all their hosts share, if they are slower than those of single hosts.
    fn shared(&self, recorded: &Recorded) -> Option<SharedLinks> {
        let sites = recorded.sites()?.of_host;
        let gap_ns = |class: usize| self.classes[class].link.gap_per_byte_ns;
        let pairs = self.of_hosts.iter().filter(|([a, b], _)| a != b);
        let within = pairs.clone().filter(|([a, b], _)| sites[*a] == sites[*b]);
        let within_ns = within.map(|(_, &class)| gap_ns(class)).fold(0.0, f64::max);
        let mut of_sites = BTreeMap::new();
        let mut all = Vec::new();
        for (&[a, b], &class) in pairs {
            let gap_per_byte_ns = gap_ns(class);
            if sites[a] != sites[b] && gap_per_byte_ns > SLOWER * within_ns {
                for way in [[sites[a], sites[b]], [sites[b], sites[a]]] {
                    of_sites.entry(way).or_insert_with(|| {
                        all.push(Shared { gap_per_byte_ns });
                        all.len() - 1
                    });
                }
            }
        }
        Some(SharedLinks {
            of_host: sites,
            of_sites,
            all,
        })
    }
}

/// Passes all messages of the kept instances of a class, with the hosts of both ends.
fn each_sample(recorded: &Recorded, class: &Class, mut each: impl FnMut([usize; 2], &Sample)) {
    let host = |rank: u32| {
        let rank = *class.ranks.get(rank as usize)?;
        recorded.host_of_rank.get(rank as usize).copied().flatten()
    };
    for sample in class
        .instances
        .iter()
        .flat_map(|instance| &instance.messages)
    {
        if let (Some(from), Some(to)) = (host(sample.from), host(sample.to)) {
            each([from, to], sample);
        }
    }
}

/// The classes of a links file whose parameters are known, with the pairs of hosts of the run that have such links.
fn measured_groups<'m>(
    recorded: &Recorded,
    measured: Option<&'m MeasuredLinks>,
) -> Vec<(&'m MeasuredClass, Link, Vec<[usize; 2]>)> {
    let hosts = &recorded.hosts;
    let classes = measured.into_iter().flat_map(|measured| {
        measured
            .classes
            .iter()
            .enumerate()
            .filter_map(|(number, class)| {
                let is_of_class =
                    |a: &usize, b: &usize| measured.between(&hosts[*a], &hosts[*b]) == Some(number);
                let pairs = (0..hosts.len()).flat_map(|a| (a..hosts.len()).map(move |b| [a, b]));
                let pairs: Vec<_> = pairs.filter(|[a, b]| is_of_class(a, b)).collect();
                Some((class, class.link.filter(|_| !pairs.is_empty())?, pairs))
            })
    });
    classes.collect()
}

/// Pairs of hosts whose links are alike, with a name: by the round trips that the recorder measured, else by the time that
/// the fastest messages take.
fn groups(
    recorded: &Recorded,
    of_links: &mut BTreeMap<[usize; 2], Messages>,
    is_wanted: impl Fn(&[usize; 2]) -> bool,
) -> Vec<(String, Vec<[usize; 2]>)> {
    let mut fastest: BTreeMap<[usize; 2], f64> = BTreeMap::new();
    for (&[from, to], messages) in of_links.iter_mut() {
        if let Some(ns) = quantile(&mut messages.all_ns, FASTEST) {
            let least = fastest.entry([from.min(to), from.max(to)]).or_insert(ns);
            *least = least.min(ns);
        }
    }
    for (&(a, b), &ns) in &recorded.round_trips_ns {
        fastest.insert([a.min(b), a.max(b)], ns as f64 / 2.0);
    }
    let is_between = |hosts: &[usize; 2]| hosts[0] != hosts[1];
    let mut times: Vec<([usize; 2], f64)> = fastest.into_iter().collect();
    times.retain(|(hosts, _)| is_wanted(hosts));
    times.sort_by(|a, b| {
        (is_between(&a.0), a.1)
            .partial_cmp(&(is_between(&b.0), b.1))
            .unwrap_or(Ordering::Equal)
    });
    let mut groups: Vec<(f64, Vec<[usize; 2]>)> = Vec::new();
    for (hosts, ns) in times {
        match groups.last_mut() {
            Some((first_ns, group))
                if is_between(&group[0]) == is_between(&hosts)
                    && (!is_between(&hosts) || ns <= *first_ns * FACTOR) =>
            {
                group.push(hosts);
            }
            _ => groups.push((ns, vec![hosts])),
        }
    }
    let n_between = groups
        .iter()
        .filter(|(_, group)| is_between(&group[0]))
        .count();
    let mut number = 0;
    let named = groups.into_iter().map(|(_, group)| {
        number += usize::from(is_between(&group[0]));
        let name = match (is_between(&group[0]), n_between) {
            (false, _) => "same host".to_owned(),
            (true, 1) => "between hosts".to_owned(),
            (true, _) => format!("between hosts, {number}"),
        };
        (name, group)
    });
    named.collect()
}

impl Messages {
    /// Those between these pairs of hosts, in both directions.
    fn taken(of_links: &mut BTreeMap<[usize; 2], Messages>, hosts: &[[usize; 2]]) -> Self {
        let mut messages = Self::default();
        for &[a, b] in hosts {
            for hosts in [[a, b], [b, a]] {
                if let Some(of) = of_links.remove(&hosts) {
                    messages.merge(of);
                }
            }
        }
        messages
    }

    /// How many short ones were alone.
    fn short_alone(&self) -> usize {
        let short = self.alone_ns.range(..=SHORT);
        short.map(|(_, times)| times.len()).sum()
    }

    /// How many were alone, and how long the longest one of them was.
    fn alone(&self) -> (usize, u64) {
        let n = self.alone_ns.values().map(Vec::len).sum();
        (n, self.alone_ns.keys().max().copied().unwrap_or(0))
    }

    /// The median time of those that were alone, ns, by length.
    fn usual_ns(&mut self) -> BTreeMap<u64, f64> {
        let times = self.alone_ns.iter_mut();
        times
            .filter_map(|(&bytes, times)| Some((bytes, quantile(times, 0.5)?)))
            .collect()
    }

    fn merge(&mut self, other: Self) {
        for (bytes, times) in other.alone_ns {
            self.alone_ns.entry(bytes).or_default().extend(times);
        }
        self.all_ns.extend(other.all_ns);
        self.send_ns.extend(other.send_ns);
        self.late_receive_ns.extend(other.late_receive_ns);
    }
}

impl LinkClass {
    /// With the parameters of a links file, and the deviations of the run.
    fn measured(class: &MeasuredClass, link: Link, mut messages: Messages) -> Self {
        let (n_messages, _) = messages.alone();
        Self {
            name: class.name.clone(),
            link,
            is_measured: true,
            n_messages,
            longest_bytes: class.longest_bytes,
            usual_ns: messages.usual_ns(),
            deviations: Deviations {
                of_messages_ns: Vec::new(),
                of_links_ns: class.offsets_ns.clone(),
            },
        }
    }

    /// `None` where too few short messages were alone.
    fn of(name: &str, messages: &mut Messages, is_between: bool) -> Option<Self> {
        let eager_bytes = eager_bytes(is_between);
        if messages.short_alone() < LEAST {
            return None;
        }
        let usual_ns = messages.usual_ns();
        let eager = messages.alone_ns.range_mut(..=eager_bytes);
        let points = eager.filter_map(|(bytes, times)| {
            let n = times.len() as f64;
            let quartiles_ns = quantile(times, 0.75)? - quantile(times, 0.25)?;
            Some(OfLength {
                bytes: *bytes as f64,
                ns: quantile(times, 0.5)?,
                error_ns: ERROR_OF_MEDIAN * quartiles_ns / n.sqrt(),
                n,
            })
        });
        let (at_0_ns, gap_per_byte_ns) = line(&points.collect::<Vec<_>>())?;
        let enough = |times: &mut Vec<f64>| {
            let is_enough = times.len() >= LEAST;
            quantile(times, UNDISTURBED).filter(|_| is_enough)
        };
        let send_overhead_ns = enough(&mut messages.send_ns)
            .unwrap_or(0.0)
            .clamp(0.0, at_0_ns);
        let left_ns = at_0_ns - send_overhead_ns;
        let receive_overhead_ns = enough(&mut messages.late_receive_ns).unwrap_or(send_overhead_ns);
        let receive_overhead_ns = receive_overhead_ns.clamp(0.0, left_ns);
        let (n_messages, longest_bytes) = messages.alone();
        Some(Self {
            name: name.to_owned(),
            link: Link {
                send_overhead_ns,
                receive_overhead_ns,
                latency_ns: left_ns - receive_overhead_ns,
                gap_ns: 0.0,
                gap_per_byte_ns,
                receive_gap_ns: 0.0,
                receive_gap_per_byte_ns: gap_per_byte_ns,
                eager_bytes,
            },
            is_measured: false,
            n_messages,
            longest_bytes,
            usual_ns,
            deviations: Deviations::default(),
        })
    }
}

/// A median time of messages of one length.
#[derive(Debug, Clone, Copy)]
struct OfLength {
    bytes: f64,
    ns: f64,
    /// Its standard error, ns.
    error_ns: f64,
    n: f64,
}

/// The line through medians, weighted by their numbers, with the least squares: ns at 0 bytes, and per byte. It is level
/// where its slope is negative, or less than twice its standard error; through one length it is level, too.
fn line(points: &[OfLength]) -> Option<(f64, f64)> {
    let sum = |of: &dyn Fn(&OfLength) -> f64| points.iter().map(of).sum::<f64>();
    let weight = sum(&|of| of.n);
    if weight == 0.0 {
        return None;
    }
    let (x, y) = (
        sum(&|of| of.n * of.bytes) / weight,
        sum(&|of| of.n * of.ns) / weight,
    );
    let xx = sum(&|of| of.n * (of.bytes - x) * (of.bytes - x));
    let xy = sum(&|of| of.n * (of.bytes - x) * (of.ns - y));
    let error = sum(&|of| (of.n * (of.bytes - x) * of.error_ns).powi(2)).sqrt();
    let slope = if xy >= 2.0 * error && xx > 0.0 {
        xy / xx
    } else {
        0.0
    };
    Some(((y - slope * x).max(0.0), slope))
}
