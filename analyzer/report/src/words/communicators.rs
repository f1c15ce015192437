//! What communicators are called, so that no two are taken for one.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::CommunicatorSummary;
use collbench_text::{inert, quantity};

use crate::words::list;

/// A communicator, inert: its name in at most `width` characters, how many there are if a loop made them, and where
/// another one is called the same its id and ranks, `columns (20) #4 (ranks 8-11)`.
pub(crate) fn communicator(analysis: &Analysis, id: Option<usize>, width: usize) -> String {
    communicator_with(analysis, id, width, None)
}

/// As [`communicator`], with one more fact in the same parentheses: `rows #4 (ranks 8-11, 64 KiB)`.
pub(crate) fn communicator_with(
    analysis: &Analysis,
    id: Option<usize>,
    width: usize,
    beside: Option<String>,
) -> String {
    let known = id.and_then(|id| analysis.communicators.get(id));
    let mut name = known.map_or_else(
        || "unknown".to_owned(),
        |known| inert::line(known.name_of_each(), width),
    );
    let mut said = Vec::new();
    if let Some(n) = known.map(|known| known.count).filter(|&n| n > 1) {
        match beside {
            None => name += &format!(" ({n})"),
            Some(_) => said.push(quantity::counted(n as u64, "communicator")),
        }
    }
    if let Some(known) = known.filter(|known| has_namesakes(analysis, known)) {
        name += &format!(" #{}", known.id);
        said.extend(members(known));
    }
    said.extend(beside);
    if said.is_empty() {
        name
    } else {
        format!("{name} ({})", said.join(", "))
    }
}

/// Whether another communicator has the same name.
pub(crate) fn has_namesakes(analysis: &Analysis, known: &CommunicatorSummary) -> bool {
    let mut all = analysis.communicators.iter();
    all.any(|other| other.id != known.id && other.name_of_each() == known.name_of_each())
}

/// The ranks of a communicator, the first and the last where they are many ranges; `None` without known ones.
fn members(communicator: &CommunicatorSummary) -> Option<String> {
    let mut ranks: Vec<u32> = communicator.ranks.iter().flatten().copied().collect();
    ranks.sort_unstable();
    ranks.dedup();
    let last = ranks.last()?;
    let n_ranges = 1 + ranks.windows(2).filter(|two| two[1] - two[0] > 1).count();
    Some(if n_ranges <= 3 {
        inert::ranks(&ranks)
    } else {
        format!("ranks {}, {}, ... {last}", ranks[0], ranks[1])
    })
}

/// Communicators, inert: each by name, several of one name together, `columns (8)`, or `columns (4 of 8)` if there are
/// others of that name. At most `n_named` of them by name.
pub(crate) fn communicators(
    analysis: &Analysis,
    ids: &[Option<usize>],
    width: usize,
    n_named: usize,
) -> String {
    let mut groups: Vec<(Option<&str>, Vec<Option<usize>>)> = Vec::new();
    for &id in ids {
        let known = id.and_then(|id| analysis.communicators.get(id));
        let name = known.map(|known| known.name_of_each());
        match groups.iter_mut().find(|(other, _)| *other == name) {
            Some((_, ids)) => ids.push(id),
            None => groups.push((name, vec![id])),
        }
    }
    let n_named = match groups.len() {
        n if n <= n_named => n,
        _ => n_named.saturating_sub(1),
    };
    let shown = groups[..n_named].iter().map(|(name, ids)| {
        let (Some(name), 2..) = (name, ids.len()) else {
            return communicator(analysis, ids[0], width);
        };
        let all = analysis.communicators.iter();
        let all = all.filter(|other| other.name_of_each() == *name);
        let n_all: usize = all.map(|other| other.count).sum();
        let of_these = ids.iter().flatten();
        let n: usize = of_these.map(|&id| analysis.communicators[id].count).sum();
        let name = inert::line(name, width);
        match n {
            n if n == n_all => format!("{name} ({n})"),
            n => format!("{name} ({n} of {n_all})"),
        }
    });
    let mut names: Vec<String> = shown.collect();
    let n_others: usize = groups[n_named..].iter().map(|(_, ids)| ids.len()).sum();
    if n_others > 0 {
        names.push(quantity::counted(n_others as u64, "other"));
    }
    list(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::nothing::nothing;

    #[test]
    fn what_is_said_of_a_communicator_stands_in_one_pair_of_parentheses() {
        let of = |id: usize, name: &str, count| CommunicatorSummary {
            id,
            name: name.to_owned(),
            kind: "intra".into(),
            size: 2,
            count,
            site: None,
            ranks: vec![Some(2 * id as u32), Some(2 * id as u32 + 1)],
            groups: None,
        };
        let analysis = Analysis {
            communicators: vec![
                of(0, "rows", 1),
                of(1, "rows", 1),
                of(2, "columns (20 communicators)", 20),
                of(3, "world", 1),
            ],
            ..nothing()
        };
        for (id, alone, with_payload) in [
            (1, "rows #1 (ranks 2-3)", "rows #1 (ranks 2-3, 64 KiB)"),
            (2, "columns (20)", "columns (20 communicators, 64 KiB)"),
            (3, "world", "world (64 KiB)"),
            (4, "unknown", "unknown (64 KiB)"),
        ] {
            let payload = Some("64 KiB".to_owned());
            assert_eq!(communicator(&analysis, Some(id), 30), alone);
            let both = communicator_with(&analysis, Some(id), 30, payload);
            assert_eq!(both, with_payload);
        }
    }
}
