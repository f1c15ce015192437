//! Master and workers: process 0 sends pieces of work to the others, which send results back.
//!
//! Two questions have patterns of their own. How fast can results come in, where each is answered by
//! the next piece (contention at the master)? And how fast can pieces go out, where no result is
//! waited for in between?
//!
//! # Source
//! Reussner et al. 1999, section 2.1 and appendix A, section 3. The paper does not say how pieces are
//! divided: here whoever has sent a result gets the next piece, and without results all workers in
//! turn.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use anyhow::Context;
use mpi::ffi;
use mpi::raw::AsRaw;

use super::Call;
use crate::collective::operation::MasterWorker;

/// Tags of pieces, of the message that ends the work, and of results.
const WORK: c_int = 1;
const STOP: c_int = 2;
const RESULT: c_int = 3;

/// What master and workers need besides their messages.
pub(super) struct Team {
    /// Pieces of all workers together.
    n_pieces: usize,
    /// Of the master: by worker the receive of its result, or of each piece its send.
    requests: Vec<ffi::MPI_Request>,
    /// Workers whose results have arrived, from 0.
    arrived: Vec<c_int>,
}

impl Team {
    /// For so many pieces for each worker of a communicator of this size.
    pub(super) fn of(kind: MasterWorker, processes: usize, pieces: usize) -> anyhow::Result<Self> {
        let n_workers = processes.saturating_sub(1);
        let n_pieces = pieces.checked_mul(n_workers).context("too many pieces")?;
        let n_requests = match kind {
            MasterWorker::Isend => n_pieces,
            _ => n_workers,
        };
        Ok(Self {
            n_pieces,
            // SAFETY: the handle of no request, which the library sets before MPI_Init.
            requests: vec![unsafe { ffi::RSMPI_REQUEST_NULL }; n_requests],
            arrived: vec![0; n_workers],
        })
    }

    /// Pieces of this worker if all get them in turn.
    fn pieces_of(&self, worker: usize) -> usize {
        let n_workers = self.arrived.len().max(1);
        self.n_pieces / n_workers + usize::from(worker < self.n_pieces % n_workers)
    }
}

impl Call {
    /// The part of this process. Returns the return code, 0 if all is well.
    #[inline]
    pub(super) fn master_worker(&mut self, kind: MasterWorker) -> c_int {
        // Taken out, so that it can change beside the messages.
        let Some(mut team) = self.team.take() else {
            return 0;
        };
        let code = match (self.rank, kind.sends_only()) {
            (0, true) => self.send_all(kind, &mut team),
            (0, false) => self.answer_results(kind, &mut team),
            (_, true) => self.receive_all(team.pieces_of(self.rank as usize - 1)),
            (_, false) => self.work_until_stopped(),
        };
        self.team = Some(team);
        code
    }

    /// The master: each result is answered by the next piece.
    fn answer_results(&mut self, kind: MasterWorker, team: &mut Team) -> c_int {
        let (mut left, mut under_way, mut worst) = (team.n_pieces, 0, 0);
        for worker in 0..team.arrived.len() {
            worst = worst.max(self.answer(kind, worker, &mut left, &mut under_way, team));
        }
        while under_way > 0 && worst == 0 {
            let n_arrived = match self.await_results(kind, team) {
                Ok(n) => n,
                Err(code) => return code,
            };
            under_way -= n_arrived;
            for idx in 0..n_arrived {
                let worker = team.arrived[idx] as usize;
                worst = worst.max(self.answer(kind, worker, &mut left, &mut under_way, team));
            }
        }
        worst
    }

    /// Sends a worker the next piece, and receives its result; or the message that ends its work.
    fn answer(
        &self,
        kind: MasterWorker,
        worker: usize,
        left: &mut usize,
        under_way: &mut usize,
        team: &mut Team,
    ) -> c_int {
        let to = worker as c_int + 1;
        if *left == 0 {
            return self.send_to(to, 0, STOP);
        }
        *left -= 1;
        *under_way += 1;
        let mut code = 0;
        if kind != MasterWorker::AnySource {
            let place = self.result_place(worker);
            // SAFETY: the buffer has a block for each process, and lives as long as this call, in
            // which the request is completed.
            code = unsafe {
                ffi::MPI_Irecv(
                    place,
                    self.count,
                    self.element,
                    to,
                    RESULT,
                    self.comm.as_raw(),
                    &mut team.requests[worker],
                )
            };
        }
        code.max(self.send_to(to, self.count, WORK))
    }

    /// Waits for at least one result; the workers that sent them are in `team.arrived`.
    fn await_results(&self, kind: MasterWorker, team: &mut Team) -> Result<usize, c_int> {
        let n = team.requests.len() as c_int;
        let (requests, arrived) = (team.requests.as_mut_ptr(), team.arrived.as_mut_ptr());
        let mut n_arrived: c_int = 1;
        // SAFETY: as many requests as workers, and places for as many indexes.
        let code = unsafe {
            match kind {
                MasterWorker::Waitsome => ffi::MPI_Waitsome(
                    n,
                    requests,
                    &mut n_arrived,
                    arrived,
                    ffi::RSMPI_STATUSES_IGNORE,
                ),
                MasterWorker::Waitany => {
                    ffi::MPI_Waitany(n, requests, arrived, ffi::RSMPI_STATUS_IGNORE)
                }
                _ => {
                    let mut status = MaybeUninit::<ffi::MPI_Status>::uninit();
                    let code = ffi::MPI_Recv(
                        self.result_place(0),
                        self.count,
                        self.element,
                        ffi::RSMPI_ANY_SOURCE,
                        RESULT,
                        self.comm.as_raw(),
                        status.as_mut_ptr(),
                    );
                    if code == 0 {
                        *arrived = status.assume_init().MPI_SOURCE - 1;
                    }
                    code
                }
            }
        };
        match usize::try_from(n_arrived) {
            Ok(n_arrived) if code == 0 => Ok(n_arrived),
            _ => Err(code.max(1)),
        }
    }

    /// A worker: returns a result for each piece.
    fn work_until_stopped(&self) -> c_int {
        loop {
            let tag = match self.receive_piece() {
                Ok(tag) => tag,
                Err(code) => return code,
            };
            if tag == STOP {
                return 0;
            }
            let code = self.send_to(0, self.count, RESULT);
            if code != 0 {
                return code;
            }
        }
    }

    /// The master: sends all pieces to the workers in turn, then hears from each that it has them.
    fn send_all(&self, kind: MasterWorker, team: &mut Team) -> c_int {
        let n_workers = team.arrived.len();
        let mut worst = 0;
        for piece in 0..team.n_pieces {
            let to = (piece % n_workers) as c_int + 1;
            worst = worst.max(self.send_piece(kind, to, team.requests.get_mut(piece)));
        }
        // SAFETY: requests of this process, or none; results without data.
        unsafe {
            if kind == MasterWorker::Isend {
                let n = team.requests.len() as c_int;
                let requests = team.requests.as_mut_ptr();
                worst = worst.max(ffi::MPI_Waitall(n, requests, ffi::RSMPI_STATUSES_IGNORE));
            }
            for _ in 0..n_workers {
                worst = worst.max(ffi::MPI_Recv(
                    self.result_place(0),
                    0,
                    self.element,
                    ffi::RSMPI_ANY_SOURCE,
                    RESULT,
                    self.comm.as_raw(),
                    ffi::RSMPI_STATUS_IGNORE,
                ));
            }
        }
        worst
    }

    /// Sends one piece in the mode of `kind`; `request` is that of a nonblocking send.
    fn send_piece(
        &self,
        kind: MasterWorker,
        to: c_int,
        request: Option<&mut ffi::MPI_Request>,
    ) -> c_int {
        let (address, count) = (self.sent.address().cast_const(), self.count);
        let (element, comm) = (self.element, self.comm.as_raw());
        // SAFETY: the buffer holds the elements, and is not changed before the sends end; for
        // buffered sends as much space was attached as all pieces need.
        unsafe {
            match (kind, request) {
                (MasterWorker::Ssend, _) => ffi::MPI_Ssend(address, count, element, to, WORK, comm),
                (MasterWorker::Bsend, _) => ffi::MPI_Bsend(address, count, element, to, WORK, comm),
                (MasterWorker::Isend, Some(request)) => {
                    ffi::MPI_Isend(address, count, element, to, WORK, comm, request)
                }
                _ => ffi::MPI_Send(address, count, element, to, WORK, comm),
            }
        }
    }

    /// A worker: receives so many pieces, and says so.
    fn receive_all(&self, n_pieces: usize) -> c_int {
        for _ in 0..n_pieces {
            if let Err(code) = self.receive_piece() {
                return code;
            }
        }
        self.send_to(0, 0, RESULT)
    }

    /// The tag of the next message of the master.
    fn receive_piece(&self) -> Result<c_int, c_int> {
        let mut status = MaybeUninit::<ffi::MPI_Status>::uninit();
        // SAFETY: the buffer holds a piece; the status is read only if the call has set it.
        unsafe {
            let code = ffi::MPI_Recv(
                self.received.address(),
                self.count,
                self.element,
                0,
                ffi::RSMPI_ANY_TAG,
                self.comm.as_raw(),
                status.as_mut_ptr(),
            );
            if code == 0 {
                Ok(status.assume_init().MPI_TAG)
            } else {
                Err(code)
            }
        }
    }

    fn send_to(&self, to: c_int, count: c_int, tag: c_int) -> c_int {
        let address = self.sent.address().cast_const();
        // SAFETY: the buffer holds the elements.
        unsafe { ffi::MPI_Send(address, count, self.element, to, tag, self.comm.as_raw()) }
    }

    /// Where the result of a worker goes.
    fn result_place(&self, worker: usize) -> *mut std::ffi::c_void {
        let offset = self.byte_displacements.get(worker).copied().unwrap_or(0);
        // SAFETY: the buffer has a block for each process.
        unsafe { self.received.address().byte_add(offset as usize) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pieces_are_divided_among_the_workers() {
        let team = Team {
            n_pieces: 11,
            requests: Vec::new(),
            arrived: vec![0; 4],
        };
        let pieces = [0, 1, 2, 3].map(|worker| team.pieces_of(worker));
        assert_eq!(pieces, [3, 3, 3, 2]);
        let nobody = Team {
            n_pieces: 0,
            requests: Vec::new(),
            arrived: Vec::new(),
        };
        assert_eq!(nobody.pieces_of(0), 0);
    }
}
