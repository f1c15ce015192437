//! Some hundred interruptions with each `make test`; `make interrupt` has more.

use std::process::Command;

use collbench_tests::release_dir;

#[test]
fn signal_handlers_may_do_what_they_like_in_the_middle_of_the_recorder() {
    // The command uses what cargo has built.
    assert!(
        release_dir().join("collbench-record").is_file(),
        "run `cargo build --release` first"
    );
    let output = Command::new(env!("CARGO_BIN_EXE_collbench-interrupt"))
        .args(["--count", "300", "--runs", "6"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    print!("{}{said}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{said}");
}
