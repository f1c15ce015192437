//! Messages over point-to-point operations of MPI.
//!
//! Receives are posted in advance, and polling tests the one that was posted first: small messages
//! arrive without a probe or a copy. Sends are nonblocking, from buffers that are used in turn. A
//! bulk message consists of the words and the data in one buffer.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use collbench_instrument::Clock;
use mpi::ffi;
use mpi::topology::SimpleCommunicator;
use mpi::traits::AsRaw;

use super::mpi_job::MpiNetwork;
use super::network::{Kind, Message, Network, WORDS};
use super::ticks::Ticks;

/// Bytes of the words of a message, with those that say what it is.
const HEAD: usize = 8 * (WORDS + 2);
/// Receives of small messages that are posted at once.
const SMALL_RECEIVES: usize = 64;
/// Buffers for small messages that are being sent.
const SMALL_SENDS: usize = 1024;
/// Receives of bulk messages that are posted at once.
const BULK_RECEIVES: usize = 4;
/// Buffers for bulk messages that are being sent.
const BULK_SENDS: usize = 8;
/// Tag of small messages.
const SMALL: c_int = 1;
/// Tag of bulk messages.
const BULK: c_int = 2;

/// Buffers of one size, with a request each, that are used in turn.
struct Ring {
    bytes: Vec<u8>,
    /// Bytes of each buffer.
    size: usize,
    requests: Vec<ffi::MPI_Request>,
    next: usize,
}

impl Ring {
    fn new(n: usize, size: usize) -> Self {
        Self {
            // Not zeros: memory that never was written is the same page of zeros everywhere, from which messages
            // are sent faster than from any other.
            bytes: vec![1; n * size],
            size,
            // SAFETY: a constant of the MPI library, set when it was loaded.
            requests: vec![unsafe { ffi::RSMPI_REQUEST_NULL }; n],
            next: 0,
        }
    }

    fn buffer(&mut self) -> &mut [u8] {
        &mut self.bytes[self.next * self.size..][..self.size]
    }

    fn advance(&mut self) {
        self.next = (self.next + 1) % self.requests.len();
    }

    /// Tests the next request; returns the sender if it has completed.
    #[inline]
    fn test(&mut self) -> Option<c_int> {
        let mut is_complete = 0;
        let mut status = MaybeUninit::<ffi::MPI_Status>::zeroed();
        // SAFETY: the request is null or that of an operation of this ring, whose buffer is never
        // moved; all zeros is a valid status, a plain struct of numbers.
        let status = unsafe {
            ffi::MPI_Test(
                &mut self.requests[self.next],
                &mut is_complete,
                status.as_mut_ptr(),
            );
            status.assume_init()
        };
        (is_complete != 0).then_some(status.MPI_SOURCE)
    }

    /// Posts a receive from any process into the next buffer, whose request has completed.
    fn post(&mut self, comm: ffi::MPI_Comm, tag: c_int) {
        let size = self.size as c_int;
        let buffer = self.buffer().as_mut_ptr();
        // SAFETY: the buffer has `size` bytes, is never moved, and is not accessed before the
        // request has completed; the communicator is valid as long as this ring.
        unsafe {
            ffi::MPI_Irecv(
                buffer.cast(),
                size,
                ffi::RSMPI_UINT8_T,
                ffi::RSMPI_ANY_SOURCE,
                tag,
                comm,
                &mut self.requests[self.next],
            );
        }
    }

    /// Ends all receives; what has not arrived never will.
    fn cancel(&mut self) {
        for request in &mut self.requests {
            // SAFETY: the request is null or that of a receive of this ring. A null request must
            // not be canceled.
            unsafe {
                if *request != ffi::RSMPI_REQUEST_NULL {
                    ffi::MPI_Cancel(request);
                    ffi::MPI_Wait(request, ffi::RSMPI_STATUS_IGNORE);
                }
            }
        }
    }

    /// Waits for all sends.
    fn wait(&mut self) {
        for request in &mut self.requests {
            // SAFETY: the request is null or that of a send of this ring.
            unsafe { ffi::MPI_Wait(request, ffi::RSMPI_STATUS_IGNORE) };
        }
    }
}

/// This process, with a communicator of its own for messages.
pub(in crate::logp) struct PointToPoint {
    comm: SimpleCommunicator,
    ticks: Ticks,
    receives: Ring,
    sends: Ring,
    bulk: Option<Bulk>,
    /// Whether bulk messages may arrive now.
    expects_bulk: bool,
    /// Bulk messages whose first or last byte was not the one that was sent.
    n_damaged: u64,
}

struct Bulk {
    receives: Ring,
    sends: Ring,
}

impl PointToPoint {
    pub(in crate::logp) fn new(comm: SimpleCommunicator, clock: Clock) -> Self {
        let mut receives = Ring::new(SMALL_RECEIVES, HEAD);
        for _ in 0..SMALL_RECEIVES {
            receives.post(comm.as_raw(), SMALL);
            receives.advance();
        }
        Self {
            comm,
            ticks: Ticks::of(clock),
            receives,
            sends: Ring::new(SMALL_SENDS, HEAD),
            bulk: None,
            expects_bulk: false,
            n_damaged: 0,
        }
    }

    fn end_bulk(&mut self) {
        if let Some(mut bulk) = self.bulk.take() {
            bulk.sends.wait();
            bulk.receives.cancel();
        }
    }
}

impl Drop for PointToPoint {
    fn drop(&mut self) {
        self.end_bulk();
        self.sends.wait();
        self.receives.cancel();
    }
}

fn write_head(message: &Message, buffer: &mut [u8]) {
    let kind = match message.kind {
        Kind::Request => 0,
        Kind::Reply => 1,
    };
    let first = [u64::from(message.handler) << 8 | kind, message.bytes as u64];
    let words = first.iter().chain(&message.words);
    for (bytes, word) in buffer.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
}

fn read_head(buffer: &[u8]) -> Message {
    let word = |idx: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&buffer[8 * idx..][..8]);
        u64::from_le_bytes(bytes)
    };
    let first = word(0);
    Message {
        kind: if first & 0xff == 0 {
            Kind::Request
        } else {
            Kind::Reply
        },
        handler: (first >> 8) as u8,
        bytes: word(1) as usize,
        words: [word(2), word(3), word(4), word(5)],
    }
}

impl Network for PointToPoint {
    #[inline]
    fn now_ns(&mut self) -> f64 {
        self.ticks.now_ns()
    }

    fn clock_ns(&self) -> f64 {
        self.ticks.reading_ns
    }

    #[inline]
    fn send(&mut self, to: usize, message: &Message) {
        let (ring, tag) = match &mut self.bulk {
            Some(bulk) if message.bytes > 0 => (&mut bulk.sends, BULK),
            _ => (&mut self.sends, SMALL),
        };
        // The message that was sent from this buffer before; a test also lets MPI progress.
        while ring.test().is_none() {}
        let buffer = ring.buffer();
        write_head(message, buffer);
        if message.bytes > 0 {
            buffer[HEAD] = message.mark();
            buffer[HEAD + message.bytes - 1] = message.mark();
        }
        let size = (HEAD + message.bytes) as c_int;
        let buffer = buffer.as_ptr();
        // SAFETY: the buffer has so many bytes, is never moved, and is not written before the
        // request has completed; the communicator is valid.
        unsafe {
            ffi::MPI_Isend(
                buffer.cast(),
                size,
                ffi::RSMPI_UINT8_T,
                to as c_int,
                tag,
                self.comm.as_raw(),
                &mut ring.requests[ring.next],
            );
        }
        ring.advance();
    }

    #[inline]
    fn receive(&mut self) -> Option<(usize, Message)> {
        if let Some(from) = self.receives.test() {
            let message = read_head(self.receives.buffer());
            self.receives.post(self.comm.as_raw(), SMALL);
            self.receives.advance();
            return Some((from as usize, message));
        }
        let bulk = self.bulk.as_mut().filter(|_| self.expects_bulk)?;
        let from = bulk.receives.test()?;
        let buffer = bulk.receives.buffer();
        let message = read_head(buffer);
        let data = &buffer[HEAD..][..message.bytes];
        let ends = [data.first(), data.last()];
        if ends != [Some(&message.mark()); 2] {
            self.n_damaged += 1;
        }
        bulk.receives.post(self.comm.as_raw(), BULK);
        bulk.receives.advance();
        Some((from as usize, message))
    }

    fn compute(&mut self, ns: f64) {
        self.ticks.compute(ns);
    }

    fn capacity(&self) -> usize {
        SMALL_SENDS
    }
}

impl MpiNetwork for PointToPoint {
    fn expect(&mut self, bytes: usize) {
        self.expects_bulk = bytes > 0;
        let size = HEAD + bytes;
        let fits = |bulk: &Bulk| bulk.sends.size >= size;
        if bytes == 0 || self.bulk.as_ref().is_some_and(fits) {
            return;
        }
        self.end_bulk();
        let mut receives = Ring::new(BULK_RECEIVES, size);
        for _ in 0..BULK_RECEIVES {
            receives.post(self.comm.as_raw(), BULK);
            receives.advance();
        }
        let sends = Ring::new(BULK_SENDS, size);
        self.bulk = Some(Bulk { receives, sends });
    }

    fn n_damaged(&self) -> u64 {
        self.n_damaged
    }

    fn name(&self) -> &'static str {
        "point_to_point"
    }
}
