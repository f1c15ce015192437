//! What `collbench-tune` says of MPICH's selection files, against what MPICH does with them.

use collbench_tests::{MpichAgreed, MpichLibrary, skipped};

/// Files of a seed that are run, of which about half have faults; `mpich-rule-agreement` runs as many as are asked for.
const FILES: u64 = 4;
/// Files of a seed that are only loaded.
const LOADED: u64 = 20;

fn missing(what: &str) {
    assert!(std::env::var_os("CI").is_none(), "missing in CI: {what}");
    skipped(&format!("missing: {what}; scripts/mpis.sh installs it"));
}

fn sum(numbers: std::ops::Range<u64>, compare: impl Fn(u64) -> MpichAgreed) -> MpichAgreed {
    let mut sum = MpichAgreed::default();
    for number in numbers {
        sum.add(compare(number));
    }
    sum
}

#[test]
fn mpich_does_with_selection_files_what_is_said() {
    let Some(library) = MpichLibrary::of_debian() else {
        return missing("Debian's MPICH");
    };
    let agreed = sum(0..FILES, |number| library.compare(2, number, false));
    assert_eq!(agreed.differences, Vec::<String>::new());
    // Otherwise files would hardly be tested.
    assert!(
        agreed.calls > 15_000 && agreed.fatal_made > 0 && agreed.names.len() > 50,
        "{agreed:?}"
    );
}

#[test]
fn mpich_runs_what_was_chosen_with_the_file_that_is_written_for_it() {
    let Some(library) = MpichLibrary::of_debian() else {
        return missing("Debian's MPICH");
    };
    let agreed = sum(0..1, |number| library.compare_written(2, number, false));
    assert_eq!(agreed.differences, Vec::<String>::new());
    assert!(agreed.calls > 5000, "{agreed:?}");
}

#[test]
fn mpich_5_loads_the_files_of_which_it_is_said() {
    let Some(library) = MpichLibrary::five() else {
        return missing("MPICH 5");
    };
    let agreed = sum(0..LOADED, |number| library.compare(3, number, false));
    assert_eq!(agreed.differences, Vec::<String>::new());
    assert!(
        agreed.refused > 2 && agreed.refused < LOADED / 2,
        "{agreed:?}"
    );
}
