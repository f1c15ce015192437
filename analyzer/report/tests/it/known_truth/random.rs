//! Random programs come back exactly.

use super::*;

/// A step of a random program, as a line of the scenario.
fn step() -> impl Strategy<Value = String> {
    let operations = prop::sample::select(vec![
        "MPI_Barrier",
        "MPI_Bcast",
        "MPI_Gather",
        "MPI_Gatherv",
        "MPI_Scatter",
        "MPI_Scatterv",
        "MPI_Allgather",
        "MPI_Allgatherv",
        "MPI_Alltoall",
        "MPI_Alltoallv",
        "MPI_Alltoallw",
        "MPI_Reduce",
        "MPI_Allreduce",
        "MPI_Reduce_scatter",
        "MPI_Reduce_scatter_block",
        "MPI_Scan",
        "MPI_Exscan",
    ]);
    let on = prop::sample::select(vec!["world", "self", "parts", "turned", "bridge"]);
    let bytes = prop::collection::vec(prop_oneof![Just(0u32), 1u32..5000], 5);
    (operations, on, bytes, any::<bool>(), 0u32..20_000, 1u32..4).prop_map(
        |(operation, on, bytes, same, work, repeat)| {
            // A scan has no meaning between two groups.
            let on = match operation {
                "MPI_Scan" | "MPI_Exscan" if on == "bridge" => "world",
                _ => on,
            };
            let bytes = match (operation, same) {
                ("MPI_Barrier", _) => String::new(),
                (_, true) => format!("bytes = {}, ", bytes[0]),
                (_, false) => format!("bytes = {bytes:?}, "),
            };
            let is_rooted = ["MPI_Bcast", "MPI_Gather", "MPI_Scatter", "MPI_Reduce"]
                .iter()
                .any(|rooted| operation.starts_with(rooted) && !operation.contains("_scatter"));
            let root = if is_rooted {
                "root = \"rotating\", "
            } else {
                ""
            };
            format!(
                "{{ operation = \"{operation}\", on = \"{on}\", {bytes}{root}repeat = {repeat}, \
                 work = [{{ exponential_ns = {work} }}] }},"
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24,
        failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_programs_come_back_exactly(
        steps in prop::collection::vec(step(), 1..12),
        two_hosts: bool,
        seed in 0u64..1000,
    ) {
        let hosts = if two_hosts { "[[hosts]]\nname = \"a\"\nranks = 3\nghz = 2.5\n\
                     [[hosts]]\nname = \"b\"\nranks = 2\nclock = \"raw\"\noffset_ns = 5000\n".to_owned() } else { "[[hosts]]\nname = \"a\"\nranks = 5\nghz = 2.5\n".to_owned() };
        let scenario = format!(
            "schema = 1\nseed = {seed}\ngrid_ns = 100\nchunk_calls = 16\nplacement = \"round-robin\"\n\
             latency = {{ base_ns = 900, jitter = {{ exponential_ns = 900 }} }}\n{hosts}\
             [[program]]\noperation = \"MPI_Comm_split\"\nsplit = {{ colours = [0, 1, 0, 1, 1] }}\nmakes = \"parts\"\n\
             [[program]]\noperation = \"MPI_Comm_dup\"\nmakes = \"copy\"\n\
             [[program]]\noperation = \"MPI_Comm_create\"\nsplit = {{ reversed = true }}\nmakes = \"turned\"\n\
             [[program]]\noperation = \"MPI_Intercomm_create\"\non = \"parts\"\nmakes = \"bridge\"\n\
             [[program]]\nrepeat = 4\nsteps = [\n{}\n]\n",
            steps.join("\n")
        );
        let case = Case::new(&scenario);
        prop_assert_eq!(case.status, 0);
        let truth = if two_hosts { "within_hosts" } else { "global" };
        compare(&case, Tolerance { truth, ..EXACT });
    }
}
