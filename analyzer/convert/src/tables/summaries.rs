//! The tables that are written after all instances: what the numbers in the others stand for.

use collbench_analyzer::rows::AnalysisOfRows;

use super::WriteTables;
use super::batch::Batch;
use super::schema::{
    ABOUT, CAUSES, COMMUNICATORS, FRAMES, HOSTS, MEMBERS, OPERATIONS, RANKS, SITES,
};
use crate::error::ExportError;

/// Writes operations, causes, communicators, ranks, hosts, call sites, and what the export is of.
///
/// # Errors
/// [`ExportError`] if they cannot be written.
pub fn summaries(of: &AnalysisOfRows, writer: &mut dyn WriteTables) -> Result<(), ExportError> {
    let tables = [
        operations(of),
        causes(of),
        communicators(of),
        members(of),
        ranks(of),
        hosts(of),
        sites(of),
        frames(of),
        about(of),
    ];
    for table in &tables {
        if table.n_rows() > 0 && writer.wants(table.schema.name) {
            writer.write(table)?;
        }
    }
    Ok(())
}

fn operations(of: &AnalysisOfRows) -> Batch {
    let mut batch = Batch::new(&OPERATIONS);
    for (number, operation) in of.operations.iter().enumerate() {
        batch
            .int(number)
            .maybe(operation.place)
            .text(Some(operation.operation))
            .maybe(operation.communicator)
            .maybe(operation.root)
            .text(operation.algorithm.as_deref())
            .text(operation.library_name.as_deref());
    }
    batch
}

fn causes(of: &AnalysisOfRows) -> Batch {
    let mut batch = Batch::new(&CAUSES);
    for (number, cause) in of.causes.iter().enumerate() {
        batch
            .int(number)
            .text(Some(cause.kind.code()))
            .maybe(cause.rank)
            .text(cause.part.map(|part| part.code()))
            .maybe(cause.operation)
            .maybe(cause.communicator);
    }
    batch
}

fn communicators(of: &AnalysisOfRows) -> Batch {
    let mut batch = Batch::new(&COMMUNICATORS);
    for communicator in &of.analysis.communicators {
        batch
            .int(communicator.id)
            .text(Some(&communicator.name))
            .text(Some(&communicator.kind))
            .int(communicator.size)
            .int(communicator.count)
            .maybe(communicator.site);
    }
    batch
}

fn members(of: &AnalysisOfRows) -> Batch {
    let mut batch = Batch::new(&MEMBERS);
    for communicator in &of.analysis.communicators {
        for (position, rank) in communicator.ranks.iter().enumerate() {
            batch.int(communicator.id).int(position).maybe(*rank);
        }
    }
    batch
}

fn ranks(of: &AnalysisOfRows) -> Batch {
    let mut batch = Batch::new(&RANKS);
    for rank in &of.analysis.ranks {
        batch
            .int(rank.rank)
            .text(Some(&rank.host))
            .int(rank.calls)
            .int(rank.call_time_ns)
            .maybe(rank.wait_ns)
            .maybe(rank.finalize_ns)
            .maybe(rank.finalize_wait_ns)
            .int(rank.last)
            .int(rank.first)
            .int(rank.recorder_pause_ns)
            .maybe(rank.point_to_point_ns)
            .maybe(rank.io_ns)
            .maybe(rank.rma_ns);
    }
    batch
}

fn hosts(of: &AnalysisOfRows) -> Batch {
    let mut batch = Batch::new(&HOSTS);
    for host in &of.analysis.clock.hosts {
        batch
            .text(Some(&host.host))
            .int(host.group as i64)
            .maybe(host.site)
            .maybe(host.offset_ns)
            .real(host.drift_ppm)
            .maybe(host.uncertainty_ns)
            .maybe(host.bound_ns)
            .int(host.granularity_ns);
    }
    batch
}

fn sites(of: &AnalysisOfRows) -> Batch {
    let mut batch = Batch::new(&SITES);
    for site in &of.analysis.sites {
        let frame = site.own_frame();
        batch
            .int(site.id)
            .text(Some(&site.place()))
            .text(frame.and_then(|frame| frame.function.as_deref()))
            .text(frame.and_then(|frame| frame.file.as_deref()))
            .maybe(frame.and_then(|frame| frame.line))
            .truth(Some(site.whole));
    }
    batch
}

fn frames(of: &AnalysisOfRows) -> Batch {
    let mut batch = Batch::new(&FRAMES);
    for site in &of.analysis.sites {
        for (depth, frame) in site.frames.iter().enumerate() {
            batch
                .int(site.id)
                .int(depth)
                .text(frame.function.as_deref())
                .text(frame.file.as_deref())
                .maybe(frame.line)
                .text(frame.module.as_deref())
                .int(frame.offset)
                .truth(Some(frame.inlined));
        }
    }
    batch
}

fn about(of: &AnalysisOfRows) -> Batch {
    let analysis = &of.analysis;
    let mut batch = Batch::new(&ABOUT);
    let mut add = |key: &str, value: &str| {
        batch.text(Some(key)).text(Some(value));
    };
    add("schema", "collbench.tables/1");
    add("collbench", collbench_version::VERSION);
    add("command", &analysis.trace.command.join(" "));
    add("mpi_library", &analysis.trace.mpi_library);
    add("ranks", &analysis.trace.ranks.to_string());
    add("duration_ns", &analysis.trace.duration_ns.to_string());
    add("complete", &analysis.trace.complete.to_string());
    add("clock_method", &analysis.clock.method);
    add("clock_reference_host", &analysis.clock.reference_host);
    if let Some(part) = &analysis.restriction
        && let Some(name) = part.file_name()
    {
        add("part", &name);
    }
    for damage in &analysis.trace.damage {
        add("damage", &damage.what);
    }
    batch
}
