//! Messages of collectives of MPICH compared with the schedules of their algorithms. Other processes and
//! payloads: `cargo run -p collbench-tests --bin schedule-agreement -- --library mpich4`.

use collbench_tests::{MpichSchedules, long_or, skipped};

fn compare(library: Option<MpichSchedules>, lengths: &[u64]) {
    let Some(library) = library else {
        assert!(std::env::var_os("CI").is_none(), "MPICH is missing in CI");
        return skipped("missing: MPICH; scripts/mpis.sh installs it");
    };
    let processes: &[usize] = long_or(&[2, 3, 5, 8, 12], &[2, 3, 4, 5]);
    library.compare(processes, lengths).expect();
}

#[test]
fn messages_of_each_algorithm_of_mpich_are_those_of_its_schedule() {
    compare(
        MpichSchedules::of_debian("schedules.c"),
        &[8, 4096, 262_144],
    );
}

#[test]
fn messages_of_each_algorithm_of_mpich_5_are_those_of_its_schedule() {
    compare(MpichSchedules::five("schedules.c"), &[8, 4096, 262_144]);
}
