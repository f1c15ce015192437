//! What `collbench-bench gsum` tells a recorder that was preloaded.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use collbench_formats::Operation;

use crate::launch::alone;

#[test]
fn calls_are_recorded_once_for_each_process_and_passes_of_all_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorder/stub.c");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let compiled = Command::new(compiler)
        .args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"])
        .args([path("stub.so").as_os_str(), source.as_ref()])
        .status();
    assert!(compiled.expect("a C compiler").success());
    let tree = "[[tree]]\noperations = \"allreduce\"\nshape = \"linear\"\n";
    fs::write(path("tree.toml"), tree).unwrap();
    let line = "gsum --trees tree.toml --threads 2 --calls 3 --rounds 2";
    let output = alone(line, folder.path())
        .env("LD_PRELOAD", path("stub.so"))
        .env("STUB_LOG", path("told"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("This run is recorded"), "{said}");

    let told = fs::read_to_string(path("told")).unwrap();
    let lines = |begin: &str| -> Vec<&str> {
        let lines = told.lines().filter(|line| line.starts_with(begin));
        lines.collect()
    };
    assert_eq!(
        lines("tree"),
        [
            "tree 0 of 2 threads, tree.toml: encoded",
            "tree 1 of 2 threads, tree.toml: encoded",
        ]
    );
    // Two rounds of three calls, each with as many before them to warm up.
    let begin = format!("begin {} -1 8", Operation::Allreduce.code());
    assert_eq!(lines("begin"), vec![begin; 12]);
    assert_eq!(lines("end").len(), 12);
    // Both trees in turns; the collectors after two threads, and after what joins them.
    let expected = (0..2).flat_map(|tree| (1..=6).map(move |call| (tree, call)));
    let expected = expected.flat_map(|(tree, call)| {
        (0..3).map(move |collector| format!("pass {tree} {call} {collector} 0 both ways"))
    });
    let expected: BTreeSet<String> = expected.collect();
    let passes = lines("pass");
    assert_eq!(passes.len(), expected.len());
    let passes: BTreeSet<String> = passes.into_iter().map(str::to_owned).collect();
    assert_eq!(passes, expected);
}
