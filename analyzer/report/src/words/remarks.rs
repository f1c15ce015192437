//! Remarks in sentences.

mod calls;
mod clocks;
mod communicators;
mod messages;
mod trace;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::Remark;

/// What a remark on an analysis says.
pub(crate) fn remark(analysis: &Analysis, remark: &Remark) -> String {
    use Remark::*;
    match remark {
        Incomplete { n_findings } => trace::incomplete(*n_findings),
        ManifestMissing => trace::manifest_missing(),
        ManifestUnreadable { error } => trace::manifest_unreadable(error),
        BecameShorter { names } => trace::became_shorter(names),
        SpawnedSetAside { n_worlds, n_files } => trace::spawned_set_aside(*n_worlds, *n_files),
        UnknownRecords { n_records } => trace::unknown_records(*n_records),
        SequenceConflict { n_chunks } => trace::sequence_conflict(*n_chunks),
        RecorderPauses {
            total_ns,
            longest_ns,
        } => trace::recorder_pauses(*total_ns, *longest_ns),
        CoresShared {
            ranks,
            elapsed_ns,
            on_core_ns,
            n_lost,
        } => trace::cores_shared(ranks, *elapsed_ns, *on_core_ns, *n_lost),
        Ring {
            n_calls,
            n_calls_made,
            n_instances,
        } => trace::ring(*n_calls, *n_calls_made, *n_instances),
        Restricted => trace::restricted(analysis),
        LinesUnknown { module, why } => trace::lines_unknown(module, why),
        UnrecordedAccess(of) => trace::unrecorded_access(of),

        ClocksNotAligned {
            n_hosts,
            n_groups,
            reason,
        } => clocks::not_aligned(*n_hosts, *n_groups, reason.as_deref()),
        ClocksApart { n_ranks, rank } => clocks::apart(*n_ranks, *rank),
        ExchangesEnded { n_ranks, reason } => clocks::exchanges_ended(*n_ranks, reason),
        DriftNotKnown { n_hosts } => clocks::drift_not_known(*n_hosts),
        NoOffsetAtEnd { n_hosts } => clocks::no_offset_at_end(*n_hosts),
        AlignmentNotConverged { n_hosts } => clocks::alignment_not_converged(*n_hosts),
        ClocksWander => clocks::wander(),
        ClockSlewed { host, ppb } => clocks::slewed(host, *ppb),
        ClockUneven { host, step_ns } => clocks::uneven(host, *step_ns),
        ClockNotScaled { host } => clocks::not_scaled(host),
        TriangleOpen(triangle) => clocks::triangle_open(triangle),

        CommunicatorConflict { n_communicators } => communicators::conflict(*n_communicators),
        MembersNotListed {
            communicator,
            n_others,
        } => communicators::members_not_listed(*communicator, *n_others),
        ShownTogether {
            n_communicators,
            n_entries,
        } => communicators::shown_together(*n_communicators, *n_entries),

        UnknownAbi => calls::unknown_abi(),
        UnknownCommunicator { n_calls } => calls::unknown_communicator(*n_calls),
        Mismatched { n_instances, first } => calls::mismatched(analysis, *n_instances, *first),
        MismatchedSizes { n_instances, first } => {
            calls::mismatched_sizes(analysis, *n_instances, *first)
        }
        Waiting { n_ranks } => calls::waiting(analysis, *n_ranks),
        NeverCompleted { n_calls } => calls::never_completed(analysis, *n_calls),
        IncompleteInstances { n_instances } => calls::incomplete_instances(*n_instances),
        ImpossibleStamps { n_calls } => calls::impossible_stamps(*n_calls),
        FailedCalls {
            n_calls,
            n_instances,
        } => calls::failed(*n_calls, *n_instances),
        PayloadUnknown { n_calls } => calls::payload_unknown(*n_calls),
        InternalCalls { n_calls } => calls::internal(*n_calls),
        AbandonedCalls { n_calls } => calls::abandoned(*n_calls),
        StrayCompletions { n_completions } => calls::stray_completions(*n_completions),
        NegativeCore {
            n_instances,
            n_of_one_clock,
        } => calls::negative_core(*n_instances, *n_of_one_clock),

        Opaque {
            n_instances,
            operations,
        } => messages::opaque(*n_instances, operations),
        InFinalize { n_instances } => messages::in_finalize(*n_instances),
        PassesMissing {
            n_instances,
            operations,
        } => messages::passes_missing(*n_instances, operations),
        AlgorithmContradicted { n_instances, first } => {
            messages::algorithm_contradicted(*n_instances, first)
        }
        UnpairedMessages(unpaired) => messages::unpaired(unpaired),
        ReceivedTooEarly {
            n_messages,
            n_paired,
            from,
            to,
            by_ns,
            uncertainty_ns,
        } => {
            messages::received_too_early(*n_messages, *n_paired, from, to, *by_ns, *uncertainty_ns)
        }
    }
}

#[cfg(test)]
mod tests;
