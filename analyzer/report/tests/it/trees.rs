//! The command `collbench-tree`: exit status, what goes where, and what it says and draws.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::built::assert_has;

const TWO_SITES: &str = r#"version = 1

[[site]]
name = "a"
hosts = ["a*"]

[[site]]
name = "b"
hosts = ["b*"]

[[tree]]
operations = ["allreduce", "barrier"]
shape = { ranks = "linear", hosts = "binomial", sites = "exchange" }
collectors = { gred = "both", proxy = "none" }

[[tree]]
operations = ["reduce", "bcast"]
size = "4-"
bytes = "0-4KiB"
shape = { ranks = "linear", hosts = "4-nomial", sites = "linear" }
"#;

/// Nine ranks, those of the first site on three hosts and not one after the other.
const HOSTS: &str = "a1:2,b1:2,b2:2,a2:2,a3:1";

fn tree(arguments: &[&str]) -> Output {
    let command = env!("CARGO_BIN_EXE_collbench-tree");
    Command::new(command).args(arguments).output().unwrap()
}

/// What a command prints that succeeds.
fn said(arguments: &[&str]) -> String {
    let output = tree(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Exit status and stderr of a command that prints nothing to stdout.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = tree(arguments);
    assert!(output.stdout.is_empty(), "{arguments:?}");
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// A folder with a tree file.
fn with_file(text: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trees.toml");
    fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn a_tree_is_shown_row_by_row() {
    let (_folder, path) = with_file(TWO_SITES);
    let text = said(&["show", &path, "--hosts", HOSTS]);
    insta::assert_snapshot!("two_sites", text.replace(&path, "trees.toml"));
    let rules = said(&["show", &path]);
    insta::assert_snapshot!("rules", rules.replace(&path, "trees.toml"));
}

#[test]
fn the_root_of_an_operation_is_that_of_its_tree() {
    let (_folder, path) = with_file(TWO_SITES);
    let all = ["show", &path, "--hosts", HOSTS, "--operation", "MPI_Bcast"];
    let with_root = |root| [&all[..], &["--format", "json", "--root", root]].concat();
    for root in ["0", "3", "8"] {
        let text = said(&with_root(root));
        let document: Value = collbench_schemas::read(&text);
        let [found] = &document["trees"].as_array().unwrap()[..] else {
            panic!("{text}")
        };
        let wrappers = found["wrappers"].as_array().unwrap();
        let core = wrappers.last().unwrap();
        assert_eq!(core["kind"], "core");
        assert_eq!(core["owner"].to_string(), root);
        assert_eq!(found["crossings"]["sites"], 1);
        assert_eq!(found["crossings"]["hosts"], 3);
    }
    // A tree that is also for operations without a root has the root of the one that is asked for.
    let (_folder, mixed) = with_file(&TWO_SITES.replace("\"reduce\",", "\"allgather\","));
    let show = ["show", &mixed, "--hosts", HOSTS, "--root", "3"];
    for (operation, core) in [("bcast", "core 3 "), ("allgather", "core 0 ")] {
        let text = said(&[&show[..], &["--operation", operation]].concat());
        assert_has(&text, core);
    }
    let (status, error) = refused(&with_root("9"));
    assert_eq!(status, Some(2));
    assert_has(&error, "--root 9; expected a rank from 0 to 8");
}

#[test]
fn the_document_has_every_rank_and_every_wrapper() {
    let (_folder, path) = with_file(TWO_SITES);
    let text = said(&["show", &path, "--hosts", HOSTS, "--format", "json"]);
    let document: Value = collbench_schemas::read(&text);
    assert_eq!(document["schema"], "collbench.tree/1");
    let ranks = document["ranks"].as_array().unwrap();
    assert_eq!(ranks.len(), 9);
    assert_eq!(
        (&ranks[8]["host"], &ranks[8]["site"]),
        (&"a3".into(), &0.into())
    );
    assert_eq!(ranks[8]["socket"], Value::Null);
    for found in document["trees"].as_array().unwrap() {
        let wrappers = found["wrappers"].as_array().unwrap();
        let contributors = wrappers
            .iter()
            .flat_map(|of| of["contributors"].as_array().unwrap());
        let mut joined: Vec<u64> = contributors.filter_map(|of| of["rank"].as_u64()).collect();
        joined.sort_unstable();
        assert!(joined.into_iter().eq(0..9));
        for (index, wrapper) in wrappers.iter().enumerate() {
            assert_eq!(wrapper["index"], index);
            let parent = wrapper["parent"].as_u64();
            assert_eq!(parent.is_none(), index + 1 == wrappers.len());
            if wrapper["kind"] == "proxy" && found["line"] == 11 {
                assert_eq!(wrapper["collectors"]["before"], false);
            }
        }
    }
    let rules: Value = collbench_schemas::read(said(&["show", &path, "--format", "json"]));
    assert_eq!(
        (&rules["ranks"], &rules["trees"][1]["wrappers"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(rules["trees"][1]["bytes_max"], 4096);
    assert_eq!(rules["trees"][1]["ranks_max"], Value::Null);
}

#[test]
fn a_tree_is_drawn() {
    let (_folder, path) = with_file(TWO_SITES);
    let all = ["show", &path, "--hosts", HOSTS, "--operation", "reduce"];
    let drawn = |format| said(&[&all[..], &["--format", format]].concat());
    insta::assert_binary_snapshot!("planned.svg", drawn("svg").into_bytes());
    insta::assert_snapshot!("dot", drawn("dot"));
    // Of several it is said which one it is.
    let output = tree(&["show", &path, "--hosts", HOSTS, "--format", "svg"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && error.contains("the tree of line 11, one of 2"),
        "{error}"
    );
    let (status, error) = refused(&["show", &path, "--format", "dot"]);
    assert_eq!(status, Some(2));
    assert_has(&error, "add --hosts, --trace or --links");
}

#[test]
fn what_is_wrong_is_on_stderr_with_its_place() {
    let (_folder, path) = with_file(&TWO_SITES.replace("4-nomial", "nomial"));
    let (status, error) = refused(&["check", &path]);
    assert_eq!(status, Some(1));
    let expected = format!("{path}:20:37: \"nomial\" is no shape; did you mean \"");
    assert!(error.starts_with(&expected), "{error}");
    assert_eq!(refused(&["show", &path]), (status, error));
    let (status, error) = refused(&["check", "/nowhere/trees.toml"]);
    assert_eq!(status, Some(1));
    assert!(
        error.starts_with("collbench-tree: /nowhere/trees.toml: No such file"),
        "{error}"
    );
}

#[test]
fn hosts_that_are_not_there_are_refused() {
    let (_folder, path) = with_file(TWO_SITES);
    assert_eq!(
        said(&["check", &path, "--hosts", HOSTS]),
        format!("{path}: 2 trees, nothing wrong\n")
    );
    // Too few ranks for the second tree are not wrong.
    assert_eq!(
        said(&["check", &path, "--hosts", "a1:1,b1:1"]),
        format!("{path}: 2 trees, nothing wrong\n{path}:16:1: not used for 2 ranks\n")
    );
    let (status, error) = refused(&["check", &path, "--hosts", "a1:4"]);
    assert_eq!(status, Some(1));
    assert!(
        error.starts_with(&format!("{path}:9:10: no host is called \"b*\"")),
        "{error}"
    );
}

#[test]
fn a_tree_of_other_ranks_is_refused() {
    let nodes = "[[tree]]\noperations = \"allreduce\"\n[[tree.node]]\nowner = 0\ncontributors = [0, 1, 2]\n";
    let (_folder, path) = with_file(nodes);
    assert!(said(&["check", &path, "--hosts", "x:3"]).contains("nothing wrong"));
    let (status, error) = refused(&["check", &path, "--hosts", "x:4"]);
    assert_eq!(status, Some(1));
    assert_eq!(
        error,
        format!(
            "{path}:1:1: no tree for these ranks: it is for communicators of 3 processes; name each \
             rank once, or make the file anew\n"
        )
    );
}

#[test]
fn a_list_of_hosts_that_cannot_be_read_is_a_usage_error() {
    let (_folder, path) = with_file(TWO_SITES);
    for (list, word) in [
        ("a1", "\"a1\" in --hosts"),
        ("a1:0", "\"a1:0\" in --hosts"),
        (":4", "\":4\" in --hosts"),
        ("a1:2,,b1:2", "\"\" in --hosts"),
        ("a1:2000000", "expected at most 1048576"),
        ("a1:99999999999999999999", "in --hosts"),
    ] {
        let (status, error) = refused(&["check", &path, "--hosts", list]);
        assert_eq!(status, Some(2), "{error}");
        assert_has(&error, word);
    }
}

#[test]
fn a_file_of_every_shape_can_be_begun() {
    let folder = tempfile::tempdir().unwrap();
    for (number, shape) in [
        "hierarchical",
        "linear",
        "chain 2",
        "3-ary",
        "4-nomial",
        "binomial",
        "in-order binary",
        "exchange",
    ]
    .into_iter()
    .enumerate()
    {
        for nodes in [&[][..], &["--nodes"][..]] {
            let path = folder.path().join(format!("{number}-{}.toml", nodes.len()));
            let path = path.to_str().unwrap();
            let make = ["make", shape, "--hosts", HOSTS, "-o", path];
            assert_eq!(said(&[&make[..], nodes].concat()), "");
            let checked = said(&["check", path, "--hosts", HOSTS]);
            assert!(checked.ends_with("nothing wrong\n"), "{checked}");
        }
    }
    let (status, error) = refused(&["make", "bionmial", "--hosts", HOSTS]);
    assert_eq!(status, Some(2));
    assert_has(
        &error,
        "no shape \"bionmial\"; expected best, hierarchical, linear",
    );
    let (status, error) = refused(&["make", "binomial"]);
    assert_eq!(status, Some(2));
    assert_has(&error, "add --hosts LIST, --trace TRACE or --links FILE");
}

#[test]
fn the_best_trees_need_no_hosts_and_name_sites_that_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trees.toml");
    let path = path.to_str().unwrap();
    assert_eq!(said(&["make", "best", "-o", path]), "");
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(said(&["make", "best", "--hosts", HOSTS]), text);
    let checked = said(&["check", path]);
    assert!(checked.ends_with("nothing wrong\n"), "{checked}");
    assert_eq!(checked.replace(path, "best"), said(&["check", "best"]));
    let shown = said(&["show", "best", "--operation", "allreduce"]);
    assert_has(&shown, "; across sites\n");
    let (status, error) = refused(&["make", "best", "--nodes", "--hosts", HOSTS]);
    assert_eq!(status, Some(2));
    assert_has(&error, "leave out --nodes");
}

#[test]
fn a_file_is_replaced_on_demand_and_never_half_written() {
    let (folder, path) = with_file("mine");
    let make = ["make", "linear", "--hosts", "a:2", "-o", &path];
    let (status, error) = refused(&make);
    assert_eq!(status, Some(1));
    assert_has(&error, "exists; --force replaces it");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    said(&[&make[..], &["--force"]].concat());
    assert!(
        fs::read_to_string(&path)
            .unwrap()
            .contains("shape = \"linear\"")
    );
    let nowhere = "/nowhere/trees.toml";
    let (status, _) = refused(&["make", "linear", "--hosts", "a:2", "-o", nowhere]);
    assert_eq!(status, Some(1));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// The trace of a scenario of the analyzer.
fn trace_of(scenario: &str, folder: &Path) -> PathBuf {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios");
    let trace = folder.join("trace");
    collbench_generate::generate(&scenarios.join(scenario), &trace, None, false).unwrap();
    trace
}

#[test]
fn hosts_and_sites_of_a_trace_begin_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let trace = trace_of("costs/two-sites.toml", folder.path());
    let trace = trace.to_str().unwrap();
    let path = folder.path().join("trees.toml");
    let path = path.to_str().unwrap();
    said(&["make", "hierarchical", "--trace", trace, "-o", path]);
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(text.matches("[[site]]").count(), 2, "{text}");
    assert!(said(&["check", path, "--trace", trace]).contains("nothing wrong"));
    // The file says the sites, and so does the trace.
    let plain = folder.path().join("plain.toml");
    let shape = "[[tree]]\noperations = \"allreduce\"\nshape = { hosts = \"linear\", sites = \"exchange\" }\n";
    fs::write(&plain, shape).unwrap();
    let show = |path: &str| {
        let all = ["show", path, "--trace", trace, "--format", "json"];
        let text = said(&[&all[..], &["--operation", "allreduce"]].concat());
        let document: Value = collbench_schemas::read(&text);
        let wrappers = document["trees"][0]["wrappers"].as_array().unwrap().clone();
        let last = wrappers.last().unwrap().clone();
        (
            last["kind"].clone(),
            last["level"].clone(),
            last["contributors"].as_array().unwrap().len(),
        )
    };
    let expected = ("exchange".into(), "sites".into(), 2);
    assert_eq!(show(path), expected);
    assert_eq!(show(plain.to_str().unwrap()), expected);
}

#[test]
fn the_cores_of_a_host_are_levels_of_its_ranks() {
    let topologies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trees/files/tests/topologies");
    let (folder, path) = with_file(
        "[[host]]\nhosts = \"a\"\ntopology = \"a.xml\"\n[[tree]]\noperations = \"barrier\"\n\
         shape = { ranks = \"linear\", core-complexes = \"linear\", sockets = \"linear\" }\n",
    );
    fs::copy(
        topologies.join("two-sockets-hwloc2.xml"),
        folder.path().join("a.xml"),
    )
    .unwrap();
    let text = said(&["show", &path, "--hosts", "a:8,b:2"]);
    insta::assert_snapshot!("cores", text.replace(&path, "trees.toml"));
}

#[test]
fn a_remark_is_no_error() {
    let (_folder, path) = with_file(
        "[[tree]]\noperations = \"bcast\"\nshape = \"linear\"\n[[tree]]\noperations = \"bcast\"\nshape = \"binomial\"\n",
    );
    let text = said(&["check", &path]);
    assert_has(
        &text,
        &format!("{path}:4:1: never used: the tree of line 1"),
    );
}

#[test]
fn the_man_page_has_the_options_of_all_it_does() {
    let page = said(&["--man"]);
    for option in ["hosts", "trace", "format", "nodes", "force"] {
        assert!(page.contains(&format!("\\-\\-{option}")), "{option}");
    }
    assert!(page.contains(".SH TREE FILES") || page.contains(".SH \"TREE FILES\""));
    assert!(said(&["--help"]).contains("core-complexes"));
    assert!(said(&["--completions", "bash"]).contains("collbench-tree"));
    assert_eq!(tree(&[]).status.code(), Some(2));
}
