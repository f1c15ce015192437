//! Some records of one thread, packed by columns.
//!
//! The fields of a record other than its times have one of few combinations, *shapes*, which repeat
//! as the loops of a program do. The times are stored as steps from call to call, in multiples of
//! the step of the clock. Both parts are then deflated. The alternative not taken is an entropy
//! coder for numbers: it saves a fifth more, but its code contains `unsafe`.

use std::collections::{HashMap, HashSet};

use super::columns::{Columns, deflated, divisor_of, inflated, put, put_signed};
use crate::record::{CommunicatorWord, Record, RecordWord};

/// Records in a block, except in the last one of a chunk: a reader unpacks one block at a time.
pub(super) const BLOCK_RECORDS: usize = 2048;

/// The most bytes that the shape of one record, with its index, takes before deflation.
const MAX_SHAPE_BYTES: usize = 28;
/// The most bytes that the numbers of one record take before deflation: three numbers of 10 bytes.
const MAX_NUMBER_BYTES: usize = 30;
/// Bytes of both parts that do not depend on the number of records.
const FIXED_BYTES: usize = 40;

/// Calls that are otherwise equal have their payload in their shape while there are at most this
/// many different payloads, or while each is used by four calls or more on average.
const MANY_PAYLOADS: usize = 16;

/// How the times of a record follow from those of the records before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Times {
    /// Its own `enter` and `leave`.
    Own = 0,
    /// The times of the record before: both are of one call, such as MPI_Waitall.
    Repeated = 1,
    /// Its own `enter`; `leave` is 0.
    UnderWay = 2,
    /// Its own `enter`, which is also `leave`.
    Instant = 3,
}

impl Times {
    fn of(record: &Record, before: Option<&Record>) -> Self {
        let times = |record: &Record| (record.enter, record.leave);
        match record.leave.get() {
            _ if before.is_some_and(|before| times(before) == times(record)) => Self::Repeated,
            0 => Self::UnderWay,
            leave if leave == record.enter.get() => Self::Instant,
            _ => Self::Own,
        }
    }

    fn from_code(code: u64) -> Self {
        match code & 3 {
            0 => Self::Own,
            1 => Self::Repeated,
            2 => Self::UnderWay,
            _ => Self::Instant,
        }
    }
}

/// The time from which the next gap is counted, after a record.
fn resume(enter: u64, leave: u64) -> u64 {
    leave.max(enter)
}

/// All fields of a record but its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Shape {
    /// Kind, flags and operation.
    code: u16,
    communicator: u32,
    root: i32,
    times: Times,
    /// The lower 48 bits of the second word; `None` if they differ from record to record.
    low: Option<u64>,
}

/// Code, communicator and root of a record.
fn header_of(record: &Record) -> (u16, u32, i32) {
    (
        record.code.get(),
        record.communicator.get(),
        record.root.get(),
    )
}

/// Records by columns: the shapes, and the numbers that are not in shapes.
struct Packed {
    /// Each shape with the lower 48 bits of the second word of its first record.
    shapes: Vec<(Shape, u64)>,
    /// The index of the shape of each record.
    indexes: Vec<usize>,
    /// `enter` of the first record.
    base: u64,
    gaps: Vec<i64>,
    durations: Vec<u64>,
    lows: Vec<i64>,
}

impl Packed {
    fn of(records: &[Record]) -> Self {
        let varying = varying(records);
        let base = records[0].enter.get();
        let mut packed = Self {
            shapes: Vec::new(),
            indexes: Vec::with_capacity(records.len()),
            base,
            gaps: Vec::new(),
            durations: Vec::new(),
            lows: Vec::new(),
        };
        let mut index_of: HashMap<Shape, usize> = HashMap::new();
        let mut last_lows: HashMap<usize, u64> = HashMap::new();
        let mut at = base;
        let mut before = None;
        for record in records {
            let (enter, leave) = (record.enter.get(), record.leave.get());
            let times = Times::of(record, before);
            before = Some(record);
            if times != Times::Repeated {
                packed.gaps.push(enter.wrapping_sub(at).cast_signed());
                at = resume(enter, leave);
            }
            if times == Times::Own {
                packed.durations.push(leave.wrapping_sub(enter));
            }
            let (code, communicator, root) = header_of(record);
            let low = record.word().low();
            let is_varying = varying.contains(&header_of(record));
            let shape = Shape {
                code,
                communicator,
                root,
                times,
                low: (!is_varying).then_some(low),
            };
            let index = *index_of.entry(shape).or_insert_with(|| {
                packed.shapes.push((shape, low));
                packed.shapes.len() - 1
            });
            packed.indexes.push(index);
            if is_varying {
                let last = last_lows.insert(index, low).unwrap_or(low);
                packed.lows.push(low.wrapping_sub(last).cast_signed());
            }
        }
        packed
    }

    fn raw_shapes(&self) -> Vec<u8> {
        let mut raw = Vec::new();
        put(&mut raw, self.shapes.len() as u64);
        for (shape, low) in &self.shapes {
            raw.extend(shape.code.to_le_bytes());
            put(&mut raw, u64::from(shape.communicator));
            put_signed(&mut raw, i64::from(shape.root));
            let varying = if shape.low.is_none() { 4 } else { 0 };
            put(&mut raw, shape.times as u64 | varying);
            put(&mut raw, *low);
        }
        for index in &self.indexes {
            raw.push(*index as u8);
        }
        if self.shapes.len() > 256 {
            raw.extend(self.indexes.iter().map(|index| (index >> 8) as u8));
        }
        raw
    }

    fn raw_numbers(&self) -> Vec<u8> {
        let gaps = self.gaps.iter().map(|gap| gap.unsigned_abs());
        let divisor = divisor_of(gaps.chain(self.durations.iter().copied()));
        let mut columns = [const { Vec::new() }; 3];
        let [gap_bytes, duration_bytes, low_bytes] = &mut columns;
        for gap in &self.gaps {
            put_signed(gap_bytes, gap / divisor.cast_signed());
        }
        for duration in &self.durations {
            put(duration_bytes, duration / divisor);
        }
        for low in &self.lows {
            put_signed(low_bytes, *low);
        }
        let mut raw = Vec::new();
        for number in [
            self.base,
            divisor,
            columns[0].len() as u64,
            columns[1].len() as u64,
        ] {
            put(&mut raw, number);
        }
        raw.extend(columns.concat());
        raw
    }
}

/// Packs at least one and at most [`BLOCK_RECORDS`] records.
pub(super) fn pack(records: &[Record]) -> Vec<u8> {
    let packed = Packed::of(records);
    let (raw_shapes, raw_numbers) = (packed.raw_shapes(), packed.raw_numbers());
    let packed_shapes = deflated(&raw_shapes);
    let mut bytes = Vec::new();
    for length in [raw_shapes.len(), packed_shapes.len(), raw_numbers.len()] {
        put(&mut bytes, length as u64);
    }
    bytes.extend(packed_shapes);
    bytes.extend(deflated(&raw_numbers));
    bytes
}

/// The headers of records with so many payloads (or positions, in completions) that these are not
/// part of the shape.
fn varying(records: &[Record]) -> HashSet<(u16, u32, i32)> {
    let mut uses: HashMap<_, (usize, HashSet<u64>)> = HashMap::new();
    for record in records {
        let (n, lows) = uses.entry(header_of(record)).or_default();
        *n += 1;
        lows.insert(record.word().low());
    }
    uses.retain(|_, (n, lows)| lows.len() > MANY_PAYLOADS && lows.len() * 4 > *n);
    uses.into_keys().collect()
}

/// A shape while a block is unpacked.
struct Unpacked {
    /// Of a shape whose lower bits vary: the word of the last record.
    word: RecordWord,
    third: CommunicatorWord,
    times: Times,
    is_varying: bool,
}

/// Unpacks `n` records and appends them to `records`; `None` if the bytes do not hold `n` records.
pub(super) fn unpack(bytes: &[u8], n: usize, records: &mut Vec<Record>) -> Option<()> {
    let mut head = Columns::new(bytes);
    let [shapes_length, packed_length, numbers_length] =
        [head.length()?, head.length()?, head.length()?];
    let fits = shapes_length <= n * MAX_SHAPE_BYTES + FIXED_BYTES
        && numbers_length <= n * MAX_NUMBER_BYTES + FIXED_BYTES;
    if !fits {
        return None;
    }
    let raw_shapes = inflated(head.take(packed_length)?, shapes_length, shapes_length)?;
    let raw_numbers = inflated(head.rest(), numbers_length, numbers_length)?;

    let mut from = Columns::new(&raw_shapes);
    let n_shapes = from.length().filter(|&n_shapes| n_shapes <= n)?;
    let mut shapes = Vec::with_capacity(n_shapes);
    for _ in 0..n_shapes {
        let code = u16::from_le_bytes(from.take(2)?.try_into().ok()?);
        let communicator = u32::try_from(from.number()?).ok()?;
        let root = i32::try_from(from.signed()?).ok()?;
        let flags = from.number()?;
        let low = from.number()?;
        shapes.push(Unpacked {
            word: RecordWord::of_code(code, 0).with_low(low),
            third: CommunicatorWord::new(communicator, root),
            times: Times::from_code(flags),
            is_varying: flags & 4 != 0,
        });
    }
    let lower = from.take(n)?;
    let upper = if n_shapes > 256 {
        Some(from.take(n)?)
    } else {
        None
    };

    let mut numbers = Columns::new(&raw_numbers);
    let [mut at, divisor] = [numbers.number()?, numbers.number()?];
    let [gaps_length, durations_length] = [numbers.length()?, numbers.length()?];
    let mut gaps = Columns::new(numbers.take(gaps_length)?);
    let mut durations = Columns::new(numbers.take(durations_length)?);
    let mut lows = Columns::new(numbers.rest());
    let (mut enter, mut leave) = (0, 0);
    records.reserve(n);
    for i in 0..n {
        let index = usize::from(lower[i]) | upper.map_or(0, |upper| usize::from(upper[i]) << 8);
        let shape = shapes.get_mut(index)?;
        if shape.times != Times::Repeated {
            let gap = gaps.signed()?.cast_unsigned();
            enter = at.wrapping_add(gap.wrapping_mul(divisor));
            leave = match shape.times {
                Times::Own => enter.wrapping_add(durations.number()?.wrapping_mul(divisor)),
                Times::Instant => enter,
                _ => 0,
            };
            at = resume(enter, leave);
        }
        if shape.is_varying {
            let step = lows.signed()?.cast_unsigned();
            shape.word = shape.word.with_low(shape.word.low().wrapping_add(step));
        }
        let words = [shape.word.bits(), shape.third.bits()];
        records.push(Record::of_words(words, enter, leave));
    }
    (gaps.is_empty() && durations.is_empty() && lows.is_empty()).then_some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{CompletingCall, Completion, Initiation, Operation, phase_words};

    fn repacked(records: &[Record]) -> usize {
        let bytes = pack(records);
        let mut unpacked = Vec::new();
        assert_eq!(unpack(&bytes, records.len(), &mut unpacked), Some(()));
        assert_eq!(unpacked, records);
        bytes.len()
    }

    /// Steps of a clock that advances by 26 ticks.
    fn noise(i: u64) -> u64 {
        26 * (i * i * 7919 % 61)
    }

    #[test]
    fn a_loop_takes_a_byte_for_each_time() {
        let mut at = 1 << 40;
        let records: Vec<Record> = (0..BLOCK_RECORDS as u64)
            .map(|i| {
                let operation = [Operation::Allreduce, Operation::Bcast][(i % 3 == 0) as usize];
                let enter = at + 260 + noise(i);
                at = enter + 2600 + noise(i + 7);
                Record::call(operation, 0, 3, -1, 8 << (i % 3), enter, at)
            })
            .collect();
        let n_bytes = repacked(&records);
        assert!(n_bytes < records.len() * 9 / 4, "{n_bytes} bytes");
    }

    #[test]
    fn completions_of_one_call_take_few_bytes() {
        let records: Vec<Record> = (0..BLOCK_RECORDS as u64)
            .map(|i| {
                let completion = Completion {
                    of: Initiation::Nonblocking {
                        communicator: 1,
                        position: 100 + i,
                    },
                    by: CompletingCall::Waitall,
                    n_together: BLOCK_RECORDS as u32,
                };
                Record::of_words(completion.words(), 5_000, 9_000)
            })
            .collect();
        assert!(repacked(&records) < 100);
    }

    #[test]
    fn nested_calls_calls_under_way_phases_and_wrong_stamps_are_restored() {
        let call = |enter, leave| Record::call(Operation::Barrier, 0, 0, -1, 0, enter, leave);
        repacked(&[
            call(1_000, 9_000),
            call(2_000, 3_000),
            call(2_000, 3_000),
            Record::of_words(phase_words(-7), 9_500, 9_500),
            call(u64::MAX, 4),
            call(3, u64::MAX),
            Record::FREE,
            call(9_900, 0),
        ]);
    }

    proptest! {
        #[test]
        fn any_records_are_restored(words in prop::collection::vec(any::<[u64; 4]>(), 1..400)) {
            let records: Vec<Record> = words
                .iter()
                .map(|words| Record::of_words([words[1], words[2]], words[0], words[3]))
                .collect();
            repacked(&records);
        }

        #[test]
        fn no_bytes_make_it_panic(noise: Vec<u8>, flips: Vec<(usize, u8)>, n in 1usize..300) {
            let mut records = Vec::new();
            let _ = unpack(&noise, n, &mut records);
            let calls = |i: u64| Record::call(Operation::Scan, 0, 0, -1, i * i, 100 * i + 1, 100 * i + 7);
            let mut bytes = pack(&(0..100).map(calls).collect::<Vec<_>>());
            for (at, value) in flips {
                let at = at % bytes.len();
                bytes[at] = value;
            }
            let _ = unpack(&bytes, n, &mut records);
        }
    }
}
