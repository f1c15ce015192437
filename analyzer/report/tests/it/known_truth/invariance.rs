//! What changes nothing: names of files, threads, shifted clocks.

use super::*;

/// Damage is told with the name of the file that has it.
fn without_file_names((status, stdout): &(i32, Vec<u8>)) -> (i32, String) {
    let text = String::from_utf8_lossy(stdout);
    let lines = text.lines().map(|line| match line.split_once(".trace: ") {
        Some((_, damage)) => damage,
        None => line,
    });
    (*status, lines.flat_map(|line| [line, "\n"]).collect())
}

#[test]
fn neither_file_names_nor_threads_change_a_byte() {
    let killed = format!("{EVERYTHING}\n[[faults]]\nrank = 2\nkilled_after_calls = 400\n");
    for scenario in [EVERYTHING, HOSTS, &killed] {
        let directory = tempfile::tempdir().unwrap();
        let trace = trace_in(directory.path(), scenario, None);
        let first = analyze(&trace, &["--threads", "1"]);
        assert!(first == analyze(&trace, &["--threads", "2"]));
        let mut files: Vec<PathBuf> = fs::read_dir(&trace)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "trace")
            })
            .collect();
        for round in 1..5 {
            // Names in another order, and directory entries made in another order.
            let moved: Vec<PathBuf> = (0..files.len())
                .map(|i| trace.join(format!("{}-{round}.trace", (i + round) * 37 % 11)))
                .collect();
            for (from, to) in files.iter().zip(&moved) {
                fs::rename(from, to).unwrap();
            }
            files = moved;
            let found = without_file_names(&analyze(&trace, &[]));
            assert!(without_file_names(&first) == found, "round {round}");
        }
    }
}

#[test]
fn a_common_shift_of_all_clocks_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for shift in [
        "",
        "uptime_ns = 1000000\n",
        "uptime_ns = 9000000000000000\nstarted_unix_ns = 1\n",
    ] {
        let scenario = with(EVERYTHING, &[("seed = 11", &format!("seed = 11\n{shift}"))]);
        let trace = trace_in(directory.path(), &scenario, None);
        seen.push(analyze(&trace, &[]));
    }
    assert!(seen.iter().all(|found| *found == seen[0]));
}

#[test]
fn an_offset_of_a_host_changes_nothing_within_hosts() {
    let plain = Case::new(HOSTS);
    let offset = with(
        HOSTS,
        &[
            ("# drift b", "offset_ns = -77000000000"),
            ("# drift c", "offset_ns = 5000000"),
        ],
    );
    let offset = Case::new(&offset);
    for part in ["operations", "ranks", "imbalance", "totals"] {
        assert_eq!(plain.analysis[part], offset.analysis[part], "{part}");
    }
}
