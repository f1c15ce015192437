//! Links whose parameters were measured: the links file that `collbench-bench logp --links` writes.

use std::collections::{BTreeMap, BTreeSet};

use collbench_schedules::Link;
use collbench_text::inert;
use collbench_trees::sites::Sites;
use serde::Deserialize;

use super::eager::eager_bytes;

/// Name of the document and its version.
const SCHEMA: &str = "collbench.links/1";
/// No time on a link is longer, ns.
const MOST_NS: f64 = 1e12;

/// Why a links file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LinksError {
    /// It is no document of this kind.
    #[error("this is not a links file of collbench-bench logp: {0}")]
    Json(#[from] serde_json::Error),
    /// It has another schema.
    #[error("schema \"{}\"; expected \"{SCHEMA}\"", inert::line(.0, 60))]
    Schema(String),
    /// A link leads to a rank without a host.
    #[error("a link between ranks {0} and {1}, of {2}")]
    Between(usize, usize, usize),
    /// A link is of a class that the file does not have.
    #[error("a link of the class \"{}\", which the file does not have", inert::line(.0, 60))]
    Class(String),
    /// A parameter is none.
    #[error(
        "{name} of the class \"{}\" is {ns}; expected at most 1e12",
        inert::line(class, 60)
    )]
    Number {
        /// The class.
        class: String,
        /// Which parameter.
        name: &'static str,
        /// What it is, ns.
        ns: f64,
    },
}

/// A links file has no links between hosts of the run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the links file has no links between the hosts of the trace ({trace}), but between {file}; run collbench-bench logp --links \
     on the hosts of the trace",
    trace = inert::line(&self.trace, 120),
    file = inert::line(&self.file, 120)
)]
pub struct OtherHosts {
    trace: String,
    file: String,
}

#[derive(Debug, Deserialize)]
struct Document {
    schema: String,
    hosts: Vec<String>,
    classes: Vec<OfClass>,
    links: Vec<OfPair>,
}

#[derive(Debug, Deserialize)]
#[expect(non_snake_case, reason = "the names of LogP")]
struct OfClass {
    name: String,
    o_s_ns: Option<f64>,
    o_r_ns: Option<f64>,
    g_ns: Option<f64>,
    g_is_visible: bool,
    L_ns: Option<f64>,
    G_ns: Option<f64>,
    sizes: Vec<OfSize>,
}

#[derive(Debug, Deserialize)]
#[expect(non_snake_case, reason = "the names of LogP")]
struct OfSize {
    bytes: u64,
    T_ns: f64,
}

#[derive(Debug, Deserialize)]
struct OfPair {
    between: [usize; 2],
    class: String,
    round_trip_ns: f64,
}

/// A class of links of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredClass {
    /// Its name in the file.
    pub name: String,
    /// Its parameters; `None` where the file does not know its send overhead.
    pub link: Option<Link>,
    /// The longest messages that were measured, bytes; 0 where it does not know the gap per byte.
    pub longest_bytes: u64,
    /// By how much a message takes longer on each of its links than on the median one, ns, by their round trips: how far they
    /// differ, and how exactly they were measured.
    pub offsets_ns: Vec<f64>,
}

/// The links of a links file.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredLinks {
    /// The host of each process.
    pub hosts: Vec<String>,
    /// The classes of its links.
    pub classes: Vec<MeasuredClass>,
    /// By the names of two hosts in order the class of the links between them.
    of_hosts: BTreeMap<[String; 2], usize>,
    /// The shortest round trip between two hosts, ns.
    shortest_ns: BTreeMap<[String; 2], f64>,
}

impl MeasuredLinks {
    /// The links of a file with this text.
    ///
    /// # Errors
    /// Those of [`LinksError`].
    pub fn parse(text: &[u8]) -> Result<Self, LinksError> {
        let document: Document = serde_json::from_slice(text)?;
        if document.schema != SCHEMA {
            return Err(LinksError::Schema(document.schema));
        }
        let hosts = document.hosts;
        let mut of_hosts = BTreeMap::new();
        let mut shortest_ns: BTreeMap<[String; 2], f64> = BTreeMap::new();
        let mut round_trips_ns: Vec<Vec<f64>> = vec![Vec::new(); document.classes.len()];
        let mut is_within = vec![false; document.classes.len()];
        for link in document.links {
            let [a, b] = link.between;
            let (Some(from), Some(to)) = (hosts.get(a), hosts.get(b)) else {
                return Err(LinksError::Between(a, b, hosts.len()));
            };
            let mut classes = document.classes.iter();
            let Some(number) = classes.position(|class| class.name == link.class) else {
                return Err(LinksError::Class(link.class));
            };
            round_trips_ns[number].push(link.round_trip_ns);
            is_within[number] |= from == to;
            let pair = in_order(from, to);
            let shortest = shortest_ns.entry(pair.clone());
            let shortest_ns = shortest.or_insert(link.round_trip_ns);
            *shortest_ns = shortest_ns.min(link.round_trip_ns);
            of_hosts.insert(pair, number);
        }
        let numbers = round_trips_ns.into_iter().zip(is_within);
        let classes = document.classes.into_iter().zip(numbers);
        let classes = classes.map(|(class, (round_trips_ns, is_within))| {
            class.check(&round_trips_ns)?;
            Ok(MeasuredClass::of(class, round_trips_ns, !is_within))
        });
        Ok(Self {
            classes: classes.collect::<Result<_, LinksError>>()?,
            hosts,
            of_hosts,
            shortest_ns,
        })
    }

    /// The sites of hosts with these names; `None` where round trips show no others.
    #[must_use]
    pub fn sites(&self, hosts: &[String]) -> Option<Sites> {
        let pairs = (0..hosts.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let round_trips = pairs.filter_map(|(a, b)| {
            let ns = self.shortest_ns.get(&in_order(&hosts[a], &hosts[b]))?;
            Some(((a, b), *ns as i64))
        });
        Sites::find(hosts.len(), &round_trips.collect())
    }

    /// The class of the links between two hosts, by their names.
    #[must_use]
    pub fn between(&self, from: &str, to: &str) -> Option<usize> {
        self.of_hosts.get(&in_order(from, to)).copied()
    }

    /// Whether there is a link between some of these hosts.
    ///
    /// # Errors
    /// [`OtherHosts`] if there is none.
    pub fn check(&self, hosts: &[String]) -> Result<(), OtherHosts> {
        let is_in = |name: &String| hosts.contains(name);
        if self.of_hosts.keys().any(|pair| pair.iter().all(is_in)) {
            return Ok(());
        }
        let own: BTreeSet<&str> = self.hosts.iter().map(String::as_str).collect();
        let own: Vec<&str> = own.into_iter().collect();
        Err(OtherHosts {
            trace: hosts.join(", "),
            file: own.join(", "),
        })
    }
}

fn in_order(a: &str, b: &str) -> [String; 2] {
    [a.min(b).to_owned(), a.max(b).to_owned()]
}

/// What a byte adds to the time of a store with its reply, by the least squares over all lengths; `None` where that is
/// less than twice its standard error.
fn slope(sizes: &[OfSize]) -> Option<f64> {
    let n = sizes.len() as f64;
    let mean = |of: &dyn Fn(&OfSize) -> f64| sizes.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(&|of| of.bytes as f64), mean(&|of| of.T_ns));
    let xx = n * mean(&|of| (of.bytes as f64 - x).powi(2));
    let slope = n * mean(&|of| (of.bytes as f64 - x) * (of.T_ns - y)) / xx;
    let left = mean(&|of| (of.T_ns - y - slope * (of.bytes as f64 - x)).powi(2));
    let error = (n * left / (n - 2.0) / xx).sqrt();
    (sizes.len() > 3 && slope > 2.0 * error).then_some(slope)
}

impl OfClass {
    /// Whether all numbers are times.
    fn check(&self, round_trips_ns: &[f64]) -> Result<(), LinksError> {
        let numbers = [
            ("o_s_ns", self.o_s_ns),
            ("o_r_ns", self.o_r_ns),
            ("g_ns", self.g_ns),
            ("L_ns", self.L_ns),
            ("G_ns", self.G_ns),
        ];
        let numbers = numbers.into_iter();
        let numbers = numbers.filter_map(|(name, ns)| Some((name, ns?)));
        let round_trips = round_trips_ns.iter().map(|&ns| ("round_trip_ns", ns));
        match numbers
            .chain(round_trips)
            .find(|(_, ns)| ns.abs() > MOST_NS)
        {
            Some((name, ns)) => Err(LinksError::Number {
                class: self.name.clone(),
                name,
                ns,
            }),
            None => Ok(()),
        }
    }
}

impl MeasuredClass {
    /// The latency is the file's, or what is left of half of the median round trip.
    fn of(class: OfClass, mut round_trips_ns: Vec<f64>, is_between: bool) -> Self {
        round_trips_ns.sort_by(f64::total_cmp);
        let one_way_ns = round_trips_ns
            .get(round_trips_ns.len() / 2)
            .map(|ns| ns / 2.0);
        // Where a difference of times is measured as less than nothing, it is not visible.
        let visible = |ns: Option<f64>| ns.map(|ns| ns.max(0.0));
        // Overheads are parts of the way, which was measured better: one that is longer was disturbed.
        let send_overhead_ns = visible(class.o_s_ns).zip(one_way_ns);
        let send_overhead_ns = send_overhead_ns.map(|(ns, one_way_ns)| ns.min(one_way_ns));
        let fits = |ns: &f64| {
            let known = send_overhead_ns.zip(one_way_ns);
            known.is_some_and(|(send_ns, one_way_ns)| send_ns + ns <= one_way_ns)
        };
        let receive_overhead_ns = visible(class.o_r_ns).filter(fits).or(send_overhead_ns);
        let per_byte_ns = visible(class.G_ns).or_else(|| slope(&class.sizes));
        let longest_bytes = class.sizes.iter().map(|size| size.bytes).max();
        let link = match (send_overhead_ns, receive_overhead_ns, one_way_ns) {
            (Some(send_overhead_ns), Some(receive_overhead_ns), Some(one_way_ns)) => {
                let receive_overhead_ns = receive_overhead_ns.min(one_way_ns - send_overhead_ns);
                let left_ns = one_way_ns - send_overhead_ns - receive_overhead_ns;
                // Without it, messages that are longer than the shortest ones are not known.
                let per_byte_ns = per_byte_ns.unwrap_or(0.0);
                let gap_ns = visible(class.g_ns.filter(|_| class.g_is_visible)).unwrap_or(0.0);
                Some(Link {
                    send_overhead_ns,
                    receive_overhead_ns,
                    latency_ns: class.L_ns.unwrap_or(left_ns).max(0.0),
                    gap_ns,
                    gap_per_byte_ns: per_byte_ns,
                    receive_gap_ns: gap_ns,
                    receive_gap_per_byte_ns: per_byte_ns,
                    eager_bytes: eager_bytes(is_between),
                })
            }
            _ => None,
        };
        let offsets_ns = one_way_ns.into_iter().flat_map(|one_way_ns| {
            let each = round_trips_ns.iter();
            each.map(move |ns| ns / 2.0 - one_way_ns)
        });
        Self {
            name: class.name,
            link,
            offsets_ns: offsets_ns.collect(),
            longest_bytes: per_byte_ns.and(longest_bytes).unwrap_or(0),
        }
    }
}
