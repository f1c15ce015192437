//! What processes do between their calls: the gaps that matching passes on, and their sums, against
//! what was generated.

use std::path::Path;

use collbench_analyzer::steps::{
    Adder, Clocks, Communicators, Gap, LongestCall, Merge, Outcome, Run, match_calls,
};
use collbench_analyzer::{Options, RunFiles, analyze};

/// The gaps by process, in their order.
#[derive(Default)]
struct Listed(Vec<(usize, Gap)>);

impl Merge for Listed {
    fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

impl Adder for Listed {
    type Sums = Self;
    type Rows = ();

    fn take(&mut self, matched: Outcome<'_>) {
        if let Outcome::Gap { process, gap } = matched {
            self.0.push((process, gap));
        }
    }

    fn hand_over_rows(&mut self) {}

    fn finish(self) -> Self {
        self
    }
}

fn gaps(trace: &Path, window: u64) -> Vec<(usize, Gap)> {
    let files = RunFiles::open(trace).unwrap();
    let run = Run::read(&files).unwrap();
    let clocks = Clocks::fit(&run);
    let communicators = Communicators::agree(&run, &clocks);
    let new = &Listed::default;
    let (mut gaps, _) = match_calls(
        &run,
        &clocks,
        &communicators,
        Some(window),
        &mut |_| {},
        new,
    );
    gaps.0.sort_by_key(|(process, gap)| (*process, gap.from));
    gaps.0
}

#[test]
fn gaps_are_those_that_were_generated_in_whatever_windows() {
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/besides.toml");
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    let truth = collbench_generate::generate(&scenario, &trace, None, false).unwrap();
    let gaps_at_once = gaps(&trace, 1 << 20);
    assert_eq!(gaps_at_once, gaps(&trace, 3));
    assert!(gaps_at_once.len() >= 100, "{}", gaps_at_once.len());
    for (process, gap) in &gaps_at_once {
        assert!(gap.own_work_ns() >= 0);
        match process {
            0 => assert_eq!((gap.io_ns, gap.longest), (40_000, None)),
            2 => {
                assert_eq!((gap.polling_ns, gap.n_unsuccessful_polls), (10_000, 9));
                let longest = gap.longest.unwrap();
                let third_ns = (gap.point_to_point_ns - 10_000) / 3;
                let expected = if third_ns > 10_000 {
                    (third_ns, Some(1))
                } else {
                    (10_000, Some(4))
                };
                assert_eq!(longest.partner, expected.1);
                assert!((expected.0 * 998 / 1000..=expected.0).contains(&longest.ns));
            }
            3 => {
                let longest = LongestCall {
                    ns: gap.longest.unwrap().ns,
                    partner: None,
                };
                assert_eq!(gap.longest, Some(longest));
                assert_eq!(
                    (gap.point_to_point_ns, gap.n_unsuccessful_polls),
                    (30_000, 600)
                );
            }
            4 => assert_eq!((gap.rma_ns, gap.own_work_ns()), (7000, 900)),
            _ => panic!("rank 1 only works"),
        }
    }
    let files = RunFiles::open(&trace).unwrap();
    let analysis = analyze(&files, &Options::default(), &mut |_| {}).unwrap();
    for (rank, expected) in analysis.ranks.iter().zip(&truth.ranks) {
        assert_eq!(
            rank.point_to_point_ns,
            Some(expected.point_to_point_ns as i64)
        );
        assert_eq!(rank.unsuccessful_polls, Some(expected.unsuccessful_polls));
        assert_eq!(rank.io_ns, Some(expected.io_ns as i64));
        assert_eq!(rank.rma_ns, Some(expected.rma_ns as i64));
    }
    // The messages inside the collectives are read as if there were no notes between these.
    let allreduce = &analysis.operations[0];
    assert_eq!((allreduce.instances, allreduce.incomplete), (30, 0));
    assert!(
        allreduce
            .edges
            .as_ref()
            .is_some_and(|edges| !edges.is_empty())
    );
}
