//! What was recorded: the command, the hosts, the layers, what rings have retained.

use std::collections::BTreeMap;

use collbench_clocks::timestamp::Timestamp;
use collbench_formats::{Abi, MpiIdentity};
use collbench_text::{inert, quantity};

use crate::judge::inputs::Inputs;
use crate::results::trace::{
    DamageSummary, LayerSummary, MessageEndCounts, RankWindow, SharedCores, TraceSummary,
    WindowSummary,
};
use crate::trace::run::Run;

/// Characters of the command that are kept.
const MAX_COMMAND: usize = 4096;

/// The first line of the library's version, and whether it was used through the standard ABI: a
/// library may offer that besides its own.
fn mpi_library(mpi: &MpiIdentity) -> String {
    let version = mpi
        .library_version
        .lines()
        .next()
        .unwrap_or_default()
        .trim();
    match mpi.abi {
        Abi::Mpi5 => format!("{version} (ABI of MPI 5)"),
        _ => version.to_owned(),
    }
}

/// What was recorded, and what of it is missing.
pub(crate) fn trace_summary(inputs: &Inputs<'_>, damage: Vec<DamageSummary>) -> TraceSummary {
    let Inputs {
        run, clocks, sums, ..
    } = inputs;
    let first = &run.processes[0].trace.identity;
    // By clock: two containers of one name and one machine can have two.
    let hosts: Vec<String> = clocks.hosts.iter().map(|host| host.name.clone()).collect();
    let end_anchors = run
        .processes
        .iter()
        .zip(&clocks.processes)
        .map(|(process, clock)| {
            let anchors = process.trace.anchors.last();
            anchors.map_or(0, |anchor| {
                clock.global(Timestamp::from_ticks(anchor.ticks.get())).ns()
            })
        });
    let mut layers = layers(run);
    mark_messages_unseen(inputs, &mut layers);
    let has_messages = layers
        .get(collbench_formats::Layer::Messages.name())
        .is_some_and(|layer| layer.on);
    TraceSummary {
        directory: run.directory.to_string_lossy().into_owned(),
        command: inert::cut_all(&run.command, MAX_COMMAND),
        mpi_library: mpi_library(&first.mpi),
        ranks: run.world_size,
        hosts,
        calls: sums.n_calls,
        messages: has_messages.then_some(inputs.findings.n_messages),
        message_ends: has_messages.then(|| message_ends(inputs)),
        bytes: sums.n_bytes,
        duration_ns: end_anchors.max().unwrap_or(0).max(sums.end_ns),
        complete: damage.is_empty(),
        layers,
        damage,
        window: window_summary(inputs),
        shared_cores: shared_cores(inputs),
    }
}

/// The hosts on which ranks share fewer cores than they are, in the order of hosts: those that may use the same
/// ones, or all ranks of a host and all cores of it that are online.
fn shared_cores(inputs: &Inputs<'_>) -> Vec<SharedCores> {
    let mut sets: BTreeMap<(usize, u64), (u32, u32)> = BTreeMap::new();
    let mut hosts: BTreeMap<usize, (u32, u32)> = BTreeMap::new();
    let processes = inputs.run.processes.iter().zip(&inputs.clocks.processes);
    for (process, clock) in processes {
        let header = &process.trace.header;
        let usable = u32::from(header.usable_cores.get());
        let online = u32::from(header.online_cores.get());
        if usable == 0 || online == 0 {
            continue;
        }
        let in_set = sets.entry((clock.host, header.core_set.get())).or_default();
        *in_set = (in_set.0 + 1, usable);
        let on_host = hosts.entry(clock.host).or_default();
        *on_host = (on_host.0 + 1, online.max(on_host.1));
    }
    let is_shared = |&(ranks, cores): &(u32, u32)| ranks > cores;
    let shared = hosts.into_iter().filter_map(|(host, all)| {
        let of_host = sets.range((host, 0)..=(host, u64::MAX)).map(|(_, &of)| of);
        // The most ranks for each core.
        let most = of_host.chain([all]).filter(is_shared).max_by(|a, b| {
            (u64::from(a.0) * u64::from(b.1)).cmp(&(u64::from(b.0) * u64::from(a.1)))
        });
        let (ranks, cores) = most?;
        Some(SharedCores {
            host: inputs.clocks.hosts[host].name.clone(),
            ranks,
            cores,
        })
    });
    shared.collect()
}

/// Counts of messages by which of their ends are known.
pub(crate) fn message_ends(inputs: &Inputs<'_>) -> MessageEndCounts {
    let inside = &inputs.sums.counts.messages;
    let all = &inputs.findings;
    let sends = inside.n_paired + inside.n_unpaired_sends + inside.n_foreign_sends;
    let receives = inside.n_paired + inside.n_unpaired_receives + inside.n_foreign_receives;
    MessageEndCounts {
        paired: inside.n_paired,
        from_any: inside.n_from_any,
        received_before_sent: inside.n_before_sent,
        unpaired_sends: inside.n_unpaired_sends,
        unpaired_receives: inside.n_unpaired_receives,
        sends_to_other_groups: inside.n_foreign_sends,
        receives_from_other_groups: inside.n_foreign_receives,
        sends_elsewhere: all.n_messages.saturating_sub(sends),
        receives_elsewhere: all.n_receives.saturating_sub(receives),
    }
}

/// What rings have retained; ranks without a ring are not listed.
fn window_summary(inputs: &Inputs<'_>) -> Option<WindowSummary> {
    let processes = inputs.run.processes.iter().zip(&inputs.clocks.processes);
    let windows = processes.filter_map(|(process, clock)| {
        let window = process.trace.window?;
        let at = |ticks| clock.global(Timestamp::from_ticks(ticks)).ns();
        let kept = RankWindow {
            rank: process.rank(),
            from_ns: window.is_cut().then(|| at(window.begin_ticks)),
            records_dropped: window
                .n_records_overwritten
                .saturating_add(window.n_records_before),
            calls_dropped: window.n_calls_dropped,
            calls_made: window
                .n_calls_dropped
                .saturating_add(window.n_calls_in_window),
        };
        Some((window.keep_bytes, kept))
    });
    let (sizes, ranks): (Vec<u64>, Vec<RankWindow>) = windows.unzip();
    let sum = |of: &dyn Fn(&RankWindow) -> u64| ranks.iter().map(of).fold(0, u64::saturating_add);
    Some(WindowSummary {
        keep_bytes: sizes.into_iter().max()?,
        from_ns: ranks.iter().filter_map(|rank| rank.from_ns).max(),
        records_dropped: sum(&|rank| rank.records_dropped),
        calls_dropped: sum(&|rank| rank.calls_dropped),
        calls_made: sum(&|rank| rank.calls_made),
        instances_cut: inputs.sums.counts.cut,
        calls_of_cut: inputs.sums.counts.calls_of_cut,
        ranks,
    })
}

/// Marks the messages layer as off if the library exchanges data where the recorder cannot see it.
/// If the layer was on by default, there is no further remark.
fn mark_messages_unseen(inputs: &Inputs<'_>, layers: &mut BTreeMap<String, LayerSummary>) {
    let tallies = inputs.sums.operations().map(|(_, tally)| &tally.inside);
    let n_opaque: u64 = tallies.flatten().map(|inside| inside.n_opaque).sum();
    if let Some(layer) = layers.get_mut(collbench_formats::Layer::Messages.name())
        && layer.on
        && n_opaque > 0
        && inputs.findings.n_messages == 0
    {
        *layer = LayerSummary {
            on: false,
            reason: Some(format!(
                "looked for, but none was seen in {}: the MPI library exchanges the data there in a way \
                 that the recorder cannot see (for example shared memory)",
                quantity::counted(n_opaque, "collective"),
            )),
        };
    }
}

fn layers(run: &Run<'_>) -> BTreeMap<String, LayerSummary> {
    let mut layers: BTreeMap<String, LayerSummary> = BTreeMap::new();
    for layer in run.processes.iter().flat_map(|p| &p.trace.identity.layers) {
        let reason = (!layer.on).then(|| layer.reason.clone());
        let merged = layers.entry(layer.name.clone()).or_insert(LayerSummary {
            on: layer.on,
            reason: reason.clone(),
        });
        if merged.on && !layer.on {
            *merged = LayerSummary { on: false, reason };
        }
    }
    for layer in collbench_formats::Layer::ALL {
        layers
            .entry(layer.name().to_owned())
            .or_insert_with(|| LayerSummary {
                on: false,
                reason: Some("not known to the recorder".to_owned()),
            });
    }
    layers
}
