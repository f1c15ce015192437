//! A classic rule file, as the library takes it apart.
//!
//! Follows `ompi_coll_tuned_read_rules_config_file`: numbers one after the other, whatever the lines;
//! the first one that cannot be where it is makes the library ignore the whole file. Reading goes on
//! behind it all the same, so that all problems are found.

use super::library::Library;
use super::scanner::{Number, Places, Scanner, Skipped};
use crate::problem::Position;

/// A file, read as one version of the library reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassicFile {
    /// The version of its first line, if the library looks for one and there is one.
    pub version: Option<i64>,
    /// Number of operations, and where it is.
    pub n_operations: Option<(i64, Position)>,
    /// Its operations, as far as they could be read. Of several for one operation the last one holds.
    pub operations: Vec<OperationRules>,
    /// Why the library ignores all of it.
    pub dropped: Option<Dropped>,
    /// Text outside of comments that is no number, which the library skips.
    pub skipped: Vec<Skipped>,
    /// The first number behind the last one that the library reads.
    pub rest: Option<Position>,
}

/// Why the library ignores a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// Where it gives up.
    pub at: Position,
    /// Why, such as `a negative number`.
    pub why: String,
    /// What to write instead.
    pub instead: String,
}

/// The rules of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRules {
    /// Its number.
    pub id: i64,
    /// Where that is.
    pub at: Position,
    /// Where the number of communicator sizes is.
    pub count_at: Position,
    /// By size of communicator.
    pub communicators: Vec<CommunicatorRules>,
    /// The largest size up to each of these.
    largest: Vec<i64>,
}

/// The rules of an operation for communicators of a size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommunicatorRules {
    /// Processes.
    pub size: i64,
    /// Where that is.
    pub at: Position,
    /// Where the number of message sizes is.
    pub count_at: Position,
    /// By size of message.
    pub rules: Vec<MessageRule>,
    /// The largest size up to each of these.
    largest: Vec<i64>,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRule {
    /// The smallest size that it is for, as the library counts it, and where it is.
    pub size: (i64, Position),
    /// Number of the algorithm, and where it is.
    pub algorithm: (i64, Position),
    /// Fan-out, and where it is.
    pub fan_out: (i64, Position),
    /// Size of a segment, and where it is.
    pub segment: (i64, Position),
    /// The most requests at a time, and where it is, where the version reads one.
    pub requests: Option<(i64, Position)>,
}

impl ClassicFile {
    /// Reads the bytes of a file.
    #[must_use]
    pub fn read(text: &[u8], library: Library) -> Self {
        let places = Places::of(text);
        let mut reader = Reader {
            scanner: Scanner::new(text),
            places: &places,
            text,
            dropped: None,
            last: 0,
        };
        let mut file = Self {
            version: None,
            n_operations: None,
            operations: Vec::new(),
            dropped: None,
            skipped: Vec::new(),
            rest: None,
        };
        reader.file(library, &mut file);
        file.dropped = reader.dropped.take();
        if file.n_operations.is_some() {
            let rest = reader.scanner.next_number();
            file.rest = rest.map(|number| places.place(number.at.start));
        }
        // What follows the last number that is looked at matters to nobody.
        file.skipped = reader.scanner.take_skipped(&places);
        file
    }

    /// The rules of an operation that hold; `None` if there are none, or the file is ignored.
    #[must_use]
    pub fn rules_of(&self, id: i64) -> Option<&OperationRules> {
        if self.dropped.is_some() {
            return None;
        }
        self.operations.iter().rev().find(|rules| rules.id == id)
    }
}

/// Adds the largest number so far.
fn push_largest(largest: &mut Vec<i64>, number: i64) {
    let before = largest.last().copied().unwrap_or(number);
    largest.push(before.max(number));
}

impl OperationRules {
    /// Without communicator sizes: the number of the operation, and the place of their count.
    pub(super) fn new((id, at): (i64, Position), count_at: Position) -> Self {
        Self {
            id,
            at,
            count_at,
            communicators: Vec::new(),
            largest: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, rules: CommunicatorRules) {
        push_largest(&mut self.largest, rules.size);
        self.communicators.push(rules);
    }

    /// Which numbers of processes come to an entry: the first, and the last, if there is one.
    #[must_use]
    pub fn reached(&self, nth: usize) -> (i64, Option<i64>) {
        let next = self.communicators.get(nth + 1).map(|next| next.size);
        reached(&self.largest, nth, next)
    }

    /// Follows `ompi_coll_tuned_get_com_rule_ptr`: the last of the first entries that are not larger;
    /// the first entry if it is larger itself.
    #[must_use]
    pub fn for_processes(&self, n_processes: u32) -> Option<&CommunicatorRules> {
        let n = i64::from(n_processes);
        let n_fitting = self.largest.partition_point(|&size| size <= n);
        self.communicators.get(n_fitting.saturating_sub(1))
    }
}

/// Which values come to an entry, where the library stops at the first larger one and takes the last
/// one before it; the first entry takes all that are smaller.
fn reached(largest: &[i64], nth: usize, next: Option<i64>) -> (i64, Option<i64>) {
    let from = if nth == 0 { 0 } else { largest[nth] };
    (from, next.map(|next| next - 1))
}

impl CommunicatorRules {
    /// Without rules: the number of processes, and the place of the count of rules.
    pub(super) fn new((size, at): (i64, Position), count_at: Position) -> Self {
        Self {
            size,
            at,
            count_at,
            rules: Vec::new(),
            largest: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, rule: MessageRule) {
        push_largest(&mut self.largest, rule.size.0);
        self.rules.push(rule);
    }

    /// Which sizes come to a rule: the first, and the last, if there is one.
    #[must_use]
    pub fn reached(&self, nth: usize) -> (i64, Option<i64>) {
        let next = self.rules.get(nth + 1).map(|next| next.size.0);
        reached(&self.largest, nth, next)
    }

    /// The largest size of the rules before one.
    #[must_use]
    pub fn largest_before(&self, nth: usize) -> Option<i64> {
        Some(self.largest[nth.checked_sub(1)?])
    }

    /// Follows `ompi_coll_tuned_get_target_method_params`: the last of the first rules that are not
    /// larger; the first rule if it is larger itself.
    #[must_use]
    pub fn for_size(&self, size: u64) -> Option<&MessageRule> {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let n_fitting = self.largest.partition_point(|&largest| largest <= size);
        self.rules.get(n_fitting.saturating_sub(1))
    }
}

struct Reader<'t> {
    scanner: Scanner<'t>,
    places: &'t Places<'t>,
    text: &'t [u8],
    dropped: Option<Dropped>,
    /// Where the last number ends.
    last: usize,
}

/// The text has come to its end.
struct Ended;

impl Reader<'_> {
    fn drop_file(&mut self, at: Position, why: impl Into<String>, instead: impl Into<String>) {
        let dropped = Dropped {
            at,
            why: why.into(),
            instead: instead.into(),
        };
        self.dropped.get_or_insert(dropped);
    }

    fn at(&self, number: &Number) -> Position {
        self.places.place(number.at.start)
    }

    /// The next number, which is `what`; a negative one makes the library ignore the file.
    fn number(&mut self, what: &str) -> Result<(i64, Position), Ended> {
        let Some(number) = self.scanner.next_number() else {
            let end = self.places.place(self.last.min(self.text.len()));
            self.drop_file(
                end,
                format!("the file ends where {what} is expected"),
                "make the counts before it those of the lines that follow",
            );
            return Err(Ended);
        };
        self.last = number.at.end;
        let at = self.at(&number);
        if number.value < 0 {
            let why = format!("{} where {what} is expected", number.value);
            self.drop_file(at, why, "write a number that is not negative");
        }
        Ok((number.value, at))
    }

    fn file(&mut self, library: Library, file: &mut ClassicFile) {
        if library.reads_version_line() {
            file.version = self.scanner.version_line().map(|number| number.value);
            self.last = self.scanner.here();
        }
        let has_requests = file.version.is_some_and(|version| version > 1);
        let Ok(n_operations) = self.number("the number of operations") else {
            return;
        };
        file.n_operations = Some(n_operations);
        let (n, at) = n_operations;
        let most = library.table.n_collectives;
        if n > most {
            let why = format!("{n} operations, where there are {most}");
            self.drop_file(at, why, "write how many operations follow");
        }
        for _ in 0..n {
            let mut operation = OperationRules::new((0, at), at);
            let ended = self.operation(library, has_requests, &mut operation);
            file.operations.push(operation);
            if ended.is_err() {
                return;
            }
        }
    }

    fn operation(
        &mut self,
        library: Library,
        has_requests: bool,
        operation: &mut OperationRules,
    ) -> Result<(), Ended> {
        (operation.id, operation.at) = self.number("the number of an operation")?;
        operation.count_at = operation.at;
        let most = library.table.n_collectives;
        if operation.id >= most {
            let why = format!("operation {}, where the last is {}", operation.id, most - 1);
            let instead = "write the number of an operation, or correct the counts before it";
            self.drop_file(operation.at, why, instead);
        }
        let (n, at) = self.number("the number of communicator sizes")?;
        operation.count_at = at;
        for _ in 0..n {
            let size = self.number("the size of a communicator")?;
            let mut rules = CommunicatorRules::new(size, size.1);
            let ended = self.communicator(has_requests, &mut rules);
            operation.push(rules);
            ended?;
        }
        Ok(())
    }

    fn communicator(
        &mut self,
        has_requests: bool,
        communicator: &mut CommunicatorRules,
    ) -> Result<(), Ended> {
        let (n, at) = self.number("the number of message sizes")?;
        communicator.count_at = at;
        for nth in 0..n {
            let size = self.number("a message size")?;
            let algorithm = self.number("the number of an algorithm")?;
            let fan_out = self.number("a fan-out")?;
            let segment = self.number("the size of a segment")?;
            let requests = if has_requests && self.scanner.is_digit_next() {
                Some(self.number("a number of requests")?)
            } else {
                None
            };
            if nth == 0 && size.0 > 0 {
                let why = format!("the first message size is {}, not 0", size.0);
                self.drop_file(size.1, why, "begin with a rule for size 0");
            }
            communicator.push(MessageRule {
                size,
                algorithm,
                fan_out,
                segment,
                requests,
            });
        }
        Ok(())
    }
}
