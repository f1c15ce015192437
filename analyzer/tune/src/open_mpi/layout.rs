//! The file that its author meant, where the counts of the file lead its reader astray.
//!
//! Files are written with a rule on each line, and with each count, size and number of an operation on
//! a line of its own. Where that is so, the lines alone tell what belongs together, and which count is
//! wrong.

use super::classic::{ClassicFile, CommunicatorRules, MessageRule, OperationRules};
use super::library::Library;
use super::scanner::{Number, Places, Scanner};
use crate::problem::{Position, Problem};

/// What the lines of a file say.
#[derive(Debug)]
pub(super) struct Meant {
    /// The file, with all of its rules.
    pub file: ClassicFile,
    /// The counts that are not those of what follows, and other lines that are wrong.
    pub problems: Vec<Problem>,
}

/// A line: its numbers.
type Line = Vec<(i64, Position)>;

/// What the lines say; `None` where they are not written so.
pub(super) fn meant(text: &[u8], library: Library) -> Option<Meant> {
    let (version, lines) = lines(text, library);
    let mut lines = lines.into_iter().peekable();
    let first = lines.next_if(|line| line.len() == 1)?;
    let n_operations = first[0];
    let mut meant = Meant {
        file: ClassicFile {
            version,
            n_operations: Some(n_operations),
            operations: Vec::new(),
            dropped: None,
            skipped: Vec::new(),
            rest: None,
        },
        problems: Vec::new(),
    };
    // Number of communicator sizes of each operation, and of message sizes of each of these.
    let mut counts: Vec<(Counted, Vec<Counted>)> = Vec::new();
    while lines.peek().is_some() {
        let mut heads = Vec::new();
        while let Some(line) = lines.next_if(|line| line.len() == 1) {
            heads.push(line[0]);
        }
        let mut rules = Vec::new();
        while let Some(line) = lines.next_if(|line| line.len() > 1) {
            if line.len() > 5 {
                return None;
            }
            rules.push(line);
        }
        // Two numbers on a line are a head in another layout.
        if rules.first().is_some_and(|rule| rule.len() < 4) {
            return None;
        }
        meant.add_heads(&heads, !rules.is_empty(), &mut counts);
        meant.add_rules(rules);
    }
    meant.compare_counts(&counts);
    Some(meant)
}

/// The version that the library finds, and the lines with numbers.
fn lines(text: &[u8], library: Library) -> (Option<i64>, Vec<Line>) {
    let places = Places::of(text);
    let mut scanner = Scanner::new(text);
    // As much of the line as is there is gone afterwards, as for the reader.
    let version = if library.reads_version_line() {
        scanner.version_line().map(|number| number.value)
    } else {
        None
    };
    let mut lines: Vec<Line> = Vec::new();
    while let Some(Number { value, at }) = scanner.next_number() {
        let at = places.place(at.start);
        match lines.last_mut() {
            Some(line) if line[0].1.line == at.line => line.push((value, at)),
            _ => lines.push(vec![(value, at)]),
        }
    }
    (version, lines)
}

/// A count that the file gives, and where.
#[derive(Debug, Clone, Copy)]
struct Counted {
    given: i64,
    at: Position,
}

impl Meant {
    /// Pairs: an operation with its number of communicator sizes, or a communicator size with its
    /// number of message sizes. The last one before rules is a communicator size.
    fn add_heads(
        &mut self,
        heads: &[(i64, Position)],
        has_rules: bool,
        counts: &mut Vec<(Counted, Vec<Counted>)>,
    ) {
        let heads = if heads.len() % 2 == 1 {
            self.problems.push(Problem {
                at: heads[0].1,
                what: format!(
                    "{} numbers stand alone on lines here, which are no pairs",
                    heads.len()
                ),
                effect: "one is missing or too many, and the library takes all that follows for \
                         something else"
                    .to_owned(),
                instead: Some(
                    "an operation with its number of communicator sizes, a communicator size with its \
                     number of message sizes, each on a line of its own"
                        .to_owned(),
                ),
            });
            // With one too few, the last ones are right.
            &heads[1..]
        } else {
            heads
        };
        let pairs: Vec<_> = heads.chunks_exact(2).collect();
        for (nth, pair) in pairs.iter().enumerate() {
            let (first, second) = (pair[0], pair[1]);
            let is_last = nth + 1 == pairs.len();
            let counted = Counted {
                given: second.0,
                at: second.1,
            };
            let is_size = !self.file.operations.is_empty()
                && if is_last {
                    has_rules || second.0 == 0
                } else {
                    second.0 == 0
                };
            if is_size {
                self.add_size(first, counted, counts);
            } else {
                let rules = OperationRules::new(first, second.1);
                self.file.operations.push(rules);
                counts.push((counted, Vec::new()));
            }
        }
    }

    fn add_size(
        &mut self,
        size: (i64, Position),
        counted: Counted,
        counts: &mut [(Counted, Vec<Counted>)],
    ) {
        let (Some(operation), Some((_, sizes))) =
            (self.file.operations.last_mut(), counts.last_mut())
        else {
            return;
        };
        operation.push(CommunicatorRules::new(size, counted.at));
        sizes.push(counted);
    }

    fn add_rules(&mut self, rules: Vec<Line>) {
        for numbers in rules {
            if numbers.len() < 4 {
                self.problems.push(Problem {
                    at: numbers[0].1,
                    what: format!("a rule of {} numbers", numbers.len()),
                    effect: "the library takes the numbers of the next lines for the missing ones"
                        .to_owned(),
                    instead: Some(
                        "message size, algorithm, fan-out, segment size; 0 where none is meant"
                            .to_owned(),
                    ),
                });
                continue;
            }
            let operation = self.file.operations.last_mut();
            let sizes = operation.and_then(|operation| operation.communicators.last_mut());
            if let Some(sizes) = sizes {
                sizes.push(MessageRule {
                    size: numbers[0],
                    algorithm: numbers[1],
                    fan_out: numbers[2],
                    segment: numbers[3],
                    requests: numbers.get(4).copied(),
                });
            }
        }
    }

    fn compare_counts(&mut self, counts: &[(Counted, Vec<Counted>)]) {
        let mut compare = |counted: Counted, found: usize, of: &str, follow: &str| {
            if counted.given == found as i64 {
                return;
            }
            let effect = if counted.given > found as i64 {
                "the library takes what comes behind for the missing ones"
            } else {
                "the library takes the others for what comes behind"
            };
            self.problems.push(Problem {
                at: counted.at,
                what: format!("{} {of}, but {found} {follow}", counted.given),
                effect: effect.to_owned(),
                instead: Some(found.to_string()),
            });
        };
        if let Some((given, at)) = self.file.n_operations {
            let found = self.file.operations.len();
            compare(Counted { given, at }, found, "operations", "follow");
        }
        for (operation, (counted, sizes)) in self.file.operations.iter().zip(counts) {
            let found = operation.communicators.len();
            compare(*counted, found, "communicator sizes", "follow");
            for (size, counted) in operation.communicators.iter().zip(sizes) {
                compare(*counted, size.rules.len(), "message sizes", "rules follow");
            }
        }
    }
}
