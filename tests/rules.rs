//! What `collbench-tune` says of rule files, compared with what Open MPI does with them. More files, and
//! other seeds: `cargo run -p collbench-tests --bin rule-agreement`.

use collbench_tests::{RuledLibrary, have, long_or, skip_unless};

#[test]
fn what_is_said_of_rule_files_is_what_the_library_does() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let files = long_or(200, 20);
    RuledLibrary::of_the_system("ruled.c")
        .agree(1, files)
        .expect(files);
}

#[test]
fn each_algorithm_runs_where_a_written_file_chooses_it() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let agreed = RuledLibrary::of_the_system("ruled.c").run_written("Open MPI 4.1.4", 7);
    assert!(agreed.differences.is_empty(), "{:#?}", agreed.differences);
}
