//! The links file that `collbench-bench logp --links` writes: hosts of ranks, and round trips
//! between them.

use std::collections::BTreeMap;

use collbench_formats::tree::Place;
use collbench_text::inert;
use collbench_trees::sites::Sites;
use serde::Deserialize;

use super::ranks::{MAX_RANKS, Ranks};

/// Name of the document and its version.
const SCHEMA: &str = "collbench.links/1";

/// Why a links file names no ranks.
#[derive(Debug, thiserror::Error)]
pub enum LinksError {
    /// It is no document of this kind.
    #[error("this is not a links file of collbench-bench logp: {0}")]
    Json(#[from] serde_json::Error),
    /// It has another schema.
    #[error("schema \"{}\"; expected \"{SCHEMA}\"", inert::line(.0, 60))]
    Schema(String),
    /// Its network was simulated, or there are too many ranks.
    #[error("hosts of {0} ranks; expected from 1 to {MAX_RANKS}")]
    Number(u64),
    /// A link leads to a rank without a host.
    #[error("a link between ranks {0} and {1}, of {2}")]
    Between(u64, u64, u64),
}

/// What trees need of the document.
#[derive(Debug, Deserialize)]
struct Document {
    schema: String,
    hosts: Vec<String>,
    links: Vec<Link>,
}

#[derive(Debug, Deserialize)]
struct Link {
    between: [u64; 2],
    round_trip_ns: f64,
}

impl Ranks {
    /// The ranks of a links file, at the sites that its round trips show.
    ///
    /// # Errors
    /// Those of [`LinksError`].
    pub fn of_links(text: &str) -> Result<Self, LinksError> {
        let document: Document = serde_json::from_str(text)?;
        if document.schema != SCHEMA {
            return Err(LinksError::Schema(document.schema));
        }
        let n = document.hosts.len() as u64;
        if n == 0 || n > MAX_RANKS {
            return Err(LinksError::Number(n));
        }
        let mut hosts: Vec<String> = Vec::new();
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        let mut of_rank = Vec::with_capacity(document.hosts.len());
        for name in document.hosts {
            let host = *numbers.entry(name).or_insert_with_key(|name| {
                hosts.push(name.clone());
                hosts.len() - 1
            });
            of_rank.push(host);
        }
        let mut round_trips: BTreeMap<(usize, usize), i64> = BTreeMap::new();
        for Link {
            between: [a, b],
            round_trip_ns,
        } in document.links
        {
            if a.max(b) >= n {
                return Err(LinksError::Between(a, b, n));
            }
            let (a, b) = (of_rank[a as usize], of_rank[b as usize]);
            if a != b {
                // Of several links between two hosts the shortest is the least disturbed.
                let ns = round_trip_ns.max(1.0) as i64;
                let shortest = round_trips.entry((a.min(b), a.max(b))).or_insert(ns);
                *shortest = ns.min(*shortest);
            }
        }
        let sites = Sites::find(hosts.len(), &round_trips);
        let place = |host: usize| Place {
            host: host as u32,
            site: sites.as_ref().map(|sites| sites.of_host[host] as u32),
            ..Place::default()
        };
        Ok(Self {
            places: of_rank.into_iter().map(place).collect(),
            hosts,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks on these hosts; a link takes 200 us, or 8 ms from a host of the one letter to one of the
    /// other.
    fn links(hosts: &[&str]) -> String {
        let n = hosts.len();
        let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
        let link = |(a, b): (usize, usize)| {
            let is_near = hosts[a].as_bytes()[0] == hosts[b].as_bytes()[0];
            let ns = if is_near { 200_000.5 } else { 8e6 };
            serde_json::json!({ "between": [a, b], "class": "LAN", "round_trip_ns": ns })
        };
        let links: Vec<_> = pairs.map(link).collect();
        serde_json::json!({ "schema": SCHEMA, "command": [], "hosts": hosts, "links": links })
            .to_string()
    }

    #[test]
    fn hosts_far_from_one_another_are_at_two_sites() {
        let ranks = Ranks::of_links(&links(&["a1", "b1", "a2", "b2", "a1"])).unwrap();
        assert_eq!(ranks.hosts, ["a1", "b1", "a2", "b2"]);
        let hosts: Vec<u32> = ranks.places.iter().map(|place| place.host).collect();
        assert_eq!(hosts, [0, 1, 2, 3, 0]);
        assert_eq!(ranks.sites(), Some(vec![0, 1, 0, 1]));
        let near = Ranks::of_links(&links(&["a1", "a2", "a3"])).unwrap();
        assert_eq!(near.sites(), None);
    }

    #[test]
    fn other_files_are_refused() {
        let error = |text: &str| Ranks::of_links(text).unwrap_err().to_string();
        assert!(error("{}").contains("this is not a links file"));
        assert!(error(&links(&[])).contains("hosts of 0 ranks"));
        let other = links(&["a1", "a2"]).replace("links/1", "links/9");
        assert!(error(&other).contains("collbench.links/9"));
        let beyond = links(&["a1", "a2"]).replace("[0,1]", "[0,7]");
        assert!(error(&beyond).contains("ranks 0 and 7, of 2"));
    }
}
