//! Mutations of the messages inside collectives: who sent what to whom, when, and in which call.
//!
//! All checksums and counts are right behind them, so that the analysis is met, not the reader.
#![allow(clippy::ptr_arg, reason = "all mutations have one form")]

use std::ops::Range;

use collbench_formats::{
    AlgorithmStart, CODE_INTERNAL, Direction, Message, NO_RANK, Operation, Record, RecordKind,
    RecordWord, Running, UNKNOWN_COMMUNICATOR,
};

use crate::byte_mutations::ByteMutation;
use crate::random::Random;
use crate::records::rewrite;

/// Mutations of messages.
pub(crate) const MESSAGE_MUTATIONS: [(&str, ByteMutation); 22] = [
    ("other partners", |bytes, random| {
        each(bytes, random, &|end, random| {
            end.message.partner = match random.below(4) {
                0 => NO_RANK,
                1 => random.hostile() as u32,
                _ => random.below(9) as u32,
            };
        });
    }),
    ("other directions", |bytes, random| {
        each(bytes, random, &|end, _| end.turn());
    }),
    ("sends only", |bytes, random| {
        let to = *random.pick(&[Direction::Send, Direction::Receive]);
        each(bytes, random, &|end, _| end.message.direction = to);
    }),
    ("directions of whole instances", turn_instances),
    ("other tags", |bytes, random| {
        each(bytes, random, &|end, random| {
            end.message.tag = if random.once_in(4) {
                random.hostile() as u16
            } else {
                random.below(4) as u16
            };
        });
    }),
    ("on other communicators", |bytes, random| {
        each(bytes, random, &|end, random| {
            end.message.communicator = match random.below(4) {
                0 => UNKNOWN_COMMUNICATOR,
                1 => random.hostile() as u32,
                _ => random.below(8) as u32,
            };
        });
    }),
    ("other bytes", |bytes, random| {
        each(bytes, random, &|end, random| {
            end.message.bytes = random.hostile()
        });
    }),
    ("nonblocking or not", |bytes, random| {
        each(bytes, random, &|end, _| end.message.is_nonblocking ^= true);
    }),
    ("end before begin", |bytes, random| {
        each(bytes, random, &|end, random| {
            let earlier = end.begin.saturating_sub(random.length(1 << 20) as u64);
            end.end = earlier.max(1);
        });
    }),
    ("no end", |bytes, random| {
        each(bytes, random, &|end, _| end.end = 0)
    }),
    ("came at once", |bytes, random| {
        let later = random.below(3) as u64;
        each(bytes, random, &|end, _| {
            end.end = end.begin.saturating_add(later)
        });
    }),
    ("all begun at once", |bytes, random| {
        let at = std::cell::Cell::new(0);
        each(bytes, random, &|end, random| {
            if at.get() == 0 || random.once_in(8) {
                at.set(end.begin);
            }
            end.end = end.end.max(at.get());
            end.begin = at.get();
        });
    }),
    ("another begin", |bytes, random| {
        each(bytes, random, &|end, random| {
            end.begin = other_time(end.begin, random)
        });
    }),
    ("another end", |bytes, random| {
        each(bytes, random, &|end, random| {
            end.end = other_time(end.end, random)
        });
    }),
    ("doubled", |bytes, random| {
        some(bytes, random, &|records, chosen, random| {
            for &at in chosen.iter().rev() {
                let copy = records[at];
                for _ in 0..random.length(3) {
                    records.insert(at + 1, copy);
                }
            }
        });
    }),
    ("dropped", |bytes, random| {
        some(bytes, random, &|records, chosen, _| {
            for &at in chosen.iter().rev() {
                records.remove(at);
            }
        });
    }),
    ("in another order", |bytes, random| {
        some(bytes, random, &|records, chosen, random| {
            let has_own_times = random.once_in(2);
            for nth in (1..chosen.len()).rev() {
                let (a, b) = (chosen[nth], chosen[random.below(nth + 1)]);
                records.swap(a, b);
                if has_own_times {
                    let (enter, leave) = (records[a].enter, records[a].leave);
                    (records[a].enter, records[a].leave) = (records[b].enter, records[b].leave);
                    (records[b].enter, records[b].leave) = (enter, leave);
                }
            }
        });
    }),
    ("in another call", move_to_another_call),
    ("below a call of the library", |bytes, random| {
        some(bytes, random, &|records, chosen, random| {
            let Some(&at) = chosen.first() else { return };
            let enter = records[at].enter.get();
            let leave = match random.below(3) {
                0 => 0,
                1 => random.hostile(),
                _ => enter.saturating_add(random.length(1 << 16) as u64),
            };
            let operation =
                *random.pick(&[Operation::Bcast, Operation::Barrier, Operation::CommDup]);
            let call = Record::call(operation, CODE_INTERNAL, 0, 0, 8, enter, leave);
            records.insert(at, call);
        });
    }),
    ("a note among them", |bytes, random| {
        some(bytes, random, &|records, chosen, random| {
            for &at in chosen.iter().rev() {
                let note = note(&records[at], random);
                if random.once_in(4) {
                    records[at] = note
                } else {
                    records.insert(at + random.below(2), note)
                }
            }
        });
    }),
    ("without their call", |bytes, random| {
        let one_in = 1 + random.below(8);
        rewrite(bytes, &mut |records| {
            let before: Vec<Record> = records.clone();
            let mut next = before.iter().skip(1);
            records.retain(|record| {
                let has_messages = next.next().is_some_and(is_message);
                let is_call = record.kind() == Some(RecordKind::Call);
                !(is_call && has_messages && random.once_in(one_in))
            });
        });
    }),
    ("their call under way, or of no length", |bytes, random| {
        let one_in = 1 + random.below(8);
        rewrite(bytes, &mut |records| {
            for at in 1..records.len() {
                let is_of_call = is_message(&records[at]) && !is_message(&records[at - 1]);
                if is_of_call && random.once_in(one_in) {
                    let call = &mut records[at - 1];
                    call.leave = match random.below(4) {
                        0 => 0.into(),
                        1 => random.hostile().into(),
                        _ => call.enter,
                    };
                }
            }
        });
    }),
];

/// An end of a message with its times.
struct End {
    message: Message,
    begin: u64,
    end: u64,
}

impl End {
    fn turn(&mut self) {
        self.message.direction = match self.message.direction {
            Direction::Send => Direction::Receive,
            Direction::Receive => Direction::Send,
        };
    }
}

fn is_message(record: &Record) -> bool {
    record.kind() == Some(RecordKind::Message)
}

/// Changes an end; nothing that is no end of a message.
fn change(record: &mut Record, change: impl FnOnce(&mut End)) {
    let Some(message) = record.message() else {
        return;
    };
    let mut end = End {
        message,
        begin: record.enter.get(),
        end: record.leave.get(),
    };
    change(&mut end);
    *record = Record::of_words(end.message.words(), end.begin, end.end);
}

/// Changes some of the ends of a file.
fn each(bytes: &mut Vec<u8>, random: &mut Random, to: &dyn Fn(&mut End, &mut Random)) {
    some(bytes, random, &|records, chosen, random| {
        for &at in chosen {
            change(&mut records[at], |end| to(end, random));
        }
    });
}

/// What is done to records of which some, messages, were chosen: their places, ascending.
type ToChosen<'c> = &'c dyn Fn(&mut Vec<Record>, &[usize], &mut Random);

/// Changes a file by some of its messages: one, those behind one call, a part of them or all.
fn some(bytes: &mut Vec<u8>, random: &mut Random, to: ToChosen<'_>) {
    let choice = random.below(4);
    let one_in = 1 + random.length(40);
    rewrite(bytes, &mut |records| {
        // A rewrite goes through all chunks.
        if choice < 2 && random.once_in(2) {
            return;
        }
        let all = side_by_side(records);
        if all.is_empty() {
            return;
        }
        let chosen: Vec<usize> = match choice {
            0 => random.pick(&all).clone().take(1).collect(),
            1 => random.pick(&all).clone().collect(),
            2 => all.into_iter().flatten().collect(),
            _ => {
                let messages = all.into_iter().flatten();
                messages.filter(|_| random.once_in(one_in)).collect()
            }
        };
        to(records, &chosen, random);
    });
}

/// Where messages stand side by side.
fn side_by_side(records: &[Record]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in (0..records.len()).filter(|&at| is_message(&records[at])) {
        match found.last_mut().filter(|last| last.end == at) {
            Some(last) => last.end += 1,
            None => found.push(at..at + 1),
        }
    }
    found
}

/// A time near another one, or anywhere.
fn other_time(time: u64, random: &mut Random) -> u64 {
    let by = random.length(1 << 24) as u64;
    let time = match random.below(5) {
        0 => random.hostile(),
        1 | 2 => time.saturating_add(by),
        _ => time.saturating_sub(by),
    };
    // 0 would be a free slot.
    time.max(1)
}

/// Turns all messages of every so-manyth call around, as in other files that are changed so: those
/// instances go the other way.
fn turn_instances(bytes: &mut Vec<u8>, random: &mut Random) {
    let (every, first) = (1 + random.below(6), random.below(6));
    let mut n_calls = 0;
    rewrite(bytes, &mut |records| {
        for record in records {
            let is_call = record.operation().is_some() && !record.is_internal();
            n_calls += usize::from(is_call);
            if n_calls % every == first % every {
                change(record, End::turn);
            }
        }
    });
}

/// Takes messages out and puts them behind another call, with their own times or with some within it.
fn move_to_another_call(bytes: &mut Vec<u8>, random: &mut Random) {
    some(bytes, random, &|records, chosen, random| {
        let mut moved: Vec<Record> = Vec::new();
        for &at in chosen.iter().rev() {
            moved.push(records.remove(at));
        }
        moved.reverse();
        let calls: Vec<usize> = (0..records.len())
            .filter(|&at| !is_message(&records[at]))
            .collect();
        if calls.is_empty() {
            return;
        }
        let call = *random.pick(&calls);
        if random.once_in(2) {
            let (enter, leave) = (records[call].enter.get(), records[call].leave.get());
            let step = leave.saturating_sub(enter) / (moved.len() as u64 + 1);
            for (record, nth) in moved.iter_mut().zip(0..) {
                let begin = enter.saturating_add(step.saturating_mul(nth));
                record.enter = begin.into();
                record.leave = begin.saturating_add(step).into();
            }
        }
        let behind = call + 1;
        records.splice(behind..behind, moved);
    });
}

/// A note of either kind, or of none that is known, at about the time of a record.
fn note(record: &Record, random: &mut Random) -> Record {
    let words = match random.below(3) {
        0 => AlgorithmStart {
            index: if random.once_in(2) {
                random.below(4) as u32
            } else {
                random.hostile() as u32
            },
        }
        .words(),
        1 => Running {
            elapsed_ticks: random.hostile(),
            on_core_us: random.hostile() as u32,
            n_blocked: random.hostile() as u16,
            n_preempted: random.hostile() as u16,
        }
        .words(),
        _ => {
            let [second, third] = AlgorithmStart { index: 0 }.words();
            let word = RecordWord::from_bits(second);
            let flipped = 1 << random.below(RecordWord::NUMBER_BITS as usize);
            let number = word.number() ^ flipped;
            let word = RecordWord::new(RecordKind::Note, CODE_INTERNAL, number, word.low());
            [word.bits(), third]
        }
    };
    let at = if random.once_in(4) {
        other_time(record.enter.get(), random)
    } else {
        record.enter.get()
    };
    Record::of_words(words, at, 0)
}

#[cfg(test)]
mod tests {
    use collbench_formats::RankTrace;

    use super::*;
    use crate::base::Bases;
    use crate::records::has_messages;

    #[test]
    fn every_mutation_changes_messages_and_leaves_a_file_without_damage() {
        let scratch = tempfile::tempdir().unwrap();
        let bases = Bases::generate(scratch.path()).unwrap();
        let (_, base) = bases
            .all()
            .iter()
            .find(|(name, _)| *name == "inside")
            .unwrap();
        let name = &base.rank_files()[0];
        let before = base.bytes(name);
        assert!(has_messages(before));
        for (what, mutation) in MESSAGE_MUTATIONS {
            let mut n_changed = 0;
            for number in 0..40 {
                let mut bytes = before.to_vec();
                mutation(&mut bytes, &mut Random::new(5, number));
                n_changed += usize::from(bytes != before);
                let trace = RankTrace::parse(&bytes).unwrap();
                assert_eq!(trace.damage, [], "{what}, {number}");
            }
            assert!(n_changed > 10, "{what}: {n_changed}");
        }
    }
}
