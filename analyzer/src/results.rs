//! What an analysis found, as plain types: an [`Analysis`], and all that is in it.
//!
//! Their fields are those of the JSON document, with the same names. An [`OperationSummary`] says
//! what is known of one operation on one communicator; an [`ImbalanceSummary`] who was waited for;
//! a [`HangSummary`] why a run did not end; a [`Remark`] what to know before relying on the
//! figures.

pub(crate) mod adaptation;
pub(crate) mod analysis;
pub(crate) mod call_sites;
pub(crate) mod causes;
pub(crate) mod clock;
pub(crate) mod code;
pub(crate) mod course;
pub(crate) mod detail;
pub(crate) mod efficiencies;
pub(crate) mod faster;
pub(crate) mod hang;
pub(crate) mod imbalance;
pub(crate) mod inside;
pub(crate) mod looked_at;
pub(crate) mod operation;
pub(crate) mod operation_costs;
pub(crate) mod other_calls;
pub(crate) mod over_time;
pub(crate) mod overlap;
pub(crate) mod process;
pub(crate) mod shown_instances;
pub(crate) mod trace;
pub(crate) mod trees;

pub use collbench_clocks::closure::Blame;
pub use collbench_stats::buckets::Bucket;
pub use collbench_stats::distribution::Summary;

pub use crate::sums::operation::LATE_RECEIVER_ASSUMED;
pub use adaptation::{AdaptationSummary, AdaptedCandidate, ControlPointSummary, GainSummary};
pub use analysis::{Analysis, DetailsSummary, MarkedPhase, Total};
pub use call_sites::{CallSiteSummary, FrameSummary, OperationSite};
pub use causes::{CauseKind, CostOf, FoundCause, LateBy};
pub use clock::{
    ClockCourse, ClockErrors, ClockSummary, ClosureSummary, HostSites, HostSummary, PairErrors,
    Violations,
};
pub use code::Code;
pub use course::{Course, CourseKind};
pub use detail::Detail;
pub use efficiencies::{Efficiencies, UsefulTime};
pub use faster::FasterSummary;
pub use hang::{
    CycleSummary, HangSummary, LastCallSummary, MismatchSummary, MismatchedCallSummary,
    NeverCompletedSummary, RankEndSummary, RankState, UnfinishedSummary,
};
pub use imbalance::{HostLateness, ImbalanceSummary, MostWaitedFor, RankLateness};
pub use inside::{
    BeginSummary, BeginsElsewhere, Contributor, CriticalPathSummary, HopSummary, Hotspot, Join,
    LastArrival, OneWayClass, PathClass, PathLine, PathStage, ProgressSummary, RoundSummary,
    StageKind, StaySummary, TransferSummary, TreeFigures, UnknownPaths,
};
pub use looked_at::LookedAt;
pub use operation::{BeyondDocument, OperationSummary, ProcessTimes, Spread, Stage, Stages};
pub use operation_costs::{
    AlgorithmTrouble, CausePlace, Confidence, CostFacts, OperationCause, OperationCauseKind,
    OperationCosts, UnexplainedOperation, WhyUnexplained,
};
pub use other_calls::{OtherCallKind, OtherCalls};
pub use over_time::ChangeKind;
pub use over_time::{
    ChangeSummary, Culprit, DisturbanceSummary, DisturbedOperation, GrowthSummary, InStep,
    LatenessSectionSummary, OperationSectionSummary, OutlierSummary, PeriodBasis, PhaseSummary,
    RankTimeline, Timeline,
};
pub use overlap::{OverlapDiagnosis, OverlapSummary, SentSummary};
pub use process::{CommunicatorSummary, RankClass, RankSummary};
pub use shown_instances::{ShownInstance, ShownInstances};
pub use trace::{
    DamageSummary, InFlightSummary, LayerSummary, MessageEndCounts, RankWindow, SharedCores,
    TraceSummary, WindowSummary,
};
pub use trees::{
    EdgeSummary, MeanTime, OutsideTrees, OwnContributor, OwnTreeSummary, OwnWrapper, ProxyOutlier,
    ProxySummary, RankPath, SlowestPath, SubtreeSummary, TreeStage, TreeSummary,
};

pub use crate::calls::algorithms::AlgorithmSummary;
pub use crate::calls::running::{MOSTLY_RUNNING, RunningSummary};
pub use crate::measure::critical_path::Doubt;
pub use crate::remark::{Remark, UnclosedTriangle, UnpairedMessages, UnrecordedAccess};
pub use crate::sums::instances::instance_times::{
    CallTimes, CompletionTimes, Costliness, InstanceTimes, MessageTimes,
};
pub use crate::sums::serialization::SerializationPoint;
