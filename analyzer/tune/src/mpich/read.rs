//! Reads a selection file as the library does, and tells all that is wrong with it.
//!
//! The library reads with json-c, which lets pass comments, commas before closing brackets and single
//! quotation marks, and checks with assertions: what they find ends the program in `MPI_Init`.

use collbench_text::quantity::parse_size;

use super::test::{Test, atoi, known_keys, test};
use super::tree::{Fate, Kind, Node, NodeIdx, Selection, Tree, What};
use super::version::{Algorithm, Version, capitalized};
use crate::json::{self, Data, Irregularity, Member, Value};
use crate::problem::{Position, Problem};

/// json-c's `JSON_TOKENER_DEFAULT_DEPTH`.
const MAX_DEPTH: usize = 32;
/// The library maps a file into memory and reads on to a zero byte.
const PAGE: usize = 4096;
/// For no more unknown keys of a file a known one is looked for.
const MAX_SUGGESTIONS: usize = 50;
/// From here on `validate_tree` takes seconds: it goes through what is inside every test twice.
const SLOW_DEPTH: usize = 24;

/// Whether `text` looks like a selection file of MPICH rather than like another rule file.
#[must_use]
pub fn is_selection(text: &[u8]) -> bool {
    let begin = String::from_utf8_lossy(&text[..text.len().min(65_536)]);
    [
        "\"collective=",
        "'collective=",
        "\"algorithm=MPIR_",
        "\"composition=MPIDI_",
        "\"comm_type=",
    ]
    .iter()
    .any(|key| begin.replace(' ', "").contains(key))
}

/// Reads `text` as `version` does, for what it is by its keys.
#[must_use]
pub fn read(text: &[u8], version: &'static Version) -> Selection {
    read_as(kind_of(text), text, version)
}

/// Reads `text` as `version` does a file of `kind`.
#[must_use]
pub fn read_as(kind: Kind, text: &[u8], version: &'static Version) -> Selection {
    let mut reader = Reader {
        kind,
        version,
        tree: Tree::default(),
        fate: Fate::Loads,
        problems: Vec::new(),
        depth: 0,
        suggestions: MAX_SUGGESTIONS,
    };
    reader.file(text);
    let Reader {
        tree,
        fate,
        problems,
        ..
    } = reader;
    let mut selection = Selection {
        kind,
        fate,
        problems,
        tree,
    };
    selection.add_problems();
    selection
}

fn kind_of(text: &[u8]) -> Kind {
    let text = String::from_utf8_lossy(text).replace(' ', "");
    let count = |key| text.matches(key).count();
    let posix = count("algorithm=MPIDI_POSIX_");
    let of_kind = [
        (count("algorithm=").saturating_sub(posix), Kind::Mpir),
        (count("composition="), Kind::Ch4),
        (posix, Kind::Posix),
    ];
    // The first of equals, hence of a file without any.
    of_kind
        .into_iter()
        .rev()
        .max_by_key(|(n, _)| *n)
        .map_or(Kind::Mpir, |(_, kind)| kind)
}

struct Reader {
    kind: Kind,
    version: &'static Version,
    tree: Tree,
    fate: Fate,
    problems: Vec<Problem>,
    depth: usize,
    /// For how many unknown keys a known one is still looked for.
    suggestions: usize,
}

/// A key with its value, as json-c keeps them: equal keys once.
struct Entry<'a> {
    at: Position,
    /// Without spaces.
    key: String,
    value: &'a Value,
}

fn entries(members: &[Member]) -> Vec<Entry<'_>> {
    let mut index: std::collections::HashMap<&str, usize> = std::collections::HashMap::new();
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for Member { key, at, value } in members {
        match index.get(key.as_str()) {
            // The last value, in the place of the first.
            Some(&entry) => entries[entry].value = value,
            None => {
                index.insert(key, entries.len());
                entries.push(Entry {
                    at: *at,
                    key: key.replace(' ', ""),
                    value,
                });
            }
        }
    }
    entries
}

impl Reader {
    fn problem(&mut self, at: Position, what: String, effect: &str, instead: Option<String>) {
        self.problems.push(Problem {
            at,
            what,
            effect: effect.to_owned(),
            instead,
        });
    }

    /// A problem that ends the program in `MPI_Init`.
    fn fatal(&mut self, at: Position, what: String, message: &str, instead: Option<String>) {
        if self.fate == Fate::Loads {
            self.fate = Fate::Aborts;
        }
        self.problem(
            at,
            what,
            &format!("MPI_Init ends the program ({message})"),
            instead,
        );
    }

    fn undefined(&mut self, at: Position, what: String, effect: &str, instead: Option<String>) {
        self.fate = Fate::Undefined;
        self.problem(at, what, effect, instead);
    }

    fn suggestion(&mut self, key: &str, known: Vec<String>) -> Option<String> {
        self.suggestions = self.suggestions.checked_sub(1)?;
        nearest(key, known)
    }

    fn file(&mut self, text: &[u8]) {
        let start = Position { line: 1, column: 1 };
        if text.is_empty() {
            let effect = "the library cannot map it into memory and crashes in MPI_Init";
            return self.undefined(start, "an empty file".to_owned(), effect, None);
        }
        if text.len().is_multiple_of(PAGE) {
            let what = format!("the file has {} bytes, a multiple of {PAGE}", text.len());
            let effect = "the library reads past its end, which may crash MPI_Init";
            self.problem(
                start,
                what,
                effect,
                Some("add a line end at the end".to_owned()),
            );
        }
        let text = text.split(|byte| *byte == 0).next().unwrap_or(text);
        let document = match json::parse(text, MAX_DEPTH) {
            Ok(document) => document,
            Err(error) => {
                let what = format!("{} expected, {} found", error.expected, error.found);
                let effect = "the library ignores that this is not JSON, and goes on with a tree that it has not set: \
                              mostly MPI_Init ends the program";
                return self.undefined(error.at, what, effect, None);
            }
        };
        for &(at, irregularity) in &document.irregularities {
            self.irregular(at, irregularity);
        }
        match &document.root.data {
            Data::Object(members) => self.tree.root = self.object(members),
            other => {
                let what = format!("the file is {}, not an object", other.name());
                self.undefined(
                    document.root.at,
                    what,
                    "the library crashes in MPI_Init",
                    None,
                );
            }
        }
        self.validate();
        self.first_level();
    }

    /// What json-c reads otherwise than it is meant; it lets comments and the like pass.
    fn irregular(&mut self, at: Position, what: Irregularity) {
        match what {
            Irregularity::DuplicateKey(first) => {
                let effect = "the library takes this value, in the place of the first";
                let instead = Some("keep one of them".to_owned());
                self.problem(at, format!("the same key as at {first}"), effect, instead);
            }
            Irregularity::TextAfter => {
                let effect = "the library does not read it";
                self.problem(
                    at,
                    "text after the end of the object".to_owned(),
                    effect,
                    None,
                );
            }
            _ => {}
        }
    }

    /// `parse_json_tree`. The first of the tests of an object, or its choice.
    fn object(&mut self, members: &[Member]) -> Option<NodeIdx> {
        self.depth += 1;
        let entries = entries(members);
        let mut first = None;
        let mut previous: Option<NodeIdx> = None;
        for (idx, entry) in entries.iter().enumerate() {
            if !matches!(entry.value.data, Data::Object(_)) {
                let what = format!("{} where an object belongs", entry.value.data.name());
                self.fatal(
                    entry.value.at,
                    what,
                    "type == json_type_object",
                    Some("write {}".to_owned()),
                );
            }
            if is_choice(&entry.key) {
                self.depth -= 1;
                if idx > 0 {
                    let what = format!("`{}` among tests", entry.key);
                    let instead = Some(
                        "put it into a test that passes all, such as comm_size=any".to_owned(),
                    );
                    self.fatal(entry.at, what, "unrecognized key", instead);
                }
                return Some(self.choice(&entries, idx));
            }
            let success = match &entry.value.data {
                Data::Object(members) => self.object(members),
                _ => None,
            };
            let what = self.test(entry);
            let node = self.push(Node {
                at: entry.at,
                key: entry.key.clone(),
                what,
                success,
                failure: None,
            });
            match previous {
                Some(previous) => self.tree.nodes[previous].failure = Some(node),
                None => first = Some(node),
            }
            previous = Some(node);
            if self.depth == SLOW_DEPTH {
                let effect = "MPI_Init takes seconds or more: it checks what is inside a test twice, for each test around it";
                self.problem(
                    entry.at,
                    format!("{SLOW_DEPTH} tests in one another"),
                    effect,
                    None,
                );
            }
        }
        self.depth -= 1;
        first
    }

    fn push(&mut self, node: Node) -> NodeIdx {
        self.tree.nodes.push(node);
        self.tree.nodes.len() - 1
    }

    fn test(&mut self, entry: &Entry<'_>) -> What {
        let Some((test, number)) = test(&entry.key, self.version) else {
            let instead = self
                .suggestion(&entry.key, known_keys(self.version))
                .map(|key| format!("write `{key}`"));
            let what = format!(
                "`{}`, a test that MPICH {} does not know",
                entry.key, self.version.number
            );
            self.fatal(entry.at, what, "unknown key", instead);
            return What::Unknown;
        };
        if let Some(number) = number.filter(|number| !number.plain) {
            let what = format!("`{}` has no plain number", entry.key);
            let effect = format!("the library takes it for {}", number.value);
            let instead = bytes_meant(&entry.key).map(|key| format!("write `{key}`"));
            self.problem(entry.at, what, &effect, instead);
        }
        What::Test(test)
    }

    /// `MPII_Create_container` and its kin: the last of the choices in an object counts.
    fn choice(&mut self, entries: &[Entry<'_>], first: usize) -> NodeIdx {
        for entry in &entries[first..] {
            if !is_choice(&entry.key) {
                let what = format!("`{}` beside a choice", entry.key);
                let instead = if entry.key.contains('=')
                    && self.is_parameter(&entries[first].key, &entry.key)
                {
                    Some(format!(
                        "write {{\"{}\": {{\"{}\": {{}}}}}}",
                        entries[first].key, entry.key
                    ))
                } else {
                    None
                };
                self.fatal(entry.at, what, "unrecognized key", instead);
            }
        }
        let choices: Vec<_> = entries
            .iter()
            .filter(|entry| is_choice(&entry.key))
            .collect();
        if let [.., before, last] = choices[..] {
            let what = format!("`{}` after `{}`", last.key, before.key);
            let effect = "the library takes only the last choice of an object";
            self.problem(last.at, what, effect, Some("keep one of them".to_owned()));
        }
        let mut chosen = What::Unknown;
        for entry in choices {
            chosen = self.chosen(entry);
        }
        let last = entries.last().unwrap_or(&entries[first]);
        self.push(Node {
            at: last.at,
            key: last.key.clone(),
            what: chosen,
            success: None,
            failure: None,
        })
    }

    fn is_parameter(&self, choice: &str, key: &str) -> bool {
        let name = choice.strip_prefix("algorithm=").unwrap_or(choice);
        self.version.algorithm(name).is_some_and(|algorithm| {
            algorithm
                .entry
                .reads
                .iter()
                .any(|read| key.starts_with(&format!("{read}=")))
        })
    }

    fn chosen(&mut self, entry: &Entry<'_>) -> What {
        match self.kind {
            Kind::Mpir => self.algorithm(entry),
            Kind::Ch4 => {
                let known = self.version.compositions.concat();
                self.named(entry, "composition=", &known)
                    .map_or(What::Unknown, What::Composition)
            }
            Kind::Posix => {
                let known = self.version.in_shared_memory;
                self.named(entry, "algorithm=", known)
                    .map_or(What::Unknown, |_| What::Posix)
            }
        }
    }

    fn named(&mut self, entry: &Entry<'_>, before: &str, known: &[&str]) -> Option<String> {
        if let Some(name) = entry.key.strip_prefix(before)
            && known.contains(&name)
        {
            return Some(name.to_owned());
        }
        self.unknown_choice(
            entry,
            known.iter().map(|name| format!("{before}{name}")).collect(),
        );
        None
    }

    fn unknown_choice(&mut self, entry: &Entry<'_>, known: Vec<String>) {
        let instead = self
            .suggestion(&entry.key, known)
            .map(|key| format!("write `{key}`"));
        let for_what = match self.kind {
            Kind::Mpir => "MPIR algorithms",
            Kind::Ch4 => "compositions",
            Kind::Posix => "algorithms in shared memory",
        };
        let what = format!(
            "`{}`, which MPICH {} does not have among its {for_what}",
            entry.key, self.version.number
        );
        self.fatal(entry.at, what, "unrecognized key", instead);
    }

    fn algorithm(&mut self, entry: &Entry<'_>) -> What {
        let name = entry.key.strip_prefix("algorithm=").unwrap_or(&entry.key);
        let Some(algorithm) = self
            .version
            .algorithm(name)
            .filter(|_| entry.key.starts_with("algorithm="))
        else {
            let known = self
                .version
                .every_algorithm()
                .map(|known| format!("algorithm={}", known.name()));
            self.unknown_choice(entry, known.collect());
            return What::Unknown;
        };
        if self.version.unknown_when_run.contains(&name) {
            let effect = format!(
                "the first MPI_{} that comes here ends the program",
                capitalized(algorithm.collective)
            );
            self.problem(
                entry.at,
                format!("`{name}`, which files can name but no call can run"),
                &effect,
                None,
            );
        }
        let parameters = self.parameters(entry, algorithm);
        What::Algorithm {
            algorithm,
            parameters,
        }
    }

    /// `parse_container_params`.
    fn parameters(&mut self, entry: &Entry<'_>, algorithm: Algorithm) -> Vec<String> {
        let mut given = Vec::new();
        let mut seen = Vec::new();
        let Data::Object(members) = &entry.value.data else {
            return given;
        };
        for parameter in entries(members) {
            let read = algorithm.entry.reads.iter().find(|read| {
                parameter
                    .key
                    .strip_prefix(**read)
                    .is_some_and(|rest| rest.starts_with('='))
            });
            let Some(&read) = read else {
                self.ignored_parameter(&parameter, algorithm);
                continue;
            };
            self.parameter_value(&parameter, read);
            seen.push(read);
            given.push(parameter.key.clone());
        }
        let unset = algorithm
            .entry
            .reads
            .iter()
            .filter(|read| !seen.contains(read));
        let missing: Vec<_> = unset.map(|read| format!("`{read}=`")).collect();
        if !missing.is_empty() {
            let what = format!("`{}` without {}", entry.key, missing.join(", "));
            let effect = "the library takes what its memory held before";
            self.problem(
                entry.at,
                what,
                effect,
                Some("give all parameters".to_owned()),
            );
        }
        if !algorithm.entry.lacks.is_empty() {
            let what = format!(
                "`{}`, whose {} no file can give",
                entry.key,
                algorithm.entry.lacks.join(", ")
            );
            let effect = "the library takes what its memory held before";
            let setting = format!(
                "choose it by MPIR_CVAR_{}_INTRA_ALGORITHM={}",
                algorithm.collective.to_ascii_uppercase(),
                algorithm.entry.name
            );
            self.problem(entry.at, what, effect, Some(setting));
        }
        given
    }

    fn ignored_parameter(&mut self, parameter: &Entry<'_>, algorithm: Algorithm) {
        let known = algorithm
            .entry
            .reads
            .iter()
            .map(|read| format!("{read}="))
            .collect();
        let instead = self
            .suggestion(&parameter.key, known)
            .map(|key| format!("write `{key}...`"));
        let what = format!(
            "`{}`, which `{}` does not have",
            parameter.key,
            algorithm.name()
        );
        self.problem(parameter.at, what, "the library ignores it", instead);
    }

    fn parameter_value(&mut self, parameter: &Entry<'_>, name: &str) {
        let value = &parameter.key[name.len() + 1..];
        if name == "ccl" {
            return;
        }
        if name == "tree_type" && self.version.names_of_trees {
            if !["kary", "knomial_1", "knomial_2"].contains(&value) {
                let instead = Some("write tree_type=kary, knomial_1 or knomial_2".to_owned());
                let what = format!("`{value}`, no type of tree that files know");
                self.problem(parameter.at, what, "the library takes kary", instead);
            }
            return;
        }
        let number = atoi(value);
        if number.plain {
            return;
        }
        let what = format!("`{}` has no plain number", parameter.key);
        let effect = format!("the library takes it for {}", number.value);
        let named = ["kary", "knomial_1", "knomial_2"]
            .iter()
            .position(|name| *name == value);
        let instead = named
            .filter(|_| name == "tree_type")
            .map(|idx| format!("write `tree_type={idx}`"));
        self.problem(parameter.at, what, &effect, instead);
    }

    /// `validate_tree`.
    fn validate(&mut self) {
        let mut found = Vec::new();
        for node in &self.tree.nodes {
            let What::Test(test) = node.what else {
                continue;
            };
            if node.success.is_none() {
                found.push((
                    node.at,
                    format!("nothing inside `{}`", node.key),
                    "unexpected NULL success path",
                    None,
                ));
            }
            match (test, node.failure.map(|failure| &self.tree.nodes[failure])) {
                (Test::Any { .. }, Some(after)) => {
                    let instead = format!("put `{}` before `{}`", after.key, node.key);
                    let what = format!("`{}` after `{}`, which passes all", after.key, node.key);
                    found.push((
                        after.at,
                        what,
                        "unexpected non-NULL failure path",
                        Some(instead),
                    ));
                }
                (_, None) if test.needs_another() => {
                    let what =
                        format!("nothing after `{}` for calls that do not pass it", node.key);
                    let instead = format!("add `{}` after it", passes_all(&node.key));
                    found.push((node.at, what, "unexpected NULL failure path", Some(instead)));
                }
                _ => {}
            }
        }
        for (at, what, message, instead) in found {
            self.fatal(at, what, message, instead);
        }
    }

    /// `MPIR_Csel_prune` takes all tests that stand beside a collective for collectives.
    fn first_level(&mut self) {
        let mut stray = Vec::new();
        for node in &self.tree.nodes {
            let after = node.failure.map(|failure| &self.tree.nodes[failure]);
            if let (What::Test(Test::Collective(_)), Some(after)) = (&node.what, after)
                && !matches!(after.what, What::Test(Test::Collective(_)))
            {
                stray.push((after.at, after.key.clone()));
            }
        }
        for (at, key) in stray {
            let effect = "the library takes it for a collective, and writes outside a table when a communicator is made";
            self.undefined(at, format!("`{key}` after a collective"), effect, None);
        }
    }
}

fn is_choice(key: &str) -> bool {
    key.starts_with("composition=") || key.starts_with("algorithm=")
}

/// The key that passes all, of the kind of `key`.
fn passes_all(key: &str) -> String {
    let kind: String = key
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect();
    match kind.as_str() {
        "count" | "avg_msg_size" | "total_msg_size" => format!("{kind}=any"),
        _ => "comm_size=any".to_owned(),
    }
}

/// The key with `8k` or `1M` written out.
fn bytes_meant(key: &str) -> Option<String> {
    let digits = key.find(|c: char| c.is_ascii_digit())?;
    let (before, number) = key.split_at(digits);
    if !number.ends_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let bytes = parse_size(number, (0, "0")).ok()?;
    i32::try_from(bytes).ok()?;
    Some(format!("{before}{bytes}"))
}

/// The one of `known` that differs from `key` in the fewest letters, if these are few.
fn nearest(key: &str, known: Vec<String>) -> Option<String> {
    let few = 1 + key.len() / 6;
    let near_in_length = |name: &String| name.len().abs_diff(key.len()) <= few;
    let names = known.into_iter().filter(near_in_length);
    let (distance, name) = names
        .map(|name| (strsim::levenshtein(key, &name), name))
        .min()?;
    (distance <= few).then_some(name)
}
