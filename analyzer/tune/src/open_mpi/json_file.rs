//! A rule file of `coll_tuned` in JSON, as Open MPI 6.0 takes it apart.
//!
//! Follows `ompi_coll_tuned_read_rules_json` of `coll_tuned_dynamic_file.c` in the branch `v6.0.x`, the parser in
//! `opal/util/json`, and the published schema. The first thing that cannot be where it is makes the library
//! ignore the whole file. Reading goes on behind it, so that all problems are found.

use std::collections::BTreeMap;

use super::classic::ClassicFile;
use super::han::Fault;
use super::library::Library;
use super::look_up::{Does, Found, LookUp, Placement};
use super::parameters::known_elsewhere;
use super::version::{NAMES_BY_ID, OperationTable, id_of_name};
use crate::json::{Data, Irregularity, Member, Value, parse};
use crate::problem::{MAX_PROBLEMS, Position, Problem};

/// Brackets lie no deeper in one another.
const MAX_DEPTH: usize = 64;

/// A file, read as the library reads it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JsonFile {
    /// Its operations, by number; of several for one operation the last one holds.
    pub(super) operations: BTreeMap<u32, JsonOperation>,
    /// What the reader cannot take; at the first one it gives up.
    pub(super) faults: Vec<Fault>,
    /// What is wrong beside these.
    pub(super) problems: Vec<Problem>,
}

/// The rules of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonOperation {
    pub(super) at: Position,
    /// The first one that a communicator fits holds for it.
    pub(super) entries: Vec<Entry>,
}

/// Rules for communicators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) at: Position,
    /// The smallest and the largest number of processes.
    pub(super) sizes: (i64, i64),
    pub(super) distribution: Distribution,
    /// The first one that a size fits holds for it.
    pub(super) rules: Vec<Rule>,
}

/// On which hosts the processes of a communicator must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Distribution {
    Any,
    OnePerNode,
    SingleNode,
}

/// A rule for sizes of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) at: Position,
    /// The smallest and the largest size.
    pub(super) sizes: (u64, u64),
    /// The number of the algorithm, and where it is; `None` for one that the library does not have, so that it
    /// ignores the rule.
    pub(super) algorithm: Option<(i64, Position)>,
    pub(super) fan_out: (i64, Position),
    pub(super) segment: (i64, Position),
    pub(super) requests: Option<(i64, Position)>,
}

impl Distribution {
    const ALL: [(&'static str, Self); 3] = [
        ("any", Self::Any),
        ("one-per-node", Self::OnePerNode),
        ("single-node", Self::SingleNode),
    ];

    /// Whether communicators whose processes are so are meant.
    pub(super) fn has(self, placement: Placement) -> bool {
        match self {
            Self::Any => true,
            Self::OnePerNode => placement == Placement::OneOnEachHost,
            Self::SingleNode => placement.is_one_host(),
        }
    }

    pub(super) fn name(self) -> &'static str {
        let mut all = Self::ALL.into_iter();
        all.find(|(_, of)| *of == self)
            .map_or("any", |(name, _)| name)
    }
}

impl JsonFile {
    /// Reads the bytes of a file.
    #[must_use]
    pub fn read(text: &[u8], library: Library) -> Self {
        let mut reader = Reader {
            library,
            file: Self::default(),
        };
        reader.text(text);
        reader.file
    }

    /// What makes the library ignore the whole file.
    #[must_use]
    pub fn ignored(&self) -> Option<&Fault> {
        self.faults.first()
    }

    /// Whether an operation has entries that hold on some hosts alone.
    pub(super) fn asks_for_hosts(&self, table: &OperationTable) -> bool {
        let id = u32::try_from(table.id).ok();
        let operation = id.and_then(|id| self.operations.get(&id));
        let mut entries = operation.iter().flat_map(|operation| &operation.entries);
        entries.any(|entry| entry.distribution != Distribution::Any)
    }

    /// The rules that hold for a communicator.
    fn entry(&self, table: &OperationTable, n: u32, placement: Placement) -> Option<&Entry> {
        if !self.faults.is_empty() {
            return None;
        }
        let operation = self.operations.get(&u32::try_from(table.id).ok()?)?;
        let mut entries = operation.entries.iter();
        entries.find(|entry| {
            let (least, most) = entry.sizes;
            entry.distribution.has(placement) && (least..=most).contains(&i64::from(n))
        })
    }

    pub(super) fn look_up(
        &self,
        table: &OperationTable,
        n_processes: u32,
        placement: Placement,
        size: u64,
    ) -> LookUp {
        let Some(entry) = self.entry(table, n_processes, placement) else {
            return LookUp::Nothing(match self.ignored() {
                Some(fault) => format!("the library ignores the whole file: {}", fault.why),
                None => format!(
                    "the file has no rules of {} for this communicator",
                    table.name
                ),
            });
        };
        let found = entry.rules.iter().find_map(|rule| {
            let (algorithm, at) = rule.algorithm?;
            let (least, most) = rule.sizes;
            (least..=most).contains(&size).then_some(Found {
                line: at.line,
                does: Does {
                    algorithm,
                    fan_out: rule.fan_out.0,
                    segment: rule.segment.0,
                },
            })
        });
        found.map_or(LookUp::NoSize("no rule for this size"), LookUp::Rule)
    }

    /// Sizes from which on another rule could hold.
    pub(super) fn starts(
        &self,
        table: &OperationTable,
        n_processes: u32,
        placement: Placement,
    ) -> Vec<u64> {
        let entry = self.entry(table, n_processes, placement);
        let rules = entry.map_or(&[][..], |entry| &entry.rules);
        let ends = rules.iter().map(|rule| rule.sizes);
        ends.flat_map(|(least, most)| [least, most.saturating_add(1)])
            .collect()
    }
}

struct Reader {
    library: Library,
    file: JsonFile,
}

/// A member, as the library finds it: the first one of this name.
fn get<'v>(members: &'v [Member], key: &str) -> Option<&'v Member> {
    members.iter().find(|member| member.key == key)
}

fn members(value: &Value) -> &[Member] {
    match &value.data {
        Data::Object(members) => members,
        _ => &[],
    }
}

impl Reader {
    fn fault(&mut self, at: Position, why: impl Into<String>, instead: impl Into<String>) {
        self.add_fault(at, why.into(), instead.into(), false);
    }

    fn add_fault(&mut self, at: Position, why: String, instead: String, crashes: bool) {
        if self.file.faults.len() < MAX_PROBLEMS {
            self.file.faults.push(Fault {
                at,
                why,
                instead,
                crashes,
            });
        }
    }

    fn remark(
        &mut self,
        at: Position,
        what: impl Into<String>,
        effect: impl Into<String>,
        instead: Option<String>,
    ) {
        if self.file.problems.len() < MAX_PROBLEMS {
            self.file.problems.push(Problem {
                at,
                what: what.into(),
                effect: effect.into(),
                instead,
            });
        }
    }

    fn text(&mut self, text: &[u8]) {
        let document = match parse(text, MAX_DEPTH) {
            Ok(document) => document,
            Err(error) => {
                let what = format!("{} expected, {} found", error.expected, error.found);
                self.no_json(text, error.at, &what, &error.expected);
                return;
            }
        };
        for (at, irregularity) in &document.irregularities {
            let (what, instead) = match irregularity {
                Irregularity::TrailingComma => {
                    self.remark(
                        *at,
                        "a comma before a closing bracket",
                        "the library takes it; other readers of JSON, and of the schema, do not",
                        Some("no comma behind the last one".to_owned()),
                    );
                    continue;
                }
                Irregularity::DuplicateKey(first) => {
                    // Of operations the last one holds.
                    let what = format!("the same key as in {first}");
                    let effect = "the library takes the first one, but of operations the last one";
                    self.remark(*at, what, effect, Some("each key once".to_owned()));
                    continue;
                }
                Irregularity::Comment => ("a comment", "no comment: JSON has none"),
                Irregularity::SingleQuotes => ("single quotation marks", "double ones"),
                Irregularity::LooseLiteral => ("a word", "true, false or null, or quotation marks"),
                Irregularity::LooseNumber => {
                    ("a number that JSON writes otherwise", "a plain number")
                }
                Irregularity::TextAfter => ("text behind the last bracket", "nothing behind it"),
            };
            self.no_json(text, *at, what, instead);
        }
        let root = members(&document.root);
        self.keys(
            root,
            &["rule_file_version", "module", "collectives", "$schema"],
        );
        self.schema(document.root.at, root);
        let Some(collectives) = get(root, "collectives") else {
            let why = "collectives are missing";
            self.fault(
                document.root.at,
                why,
                "\"collectives\": { \"bcast\": [ .. ] }",
            );
            return;
        };
        let Data::Object(operations) = &collectives.value.data else {
            let why = format!("collectives are {}", collectives.value.data.name());
            self.fault(
                collectives.value.at,
                why,
                "an object: operations with their rules",
            );
            return;
        };
        for operation in operations {
            self.operation(operation);
        }
    }

    /// What is no JSON for the library is read as numbers.
    fn no_json(&mut self, text: &[u8], at: Position, what: &str, instead: &str) {
        let why = if !self.file.faults.is_empty() {
            what.to_owned()
        } else if let Some(dropped) = &ClassicFile::read(text, self.library).dropped {
            format!(
                "{what}: the library takes the file for numbers, in which it finds {}",
                dropped.why
            )
        } else {
            format!("{what}: the library takes the file for numbers, and for other rules")
        };
        self.fault(at, why, instead);
    }

    /// What the schema asks for, and the library does not look at.
    fn schema(&mut self, at: Position, root: &[Member]) {
        let effect = "the library does not look at it, but the published schema asks for it";
        for (key, instead) in [
            ("rule_file_version", "\"rule_file_version\": 3"),
            ("module", "\"module\": \"tuned\""),
        ] {
            match get(root, key).map(|member| (&member.value, &member.value.data)) {
                None => {
                    let what = format!("{key} is missing");
                    self.remark(at, what, effect, Some(instead.to_owned()));
                }
                Some((_, Data::Number(_))) if key == "rule_file_version" => {}
                Some((_, Data::String(name))) if key == "module" && name == "tuned" => {}
                Some((value, _)) => {
                    let what = format!("another {key}");
                    self.remark(value.at, what, effect, Some(instead.to_owned()));
                }
            }
        }
    }

    /// Keys that the library does not look for.
    fn keys(&mut self, members: &[Member], known: &[&str]) {
        for member in members {
            if !known.contains(&&*member.key) {
                self.remark(
                    member.at,
                    format!("key \"{}\"", member.key),
                    "the library does not look for it, and says nothing",
                    Some(known.join(", ")),
                );
            }
        }
    }

    fn operation(&mut self, member: &Member) {
        let name = &*member.key;
        let Some(id) = id_of_name(name.as_bytes()) else {
            let with_lines = ["reduce_scatter", "reduce_scatter_block"];
            let meant = with_lines
                .into_iter()
                .find(|of| of.replacen('_', "", 1).replace("_block", "block") == name);
            let instead = meant.map_or_else(
                || format!("one of {}", NAMES_BY_ID.join(", ")),
                |meant| format!("{meant}; the published schema is wrong here"),
            );
            self.fault(
                member.at,
                format!("\"{name}\" where an operation is expected"),
                instead,
            );
            return;
        };
        let Data::Array(values) = &member.value.data else {
            let why = format!("the rules of {name} are {}", member.value.data.name());
            self.fault(member.value.at, why, "an array of rules for communicators");
            return;
        };
        let entries = values.iter().map(|value| self.entry(id, value)).collect();
        let at = member.at;
        let operation = JsonOperation { at, entries };
        if let Some(before) = self.file.operations.insert(id, operation) {
            self.remark(
                before.at,
                format!("{} comes again below", NAMES_BY_ID[id as usize]),
                "the library uses the last rules of an operation only",
                Some("all rules of an operation in one place".to_owned()),
            );
        }
    }

    fn entry(&mut self, id: u32, value: &Value) -> Entry {
        const KEYS: [&str; 4] = [
            "comm_size_min",
            "comm_size_max",
            "comm_rank_distribution",
            "rules",
        ];
        let fields = members(value);
        self.keys(fields, &KEYS);
        let mut entry = Entry {
            at: value.at,
            sizes: (
                self.size(fields, KEYS[0]).unwrap_or(0),
                self.size(fields, KEYS[1]).unwrap_or(i64::from(i32::MAX)),
            ),
            distribution: self.distribution(fields),
            rules: Vec::new(),
        };
        let Some(rules) = get(fields, "rules") else {
            let why = "an entry without rules";
            self.fault(
                value.at,
                why,
                "\"rules\": [ .. ]; an empty array leaves all to the library",
            );
            return entry;
        };
        match &rules.value.data {
            Data::Array(values) => {
                entry.rules = values.iter().map(|value| self.rule(id, value)).collect();
            }
            Data::Object(members) if members.is_empty() => {}
            Data::Object(_) => {
                let why = "rules are an object, for which the library follows a pointer that it has not set";
                self.add_fault(rules.value.at, why.to_owned(), "an array".to_owned(), true);
            }
            other => {
                let why = format!("rules are {}", other.name());
                self.fault(rules.value.at, why, "an array");
            }
        }
        entry
    }

    /// A number of processes, of which the library keeps 32 bits.
    fn size(&mut self, fields: &[Member], key: &str) -> Option<i64> {
        let (number, at) = self.number(fields, key)?;
        let kept = i64::from(number as i32);
        if kept != number {
            self.remark(
                at,
                format!("{key} {}", shown(number)),
                format!("the library keeps 32 bits of it, which are {kept}"),
                Some("nothing: without it there is no bound".to_owned()),
            );
        }
        Some(kept)
    }

    fn distribution(&mut self, fields: &[Member]) -> Distribution {
        let Some(given) = get(fields, "comm_rank_distribution") else {
            return Distribution::Any;
        };
        let names = Distribution::ALL.map(|(name, _)| name).join(", ");
        let Data::String(name) = &given.value.data else {
            let why = format!("comm_rank_distribution is {}", given.value.data.name());
            self.fault(given.value.at, why, names);
            return Distribution::Any;
        };
        let mut all = Distribution::ALL.into_iter();
        if let Some((_, found)) = all.find(|(of, _)| of == name) {
            return found;
        }
        let what = format!("comm_rank_distribution \"{name}\"");
        self.remark(
            given.value.at,
            what,
            "the library takes it for any",
            Some(names),
        );
        Distribution::Any
    }

    /// A number, or `"inf"`; what is neither makes the library ignore the file.
    fn number(&mut self, fields: &[Member], key: &str) -> Option<(i64, Position)> {
        let value = &get(fields, key)?.value;
        let number = match &value.data {
            Data::Number(text) => text.parse().ok(),
            Data::String(text) => {
                let is_infinite = ["inf", "Inf", "INF"].iter().any(|of| text.starts_with(of));
                is_infinite.then_some(i64::MAX)
            }
            _ => None,
        };
        if number.is_none() {
            let shown = match &value.data {
                Data::Number(text) | Data::String(text) => format!("\"{text}\""),
                other => other.name().to_owned(),
            };
            let why = format!("{key} is {shown}");
            self.fault(
                value.at,
                why,
                "a whole number without point, exponent and unit, or \"inf\"",
            );
        }
        Some((number?, value.at))
    }

    fn rule(&mut self, id: u32, value: &Value) -> Rule {
        const KEYS: [&str; 6] = [
            "msg_size_min",
            "msg_size_max",
            "alg",
            "faninout",
            "seg_size",
            "reqs",
        ];
        let fields = members(value);
        self.keys(fields, &KEYS);
        let mut size = |key: &str, otherwise: u64| {
            // The library keeps a size_t.
            let number = self.number(fields, key);
            number.map_or(otherwise, |(number, _)| number as u64)
        };
        let sizes = (size(KEYS[0], 0), size(KEYS[1], i64::MAX as u64));
        let fan_out = self.number(fields, KEYS[3]);
        let fan_out = fan_out.map(|(number, at)| (i64::from(number as i32), at));
        let segment = self.number(fields, KEYS[4]);
        let requests = self.number(fields, KEYS[5]);
        let algorithm = self.algorithm(id, value.at, get(fields, "alg"));
        let place = algorithm.map_or(value.at, |(_, at)| at);
        Rule {
            at: value.at,
            sizes,
            algorithm,
            fan_out: fan_out.unwrap_or((0, place)),
            segment: segment.unwrap_or((0, place)),
            requests: requests.filter(|(number, _)| *number != 0),
        }
    }

    /// The number of an algorithm; 0 where the library finds none.
    fn algorithm(
        &mut self,
        id: u32,
        at: Position,
        alg: Option<&Member>,
    ) -> Option<(i64, Position)> {
        let effect = "the library takes it for algorithm 0: it chooses by itself for these sizes";
        let Some(value) = alg.map(|member| &member.value) else {
            self.remark(
                at,
                "a rule without alg",
                effect,
                Some("\"alg\": a name or a number".to_owned()),
            );
            return Some((0, at));
        };
        let number = match &value.data {
            Data::Number(text) => text.parse::<i64>().ok(),
            Data::String(_) => None,
            other => {
                let what = format!("alg is {}", other.name());
                self.remark(
                    value.at,
                    what,
                    effect,
                    Some("a name or a number".to_owned()),
                );
                return Some((0, value.at));
            }
        };
        let (shown, number, name) = match (&value.data, number) {
            (Data::Number(text), None) => {
                let what = format!("alg is {text}");
                self.remark(
                    value.at,
                    what,
                    effect,
                    Some("a whole number, or a name".to_owned()),
                );
                return Some((0, value.at));
            }
            (Data::String(text), _) => {
                let number = if text.is_empty() {
                    Some(0)
                } else {
                    text.trim_start().parse().ok()
                };
                (format!("\"{text}\""), number, Some(&**text))
            }
            (_, number) => (number.unwrap_or(0).to_string(), number, None),
        };
        let operation = NAMES_BY_ID[id as usize];
        let Some(table) = self.library.operation_by_id(i64::from(id)) else {
            let why =
                format!("{operation} has no algorithms, and the library follows a null pointer");
            self.add_fault(value.at, why, format!("no rules for {operation}"), true);
            return None;
        };
        // The library keeps an int.
        let number = number.map(|number| i64::from(number as i32));
        let is_it = |of: i64, of_name: &str| {
            number == Some(of) || name.is_some_and(|name| name.eq_ignore_ascii_case(of_name))
        };
        if is_it(0, "ignore") {
            return Some((0, value.at));
        }
        let mut algorithms = table.algorithms.iter();
        if let Some(found) = algorithms.find(|of| is_it(of.id, of.name)) {
            return Some((found.id, value.at));
        }
        let elsewhere = known_elsewhere(table, |of| is_it(of.id, of.name))
            .map_or_else(String::new, |(name, version)| {
                format!("; {version} has {name}")
            });
        let names: Vec<&str> = table.algorithms.iter().map(|of| of.name).collect();
        self.remark(
            value.at,
            format!(
                "{operation} has no algorithm {shown} in {}{elsewhere}",
                self.library.version
            ),
            "the library ignores this rule, and goes on to the next one",
            Some(names.join(", ")),
        );
        None
    }
}

/// A number, as it was written.
fn shown(number: i64) -> String {
    match number {
        i64::MAX => "\"inf\"".to_owned(),
        number => number.to_string(),
    }
}
