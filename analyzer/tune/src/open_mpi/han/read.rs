//! A rule file of `coll_han`, as the library takes it apart.
//!
//! Follows `mca_coll_han_init_dynamic_rules` of `coll_han_dynamic_file.c`. The first thing that cannot be
//! where it is makes the library ignore the whole file. Reading goes on behind it, so that all problems
//! are found.

use super::super::library::Library;
use super::super::scanner::{Places, Scanner, Skipped};
use super::table::{self, Component, Level, OPERATIONS};
use crate::problem::Position;

/// A file, read as one version of the library reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HanFile {
    /// Number of operations, and where it is.
    pub n_operations: Option<(i64, Position)>,
    /// Its operations, as far as they could be read. Of several for one operation the last one holds.
    pub operations: Vec<HanOperation>,
    /// What the reader cannot take; at the first one it gives up.
    pub faults: Vec<Fault>,
    /// Text outside of comments that is skipped where a number is expected.
    pub skipped: Vec<Skipped>,
    /// The first number behind the last one that the library reads.
    pub rest: Option<Position>,
}

/// Something that the reader cannot take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where it is.
    pub at: Position,
    /// What is there.
    pub why: String,
    /// What to write instead.
    pub instead: String,
    /// Whether `MPI_Init` crashes at it; else the library ignores the whole file.
    pub crashes: bool,
}

/// The rules of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HanOperation {
    /// Its number.
    pub id: u32,
    /// Where it is.
    pub at: Position,
    /// By level; of several for one level the last one holds.
    pub levels: Vec<LevelRules>,
}

/// The rules of an operation at a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelRules {
    /// Which.
    pub level: Level,
    /// Where it is.
    pub at: Position,
    /// By size of communicator.
    pub sizes: Vec<HanSizes>,
}

/// The rules for a size of communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HanSizes {
    /// Processes.
    pub size: i64,
    /// Where that is.
    pub at: Position,
    /// By size of message.
    pub rules: Vec<HanRule>,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HanRule {
    /// The smallest size, and where it is.
    pub size: (u64, Position),
    /// The component, and where it is; `None` for a word that is none.
    pub component: (Option<Component>, Position),
    /// Number of the algorithm of `coll_han`, and where it is; `None` where there is none.
    pub algorithm: Option<(usize, Position)>,
    /// Where lengths of segments are, which the library reads and does not use.
    pub segments: Option<Position>,
}

impl HanFile {
    /// Reads the bytes of a file.
    #[must_use]
    pub fn read(text: &[u8], library: Library) -> Self {
        let places = Places::of(text);
        let mut reader = Reader {
            scanner: Scanner::new(text),
            places: &places,
            has_names: library.version.major >= 5,
            faults: Vec::new(),
            last: 0,
        };
        let mut file = Self {
            n_operations: None,
            operations: Vec::new(),
            faults: Vec::new(),
            skipped: Vec::new(),
            rest: None,
        };
        let is_whole = reader.file(&mut file).is_ok();
        file.faults = std::mem::take(&mut reader.faults);
        file.skipped = reader.scanner.take_skipped(&places);
        if is_whole {
            let rest = reader.scanner.next_word();
            file.rest = rest.map(|(_, at)| places.place(at.start));
        }
        file
    }

    /// The rule for a call, and its line: `get_dynamic_rule`. From the end, the first entry that fits at
    /// each step.
    #[must_use]
    pub fn rule(&self, id: u32, level: Level, n_processes: u32, size: u64) -> Option<&HanRule> {
        let sizes = self.sizes(id, level, n_processes)?;
        sizes.rules.iter().rev().find(|rule| rule.size.0 <= size)
    }

    /// The rules for communicators of this number of processes.
    #[must_use]
    pub fn sizes(&self, id: u32, level: Level, n_processes: u32) -> Option<&HanSizes> {
        if !self.faults.is_empty() {
            return None;
        }
        let n = i64::from(n_processes);
        let operation = self.operations.iter().rev().find(|rules| rules.id == id)?;
        let levels = operation.levels.iter().rev();
        let level = levels.into_iter().find(|rules| rules.level == level)?;
        level.sizes.iter().rev().find(|sizes| sizes.size <= n)
    }
}

struct Reader<'t> {
    scanner: Scanner<'t>,
    places: &'t Places<'t>,
    /// Whether levels and algorithms have names, as from 5.0 on.
    has_names: bool,
    faults: Vec<Fault>,
    /// Where what was read last ends.
    last: usize,
}

/// The text has come to its end, or it is no use to go on.
struct Ended;

/// More faults of one file are not looked for.
const MAX_FAULTS: usize = 10_000;

impl<'t> Reader<'t> {
    fn fault(&mut self, at: Position, why: impl Into<String>, instead: &str) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(Fault {
                at,
                why: why.into(),
                instead: instead.to_owned(),
                crashes: false,
            });
        }
    }

    fn ended(&mut self, what: &str) -> Ended {
        let end = self.places.place(self.last);
        self.fault(
            end,
            format!("the file ends where {what} is expected"),
            "make the counts before it those of what follows",
        );
        Ended
    }

    /// A number that is not below `least`.
    fn number(&mut self, what: &str, least: i64) -> Result<(i64, Position), Ended> {
        let Some(number) = self.scanner.next_number() else {
            return Err(self.ended(what));
        };
        self.last = number.at.end;
        let at = self.places.place(number.at.start);
        if number.value < least {
            let why = format!("{} where {what} is expected", number.value);
            self.fault(at, why, &format!("{least} or more"));
        }
        Ok((number.value, at))
    }

    fn word(&mut self, what: &str) -> Result<(&'t [u8], Position), Ended> {
        let Some((word, at)) = self.scanner.next_word() else {
            return Err(self.ended(what));
        };
        self.last = at.end;
        Ok((word, self.places.place(at.start)))
    }

    fn file(&mut self, file: &mut HanFile) -> Result<(), Ended> {
        let (n, at) = self.number("the number of operations", 1)?;
        file.n_operations = Some((n, at));
        for _ in 0..n {
            let (word, at) = self.word("an operation")?;
            let Some(id) = table::operation_id(word) else {
                let shown = shown(word);
                let why = format!("\"{shown}\" where an operation is expected");
                self.fault(
                    at,
                    why,
                    "a name such as allreduce, or correct counts before it",
                );
                return Err(Ended);
            };
            let mut operation = HanOperation {
                id,
                at,
                levels: Vec::new(),
            };
            let ended = self.operation(&mut operation);
            file.operations.push(operation);
            ended?;
        }
        Ok(())
    }

    fn operation(&mut self, operation: &mut HanOperation) -> Result<(), Ended> {
        let (n, _) = self.number("the number of levels", 0)?;
        for _ in 0..n {
            let (level, at) = self.level()?;
            let mut rules = LevelRules {
                level,
                at,
                sizes: Vec::new(),
            };
            let ended = self.sizes(operation.id, &mut rules);
            operation.levels.push(rules);
            ended?;
        }
        Ok(())
    }

    fn level(&mut self) -> Result<(Level, Position), Ended> {
        const EXPECTED: &str = "a level";
        let (shown, number, at) = if self.has_names {
            let (word, at) = self.word(EXPECTED)?;
            let mut all = Level::ALL.into_iter();
            if let Some(level) = all.find(|level| level.name().as_bytes() == word) {
                return Ok((level, at));
            }
            (shown(word), table::number(word), at)
        } else {
            let (number, at) = self.number(EXPECTED, i64::MIN)?;
            (number.to_string(), Some(number), at)
        };
        let known = number.and_then(|number| usize::try_from(number).ok());
        if let Some(level) = known.and_then(|number| Level::ALL.get(number)) {
            return Ok((*level, at));
        }
        let instead = if self.has_names {
            "intra_node, inter_node or global_communicator, or correct counts before it"
        } else {
            "0 (within a host), 1 (between hosts) or 2 (all), or correct counts before it"
        };
        self.fault(
            at,
            format!("\"{shown}\" where a level is expected"),
            instead,
        );
        Err(Ended)
    }

    fn sizes(&mut self, id: u32, level: &mut LevelRules) -> Result<(), Ended> {
        let (n, _) = self.number("the number of communicator sizes", 0)?;
        for nth in 0..n {
            let (size, at) = self.number("the size of a communicator", 1)?;
            if nth == 0 && size > 1 {
                let why = format!("the first communicator size is {size}, not 1");
                self.fault(
                    at,
                    why,
                    "begin with size 1; after it 0 rules leave it to the library",
                );
            }
            let mut sizes = HanSizes {
                size,
                at,
                rules: Vec::new(),
            };
            let ended = self.rules(id, &mut sizes);
            level.sizes.push(sizes);
            ended?;
        }
        Ok(())
    }

    fn rules(&mut self, id: u32, sizes: &mut HanSizes) -> Result<(), Ended> {
        let (n, _) = self.number("the number of message sizes", 0)?;
        for nth in 0..n {
            let Some((size, at)) = self.scanner.next_size() else {
                return Err(self.ended("a message size"));
            };
            self.last = at.end;
            let at = self.places.place(at.start);
            if nth == 0 && size > 1 {
                let why = format!("the first message size is {size}, not 0");
                self.fault(at, why, "begin with a rule for size 0");
            }
            let (word, word_at) = self.word("a component")?;
            let component = Component::find(word);
            if component.is_none() {
                let why = format!("\"{}\" where a component is expected", shown(word));
                let instead = "tuned, han or basic; a size is a plain number";
                self.fault(word_at, why, instead);
            }
            let algorithm = if self.has_names && component == Some(Component::Han) {
                self.algorithm(id)?
            } else {
                None
            };
            let segments = self.segments()?;
            sizes.rules.push(HanRule {
                size: (size, at),
                component: (component, word_at),
                algorithm,
                segments,
            });
        }
        Ok(())
    }

    /// `@` and the name or number of an algorithm.
    fn algorithm(&mut self, id: u32) -> Result<Option<(usize, Position)>, Ended> {
        if self.scanner.take(b'@') != Some(true) {
            return Ok(None);
        }
        let (word, at) = self.word("an algorithm")?;
        if word == b"default" {
            return Ok(Some((0, at)));
        }
        let shown = shown(word);
        let Some(table) = OPERATIONS.iter().find(|table| table.id == id) else {
            // `mca_coll_han_algorithm_name_to_id` follows a null pointer.
            self.fault(
                at,
                format!("algorithm \"{shown}\" of an operation without algorithms"),
                "han alone",
            );
            if let Some(fault) = self.faults.last_mut() {
                fault.crashes = true;
            }
            return Ok(None);
        };
        let names: Vec<&str> = table.algorithms.iter().map(|of| of.name).collect();
        let by_name = names.iter().position(|name| name.as_bytes() == word);
        let by_number = || usize::try_from(table::number(word)?).ok();
        let number = by_name.map(|nth| nth + 1).or_else(by_number);
        match number.filter(|&number| number <= names.len()) {
            Some(number) => Ok(Some((number, at))),
            None => {
                let why = format!("{} has no algorithm \"{shown}\" in coll_han", table.name);
                self.fault(at, why, &format!("@{}", names.join(", @")));
                Ok(None)
            }
        }
    }

    /// Lengths of segments between brackets.
    fn segments(&mut self) -> Result<Option<Position>, Ended> {
        let before = self.scanner.here();
        if self.scanner.take(b'[') != Some(true) {
            return Ok(None);
        }
        let at = self
            .places
            .place(self.scanner.here().saturating_sub(1).max(before));
        while self.scanner.take(b']') == Some(false) {
            if self.scanner.next_number().is_none() {
                return Err(self.ended("the length of a segment, or ]"));
            }
        }
        Ok(Some(at))
    }
}

/// A word, as it can be shown.
fn shown(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}
