//! Exchange of rows with neighbors, by messages of the MPI library.

use std::ffi::c_int;

use anyhow::bail;
use mpi::ffi;

use super::grid::Strip;
use crate::trees::Leaf;

/// The neighbors of a leaf.
pub(super) struct Halo {
    leaf: i32,
    n_leaves: i32,
    n_threads: i32,
    /// A row while it is sent.
    sent: Vec<f64>,
}

impl Halo {
    pub(super) fn new(leaf: &Leaf) -> Self {
        Self {
            leaf: leaf.number as i32,
            n_leaves: leaf.settings.n_leaves() as i32,
            n_threads: leaf.settings.n_threads as i32,
            sent: Vec::new(),
        }
    }

    /// Sends the first row to the leaf before and the last one to the leaf after, and takes theirs.
    pub(super) fn exchange(&mut self, strip: &mut Strip) -> anyhow::Result<()> {
        let rows = strip.rows();
        self.shift(strip, (rows.start, -1), (rows.end, 1), 0)?;
        self.shift(strip, (rows.end - 1, 1), (rows.start - 1, -1), 1)
    }

    /// Sends a row to one neighbor, and receives one from the other.
    fn shift(
        &mut self,
        strip: &mut Strip,
        (sent_row, to): (usize, i32),
        (received_row, from): (usize, i32),
        direction: i32,
    ) -> anyhow::Result<()> {
        self.sent.clear();
        self.sent.extend_from_slice(strip.row(sent_row));
        let received = strip.row_mut(received_row);
        let to = self.leaf + to;
        // Which thread of the process a row is for: the tag says it. To nobody it is any.
        let tag = |receiver: i32| 2 * receiver.max(0) + direction;
        // SAFETY: MPI is initialized, for several threads if there are several; both buffers have
        // as many doubles as is said.
        let code = unsafe {
            ffi::MPI_Sendrecv(
                self.sent.as_ptr().cast(),
                self.sent.len() as c_int,
                ffi::RSMPI_DOUBLE,
                self.process(to),
                tag(to),
                received.as_mut_ptr().cast(),
                received.len() as c_int,
                ffi::RSMPI_DOUBLE,
                self.process(self.leaf + from),
                tag(self.leaf),
                ffi::RSMPI_COMM_WORLD,
                ffi::RSMPI_STATUS_IGNORE,
            )
        };
        if code != 0 {
            bail!("MPI_Sendrecv has returned {code}");
        }
        Ok(())
    }

    /// The process of a leaf; none beyond the first and the last.
    fn process(&self, leaf: i32) -> c_int {
        if (0..self.n_leaves).contains(&leaf) {
            leaf / self.n_threads
        } else {
            // SAFETY: the constant is never changed.
            unsafe { ffi::RSMPI_PROC_NULL }
        }
    }
}
