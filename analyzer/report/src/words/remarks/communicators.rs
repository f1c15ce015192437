//! Remarks on the communicators.

use collbench_text::quantity::counted;

pub(super) fn conflict(n_communicators: usize) -> String {
    format!(
        "the definitions of {} contradict one another: the first one is used, and calls by ranks with \
         another one are not matched",
        counted(n_communicators, "communicator")
    )
}

pub(super) fn members_not_listed(communicator: usize, n_others: usize) -> String {
    let others = if n_others == 0 {
        String::new()
    } else {
        format!(" and {}", counted(n_others, "other"))
    };
    format!(
        "communicator {communicator}{others}: too many members are unknown; only known ones are listed"
    )
}

pub(super) fn shown_together(n_communicators: usize, n_entries: usize) -> String {
    format!("{n_communicators} communicators that were created alike are shown as {n_entries}")
}
