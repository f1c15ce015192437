//! One rank of a job: executes requests at the same time as the other ranks.

use std::ffi::c_int;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, bail};
use collbench_instrument::Clock;
use mpi::ffi;
use mpi::traits::Communicator;

use super::job::RankHello;
use crate::overhead::call::allreduce_of_all;
use crate::overhead::worker::{Goodbye, Hello, Request, answer_to, time_batches};

/// Calls before each batch that synchronize the ranks.
const CALLS_TO_SYNCHRONIZE: u64 = 16;

/// Serves requests from the socket at `meeting` until it is told to finish. If the connection is
/// lost it aborts the job: another rank may have got a request that this one will never get.
pub(in crate::overhead) fn serve(meeting: &Path, clock: Clock) -> anyhow::Result<()> {
    let universe = mpi::initialize().context("MPI is initialized already")?;
    let world = universe.world();
    let stream = UnixStream::connect(meeting).with_context(|| {
        format!(
            "{}: cannot reach the measuring process (all ranks must be on its host)",
            meeting.display()
        )
    })?;
    let mut answers = stream.try_clone()?;
    answer_to(
        &mut answers,
        &RankHello {
            rank: world.rank(),
            n_ranks: world.size(),
            cores: cores_allowed()?,
            hello: Hello::of(clock)?,
        },
    )?;
    let mut calls = 0;
    for line in BufReader::new(stream).lines() {
        match serde_json::from_str(&line?).context("a request")? {
            Request::Batches { n, size } => {
                let meet = || allreduces(clock, CALLS_TO_SYNCHRONIZE).1;
                let call = |n| allreduces(clock, n);
                answer_to(&mut answers, &time_batches(clock, (n, size), meet, call)?)?;
                calls += size + n * (CALLS_TO_SYNCHRONIZE + size);
            }
            Request::Finish => return answer_to(&mut answers, &Goodbye::of(clock, calls)),
            other => bail!("{other:?}: not a request for ranks"),
        }
    }
    // SAFETY: MPI is initialized.
    unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, 1) };
    bail!("the measuring process is gone")
}

/// Makes `n` calls; returns their time, and the bitwise or of their return codes: 0.
#[inline(never)]
fn allreduces(clock: Clock, n: u64) -> (u64, c_int) {
    let mut failed = 0;
    let begin = clock.now();
    for _ in 0..n {
        failed |= allreduce_of_all();
    }
    (clock.now() - begin, failed)
}

/// The cores that this process may run on, in the kernel's format: `0`, `2-3` ...
fn cores_allowed() -> anyhow::Result<String> {
    let status = std::fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
    let mut lines = status.lines();
    let cores = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    Ok(cores
        .context("/proc/self/status does not list the cores of this process")?
        .trim()
        .to_owned())
}
