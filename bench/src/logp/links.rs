//! The links file: parameters by class of links, for programs that predict how long trees take.

use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::figures::{Figures, OfClass};
use super::model::{Limit, OfSize, Pair};

/// Name of the document and its version.
const SCHEMA: &str = "collbench.links/1";

/// The document `collbench.links/1`. Names are those of LogP and LogGP; times are ns.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Links<'a> {
    schema: &'static str,
    /// The command that measured them, word by word.
    command: &'a [String],
    /// Host of each process, by rank.
    hosts: &'a [String],
    /// Classes of links, by their round trips.
    classes: Vec<LinkClass<'a>>,
    /// Each pair of processes once.
    links: Vec<Link<'a>>,
}

/// Parameters of small messages on links of one class, and of bulk messages by their size. `null`:
/// not known.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[expect(non_snake_case, reason = "the names of LogP")]
struct LinkClass<'a> {
    /// `same host`, `LAN` or `WAN`, numbered if there are several of a kind.
    name: &'a str,
    /// The shortest round trip of its links, ns.
    round_trip_from_ns: f64,
    /// The longest one, ns.
    round_trip_to_ns: f64,
    /// Overhead of sending a small message, ns; `None` where it is not known.
    o_s_ns: Option<f64>,
    /// Overhead of receiving a small message, ns; `None` where it is not known.
    o_r_ns: Option<f64>,
    /// The gap, or if it is not visible its upper bound.
    g_ns: Option<f64>,
    /// Whether that is the gap.
    g_is_visible: bool,
    /// Latency, ns; `None` where it is not known.
    L_ns: Option<f64>,
    /// ns per byte.
    G_ns: Option<f64>,
    /// Longer messages, by size.
    sizes: Vec<LinkSize>,
}

/// Parameters of messages of one size.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[expect(non_snake_case, reason = "the names of LogP")]
struct LinkSize {
    /// Length of the messages.
    bytes: usize,
    /// Overhead of sending, ns.
    o_s_ns: Option<f64>,
    /// Overhead of receiving, ns.
    o_r_ns: Option<f64>,
    /// The gap, or if it is not visible its upper bound, ns.
    g_ns: Option<f64>,
    /// Whether that is the gap.
    g_is_visible: bool,
    /// Time of a store with its reply.
    T_ns: f64,
}

/// Which class a link is of.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Link<'a> {
    /// Ranks.
    between: [usize; 2],
    /// Name of its class.
    class: &'a str,
    /// Its round trip, ns.
    round_trip_ns: f64,
}

impl<'a> LinkClass<'a> {
    fn of(of_class: &'a OfClass) -> Self {
        let parameters = of_class.parameters.as_ref();
        Self {
            name: &of_class.class.name,
            round_trip_from_ns: of_class.class.from_ns,
            round_trip_to_ns: of_class.class.to_ns,
            o_s_ns: parameters.map(|found| found.send_overhead.estimate.ns),
            o_r_ns: of_class.receive_overhead().map(|estimate| estimate.ns),
            g_ns: parameters.map(|found| found.gap.estimate.ns),
            g_is_visible: parameters.is_some_and(|found| found.regimes.limit == Limit::Gap),
            L_ns: parameters
                .and_then(|found| found.latency)
                .map(|latency| latency.ns),
            G_ns: of_class.lines.gap_per_byte_ns,
            sizes: of_class.sizes.iter().map(LinkSize::of).collect(),
        }
    }
}

impl LinkSize {
    fn of(size: &OfSize) -> Self {
        let parameters = size.parameters.as_ref();
        Self {
            bytes: size.bytes,
            o_s_ns: parameters.map(|found| found.send_overhead.estimate.ns),
            o_r_ns: size.receipt.map(|cost| cost.mean.ns),
            g_ns: parameters.map(|found| found.gap.estimate.ns),
            g_is_visible: parameters.is_some_and(|found| found.regimes.limit == Limit::Gap),
            T_ns: size.signature.round_trip.mean.ns,
        }
    }
}

/// Writes the links file.
///
/// # Errors
/// Names the file.
pub(super) fn write(figures: &Figures, path: &Path) -> anyhow::Result<()> {
    let mut links: Vec<(usize, Link<'_>)> = Vec::new();
    for class in &figures.classes {
        for &idx in &class.class.pairs {
            let Pair {
                from,
                to,
                round_trip_ns,
                ..
            } = figures.pairs[idx];
            let link = Link {
                between: [from, to],
                class: &class.class.name,
                round_trip_ns,
            };
            links.push((idx, link));
        }
    }
    links.sort_by_key(|(idx, _)| *idx);
    let document = Links {
        schema: SCHEMA,
        command: &figures.command,
        hosts: &figures.hosts,
        classes: figures.classes.iter().map(LinkClass::of).collect(),
        links: links.into_iter().map(|(_, link)| link).collect(),
    };
    let text = serde_json::to_string_pretty(&document)?;
    std::fs::write(path, text + "\n").with_context(|| format!("--links {}", path.display()))
}

/// Parameters of a class of links that were measured before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[expect(non_snake_case, reason = "the names of LogP")]
pub(super) struct KnownClass {
    pub(super) name: String,
    pub(super) round_trip_from_ns: f64,
    pub(super) o_s_ns: Option<f64>,
    pub(super) o_r_ns: Option<f64>,
    pub(super) g_ns: Option<f64>,
    pub(super) g_is_visible: bool,
    pub(super) L_ns: Option<f64>,
    pub(super) G_ns: Option<f64>,
}

/// What is read of a links file.
#[derive(Debug, Deserialize)]
struct Known {
    schema: String,
    classes: Vec<KnownClass>,
}

/// The classes of a links file.
///
/// # Errors
/// Names the file, and says what is wrong with it.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<KnownClass>> {
    let shown = || format!("--beside {}", path.display());
    let text = std::fs::read_to_string(path).with_context(shown)?;
    let known: Known = serde_json::from_str(&text)
        .with_context(shown)
        .context("expected a file that logp --links wrote")?;
    anyhow::ensure!(
        known.schema == SCHEMA,
        "{}: expected \"schema\": \"{SCHEMA}\"",
        shown()
    );
    Ok(known.classes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<super::Links<'_>>(super::SCHEMA);
    }
}
