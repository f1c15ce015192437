//! Remarks on messages, and on the trees that they form.

use collbench_analyzer::results::UnpairedMessages;
use collbench_text::inert;
use collbench_text::quantity::{counted, duration};

pub(super) fn opaque(n_instances: u64, operations: &[&str]) -> String {
    let (have, their) = if n_instances == 1 {
        ("has", "Its tree is")
    } else {
        ("have", "Their trees are")
    };
    format!(
        "{} of {} {have} no message in the trace, though messages were recorded: the data was sent \
         where the recorder does not see it (shared memory, hardware, persistent requests of the \
         library). {their} not known",
        counted(n_instances, "instance"),
        operations.join(", ")
    )
}

pub(super) fn in_finalize(n_instances: u64) -> String {
    let (were, their) = if n_instances == 1 {
        ("was", "Its tree is")
    } else {
        ("were", "Their trees are")
    };
    format!(
        "{} {were} called in callbacks of MPI_Finalize, in which messages are not recorded any more. {their} not \
         known",
        counted(n_instances, "collective"),
    )
}

pub(super) fn passes_missing(n_instances: u64, operations: &[&str]) -> String {
    format!(
        "the paths of {} of {} are not known: passes of event collectors are missing in the trace, or \
         contradict one another",
        counted(n_instances, "instance"),
        operations.join(", ")
    )
}

pub(super) fn algorithm_contradicted(
    n_instances: u64,
    (operation, said, seen): &(String, String, String),
) -> String {
    format!(
        "the messages of {} are not those of the algorithm that the library named, most often in \
         {operation}: named {said}, but the graph is {seen}. The name is shown; `trees` has the \
         messages, and `contradicted` counts such instances",
        counted(n_instances, "instance"),
    )
}

/// `from` and `to` are the hosts of the message that was too early by most.
pub(super) fn received_too_early(
    n_messages: u64,
    n_paired: u64,
    from: &str,
    to: &str,
    by_ns: i64,
    uncertainty_ns: i64,
) -> String {
    let (was, they_were) = match n_messages {
        1 => ("was", "it was"),
        _ => ("were", "they were"),
    };
    format!(
        "{n_messages} of {} {was} received before {they_were} sent, from {} to {} by up to {}: one of \
         these two clocks is off by more than its stated error of {}, for example because a path takes \
         longer in one direction. Times between them and other hosts are no more certain than that",
        counted(n_paired, "message"),
        inert::line(from, 40),
        inert::line(to, 40),
        duration(by_ns),
        duration(uncertainty_ns)
    )
}

pub(super) fn unpaired(
    UnpairedMessages {
        n_sends,
        n_receives,
        n_elsewhere,
        are_calls_missing,
        are_any_incomplete,
    }: &UnpairedMessages,
) -> String {
    let some = |n: u64, noun: &str| (n > 0).then(|| counted(n, noun));
    let unpaired = [some(*n_sends, "send"), some(*n_receives, "receive")];
    let unpaired: Vec<String> = unpaired.into_iter().flatten().collect();
    let is_one = n_sends + n_receives == 1;
    let has = if is_one { "has" } else { "have" };
    let unpaired = (!unpaired.is_empty()).then(|| {
        let ends = unpaired.join(" and ");
        format!(
            "inside complete instances {ends} of the library {has} no matching end in the same instance"
        )
    });
    let elsewhere = some(*n_elsewhere, "send").map(|sends| {
        let is = if *n_elsewhere == 1 { "is" } else { "are" };
        let of = if unpaired.is_some() {
            ""
        } else {
            " of the library"
        };
        let unrecorded = "of calls on windows or files, which were not recorded";
        let why = match (are_any_incomplete, are_calls_missing) {
            (true, true) => format!(" (perhaps in incomplete ones, or {unrecorded})"),
            (true, false) => " (perhaps in incomplete ones)".to_owned(),
            (false, true) => format!(" (perhaps {unrecorded})"),
            (false, false) => String::new(),
        };
        format!("{sends}{of} {is} in no complete instance{why}")
    });
    let all: Vec<String> = unpaired.into_iter().chain(elsewhere).collect();
    format!("{}: left out of all trees", all.join(", and "))
}
