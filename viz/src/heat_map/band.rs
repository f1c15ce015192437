//! Assigns ranks to rows.

use std::ops::Range;

use collbench_text::quantity::counted_grouped;

use super::MAX_ROWS;
use crate::Text;

/// A rank and its host.
#[derive(Debug, Clone)]
pub(crate) struct RankOnHost {
    pub(crate) rank: u32,
    pub(crate) host: Text,
}

/// Index ranges of the ranks that share a row: one rank each up to [`MAX_ROWS`], else equally many
/// (a power of two). The ranks of a row are on one host, unless hosts alternate in more runs than
/// there are rows.
pub(crate) fn bands(ranks: &[&RankOnHost]) -> Vec<Range<usize>> {
    let mut runs = runs(ranks);
    if runs.len() > MAX_ROWS {
        runs.clear();
        runs.push(0..ranks.len());
    }
    let mut size = 1;
    while runs
        .iter()
        .map(|run| run.len().div_ceil(size))
        .sum::<usize>()
        > MAX_ROWS
    {
        size *= 2;
    }
    let cut = |run: Range<usize>| {
        let end = run.end;
        run.step_by(size)
            .map(move |from| from..(from + size).min(end))
    };
    runs.into_iter().flat_map(cut).collect()
}

/// Runs of neighbouring ranks on the same host.
fn runs(ranks: &[&RankOnHost]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (idx, rank) in ranks.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if ranks[run.start].host == rank.host => run.end = idx + 1,
            _ => runs.push(idx..idx + 1),
        }
    }
    runs
}

/// Name of a band: `rank 5`, `ranks 16-31`, `ranks 16..45` if some in between are missing.
pub(crate) fn name(band: &[&RankOnHost]) -> String {
    let ranks = || band.iter().map(|member| member.rank);
    let (Some(low), Some(high)) = (ranks().min(), ranks().max()) else {
        return "no rank".to_owned();
    };
    match u64::from(high - low) + 1 {
        1 => format!("rank {low}"),
        extent if extent == band.len() as u64 => format!("ranks {low}-{high}"),
        _ => format!("ranks {low}..{high}"),
    }
}

/// The ranks of a band for scripts: `5`, `16-31`, `16-20,22`.
pub(crate) fn numbers(band: &[&RankOnHost]) -> String {
    let mut ranks: Vec<u32> = band.iter().map(|member| member.rank).collect();
    ranks.sort_unstable();
    let runs = ranks.chunk_by(|a, b| a + 1 == *b);
    let runs = runs.filter_map(|run| Some((run.first()?, run.last()?)));
    let runs = runs.map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    });
    runs.collect::<Vec<_>>().join(",")
}

/// The host of all ranks of a band; the number of hosts if there are several.
pub(crate) fn host(band: &[&RankOnHost]) -> Text {
    let Some(first) = band.first() else {
        return Text::default();
    };
    if band.iter().all(|member| member.host == first.host) {
        first.host.clone()
    } else {
        let mut hosts: Vec<&Text> = band.iter().map(|member| &member.host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        counted_grouped(hosts.len() as u64, "host").into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranks(hosts: &[u8]) -> Vec<RankOnHost> {
        let ranks = hosts.iter().zip(0..);
        ranks
            .map(|(host, rank)| RankOnHost {
                rank,
                host: format!("n{host}").into(),
            })
            .collect()
    }

    proptest! {
        #[test]
        fn every_rank_is_in_one_of_at_most_64_rows(hosts in prop::collection::vec(0u8..5, 0..700)) {
            let ranks = ranks(&hosts);
            let ranks: Vec<&RankOnHost> = ranks.iter().collect();
            let bands = bands(&ranks);
            prop_assert!(bands.len() <= MAX_ROWS);
            let members: Vec<usize> = bands.into_iter().flatten().collect();
            prop_assert_eq!(members, (0..ranks.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_band_ends_with_its_host() {
        let hosts: Vec<u8> = (0..300).map(|rank| (rank / 100) as u8).collect();
        let ranks = ranks(&hosts);
        let ranks: Vec<&RankOnHost> = ranks.iter().collect();
        let bands = bands(&ranks);
        assert!(
            bands.contains(&(96..100)) && bands.contains(&(100..108)),
            "{bands:?}"
        );
        assert_eq!(bands.len(), 39);
        assert_eq!(name(&ranks[96..100]), "ranks 96-99");
        assert_eq!(host(&ranks[96..100]).as_str(), "n0");
        assert_eq!(host(&ranks[96..104]).as_str(), "2 hosts");
    }

    #[test]
    fn names_say_where_ranks_are_missing() {
        let ranks = ranks(&[0; 8]);
        let some: Vec<&RankOnHost> = ranks.iter().step_by(2).collect();
        assert_eq!(name(&some), "ranks 0..6");
        assert_eq!(name(&some[1..2]), "rank 2");
        assert_eq!(name(&[]), "no rank");
    }
}
