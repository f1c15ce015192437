//! What a process needs to execute operations: its transport, its memory, its buffers.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::collectors::{Collect, Pass};
use super::options::TeamOptions;
use super::wait::{Idle, WaitPolicy};
use crate::error::Error;
use crate::transport::{
    INLINE_WORDS, Line, Mark, Transport, TransportError, WORD_BYTES, peek, peek_words, publish,
    publish_small, read, read_small, small, store_word,
};
use crate::tree::{Heads, Layout, Paths, Place, Room, Value, earlier_use, head_of};
use crate::values::{Combine, Header, MESSAGE_HEADER_BYTES, Merge, Position};

/// How often a process that waits looks for others that have ended.
const ENDED_INTERVAL: Duration = Duration::from_millis(500);

/// What a process needs to execute operations. Nothing is allocated by its methods, but by
/// [`reserve_inputs`](Self::reserve_inputs).
pub(crate) struct Worker<T: Transport> {
    pub(crate) transport: T,
    pub(crate) me: u32,
    memory: T::Memory,
    layout: Layout,
    policy: WaitPolicy,
    /// Which of the processes of its host this one is.
    mate: usize,
    /// Up to where all processes of this host are known to have finished.
    finished: Position,
    /// The segment that this process is in.
    begun: Position,
    /// When it has last looked for processes that have ended.
    looked_for_ended: Instant,
    pub(crate) segment_bytes: usize,
    tag: u32,
    /// The value that is on its way through this process.
    value: Vec<u8>,
    pub(crate) header: Header,
    /// The values that are put together, each at a multiple of `stride`.
    pub(crate) inputs: Vec<u8>,
    stride: usize,
    pub(crate) input_headers: Vec<Header>,
    lengths: Vec<usize>,
    message: Vec<u8>,
    /// Some blocks of the value.
    selected: Vec<u8>,
    collect: Option<Collect>,
    /// By which others know the memory of this process.
    pub(crate) mark: Mark,
    /// Values of so many bytes and more are copied from where the program has them.
    pub(crate) copy_once_from: usize,
    /// Whether nobody of this host was refused that so far, as this process knows.
    pub(crate) is_copying_granted: bool,
    /// Values of so many bytes and more are divided, if all get the result.
    pub(crate) divide_from: usize,
    /// Slices of values of so many bytes and more are copied from where programs have them.
    pub(crate) copy_slices_from: usize,
    /// Values of so many bytes and more are divided, if only the root gets the result.
    pub(crate) divide_to_root_from: usize,
    /// The end of the last operation that had all bodies for itself.
    bodies_used_until: Position,
}

/// Bytes of the buffers of a worker that puts at most `n_inputs` values together.
pub(crate) fn buffer_bytes(segment_bytes: usize, n_inputs: usize) -> usize {
    // The value, a message, and some blocks.
    (3 + n_inputs) * segment_bytes
}

impl<T: Transport> Worker<T> {
    pub(crate) fn new(transport: T, paths: &Paths, options: &TeamOptions) -> Result<Self, Error> {
        let &TeamOptions {
            policy,
            segment_bytes,
            first_tag: tag,
            copy_once_from,
            divide_from,
            copy_slices_from,
            divide_to_root_from,
        } = options;
        let me = transport.rank();
        let layout = Layout::new(paths, paths.hosts[me as usize], segment_bytes);
        let mate = layout.mates.partition_point(|&rank| rank < me);
        let memory = transport.share(layout.n_lines())?;
        let process = memory[layout.finished(mate)].second_word();
        process.store(transport.process(), Ordering::Release);
        Ok(Self {
            me,
            memory,
            begun: Position::BEGIN,
            looked_for_ended: Instant::now(),
            layout,
            policy,
            mate,
            finished: Position::BEGIN,
            segment_bytes,
            tag,
            value: vec![0; segment_bytes],
            header: Header::default(),
            inputs: Vec::new(),
            stride: segment_bytes,
            input_headers: Vec::new(),
            lengths: Vec::new(),
            message: vec![0; MESSAGE_HEADER_BYTES + segment_bytes],
            selected: vec![0; segment_bytes],
            collect: None,
            mark: Mark::new(),
            copy_once_from,
            is_copying_granted: true,
            divide_from,
            copy_slices_from,
            divide_to_root_from,
            bodies_used_until: Position::BEGIN,
            transport,
        })
    }

    /// Makes room for this many values to be put together.
    pub(crate) fn reserve_inputs(&mut self, n: usize) {
        if n > self.lengths.len() {
            self.inputs.resize(n * self.segment_bytes, 0);
            self.input_headers.resize(n, Header::default());
            self.lengths.resize(n, 0);
        }
    }

    pub(crate) fn set_collect(&mut self, collect: Option<Collect>) {
        self.collect = collect;
    }

    /// Values up to this length are put together in the next operation: small ones side by side, so
    /// that they share cache lines.
    #[inline]
    pub(crate) fn expect_bytes(&mut self, n_bytes: usize) {
        self.stride = n_bytes.next_multiple_of(8).clamp(8, self.segment_bytes);
    }

    /// Whether this process offers its core to others while it waits.
    #[inline]
    pub(crate) fn shares_cores(&self) -> bool {
        self.policy.idle() != Idle::Spin
    }

    pub(crate) fn value(&self) -> &[u8] {
        &self.value[..self.header.n_bytes]
    }

    /// The value is what `fill` stores. It gets the whole buffer.
    pub(crate) fn set_value(&mut self, fill: impl FnOnce(&mut [u8]) -> Header) {
        self.header = Header {
            writer: self.me,
            ..fill(&mut self.value)
        };
    }

    /// This process begins a segment.
    pub(crate) fn begin(&mut self, at: Position) {
        self.begun = at;
    }

    /// Lets the library progress, and looks for processes of this host that have ended before their
    /// time.
    fn progress(&mut self) -> Result<(), TransportError> {
        self.transport.progress()?;
        if self.looked_for_ended.elapsed() < ENDED_INTERVAL {
            return Ok(());
        }
        self.looked_for_ended = Instant::now();
        for (mate, &rank) in self.layout.mates.iter().enumerate() {
            let line = &self.memory[self.layout.finished(mate)];
            // First the process, then its position: one that ends has said before that it has
            // finished.
            let process = line.second_word().load(Ordering::Acquire);
            let has_ended = process != 0 && self.transport.has_ended(process);
            let finished = Position::from_bits(line.word().load(Ordering::Acquire));
            if has_ended && finished < self.begun {
                return Err(TransportError::Ended(rank));
            }
        }
        Ok(())
    }

    /// This process will not touch anything of this segment, or of earlier ones, any more.
    pub(crate) fn finish(&self, at: Position) {
        let line = self.layout.finished(self.mate);
        self.memory[line].word().store(at.bits(), Ordering::Release);
    }

    /// This process could not copy the value of this segment from where it is.
    pub(crate) fn refuse_copy(&self, at: Position) {
        let line = self.layout.finished(self.mate);
        let refused = self.memory[line].third_word();
        refused.store(at.bits(), Ordering::Release);
    }

    /// Waits until all processes of this host have copied the value of this segment, and finished
    /// its operation, or say that they could not. Returns whether all have.
    pub(crate) fn await_copies(&mut self, at: Position) -> Result<bool, Error> {
        let end = Position::end(at.call());
        let mut is_granted = true;
        // Those before this one need not be looked at again.
        let mut mate = 0;
        self.wait(|worker| {
            while mate < worker.layout.mates.len() {
                let line = &worker.memory[worker.layout.finished(mate)];
                let has_refused = line.third_word().load(Ordering::Acquire) == at.bits();
                let finished = Position::from_bits(line.word().load(Ordering::Acquire));
                if mate != worker.mate && !has_refused && finished < end {
                    return Ok(None);
                }
                is_granted &= !has_refused;
                mate += 1;
            }
            Ok(Some(()))
        })?;
        if is_granted {
            self.all_have_finished(end);
        }
        Ok(is_granted)
    }

    /// All processes have finished this segment, as this one knows from what it has received.
    pub(crate) fn all_have_finished(&mut self, at: Position) {
        self.finished = self.finished.max(at);
    }

    /// Waits until the cells of this segment are free for values of which this is said.
    #[inline]
    pub(crate) fn make_room(&mut self, at: Position, header: &Header) -> Result<(), Error> {
        self.make_room_in(at, self.layout.room_of(at, header))
    }

    #[inline]
    pub(crate) fn make_room_in(&mut self, at: Position, room: Room) -> Result<(), Error> {
        let mut needed = earlier_use(at, room);
        if room == Room::Long {
            needed = needed.max(self.bodies_used_until);
        }
        if self.finished >= needed {
            return Ok(());
        }
        self.await_room(needed)
    }

    #[cold]
    fn await_room(&mut self, needed: Position) -> Result<(), Error> {
        /// Before the first look: those that are behind can go on for some operations meanwhile,
        /// instead of giving their lines away after each.
        const SPINS: u32 = 40;
        if self.policy.idle() == Idle::Spin {
            (0..SPINS).for_each(|_| std::hint::spin_loop());
        }
        let (least, _) = self.wait(|worker| {
            let mates = 0..worker.layout.mates.len();
            let lines = mates.map(|mate| worker.memory[worker.layout.finished(mate)].word());
            let least = lines.map(|word| word.load(Ordering::Acquire)).min();
            let least = Position::from_bits(least.unwrap_or(u64::MAX));
            Ok((least >= needed).then_some(least))
        })?;
        self.finished = least;
        Ok(())
    }

    /// Publishes the value in the memory of this host, or sends it: whole, or the blocks with these
    /// numbers, which ascend, of as many as it has.
    pub(crate) fn forward(
        &mut self,
        to: Place,
        at: Position,
        selection: Option<(usize, &[u32])>,
    ) -> Result<(), Error> {
        let n_bytes = match selection {
            Some((n_blocks, selected)) => self.select(n_blocks, selected),
            None => self.header.n_bytes,
        };
        let shared = self.shared_value(to);
        let header = Header {
            n_bytes,
            writer: self.me,
            ..self.header
        };
        if shared.is_some() {
            self.make_room(at, &header)?;
        }
        let value = match selection {
            Some(_) => &self.selected[..n_bytes],
            None => &self.value[..n_bytes],
        };
        if let Some(shared) = shared {
            let cell = self.layout.cell(&self.memory, shared, at, &header);
            publish(cell, at, &header, value);
        } else if let Place::Message { other, tag } = to {
            let n_bytes = header.write_message(at, value, &mut self.message);
            let message = &self.message[..n_bytes];
            self.transport.send(other, self.tag + tag, message)?;
        }
        Ok(())
    }

    /// Which value of this host's memory a place is, if it is one.
    pub(crate) fn shared_value(&self, place: Place) -> Option<Value> {
        match place {
            Place::Contribution(edge) => Some(self.layout.contribution(edge)),
            Place::Result(join) => Some(self.layout.result(join)),
            Place::Message { .. } | Place::Program => None,
        }
    }

    /// Publishes what the program gives in the memory of this host, from where it is.
    #[inline]
    pub(crate) fn publish_given(&self, shared: Value, at: Position, header: &Header, given: &[u8]) {
        let cell = self.layout.cell(&self.memory, shared, at, header);
        publish(cell, at, header, given);
    }

    /// Publishes what the program gives to each of these values: so many bytes, which fit into their
    /// heads.
    #[inline]
    pub(crate) fn give_small<'g>(
        &mut self,
        to: impl Iterator<Item = (Value, &'g [u8])>,
        at: Position,
        n_bytes: usize,
    ) -> Result<(), Error> {
        self.begin(at);
        self.make_room_in(at, Room::Head)?;
        let header = Header::of_all(self.me, n_bytes).words();
        for (value, given) in to {
            let head = self.heads(value).of(&self.memory, head_of(at));
            if n_bytes <= WORD_BYTES {
                publish_small(head, at, header, &small::<1>(given));
            } else {
                publish_small(head, at, header, &small::<INLINE_WORDS>(given));
            }
            self.own_next(self.heads(value), at);
        }
        Ok(())
    }

    /// Prefetches the head of an operation some calls ahead: a process that gives is often ahead of one that takes, and
    /// between cores far apart several lines at once are on their way then.
    #[inline]
    pub(crate) fn fetch_ahead(&self, of: Heads, at: Position) {
        const CALLS: u64 = 4;
        self.head_ahead(of, at, CALLS).prefetch();
    }

    /// Makes the head of the next operation, which this process will write, its own: others have read it.
    #[inline]
    pub(crate) fn own_next(&self, of: Heads, at: Position) {
        self.head_ahead(of, at, 1).prefetch_to_write();
    }

    /// The head of the first segment of the operation so many calls later.
    #[inline]
    fn head_ahead(&self, of: Heads, at: Position, n_calls: u64) -> &Line {
        let later = Position::new(at.call() + n_calls, 0);
        of.of(&self.memory, head_of(later))
    }

    /// Takes a value that fits into its head, if it is as long as there is room for and nothing comes
    /// after it. Returns whether it is.
    #[inline]
    pub(crate) fn take_small(
        &mut self,
        value: Value,
        at: Position,
        into: &mut [u8],
    ) -> Result<bool, Error> {
        let heads = self.heads(value);
        let header = self.await_header(heads, at)?;
        let n_bytes = into.len();
        if !Header::are_alike(header, Header::of_all(self.me, n_bytes).words()) {
            return Ok(false);
        }
        self.fetch_ahead(heads, at);
        let head = heads.of(&self.memory, head_of(at));
        if n_bytes <= WORD_BYTES {
            let [word] = read_small::<1>(head);
            store_word(word, into);
        } else {
            into.copy_from_slice(&read_small::<INLINE_WORDS>(head).as_flattened()[..n_bytes]);
        }
        Ok(true)
    }

    /// What is contributed over an edge that begins on this host.
    pub(crate) fn contribution(&self, edge: usize) -> Value {
        self.layout.contribution(edge)
    }

    /// One half of all bodies of a value.
    pub(crate) fn half(&self, value: Value, half: usize) -> &[Line] {
        self.layout.half(&self.memory, value, half)
    }

    /// The bytes of such a half.
    pub(crate) fn half_bytes(&self) -> usize {
        self.layout.half_bytes()
    }

    /// The operation that ends here has used all bodies: others that need some wait until all
    /// processes have finished it.
    pub(crate) fn have_used_all_bodies(&mut self, end: Position) {
        self.bodies_used_until = end;
    }

    /// The memory of this host.
    #[inline]
    pub(crate) fn memory(&self) -> &[Line] {
        &self.memory
    }

    /// The heads of a value in the memory of this host.
    pub(crate) fn heads(&self, shared: Value) -> Heads {
        self.layout.heads(shared)
    }

    /// Waits for a value in the memory of this host, and returns what is said about it.
    #[inline]
    pub(crate) fn await_header(&mut self, of: Heads, at: Position) -> Result<[u64; 2], Error> {
        let nth = head_of(at);
        match peek_words(of.of(&self.memory, nth), at) {
            Some(header) => Ok(header),
            None => self.await_later_header(of, at),
        }
    }

    fn await_later_header(&mut self, of: Heads, at: Position) -> Result<[u64; 2], Error> {
        let nth = head_of(at);
        let look = |worker: &mut Self| Ok(peek_words(of.of(&worker.memory, nth), at));
        let (header, _) = self.wait(look)?;
        self.transport.woken(Header::from_words(header).writer);
        Ok(header)
    }

    /// Copies a value whose header has come to where the program wants it, as much as fits. Returns
    /// how much that was.
    #[inline]
    pub(crate) fn read_into(
        &self,
        shared: Value,
        at: Position,
        header: &Header,
        into: &mut [u8],
    ) -> usize {
        let cell = self.layout.cell(&self.memory, shared, at, header);
        read(cell, header, into)
    }

    /// Copies some blocks of the value side by side. Returns their length.
    fn select(&mut self, n_blocks: usize, selected: &[u32]) -> usize {
        let bytes = self.header.n_bytes / n_blocks.max(1);
        let to = self.selected.chunks_exact_mut(bytes.max(1));
        for (to, &block) in to.zip(selected) {
            let begin = block as usize * bytes;
            to[..bytes].copy_from_slice(&self.value[begin..begin + bytes]);
        }
        bytes * selected.len()
    }

    /// Some blocks of the value, as [`forward`](Self::forward) takes them.
    pub(crate) fn selection(&mut self, n_blocks: usize, selected: &[u32]) -> &[u8] {
        let n_bytes = self.select(n_blocks, selected);
        &self.selected[..n_bytes]
    }

    /// Takes a value as input `nth` if it has come.
    pub(crate) fn take_input(
        &mut self,
        nth: usize,
        from: Place,
        at: Position,
    ) -> Result<Option<u32>, Error> {
        let begin = nth * self.stride;
        let into = &mut self.inputs[begin..begin + self.stride];
        let shared = match from {
            Place::Contribution(edge) => self.layout.contribution(edge),
            Place::Result(join) => self.layout.result(join),
            Place::Message { other, tag } => return self.take_message(nth, Some(other), tag, at),
            Place::Program => {
                let n_bytes = self.header.n_bytes.min(self.stride);
                into[..n_bytes].copy_from_slice(&self.value[..n_bytes]);
                self.lengths[nth] = n_bytes;
                self.input_headers[nth] = self.header;
                return Ok(Some(self.me));
            }
        };
        let Some(header) = peek(self.layout.head(&self.memory, shared, at), at) else {
            return Ok(None);
        };
        let cell = self.layout.cell(&self.memory, shared, at, &header);
        self.lengths[nth] = read(cell, &header, into);
        self.input_headers[nth] = header;
        Ok(Some(header.writer))
    }

    /// Input `nth` is empty, and what was said about it before still holds.
    pub(crate) fn no_input(&mut self, nth: usize, header: Header) {
        self.lengths[nth] = 0;
        self.input_headers[nth] = Header {
            n_bytes: 0,
            ..header
        };
    }

    /// Takes a message as input `nth` if it has come. Returns who sent it.
    pub(crate) fn take_message(
        &mut self,
        nth: usize,
        from: Option<u32>,
        tag: u32,
        at: Position,
    ) -> Result<Option<u32>, Error> {
        let received = self
            .transport
            .receive(from, self.tag + tag, &mut self.message)?;
        let Some(received) = received else {
            return Ok(None);
        };
        let message = &self.message[..received.bytes];
        let Some((sent_at, header, value)) = Header::read_message(message) else {
            return Ok(None);
        };
        debug_assert_eq!(sent_at, at, "messages of one edge stay in order");
        let n_bytes = value.len().min(self.stride);
        self.inputs[nth * self.stride..][..n_bytes].copy_from_slice(&value[..n_bytes]);
        self.lengths[nth] = n_bytes;
        self.input_headers[nth] = header;
        Ok(Some(received.from))
    }

    /// Waits until `look` finds something, by looking again and again.
    pub(crate) fn wait<R>(
        &mut self,
        mut look: impl FnMut(&mut Self) -> Result<Option<R>, Error>,
    ) -> Result<(R, bool), Error> {
        let policy = self.policy;
        policy.until(self, &mut look, Self::progress)
    }

    /// Waits for a value and takes it as input `nth`.
    pub(crate) fn await_input(
        &mut self,
        nth: usize,
        from: Place,
        at: Position,
    ) -> Result<(), Error> {
        let (by, has_waited) = self.wait(|worker| worker.take_input(nth, from, at))?;
        self.note_woken(by, has_waited, from);
        Ok(())
    }

    pub(crate) fn note_woken(&self, by: u32, has_waited: bool, from: Place) {
        if has_waited && matches!(from, Place::Contribution(_) | Place::Result(_)) {
            self.transport.woken(by);
        }
    }

    /// Waits for a value from elsewhere, and takes it as the value.
    pub(crate) fn await_value(&mut self, from: Place, at: Position) -> Result<(), Error> {
        let (by, has_waited) = self.wait(|worker| worker.take_value(from, at))?;
        self.note_woken(by, has_waited, from);
        Ok(())
    }

    fn take_value(&mut self, from: Place, at: Position) -> Result<Option<u32>, Error> {
        let Some(shared) = self.shared_value(from) else {
            let taken = self.take_input(0, from, at)?;
            if taken.is_some() {
                self.take_over();
            }
            return Ok(taken);
        };
        let Some(header) = peek(self.layout.head(&self.memory, shared, at), at) else {
            return Ok(None);
        };
        let cell = self.layout.cell(&self.memory, shared, at, &header);
        let n_bytes = read(cell, &header, &mut self.value);
        self.header = Header { n_bytes, ..header };
        Ok(Some(header.writer))
    }

    /// Makes input 0 the value.
    fn take_over(&mut self) {
        let n_bytes = self.lengths[0];
        self.value[..n_bytes].copy_from_slice(&self.inputs[..n_bytes]);
        self.header = Header {
            n_bytes,
            ..self.input_headers[0]
        };
    }

    /// Puts the inputs together: they become the value.
    pub(crate) fn merge(&mut self, merge: &Merge, combine: &mut dyn Combine) {
        let n = merge.n_values();
        let n_bytes = merge.apply(
            &self.inputs,
            self.stride,
            &self.lengths[..n],
            combine,
            &mut self.value,
        );
        let headers = self.input_headers[..n].iter();
        let together = headers.copied().reduce(|a, b| a.and(&b));
        self.header = Header {
            n_bytes,
            writer: self.me,
            ..together.unwrap_or_default()
        };
    }

    /// Whether this process is the last of `n` that arrive at a join.
    pub(crate) fn is_last_of(&self, n: usize, join: usize, at: Position) -> bool {
        let line = self.layout.arrivals(join, at);
        let arrivals = self.memory[line].word();
        if arrivals.fetch_add(1, Ordering::AcqRel) + 1 < n as u64 {
            return false;
        }
        // For the next segment in the same cells, which begins after all have finished this one.
        arrivals.store(0, Ordering::Relaxed);
        true
    }

    /// The time of event collectors, if this one is on.
    #[inline]
    pub(crate) fn stamp(&self, collector: Option<u32>) -> u64 {
        match collector {
            Some(_) => self.transport.now(),
            None => 0,
        }
    }

    /// Records a pass through a collector, if it is on.
    #[inline]
    pub(crate) fn record(&mut self, collector: Option<u32>, at: Position, down: u64, up: u64) {
        if let (Some(collector), Some(collect)) = (collector, &mut self.collect) {
            collect(Pass {
                down,
                up,
                call: at.call(),
                collector,
                segment: at.segment() as u32,
            });
        }
    }
}
