//! Gathers and scatters.

use super::{Flat, Progress, answer};
use crate::error::Error;
use crate::run::lent::{give, lend, take_all};
use crate::run::worker::Worker;
use crate::transport::{Transport, is_inline};
use crate::values::{Header, Position};

impl Flat {
    /// Gives the root of a gather what this process has.
    pub(crate) fn gather_give<T: Transport>(
        &self,
        worker: &mut Worker<T>,
        call: u64,
        given: &[u8],
    ) -> Result<(), Error> {
        let own = self.values[worker.me as usize];
        let mut begin = Some(Position::new(call, 0));
        if worker.copies_once(given.len()) {
            begin = self.lend_to_root(worker, Position::new(call, 0), given)?;
        }
        if let Some(begin) = begin {
            let to = std::iter::once((own, given));
            give(worker, to, begin, (given.len(), worker.segment_bytes))?;
        }
        worker.finish(Position::end(call));
        Ok(())
    }

    /// Takes what all others give this process, the root of a gather, into the parts of so many bytes of
    /// `result`. Returns whether all have given as much as there is room for.
    pub(crate) fn gather_take<T: Transport>(
        &mut self,
        worker: &mut Worker<T>,
        call: u64,
        (each, result): (usize, &mut [u8]),
    ) -> Result<bool, Error> {
        let mut at = Position::new(call, 0);
        worker.begin(at);
        if is_inline(each) && self.take_small(worker, at, (each, result))? {
            worker.finish(Position::end(call));
            return Ok(true);
        }
        self.progress.fill(Progress::Taken(0));
        self.progress[worker.me as usize] = Progress::Whole;
        let mut is_alike = true;
        loop {
            for rank in 0..self.values.len() {
                let part = &mut result[rank * each..][..each];
                match self.progress[rank] {
                    Progress::Whole => {}
                    Progress::Lent => self.progress[rank] = Progress::Taken(0),
                    Progress::Taken(taken) => {
                        let (total, is_refused) = self.take(worker, (rank, taken), at, part)?;
                        is_alike &= total == each as u64;
                        if self.progress[rank] == Progress::Lent {
                            let answer = answer(worker.me, !is_refused);
                            let value = self.values[rank];
                            worker.publish_given(value, at.next_segment(), &answer, &[]);
                            if !is_refused {
                                self.progress[rank] = Progress::Whole;
                            }
                        }
                    }
                }
            }
            if self.have_all_come() {
                worker.finish(Position::end(call));
                return Ok(is_alike);
            }
            worker.finish(at);
            at = at.next_segment();
            worker.begin(at);
        }
    }

    /// Takes what all others give into the parts of so many bytes of `result`, which fit into their heads. Returns
    /// whether all have given as much as there is room for.
    #[inline]
    fn take_small<T: Transport>(
        &self,
        worker: &mut Worker<T>,
        at: Position,
        (each, result): (usize, &mut [u8]),
    ) -> Result<bool, Error> {
        let mut is_alike = true;
        for (rank, &value) in self.values.iter().enumerate() {
            if rank != worker.me as usize {
                is_alike &= worker.take_small(value, at, &mut result[rank * each..][..each])?;
            }
        }
        Ok(is_alike)
    }

    /// Takes a segment of what a rank gives, of which so many bytes have come, or copies what it has
    /// lent, as much as there is room for. Returns how many bytes it gives in all, and whether it was
    /// refused to copy them.
    #[inline]
    fn take<T: Transport>(
        &mut self,
        worker: &mut Worker<T>,
        (rank, taken): (usize, usize),
        at: Position,
        into: &mut [u8],
    ) -> Result<(u64, bool), Error> {
        let value = self.values[rank];
        let header = worker.await_header(worker.heads(value), at)?;
        let header = Header::from_words(header);
        if header.is_reference {
            self.progress[rank] = Progress::Lent;
            let is_copied = worker.copy_lent(value, at, &header, into);
            return Ok((header.total, !is_copied));
        }
        let n_bytes = worker.read_into(value, at, &header, &mut into[taken..]);
        self.progress[rank] = if header.is_last {
            Progress::Whole
        } else {
            Progress::Taken(taken + n_bytes)
        };
        Ok((header.total, false))
    }

    /// Gives each process its part of so many bytes of what this one has, the root of a scatter, of which
    /// it leaves out its own.
    pub(crate) fn scatter_give<T: Transport>(
        &self,
        worker: &mut Worker<T>,
        call: u64,
        (each, given): (usize, &[u8]),
    ) -> Result<(), Error> {
        let me = worker.me as usize;
        let all = self.values.iter().enumerate();
        let to = all
            .filter(|&(rank, _)| rank != me)
            .map(|(rank, &value)| (value, &given[rank * each..][..each]));
        let mut begin = Some(Position::new(call, 0));
        if worker.copies_once(each) {
            begin = lend(worker, to.clone(), Position::new(call, 0), each)?;
        }
        if let Some(begin) = begin {
            give(worker, to, begin, (each, worker.segment_bytes))?;
        }
        worker.finish(Position::end(call));
        Ok(())
    }

    /// Takes what the root of a scatter gives this process. Returns whether that was more than there is
    /// room for.
    pub(crate) fn scatter_take<T: Transport>(
        &self,
        worker: &mut Worker<T>,
        call: u64,
        result: &mut [u8],
    ) -> Result<bool, Error> {
        let own = self.values[worker.me as usize];
        let is_too_long = take_all(worker, own, Position::new(call, 0), result)?;
        worker.finish(Position::end(call));
        Ok(is_too_long)
    }

    /// Gives all others what this process has, and takes what they give into the parts of so many bytes of
    /// `result`; `given` is its own part of that if it is `None`. Returns whether all have given
    /// equally many bytes.
    pub(crate) fn allgather<T: Transport>(
        &mut self,
        worker: &mut Worker<T>,
        call: u64,
        given: Option<&[u8]>,
        (each, result): (usize, &mut [u8]),
    ) -> Result<bool, Error> {
        let me = worker.me as usize;
        let mut at = Position::new(call, 0);
        let n_given = given.map_or(each, <[u8]>::len);
        let is_lent = worker.copies_once(n_given);
        if is_inline(n_given) && n_given == each && !is_lent {
            let own = given.unwrap_or(&result[me * each..][..each]);
            let to = std::iter::once((self.values[me], own));
            worker.give_small(to, at, each)?;
            if self.take_small(worker, at, (each, result))? {
                worker.all_have_finished(Position::end(call - 1));
                worker.finish(Position::end(call));
                return Ok(true);
            }
        }
        let (before, own) = result.split_at_mut(me * each);
        let (own, after) = own.split_at_mut(each);
        let given = given.unwrap_or(own);
        let mut parts = Parts {
            before,
            after,
            each,
            is_alike: true,
            is_refused: false,
        };
        self.progress.fill(Progress::Taken(0));
        self.progress[me] = Progress::Whole;
        let mut n_given = 0;
        if is_lent {
            worker.lend_to(self.values[me], at, given)?;
        } else {
            n_given = self.give_segment(worker, at, given, 0)?;
        }
        self.take_from_all(worker, at, given.len(), &mut parts)?;
        worker.all_have_finished(Position::end(call - 1));
        if is_lent || self.progress.contains(&Progress::Lent) {
            worker.finish(at);
            at = at.next_segment();
            if self.answer_all(worker, at, parts.is_refused)? {
                worker.is_copying_granted = false;
                parts.is_refused = true;
            }
            if is_lent && !parts.is_refused {
                n_given = given.len();
            }
            let next = if parts.is_refused {
                Progress::Taken(0)
            } else {
                Progress::Whole
            };
            for of_rank in &mut self.progress {
                if *of_rank == Progress::Lent {
                    *of_rank = next;
                }
            }
        }
        while n_given < given.len() || !self.have_all_come() {
            worker.finish(at);
            at = at.next_segment();
            worker.begin(at);
            if n_given < given.len() {
                n_given = self.give_segment(worker, at, given, n_given)?;
            }
            self.take_from_all(worker, at, given.len(), &mut parts)?;
        }
        worker.finish(Position::end(call));
        Ok(parts.is_alike)
    }

    /// Gives all others the segment of what this process has that begins here. Returns where it ends.
    #[inline]
    fn give_segment<T: Transport>(
        &self,
        worker: &mut Worker<T>,
        at: Position,
        given: &[u8],
        begin: usize,
    ) -> Result<usize, Error> {
        let end = given.len().min(begin + worker.segment_bytes);
        let header = Header {
            total: given.len() as u64,
            n_bytes: end - begin,
            writer: worker.me,
            is_last: end == given.len(),
            is_truncated: false,
            is_reference: false,
        };
        worker.begin(at);
        worker.make_room(at, &header)?;
        let own = self.values[worker.me as usize];
        worker.publish_given(own, at, &header, &given[begin..end]);
        Ok(end)
    }

    /// Takes a segment from each rank of which there is more to come.
    fn take_from_all<T: Transport>(
        &mut self,
        worker: &mut Worker<T>,
        at: Position,
        n_given: usize,
        parts: &mut Parts<'_>,
    ) -> Result<(), Error> {
        for rank in 0..self.values.len() {
            let Progress::Taken(taken) = self.progress[rank] else {
                continue;
            };
            let part = parts.of(rank);
            let (total, is_refused) = self.take(worker, (rank, taken), at, part)?;
            parts.is_alike &= total == n_given as u64;
            parts.is_refused |= is_refused;
        }
        Ok(())
    }

    /// Tells all others whether this process was refused to copy what they have lent. Returns whether
    /// anybody was.
    #[cold]
    fn answer_all<T: Transport>(
        &self,
        worker: &mut Worker<T>,
        at: Position,
        is_refused: bool,
    ) -> Result<bool, Error> {
        let me = worker.me as usize;
        worker.begin(at);
        worker.publish_given(self.values[me], at, &answer(worker.me, !is_refused), &[]);
        let mut is_anybody_refused = is_refused;
        for &value in &self.values {
            let answered = worker.await_header(worker.heads(value), at)?;
            is_anybody_refused |= Header::from_words(answered).is_truncated;
        }
        Ok(is_anybody_refused)
    }
}

/// Where what the others give goes.
struct Parts<'a> {
    /// The parts of the ranks before this one.
    before: &'a mut [u8],
    /// And those of the ranks after it.
    after: &'a mut [u8],
    /// Bytes of a part.
    each: usize,
    /// Whether all have given equally many bytes, as far as that is known.
    is_alike: bool,
    /// Whether it was refused to copy something that was lent.
    is_refused: bool,
}

impl Parts<'_> {
    /// The part of another rank.
    fn of(&mut self, rank: usize) -> &mut [u8] {
        let begin = rank * self.each;
        if begin < self.before.len() {
            &mut self.before[begin..][..self.each]
        } else {
            let begin = begin - self.before.len() - self.each;
            &mut self.after[begin..][..self.each]
        }
    }
}
