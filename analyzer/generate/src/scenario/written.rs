//! The written form of a scenario file.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::{Bytes, CalledAt, Grid, Split};
use crate::summary::TruthDetail;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    pub(super) schema: Spanned<u64>,
    #[serde(default)]
    pub(super) name: String,
    pub(super) seed: Option<u64>,
    pub(super) grid_ns: Option<Spanned<u64>>,
    pub(super) uptime_ns: Option<Spanned<u64>>,
    pub(super) started_unix_ns: Option<Spanned<u64>>,
    pub(super) chunk_calls: Option<Spanned<u64>>,
    #[serde(default)]
    pub(super) keep_chunks: Vec<Spanned<u64>>,
    pub(super) truth: Option<TruthDetail>,
    pub(super) init_ns: Option<Spanned<u64>>,
    pub(super) finalize_ns: Option<Spanned<u64>>,
    pub(super) placement: Option<Placement>,
    pub(super) hosts: Vec<Spanned<WrittenHost>>,
    pub(super) exchanges: Option<WrittenExchanges>,
    #[serde(default)]
    pub(super) threads: BTreeMap<String, Spanned<u32>>,
    pub(super) latency: Option<Spanned<WrittenLatency>>,
    pub(super) network: Option<Spanned<WrittenNetwork>>,
    #[serde(default)]
    pub(super) trees: Vec<Spanned<WrittenOwnTree>>,
    pub(super) program: Vec<Spanned<WrittenStep>>,
    #[serde(default)]
    pub(super) faults: Vec<Spanned<WrittenFault>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Placement {
    Block,
    RoundRobin,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenHost {
    pub(super) name: String,
    pub(super) ranks: Spanned<u64>,
    #[serde(default)]
    pub(super) clock: WrittenSource,
    pub(super) ghz: Option<Spanned<f64>>,
    #[serde(default)]
    pub(super) offset_ns: i64,
    pub(super) drift_ppm: Option<Spanned<f64>>,
    pub(super) wander: Option<Spanned<WrittenWander>>,
    pub(super) granularity_ticks: Option<Spanned<u64>>,
    pub(super) anchor_width_ns: Option<Spanned<u64>>,
    #[serde(default)]
    pub(super) anchor_jitter_ns: u64,
}

/// Changes of a clock's rate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenWander {
    #[serde(default)]
    pub(super) amplitude_ppm: f64,
    #[serde(default)]
    pub(super) period_ns: u64,
    #[serde(default)]
    pub(super) steps: Vec<WrittenRateStep>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenRateStep {
    pub(super) at_ns: u64,
    pub(super) ppm: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenExchanges {
    pub(super) n: Option<Spanned<u64>>,
    pub(super) one_way_ns: Option<Spanned<u64>>,
    pub(super) over_network: Option<bool>,
    pub(super) asymmetry_ns: Option<Spanned<u64>>,
    pub(super) jitter_ns: Option<Spanned<u64>>,
    pub(super) every_ns: Option<Spanned<u64>>,
    pub(super) at_end: Option<bool>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WrittenSource {
    #[default]
    Tsc,
    Raw,
    Monotonic,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenStep {
    pub(super) repeat: Option<u64>,
    pub(super) steps: Option<Vec<Spanned<WrittenStep>>>,
    pub(super) operation: Option<Spanned<String>>,
    pub(super) on: Option<String>,
    pub(super) bytes: Option<Spanned<Bytes>>,
    pub(super) root: Option<Spanned<WrittenRoot>>,
    pub(super) root_group: Option<Spanned<usize>>,
    pub(super) makes: Option<Spanned<String>>,
    pub(super) split: Option<Spanned<Split>>,
    #[serde(default)]
    pub(super) internal: bool,
    pub(super) called_at: Option<Spanned<CalledAt>>,
    pub(super) begin_ns: Option<Spanned<u64>>,
    pub(super) grid: Option<Spanned<Grid>>,
    pub(super) complete: Option<Spanned<String>>,
    pub(super) thread: Option<Spanned<u64>>,
    pub(super) complete_ns: Option<Spanned<u64>>,
    pub(super) tests: Option<Spanned<u64>>,
    pub(super) test_ns: Option<Spanned<u64>>,
    pub(super) phase: Option<i32>,
    #[serde(default)]
    pub(super) work: Vec<Spanned<WrittenDelay>>,
    pub(super) latency: Option<Spanned<WrittenLatency>>,
    pub(super) tree: Option<Spanned<WrittenTree>>,
    pub(super) over: Option<Spanned<String>>,
}

/// A spanning tree of our own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenOwnTree {
    pub(super) name: String,
    pub(super) entry_ns: Option<Spanned<u64>>,
    pub(super) exit_ns: Option<Spanned<u64>>,
    pub(super) threads: Option<Spanned<u64>>,
    pub(super) thread_ns: Option<Spanned<u64>>,
    pub(super) wrappers: Vec<Spanned<WrittenWrapper>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenWrapper {
    pub(super) name: Option<String>,
    pub(super) kind: String,
    pub(super) owner: u32,
    pub(super) contributors: Vec<WrittenContributor>,
    pub(super) down_ns: Option<Spanned<u64>>,
    pub(super) up_ns: Option<Spanned<u64>>,
    pub(super) departure_ns: Option<Spanned<u64>>,
    pub(super) jitter: Option<Spanned<WrittenDelay>>,
    #[serde(default)]
    pub(super) collectors: WrittenCollectors,
}

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a contributor is neither a rank nor the name of a wrapper"
)]
pub(super) enum WrittenContributor {
    Rank(u32),
    Wrapper(String),
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WrittenCollectors {
    #[default]
    Both,
    Before,
    After,
    None,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "root is neither a rank nor \"rotating\"")]
pub(super) enum WrittenRoot {
    Fixed(u32),
    Word(RotatingWord),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RotatingWord {
    Rotating,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenDelay {
    pub(super) constant_ns: Option<u64>,
    pub(super) uniform_ns: Option<[u64; 2]>,
    pub(super) exponential_ns: Option<u64>,
    pub(super) normal_ns: Option<[u64; 2]>,
    pub(super) each_ns: Option<Vec<u64>>,
    pub(super) noise: Option<WrittenNoise>,
    pub(super) ranks: Option<Vec<u64>>,
    pub(super) host: Option<String>,
    pub(super) share: Option<f64>,
    pub(super) moves_every: Option<u64>,
    pub(super) activity: Option<WrittenActivity>,
    pub(super) partner: Option<u64>,
    pub(super) calls: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WrittenActivity {
    PointToPoint,
    Polling,
    Io,
    Rma,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenNoise {
    pub(super) period_ns: u64,
    pub(super) length_ns: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenLatency {
    pub(super) base_ns: Option<u64>,
    pub(super) departure_ns: Option<u64>,
    pub(super) across_hosts_ns: Option<u64>,
    pub(super) jitter: Option<Spanned<WrittenDelay>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenFault {
    pub(super) rank: u64,
    pub(super) killed_after_calls: Option<u64>,
    pub(super) in_flight: Option<bool>,
    #[serde(default)]
    pub(super) no_finalize: bool,
    pub(super) cut_at_byte: Option<u64>,
    pub(super) cut_at_fraction: Option<f64>,
    pub(super) damaged_chunk: Option<u64>,
    #[serde(default)]
    pub(super) missing: bool,
    pub(super) size_reached_after_calls: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenNetwork {
    pub(super) in_host_ns: Option<Spanned<u64>>,
    pub(super) across_hosts_ns: Option<Spanned<u64>>,
    pub(super) send_ns: Option<Spanned<u64>>,
    pub(super) receive_ns: Option<Spanned<u64>>,
    pub(super) rendezvous_bytes: Option<u64>,
    pub(super) jitter: Option<Spanned<WrittenDelay>>,
    #[serde(default)]
    pub(super) links: Vec<Spanned<WrittenLink>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenLink {
    pub(super) ranks: Option<[u64; 2]>,
    pub(super) hosts: Option<[String; 2]>,
    pub(super) ns: Spanned<u64>,
    #[serde(default)]
    pub(super) one_way: bool,
}

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "tree is neither the name of a tree, nor a list of parents, nor a table with its shape"
)]
pub(super) enum WrittenTree {
    Shape(WrittenShape),
    Table(Box<WrittenInside>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum WrittenShape {
    Name(String),
    Parents(Vec<i64>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenInside {
    pub(super) shape: WrittenShape,
    pub(super) segments: Option<u64>,
    #[serde(default)]
    pub(super) posts_all: bool,
    #[serde(default)]
    pub(super) receives: WrittenReceives,
    pub(super) entry_ns: Option<u64>,
    pub(super) exit_ns: Option<u64>,
    #[serde(default)]
    pub(super) busy: Vec<WrittenDelay>,
    #[serde(default)]
    pub(super) compute: Vec<WrittenDelay>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WrittenReceives {
    #[default]
    Known,
    FromAny,
    Unseen,
}

impl WrittenInside {
    pub(super) fn of(shape: WrittenShape) -> Self {
        Self {
            shape,
            segments: None,
            posts_all: false,
            receives: WrittenReceives::default(),
            entry_ns: None,
            exit_ns: None,
            busy: Vec::new(),
            compute: Vec::new(),
        }
    }
}
