//! Traces exported as schedules in GOAL. What is in them is compared with the tables by `scripts/export-check.py`.

use std::fs;
use std::path::Path;

use collbench_convert::{Failure, Format, How, UsageError, export};

/// The export of a scenario of the analyzer's tests, and what is said of it.
fn exported(scenario: &str, ranks: &[(u32, u32)]) -> Result<(String, String), Failure> {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios");
    let trace = folder.path().join("trace");
    collbench_generate::generate(&scenarios.join(scenario), &trace, None, false).unwrap();
    let mut options = collbench_analyzer::Options::default();
    options.selection.ranks = ranks.to_vec();
    let how = How {
        format: Format::Goal,
        output: folder.path().join("schedule.goal"),
        table: None,
        messages: false,
        force: false,
        max_bytes: u64::MAX,
        options,
    };
    let remark = export(&trace, &how, &mut |_| {})?.remark;
    let mut names = fs::read_dir(folder.path()).unwrap();
    let is_ours = |name: &str| ["trace", "schedule.goal"].contains(&name);
    assert!(names.all(|entry| is_ours(entry.unwrap().file_name().to_str().unwrap())));
    let text = fs::read_to_string(&how.output).unwrap();
    Ok((text, remark.unwrap_or_default()))
}

#[test]
fn recorded_messages_go_before_the_tree_that_ran_and_this_before_a_usual_algorithm() {
    let (text, said) = exported("inside.toml", &[]).unwrap();
    let lines = [
        "400 instances with the messages that were recorded",
        "40 instances by a usual algorithm, since neither messages nor an algorithm were recorded",
        "1 instance of which calls or messages are missing, which count as computing",
    ];
    assert_eq!(said, lines.join("; "));
    for line in lines {
        assert!(text.contains(&format!("\n// {line}\n")), "{line}");
    }
    let (_, said) = exported("own-trees.toml", &[]).unwrap();
    assert_eq!(
        said,
        "200 instances over the spanning tree on which they ran; 40 instances by a usual algorithm, since neither \
         messages nor an algorithm were recorded"
    );
}

#[test]
fn a_part_of_the_ranks_is_refused() {
    let refused = exported("inside.toml", &[(0, 3)]).unwrap_err();
    assert!(matches!(refused, Failure::Usage(UsageError::Ranks)));
}
