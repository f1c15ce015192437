//! The links file that `collbench-bench logp --links` writes: hosts of ranks, and round trips
//! between them.

use std::collections::BTreeMap;

use collbench_formats::tree::Place;
use collbench_tune::predict::MeasuredLinks;

use super::ranks::{MAX_RANKS, Ranks};

/// Why a links file names no ranks.
#[derive(Debug, thiserror::Error)]
pub enum LinksError {
    /// It cannot be read.
    #[error(transparent)]
    Links(#[from] collbench_tune::predict::LinksError),
    /// Its network was simulated, or there are too many ranks.
    #[error("hosts of {0} ranks; expected from 1 to {MAX_RANKS}")]
    Number(u64),
}

impl Ranks {
    /// The ranks of a links file, at the sites that its round trips show.
    ///
    /// # Errors
    /// Those of [`LinksError`].
    pub fn of_links(text: &str) -> Result<Self, LinksError> {
        let links = MeasuredLinks::parse(text.as_bytes())?;
        let n = links.hosts.len() as u64;
        if n == 0 || n > MAX_RANKS {
            return Err(LinksError::Number(n));
        }
        let mut hosts: Vec<String> = Vec::new();
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut of_rank = Vec::with_capacity(links.hosts.len());
        for name in &links.hosts {
            let host = *numbers.entry(name).or_insert_with(|| {
                hosts.push(name.clone());
                hosts.len() - 1
            });
            of_rank.push(host);
        }
        let sites = links.sites(&hosts);
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
        let class = serde_json::json!({ "name": "LAN", "g_is_visible": false, "sizes": [] });
        serde_json::json!({
            "schema": "collbench.links/1", "hosts": hosts, "classes": [class], "links": links
        })
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
