//! Sites that a tree file does not name.

use std::fs;
use std::path::Path;

use collbench_tests::{Cluster, Workspace, program, run_ranks};

const TOPOLOGY: &str = "\
cluster a hosts=2 slots=1 latency_us=100
cluster b hosts=1 slots=1 latency_us=100
link a b latency_us=2000
";
const TREES: &str = "\
[[tree]]
operations = ['allreduce', 'barrier', 'allgather']
shape = { ranks = 'linear', hosts = 'linear', sites = 'exchange' }
[[tree]]
operations = ['reduce', 'bcast', 'gather', 'scatter']
shape = { ranks = 'linear', hosts = 'linear', sites = 'binomial' }
";

#[test]
fn sites_that_the_file_does_not_name_are_those_of_round_trips_or_one() {
    let workspace = Workspace::new();
    let Some(cluster) = Cluster::of_topology("sites-found", TOPOLOGY, &workspace) else {
        return;
    };
    let arguments = ["37", "40"];
    let over_file = |file: &Path| {
        let finished = cluster.run_over_trees(&workspace, 3, (file, &[]), "replaced.c", &arguments);
        finished.expect(0)
    };
    let over = |trees: &str| {
        let file = workspace.join("trees.toml");
        fs::write(&file, trees).unwrap();
        over_file(&file)
    };
    let program = program("replaced.c");
    let launch = [
        cluster.script(),
        "mpirun",
        "-n",
        "3",
        program.to_str().unwrap(),
    ];
    let line = [&launch[..], &arguments].concat();
    let plain = run_ranks(3, workspace.path(), &[cluster.variable()], &line).expect(0);

    let found = over(TREES);
    assert_eq!(found.sorted_lines(), plain.sorted_lines());
    let said = |line: &&str| line.contains("the tree file");
    let said: Vec<&str> = found.stderr.lines().filter(said).collect();
    let [said] = said[..] else {
        panic!("{found}");
    };
    // On a busy machine it may not be sure, but never wrong.
    assert!(
        said.ends_with("by round trips the sites are: a-1 a-2; b-1")
            || said.contains("all hosts count as one site"),
        "{said}"
    );

    let named =
        "\n[[site]]\nname = 'x'\nhosts = ['a-1', 'b-1']\n[[site]]\nname = 'y'\nhosts = ['a-2']\n";
    let named = over(&format!("{TREES}{named}"));
    assert_eq!(named.sorted_lines(), plain.sorted_lines());
    assert!(!named.stderr.contains("collbench: "), "{named}");

    // Without any file; its trees depend on sites.
    let best = over_file(Path::new("best"));
    assert_eq!(best.sorted_lines(), plain.sorted_lines());
    best.must_say("has no [[site]]");
}
