//! Messages of collectives compared with the schedules of their algorithms. Other processes and
//! payloads: `cargo run -p collbench-tests --bin schedule-agreement`.

use collbench_tests::{RuledLibrary, have, long_or, schedules_of, skip_unless};

#[test]
fn messages_of_each_algorithm_are_those_of_its_schedule() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let processes: &[usize] = long_or(&[2, 3, 5, 8, 12], &[2, 3, 4, 5]);
    let library = RuledLibrary::of_the_system("schedules.c");
    schedules_of(&library, processes).expect();
}
