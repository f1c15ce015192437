use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use collbench_formats::Operation;
use serde_json::Value;
use tempfile::TempDir;

use crate::built::{TestTrace, assert_has};

const VALID: &str = "# rules\n1\n2\n1\n2\n2\n0 3 0 0\n1024 4 0 0\n";

fn tune(arguments: &[&str]) -> Output {
    let command = env!("CARGO_BIN_EXE_collbench-tune");
    let mut command = Command::new(command);
    // No settings of whoever runs the tests.
    command.env("HOME", "/nowhere").args(arguments);
    command.output().unwrap()
}

/// Status, standard output and standard error.
fn said(arguments: &[&str]) -> (i32, String, String) {
    let output = tune(arguments);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn written(folder: &TempDir, name: &str, text: &[u8]) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Two ranks: allreduces of 8 and of 4,000 bytes, a barrier and a nonblocking broadcast.
fn trace() -> TempDir {
    let mut trace = TestTrace::new(2);
    trace.world(Operation::Allreduce, -1, 8, &[(0, 400), (300, 410)]);
    trace.world(Operation::Allreduce, -1, 4000, &[(1000, 1400), (900, 1410)]);
    trace.barrier(&[(2000, 2400), (1900, 2410)]);
    trace.in_directory()
}

fn path(folder: &TempDir) -> &str {
    folder.path().to_str().unwrap()
}

/// The trace of a run with this command line and environment.
fn with_run(trace: &TempDir, command: &[&str], environment: &[(&str, &str)]) {
    let environment: serde_json::Map<String, Value> = environment
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.into()))
        .collect();
    let run = serde_json::json!({
        "schema": "collbench.run/1", "command": command, "environment": environment,
    });
    fs::write(trace.path().join("run.json"), run.to_string()).unwrap();
}

fn document(arguments: &[&str]) -> Value {
    let (_, stdout, stderr) = said(arguments);
    assert!(!stdout.is_empty(), "{stderr}");
    collbench_schemas::read(stdout)
}

/// What is said of files that a library reads.
fn said_of(files: &[&str], library: &str) -> (i32, String, String) {
    said(&[&["rules"], files, &["--library", library]].concat())
}

fn explained(file: &str, trace: &TempDir, library: &str) -> Value {
    let of = ["--library", library, "--format", "json"];
    document(&[&["rules", file, path(trace)][..], &of].concat())
}

/// The calls of an operation in a document: bytes, line, algorithm, who decides and why.
fn calls(document: &Value, operation: &str) -> Vec<(u64, u64, Option<u64>, Value, Value, Value)> {
    let calls = document["calls"].as_array().unwrap().iter();
    calls
        .filter(|call| call["operation"] == operation)
        .map(|call| {
            (
                call["bytes_min"].as_u64().unwrap(),
                call["bytes_max"].as_u64().unwrap(),
                call["line"].as_u64(),
                call["algorithm"].clone(),
                call["decided_by"].clone(),
                call["why"].clone(),
            )
        })
        .collect()
}

/// The allreduces of a document, all of which rules decide: least bytes, line and algorithm.
fn decided_by_rules(document: &Value) -> Vec<(u64, u64, Value)> {
    let calls = calls(document, "MPI_Allreduce").into_iter();
    let decided = calls.map(|(least, _, line, algorithm, by, _)| {
        assert_eq!(by, "rule");
        (least, line.expect("the line of a rule"), algorithm)
    });
    decided.collect()
}

#[test]
fn a_valid_file_has_status_0_a_wrong_one_1_and_a_wrong_command_line_2() {
    let folder = tempfile::tempdir().unwrap();
    let valid = written(&folder, "valid", VALID.as_bytes());
    let (status, stdout, stderr) = said_of(&[&valid], "Open MPI 5.0.11");
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert_has(&stdout, "nothing wrong");

    let wrong = written(&folder, "wrong", VALID.replace("1024", "1K").as_bytes());
    let (status, stdout, _) = said_of(&[&wrong], "Open MPI 5.0.11");
    assert_eq!(status, 1);
    assert_has(&stdout, "wrong:8:2: \"K\" is no number");

    let trace = trace();
    for usage in [
        &["rules", &*valid][..],
        &["rules", &valid, "--library", "MVAPICH 2"],
        &["rules"],
        &["rules", &valid, &valid, "--library", "Open MPI 5.0.11"],
        &["rules", &valid, &valid, &valid],
        &["rules", &valid, "--no-such-option"],
        &["rules", path(&trace)],
        &[],
    ] {
        let (status, stdout, stderr) = said(usage);
        assert_eq!((status, stdout.as_str()), (2, ""), "{usage:?}: {stderr}");
    }
}

#[test]
fn what_is_no_rule_file_is_told_with_what_it_looks_like() {
    let folder = tempfile::tempdir().unwrap();
    let large = vec![b'1'; 2 << 20];
    for (text, expected) in [
        (&b""[..], "it is empty"),
        (b"\x7fELF\0\0", "it is a program or a library"),
        (b"1\0", "it is binary"),
        (b"[[tree]]\noperations = []\n", "it is a tree file"),
        (b"1\n{\"collective=bcast\": {}}\n", "two formats in one"),
        (&large, "larger than 1 MiB"),
    ] {
        let file = written(&folder, "file", text);
        let (status, stdout, stderr) = said_of(&[&file], "Open MPI 4.1.4");
        assert_eq!((status, stdout.as_str()), (1, ""), "{stderr}");
        assert_has(&stderr, expected);
    }
    let missing = folder.path().join("missing");
    let missing = missing.to_str().unwrap();
    let (status, _, stderr) = said_of(&[missing], "Open MPI 4.1.4");
    assert_eq!(status, 1);
    assert_has(&stderr, "missing");
}

#[test]
fn each_call_of_a_trace_has_its_line_and_what_ran_is_unknown_without_names() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(&folder, "rules.txt", VALID.as_bytes());
    let trace = trace();
    let found = document(&["rules", "--format", "json", &file, path(&trace)]);
    assert_eq!(found["library"], "Open MPI 4.1.4");
    assert_eq!(found["problems"], serde_json::json!([]));
    let of_allreduce = calls(&found, "MPI_Allreduce");
    assert_eq!(of_allreduce.len(), 2);
    assert_eq!(of_allreduce[0].2, Some(7));
    assert_eq!(of_allreduce[0].3, "allreduce_intra_recursivedoubling");
    assert_eq!(of_allreduce[1].2, Some(8));
    assert_eq!(of_allreduce[1].3, "allreduce_intra_ring");
    assert_eq!(calls(&found, "MPI_Barrier")[0].4, "library");
    for call in found["calls"].as_array().unwrap() {
        assert_eq!(call["ran"], Value::Null);
    }
    let (_, text, _) = said(&["rules", &file, path(&trace)]);
    assert_has(&text, "the recorded run named no rule file");
    assert_has(&text, "unknown");
}

#[test]
fn settings_of_the_run_decide_instead_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(&folder, "rules.txt", VALID.as_bytes());
    let trace = trace();
    let named = ("OMPI_MCA_coll_tuned_dynamic_rules_filename", "rules.txt");
    let used = ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
    let first = |library: &str| {
        let found = explained(&file, &trace, library);
        calls(&found, "MPI_Allreduce")[0].clone()
    };

    with_run(&trace, &["mpirun", "./app"], &[named]);
    let unused = first("Open MPI 4.1.4");
    assert_eq!((unused.3, unused.4), (Value::Null, "library".into()));
    let why = unused.5.as_str().unwrap();
    assert_has(why, "coll_tuned_use_dynamic_rules");

    let forced = [
        "mpirun",
        "--mca",
        "coll_tuned_allreduce_algorithm",
        "2",
        "./app",
    ];
    with_run(&trace, &forced, &[named, used]);
    let by_file = first("Open MPI 4.1.4");
    assert_eq!(
        (by_file.3, by_file.4),
        ("allreduce_intra_recursivedoubling".into(), "rule".into())
    );
    let by_force = first("Open MPI 5.0.11");
    assert_eq!(by_force.2, Some(7));
    assert_eq!(
        (by_force.3, by_force.4),
        ("allreduce_intra_nonoverlapping".into(), "setting".into())
    );
    assert_eq!(by_force.5, "coll_tuned_allreduce_algorithm=2");

    with_run(
        &trace,
        &["mpirun", "--mca", "coll", "^tuned", "./app"],
        &[named, used],
    );
    assert_eq!(first("Open MPI 4.1.4").5, "coll=^tuned");
}

#[test]
fn several_hosts_have_han_in_5_0_unless_its_priority_is_low() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(&folder, "rules.txt", VALID.as_bytes());
    let mut two_hosts = TestTrace::new(2);
    two_hosts.world(Operation::Allreduce, -1, 8, &[(0, 400), (300, 410)]);
    two_hosts.processes[1].on_host("other");
    let trace = two_hosts.in_directory();
    let by = |library: &str| {
        let found = explained(&file, &trace, library);
        calls(&found, "MPI_Allreduce")[0].4.clone()
    };
    assert_eq!(by("Open MPI 4.1.4"), "rule");
    assert_eq!(by("Open MPI 5.0.11"), "component");
    with_run(&trace, &["mpirun"], &[("OMPI_MCA_coll_han_priority", "0")]);
    assert_eq!(by("Open MPI 5.0.11"), "rule");
    with_run(&trace, &["mpirun", "--mca", "coll", "^han"], &[]);
    assert_eq!(by("Open MPI 5.0.11"), "rule");
}

#[test]
fn two_files_or_two_versions_differ_in_the_calls_that_change() {
    let folder = tempfile::tempdir().unwrap();
    let old = written(&folder, "old", VALID.as_bytes());
    let new = written(&folder, "new", VALID.replace("1024 4", "1024 6").as_bytes());
    let trace = trace();
    let found = document(&["rules", "--format", "json", &old, &new, path(&trace)]);
    assert_eq!(found["schema"], "collbench.rules.difference/1");
    let changes = found["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{found}");
    assert_eq!(changes[0]["bytes_min"], 4000);
    assert_eq!(changes[0]["old"]["algorithm"], "allreduce_intra_ring");
    assert_eq!(
        changes[0]["new"]["algorithm"],
        "allreduce_intra_redscat_allgather"
    );
    let (status, text, _) = said(&["rules", &old, &old, path(&trace)]);
    assert_eq!(status, 0);
    assert_has(&text, "nothing changes for the 6 calls");

    let version_2 = written(
        &folder,
        "version",
        format!("rule-file-version-2{}", &VALID[7..]).as_bytes(),
    );
    let versions = ["--library", "Open MPI 5.0.6", "--library", "Open MPI 5.0.7"];
    let arguments = [&["rules", &*version_2, path(&trace)][..], &versions].concat();
    let (_, text, _) = said(&arguments);
    assert_has(&text, "library's choice");
    assert_has(&text, "allreduce_intra_ring (line 8)");
}

#[test]
fn choices_become_a_file_that_is_not_replaced_unless_asked() {
    let folder = tempfile::tempdir().unwrap();
    let choices = serde_json::json!({
        "schema": "collbench.bench.collective/1",
        "selection": [{
            "operation": "MPI_Bcast", "bytes": 8, "processes": 4, "arrivals": null,
            "candidates": [{ "algorithm": "binomial" }], "fastest": 0, "not_distinguishable": [0],
        }],
    });
    let choices = written(&folder, "collective.json", choices.to_string().as_bytes());
    let out: PathBuf = folder.path().join("rules.txt");
    let out = out.to_str().unwrap();
    let write = |more: &[&str]| {
        let files = [&[&*choices, "--write", "openmpi", "-o", out], more].concat();
        said_of(&files, "Open MPI 5.0.11")
    };
    assert_eq!(write(&[]).0, 0);
    let text = fs::read_to_string(out).unwrap();
    assert_has(&text, "coll_tuned_dynamic_rules_filename");
    assert_eq!(said_of(&[out], "Open MPI 5.0.11").0, 0, "{text}");
    let (status, _, stderr) = write(&[]);
    assert_eq!(status, 1);
    assert_has(&stderr, "--force replaces it");
    assert_eq!(write(&["--force"]).0, 0);
    let json = ["rules", &choices, "--write", "openmpi-json"];
    assert_eq!(said(&json).0, 2);
    let (status, stdout, _) = said(&[&json[..], &["--untested"]].concat());
    assert_eq!(status, 0);
    let json: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        json["collectives"]["bcast"][0]["rules"][0]["alg"], 6,
        "{json}"
    );
    let none = written(&folder, "none.json", b"{}");
    let (status, _, stderr) = said_of(&[&none, "--write", "openmpi"], "Open MPI 5.0.11");
    assert_eq!(status, 1);
    assert_has(&stderr, "no choices");
    assert!(!Path::new(out).with_file_name(".rules.txt").exists());
}

#[test]
fn selections_of_mpich_are_explained_and_all_problems_told() {
    let folder = TempDir::new().unwrap();
    let trace = trace();
    let choice = |algorithm: &str| format!("{{\"algorithm=MPIR_{algorithm}\":{{}}}}");
    let file = |of_allreduce: &str| {
        let barrier = choice("Barrier_intra_dissemination");
        let text = format!(
            "{{\n\"collective=allreduce\":{{\"comm_type=intra\":\n{of_allreduce}}},\n\
             \"collective=barrier\":{{\"comm_type=intra\":{barrier}}}}}"
        );
        written(&folder, "selection.json", text.as_bytes())
    };
    let doubling = choice("Allreduce_intra_recursive_doubling");
    let whole = file(&format!(
        "{{\"avg_msg_size<=100\":{doubling},\n\"avg_msg_size=any\":{}}}",
        choice("Allreduce_intra_reduce_scatter_allgather")
    ));
    let explained = explained(&whole, &trace, "MPICH 4.0.2");
    assert_eq!(
        decided_by_rules(&explained),
        [
            (8, 3, "MPIR_Allreduce_intra_recursive_doubling".into()),
            (
                4000,
                4,
                "MPIR_Allreduce_intra_reduce_scatter_allgather".into()
            )
        ]
    );
    // One wrong letter ends every program.
    let wrong = file(&choice("Allreduce_intra_recursive_dubling"));
    let (status, text, _) = said_of(&[&wrong], "MPICH 4.0.2");
    assert_eq!(status, 1);
    assert_has(&text, "the program ends in MPI_Init");
    assert_has(
        &text,
        "write `algorithm=MPIR_Allreduce_intra_recursive_doubling`",
    );
    // The library of the trace is another one.
    let (status, _, error) = said(&["rules", &whole, path(&trace)]);
    assert_eq!(status, 2);
    assert_has(&error, "MPICH 4.0 or 5.0");
}

#[test]
fn ten_thousand_rules_take_no_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "1\n2\n1\n2\n10000\n".to_owned();
    for nth in 0..10_000 {
        text += &format!("{} {} 0 0\n", nth * 3, 1 + nth % 6);
    }
    let file = written(&folder, "rules.txt", text.as_bytes());
    let trace = trace();
    let begin = std::time::Instant::now();
    let found = document(&["rules", "--format", "json", &file, path(&trace)]);
    // Without optimization, on a machine that does other things, too.
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
    assert_eq!(found["problems"].as_array().unwrap().len(), 9_998);
    let of_allreduce = calls(&found, "MPI_Allreduce");
    assert_eq!(of_allreduce[1].2, Some(5 + 4000 / 3 + 1));
}

#[test]
fn files_of_coll_han_are_explained_on_several_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let text = "1\nallreduce 1 global_communicator 1 1 2\n0 han @simple\n8 basic\n";
    let file = written(&folder, "han.txt", text.as_bytes());
    let mut run = TestTrace::new(4);
    let stays = [(0, 400), (300, 410), (0, 400), (300, 410)];
    run.world(Operation::Allreduce, -1, 4, &stays);
    run.world(Operation::Allreduce, -1, 8, &stays);
    for process in &mut run.processes[2..] {
        process.on_host("other");
    }
    let trace = run.in_directory();
    let explained = || explained(&file, &trace, "Open MPI 5.0.11");
    let found = explained();
    let calls = found["calls"].as_array().unwrap().iter();
    let decided: Vec<_> = calls
        .map(|call| {
            (
                call["bytes_max"].as_u64(),
                call["line"].as_u64(),
                call["algorithm"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        decided,
        [
            (Some(4), Some(3), Some("coll_han simple")),
            (Some(8), Some(4), Some("coll_basic")),
        ]
    );
    assert_eq!(found["problems"].as_array().unwrap().len(), 0, "{found}");
    let named = ("OMPI_MCA_coll_han_dynamic_rules_filename", &*file);
    with_run(&trace, &["mpirun"], &[named]);
    let found = explained();
    assert_eq!(found["calls"][0]["algorithm"], "coll_han intra");
    assert!(
        found["notes"]
            .to_string()
            .contains("coll_han_use_dynamic_file_rules"),
        "{found}"
    );
}

#[test]
fn what_coll_han_of_4_1_does_with_a_higher_priority_is_said_not_to_be_modelled() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(&folder, "han.txt", b"1\n2 1 2 1 1 2\n0 tuned\n64 han\n");
    let (status, stdout, _) = said_of(&[&file], "Open MPI 4.1.4");
    assert_eq!(status, 1);
    let sentence = "what it does with a higher coll_han_priority is not modelled";
    assert_has(&stdout, sentence);
    let (_, stdout, _) = said_of(&[&file], "Open MPI 5.0.11");
    assert!(!stdout.contains(sentence), "{stdout}");
}

#[test]
fn rules_in_json_are_explained_for_6_0_as_untested_and_refused_before() {
    let folder = tempfile::tempdir().unwrap();
    let text = "{\"rule_file_version\": 3, \"module\": \"tuned\", \"collectives\": {\n\
                \"allreduce\": [{\"comm_size_max\": 8, \"rules\": [\n\
                {\"msg_size_max\": 99, \"alg\": \"recursive_doubling\"},\n\
                {\"alg\": \"ring\"}]}],\n\"barrier\": [{\"rules\": [{\"alg\": \"tree\"}]}]}}";
    let file = written(&folder, "rules.json", text.as_bytes());
    let trace = trace();
    let found = explained(&file, &trace, "Open MPI 6.0.0");
    let note = found["notes"][0].as_str().unwrap();
    assert!(note.starts_with("untested: "), "{note}");
    assert_eq!(found["problems"].as_array().unwrap().len(), 0, "{found}");
    assert_eq!(
        decided_by_rules(&found),
        [
            (8, 3, "allreduce_intra_recursivedoubling".into()),
            (4000, 4, "allreduce_intra_ring".into()),
        ]
    );
    assert_eq!(said_of(&[&file], "Open MPI 6.0.0").0, 0);
    let comma = text.replace("\"ring\"}", "\"ring\",}");
    let file = written(&folder, "rules.json", comma.as_bytes());
    let (status, stdout, _) = said_of(&[&file], "Open MPI 6.0.0");
    assert_eq!(status, 1);
    assert_has(&stdout, ":4:16: a comma before a closing bracket");
    let (status, _, stderr) = said_of(&[&file], "Open MPI 5.0.11");
    assert_eq!(status, 1);
    assert_has(&stderr, "does not read rules in JSON");
}

#[test]
fn choices_become_files_of_coll_han_trees_and_variables() {
    let folder = tempfile::tempdir().unwrap();
    let selected = |operation: &str, bytes: u64, algorithm: &str| {
        serde_json::json!({
            "operation": operation, "bytes": bytes, "processes": 4, "arrivals": null,
            "candidates": [{ "algorithm": algorithm }], "fastest": 0, "not_distinguishable": [0],
        })
    };
    let choices = serde_json::json!({
        "schema": "collbench.bench.collective/1",
        "selection": [
            selected("MPI_Bcast", 8, "binomial"),
            selected("MPI_Allreduce", 8, "trees of mine.toml"),
        ],
    });
    let mine = "[[tree]]\noperations = \"allreduce\"\nshape = \"chain 3\"\n";
    written(&folder, "mine.toml", mine.as_bytes());
    let choices = written(&folder, "collective.json", choices.to_string().as_bytes());
    let write = |format: &str, more: &[&str]| {
        said(&[&["rules", &choices, "--write", format][..], more].concat())
    };
    let (status, stdout, stderr) = write("openmpi-han", &["--library", "Open MPI 5.0.11"]);
    assert_eq!(status, 0, "{stderr}");
    assert_has(&stdout, "0 tuned\n");
    assert_has(&stderr, "OMPI_MCA_coll_han_use_dynamic_file_rules=1");
    assert_has(&stderr, "has trees of mine.toml");
    let old = write("openmpi-han", &["--library", "Open MPI 4.1.4"]);
    assert_eq!(old.0, 2, "{}", old.2);
    let later = write("openmpi", &["--library", "Open MPI 6.0.0"]);
    assert_eq!(later.0, 2, "{}", later.2);
    // The tree file lies beside the choices.
    let (status, stdout, stderr) = write("trees", &[]);
    assert_eq!(status, 0, "{stderr}");
    for shape in ["chain 3", "binomial"] {
        assert_has(&stdout, &format!("shape = \"{shape}\""));
    }
    assert_has(&stderr, "collbench-record --trees trees.toml");
    for (format, line) in [
        ("ucc", "export UCC_TL_UCP_TUNE='bcast:0-inf:[4-4]:@knomial'"),
        ("intel", "export I_MPI_ADJUST_BCAST='1:0-2147483647@4-4'"),
    ] {
        assert_eq!(write(format, &[]).0, 2);
        let (status, stdout, _) = write(format, &["--untested"]);
        assert_eq!(status, 0);
        assert_has(&stdout, line);
    }
}
