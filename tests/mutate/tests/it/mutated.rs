//! Some thousand damaged traces through the analyzer; `make mutate` takes more of them.

use std::process::Command;

#[test]
fn no_damaged_trace_brings_the_analyzer_down() {
    let output = Command::new(env!("CARGO_BIN_EXE_collbench-mutate"))
        .args(["--count", "1500"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    // Mutations that only ever break the header would show nothing.
    for outcome in [" complete", " incomplete", " refused"] {
        assert!(text.contains(outcome), "{text}");
    }
}
