//! Lengths that differ between processes, which is an error of the program.

use collbench_formats::tree::{Collective, WrapperKind};
use collbench_paths::{Buffers, Error, InProcess, SimulatedCosts, Team};

use crate::flat_tree::flat_tree;
use crate::random::{Random, random_tree};
use crate::reference::Op;
use crate::run::on_all_ranks;

/// One operation in which this rank has `own` elements and all others `n`; `own` == `n` for all
/// others. What it returns, and whether something was stored behind the buffer.
fn call(
    team: &mut Team<InProcess>,
    collective: Collective,
    (me, root, n_ranks): (u32, u32, u32),
    own: usize,
) -> Result<(), Error> {
    let is_root = me == root;
    let given = vec![1; own * 8];
    let mut result = vec![0; own * 8];
    let mut all = vec![0; own * 8 * n_ranks as usize];
    let mut op = Op::Sum;
    match collective {
        Collective::Barrier => team.barrier(),
        Collective::Allreduce => team.allreduce(Buffers::Two(&given, &mut result), &mut op),
        Collective::Reduce => team.reduce(Buffers::Two(&given, &mut result), &mut op, root),
        Collective::Bcast => team.bcast(&mut result, root),
        Collective::Allgather => team.allgather(Some(&given), &mut all),
        Collective::Gather if is_root => team.gather(Some(&given), &mut all, root),
        Collective::Gather => team.gather(Some(&given), &mut [], root),
        Collective::Scatter if is_root => team.scatter(&all, Some(&mut result), root),
        Collective::Scatter => team.scatter(&[], Some(&mut result), root),
    }
}

/// Whether a rank must get an error if `odd` has `own` elements and the others have `n`.
fn must_fail(
    collective: Collective,
    (me, root, odd): (u32, u32, u32),
    (n, own): (usize, usize),
) -> bool {
    match collective {
        Collective::Barrier => false,
        Collective::Allreduce => own != n,
        // Gathering less than there is room for is no error to be seen.
        Collective::Allgather => own != n,
        Collective::Reduce => me == root && own != n,
        Collective::Gather => me == root && own != n,
        Collective::Bcast | Collective::Scatter if root == odd => me != root && own > n,
        Collective::Bcast | Collective::Scatter => me == odd && own < n,
    }
}

#[test]
fn lengths_that_differ_overrun_nothing_and_later_operations_are_right() {
    for seed in 0..250 {
        let mut random = Random::new(seed + 20_000);
        let n_ranks = 2 + random.below(7);
        let tree = random_tree(&mut random, n_ranks);
        let collective = Collective::ALL[random.below(Collective::ALL.len())];
        let root = random.below(n_ranks) as u32;
        let odd = random.below(n_ranks) as u32;
        let (n, own) = (random.below(120), random.below(120));
        let outcomes = on_all_ranks(
            &tree,
            [144, 1000][random.below(2)],
            SimulatedCosts::default(),
            move |team, me| {
                let ranks = (me, root, n_ranks as u32);
                let first = call(team, collective, ranks, if me == odd { own } else { n });
                let mut sum = 1_u64.to_ne_bytes().repeat(n + 1);
                for _ in 0..6 {
                    call(team, collective, ranks, n).unwrap();
                    team.reduce(Buffers::InPlace(&mut sum), &mut Op::Sum, root)
                        .unwrap();
                    team.bcast(&mut sum, root).unwrap();
                }
                (first, sum)
            },
        );
        let expected = (n_ranks as u64).pow(6).to_ne_bytes().repeat(n + 1);
        for (me, (first, sum)) in (0..).zip(outcomes) {
            let fails = must_fail(collective, (me, root, odd), (n, own));
            let what = format!(
                "seed {seed}, {collective:?}, rank {me} of {n_ranks}, root {root}, rank {odd} has {own} for {n}"
            );
            let error = if fails { Err(Error::Truncated) } else { Ok(()) };
            assert_eq!(first, error, "{what}");
            assert!(sum == expected, "{what}");
        }
    }
}

/// Each rank has a length of its own, and some are slow: what the root has given stays until they have
/// taken it, whatever the others believe to be free.
#[test]
fn values_stay_until_all_have_taken_them_whatever_lengths_others_have() {
    const N_CALLS: u64 = 60;
    for seed in 0..40 {
        let mut random = Random::new(seed + 25_000);
        let n_ranks = 2 + random.below(7);
        let tree = random_tree(&mut random, n_ranks);
        let slow = random.below(n_ranks) as u32;
        let costs = SimulatedCosts::default();
        let outcomes = on_all_ranks(&tree, 1000, costs, move |team, me| {
            let mut wrong = Vec::new();
            for call in 0..N_CALLS {
                let mut random = Random::new(seed << 32 | call);
                let root = random.below(n_ranks) as u32;
                let most = [30, 120, 4000][random.below(3)];
                let lengths: Vec<usize> = (0..n_ranks).map(|_| random.below(most)).collect();
                let (own, given) = (lengths[me as usize], lengths[root as usize]);
                let value = |nth: usize| (nth as u64 * 7 + call) as u8 | 1;
                let mut buffer = vec![0; own];
                if me == root {
                    buffer = (0..own).map(value).collect();
                }
                let outcome = team.bcast(&mut buffer, root);
                let expected = |nth| if nth < given { value(nth) } else { 0 };
                let is_right = buffer
                    .iter()
                    .enumerate()
                    .all(|(nth, got)| *got == expected(nth));
                let error = if own < given && me != root {
                    Err(Error::Truncated)
                } else {
                    Ok(())
                };
                if !is_right || outcome != error {
                    wrong.push((call, outcome));
                }
                if me == slow && random.one_in(8) {
                    std::thread::sleep(std::time::Duration::from_micros(300));
                }
            }
            wrong
        });
        for (me, wrong) in outcomes.iter().enumerate() {
            assert!(
                wrong.is_empty(),
                "seed {seed}, rank {me}: {wrong:?}\n{tree:#?}"
            );
        }
    }
}

#[test]
fn an_element_larger_than_a_segment_is_refused_by_all() {
    struct Large;
    impl collbench_paths::Combine for Large {
        fn element_bytes(&self) -> usize {
            1001
        }
        fn keeps_rank_order(&self) -> bool {
            false
        }
        fn combine(&mut self, _left: &[u8], _right: &mut [u8]) {
            unreachable!("nothing is combined");
        }
    }
    let tree = random_tree(&mut Random::new(1), 4);
    let refusals = on_all_ranks(&tree, 1000, SimulatedCosts::default(), |team, _| {
        let refusal = team.allreduce(Buffers::InPlace(&mut [0; 1001]), &mut Large);
        team.barrier().unwrap();
        refusal
    });
    let expected = Error::Element {
        element_bytes: 1001,
        limit_bytes: 1000,
    };
    assert!(
        refusals
            .iter()
            .all(|refusal| *refusal == Err(expected.clone()))
    );
}

/// Lengths around what fits into one word, into the line of a header, and into a segment, on the trees
/// of one host whose small values go the shortest way.
#[test]
fn lengths_that_differ_are_noticed_on_the_shortest_way_too() {
    let lengths = [0, 1, 2, 5, 6, 18, 19, 40];
    for (kind, collectives) in [
        (WrapperKind::Exchange, [Collective::Allreduce; 2]),
        (
            WrapperKind::Gred,
            [Collective::Bcast, Collective::Allreduce],
        ),
    ] {
        for (idx, (n, own)) in lengths
            .into_iter()
            .flat_map(|n| lengths.map(|own| (n, own)))
            .enumerate()
        {
            let n_ranks = 2 + idx as u32 % 3;
            let tree = flat_tree(kind, 0..n_ranks, 0);
            let collective = collectives[idx % 2];
            let (root, odd) = (idx as u32 % n_ranks, idx as u32 / 3 % n_ranks);
            let outcomes = on_all_ranks(&tree, 144, SimulatedCosts::default(), move |team, me| {
                let ranks = (me, root, n_ranks);
                let mine = if me == odd { own } else { n };
                let first = call(team, collective, ranks, mine);
                let mut sum = 1_u64.to_ne_bytes();
                for _ in 0..10 {
                    team.allreduce(Buffers::InPlace(&mut sum), &mut Op::Sum)
                        .unwrap();
                    team.bcast(&mut sum, root).unwrap();
                }
                (first, u64::from_ne_bytes(sum))
            });
            for (me, (first, sum)) in (0..).zip(outcomes) {
                let fails = must_fail(collective, (me, root, odd), (n, own));
                let error = if fails { Err(Error::Truncated) } else { Ok(()) };
                let what = format!("{collective:?}, rank {me} of {n_ranks}, {odd}: {own} for {n}");
                assert_eq!(first, error, "{what}");
                assert_eq!(sum, u64::from(n_ranks).pow(10), "{what}");
            }
        }
    }
}
