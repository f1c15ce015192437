//! From sums to results: activity of processes over time, and classes of processes that behave
//! alike.

use collbench_stats::bins::{bin_ns, doublings_to_cover};
use collbench_stats::moments::Moments;
use collbench_text::inert;

use crate::judge::classes::{Class, Features, classes};
use crate::judge::inputs::Inputs;
use crate::results::over_time::{RankTimeline, Timeline};
use crate::results::process::RankClass;
use crate::sums::behaviour::Behaviour;
use crate::sums::timeline::{ActivityOverTime, MAX_BINS, MAX_FINE_BINS, Stretch};

/// Smallest difference between classes, as a share of the mean time that a process spends.
const MIN_DIFFERENCE: f64 = 0.1;
/// Most ranges of ranks in a name.
const MAX_RANGES: usize = 3;

/// Activity of each process over time, in stretches that are equal for all.
pub(crate) fn timeline(inputs: &Inputs<'_>) -> Timeline {
    timeline_of(inputs, MAX_BINS)
}

/// Activity of each process over time, in up to four times as many stretches as [`timeline`] has.
pub(crate) fn fine_timeline(inputs: &Inputs<'_>) -> Timeline {
    timeline_of(inputs, MAX_FINE_BINS)
}

/// Activity of each process over time, in so many stretches at most.
fn timeline_of(inputs: &Inputs<'_>, most: u32) -> Timeline {
    let Inputs { run, sums, .. } = inputs;
    let activities = || sums.processes.iter().map(|process| &process.activity.0);
    let widest = activities().map(|bins| bins.doublings()).max();
    // A call outside of complete instances may begin after the last accepted stamp.
    let last_ns = activities().filter_map(|bins| {
        let (bin, _) = bins.iter().last()?;
        Some(bins.bin_ns().saturating_mul(bin as i64))
    });
    let end_ns = sums.end_ns.max(0);
    let to_cover_ns = last_ns.max().unwrap_or(0).max(end_ns);
    let doublings = doublings_to_cover(to_cover_ns, most).max(widest.unwrap_or(0));
    let n_bins = (end_ns / bin_ns(doublings)) as usize + 1;
    Timeline {
        bin_ns: bin_ns(doublings),
        ranks: run
            .processes
            .iter()
            .zip(&sums.processes)
            .map(|(process, sums)| rank_timeline(process.rank(), &sums.activity, doublings, n_bins))
            .collect(),
    }
}

fn rank_timeline(
    rank: u32,
    activity: &ActivityOverTime,
    doublings: u32,
    n_bins: usize,
) -> RankTimeline {
    let mut bins = activity.0.clone();
    bins.widen(doublings);
    let mut stretches = vec![Stretch::default(); n_bins];
    for (bin, stretch) in bins.iter() {
        // A call outside of complete instances may end after the last accepted stamp.
        if let Some(place) = stretches.get_mut(bin) {
            *place = *stretch;
        }
    }
    let wait = |stretch: &Stretch| {
        let is_unknown = stretch.n_unknown_waits > 0
            && stretch.n_unknown_waits == stretch.n_calls
            && stretch.wait_ns == 0;
        (!is_unknown).then_some(stretch.wait_ns)
    };
    RankTimeline {
        rank,
        wait_ns: stretches.iter().map(wait).collect(),
        call_time_ns: stretches.iter().map(|s| s.call_ns).collect(),
        calls: stretches.iter().map(|s| s.n_calls).collect(),
        waits_unknown: stretches.iter().map(|s| s.n_unknown_waits).collect(),
    }
}

/// The features by which processes are distinguished.
fn moments(behaviour: &Behaviour) -> [&Moments; 3] {
    [&behaviour.lag, &behaviour.wait, &behaviour.departure_wait]
}

/// Classes of processes that arrive, wait and leave alike.
pub(crate) fn rank_classes(inputs: &Inputs<'_>) -> Vec<RankClass> {
    let Inputs {
        run, clocks, sums, ..
    } = inputs;
    // Processes without a complete instance have no features.
    let seen: Vec<usize> = (0..run.processes.len())
        .filter(|&process| sums.processes[process].behaviour.lag.n() > 0)
        .collect();
    let behaviour = |index: usize| &sums.processes[seen[index]].behaviour;
    let features: Vec<Features> = (0..seen.len())
        .map(|index| moments(behaviour(index)).map(Moments::mean_ns))
        .collect();
    let granularity = clocks.hosts.iter().map(|host| host.granularity_ns).max();
    let tolerance = tolerance_ns(
        &(0..seen.len()).map(behaviour).collect::<Vec<_>>(),
        granularity.unwrap_or(0),
    );
    let found = classes(&features, tolerance);
    found
        .iter()
        .map(|class| {
            let of_members = |feature: usize| {
                let mut sum = Moments::default();
                for &member in &class.members {
                    sum.merge(moments(behaviour(member))[feature]);
                }
                sum
            };
            let [lag, wait, departure_wait] = [0, 1, 2].map(of_members);
            RankClass {
                name: name(inputs, &seen, &features, &found, class),
                ranks: class
                    .members
                    .iter()
                    .map(|&m| rank(inputs, seen[m]))
                    .collect(),
                representative: rank(inputs, seen[class.representative]),
                mean_wait_ns: wait.mean_ns(),
                mean_lag_ns: lag.mean_ns(),
                mean_departure_wait_ns: departure_wait.mean_ns(),
                calls: lag.n(),
            }
        })
        .collect()
}

/// For each feature the spread of means that is not significant, ns.
fn tolerance_ns(processes: &[&Behaviour], granularity_ns: i64) -> [f64; 3] {
    let n = processes.len().max(1) as f64;
    // The range of n values of a normal distribution is hardly ever wider than this.
    let range = 2.0 * (2.0 * n.ln()).sqrt() + 3.0;
    let median = |mut values: Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    let spent: f64 = (0..3)
        .filter_map(|feature| {
            let means = processes
                .iter()
                .filter_map(|behaviour| moments(behaviour)[feature].mean_ns());
            median(means.map(|mean| mean as f64).collect())
        })
        .fold(0.0, f64::max);
    [0, 1, 2].map(|feature| {
        let errors = processes
            .iter()
            .filter_map(|behaviour| moments(behaviour)[feature].standard_error_ns());
        // Without a process with two calls, the scatter is unknown.
        let chance = median(errors.collect()).map_or(f64::MAX, |error| error * range);
        chance
            .max(2.0 * granularity_ns as f64)
            .max(MIN_DIFFERENCE * spent)
    })
}

fn rank(inputs: &Inputs<'_>, process: usize) -> u32 {
    inputs.run.processes[process].rank()
}

/// Name of a class: the ranks, if they are few ranges; else the host that has exactly these ranks;
/// else what distinguishes them.
fn name(
    inputs: &Inputs<'_>,
    seen: &[usize],
    features: &[Features],
    classes: &[Class],
    class: &Class,
) -> String {
    let ranks: Vec<u32> = class
        .members
        .iter()
        .map(|&m| rank(inputs, seen[m]))
        .collect();
    let n_ranges = 1 + ranks
        .windows(2)
        .filter(|pair| pair[0] + 1 != pair[1])
        .count();
    if n_ranges <= MAX_RANGES {
        return inert::ranks(&ranks);
    }
    let host_of = |process: usize| inputs.clocks.processes[process].host;
    let host = host_of(seen[class.members[0]]);
    let on_host = |process: &usize| host_of(*process) == host;
    if class.members.iter().all(|&m| host_of(seen[m]) == host)
        && seen.iter().filter(|&process| on_host(process)).count() == ranks.len()
    {
        let name = &inputs.clocks.hosts[host].name;
        return format!("host {}", inert::line(name, 40));
    }
    let lag = |class: &Class| features[class.representative][0];
    let lags = || classes.iter().map(lag);
    let what = match lag(class) {
        _ if classes.len() == 1 => "all ranks",
        own if own == lags().min().flatten() => "late ranks",
        own if own == lags().max().flatten() => "early ranks",
        _ => "ranks in between",
    };
    format!("{what} ({})", ranks.len())
}
