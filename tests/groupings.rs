//! Results of reductions, to the bit, compared with the groupings of their algorithms and trees. Other processes and
//! payloads: `cargo run -p collbench-tests --bin grouping-agreement`.

use collbench_tests::{
    RuledLibrary, Runner, compare_groupings_of_trees, forced, groupings_of, have, long_or,
    skip_unless,
};

#[test]
fn results_of_each_algorithm_have_the_bits_of_its_grouping() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let sizes: (&[usize], &[u64]) = long_or(
        (&[4, 5, 6, 7, 8, 9, 10, 11, 12], &[8, 264, 65_536]),
        (&[4, 5], &[8, 264]),
    );
    let library = RuledLibrary::of_the_system("grouped.c");
    let algorithms: Vec<u32> = (1..=7).collect();
    // Segments group nothing in another way: only the long run has them.
    let mut forced = forced(&algorithms);
    let is_long = long_or(true, false);
    forced.retain(|of| is_long || of.parameters.segment_bytes == 0);
    groupings_of(&library, &Runner::default(), &forced, sizes).expect();
}

#[test]
fn sums_over_trees_have_the_bits_of_the_groupings_of_the_trees() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let text = r#"
[[tree]]
operations = ["allreduce"]
bytes = "0-8"
shape = { ranks = "exchange" }

[[tree]]
operations = ["allreduce", "reduce"]
bytes = "0-264"
shape = { ranks = "binomial" }

[[tree]]
operations = ["allreduce", "reduce"]
shape = { ranks = "chain 2" }
"#;
    let lengths = [8, 264, 40_000];
    let found = compare_groupings_of_trees(&Runner::default(), text, (&[4, 5], &lengths));
    assert!(found.differences.is_empty(), "{:#?}", found.differences);
    assert_eq!(found.equal.len(), 5, "{:?}", found.equal);
    assert_eq!(found.equal.values().sum::<u64>(), 2 * 3 * 3);
}
