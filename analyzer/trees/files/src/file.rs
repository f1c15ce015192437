//! A whole tree file.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use collbench_formats::tree::{Adaptation, DescribedHost, HostGroup, Level, TreeRules, Waiting};
use collbench_text::inert;
use collbench_trees::wrappers::host_fits;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::document::{Reader, kind_of, shown};
use crate::hosts::NamedHost;
use crate::problem::{Lines, Problem, Problems, nearest, suggestion};
use crate::rules::unused;
use crate::topology;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// The version of tree files that this crate reads.
const VERSION: u64 = 1;
/// The tree file that is called `best`: trees that were measured to be faster than MPI libraries.
pub const BEST: &str = include_str!("best.toml");
/// A name of a tree file that is no path.
const BEST_NAME: &str = "best";
const KEYS: [&str; 6] = ["version", "wait", "site", "switch", "host", "tree"];

/// A tree file that is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// What it says.
    pub rules: TreeRules,
    /// Its text.
    pub text: String,
    /// The hosts that it names, with their places.
    pub hosts: Vec<NamedHost>,
    /// What is right, and yet not what somebody can have meant.
    pub remarks: Vec<Problem>,
}

/// Why there are no trees in a file.
#[derive(Debug, thiserror::Error)]
pub enum TreeFileError {
    /// It cannot be read.
    #[error("{}: {error}{}", inert::path(path), remedy(error))]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is larger than any tree file.
    #[error("{}: larger than {} MiB; expected a tree file", inert::path(path), MAX_BYTES >> 20)]
    TooLarge {
        /// Which file.
        path: PathBuf,
    },
    /// It is wrong.
    #[error("{}", listed(path, problems))]
    Wrong {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problems: Problems,
    },
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; \"collbench-tree make\" writes a file to begin with",
        io::ErrorKind::InvalidData => "; a tree file is text in UTF-8",
        _ => "",
    }
}

/// One line for each of the problems.
fn listed(path: &Path, Problems(problems): &Problems) -> String {
    let path = inert::path(path);
    let lines: Vec<String> = problems.iter().map(|of| format!("{path}:{of}")).collect();
    lines.join("\n")
}

fn text_of(path: &Path) -> Result<String, TreeFileError> {
    let unreadable = |error| TreeFileError::Unreadable {
        path: path.to_owned(),
        error,
    };
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    let limited = &mut file.take(MAX_BYTES + 1);
    limited.read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MAX_BYTES {
        let path = path.to_owned();
        return Err(TreeFileError::TooLarge { path });
    }
    Ok(text)
}

/// The text of a tree file without comments and without the tables of a kind. Other lines keep their numbers.
#[must_use]
pub fn without_tables(text: &str, kind: &str) -> String {
    let mut kept = String::new();
    let mut is_kept = true;
    for line in text.lines() {
        let begin = line.trim_start();
        if let Some(table) = begin.strip_prefix("[[") {
            is_kept = !table.trim_start().starts_with(kind);
        }
        if is_kept && !begin.starts_with('#') && !begin.is_empty() {
            kept.push_str(line);
        }
        kept.push('\n');
    }
    kept
}

impl TreeFile {
    /// Reads and checks a tree file; `best` is the name of [`BEST`].
    ///
    /// # Errors
    /// [`TreeFileError`], with the place of everything that is wrong.
    pub fn read(path: &Path) -> Result<Self, TreeFileError> {
        let is_best = path.to_str() == Some(BEST_NAME);
        let text = if is_best {
            BEST.to_owned()
        } else {
            text_of(path)?
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut file = Self::parse(&text, folder).map_err(|problems| TreeFileError::Wrong {
            path: path.to_owned(),
            problems,
        })?;
        file.rules.is_best = is_best;
        Ok(file)
    }

    /// Checks the text of a tree file; the files that it names are in `folder`.
    ///
    /// # Errors
    /// [`Problems`], with the place of everything that is wrong.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, Problems> {
        let lines = Lines::of(text);
        let document = DeTable::parse(text).map_err(|error| {
            let found = error.message().trim().replace('\n', ", ");
            let remedy = "expected TOML; see \"collbench-tree --help\"";
            let span = error.span().unwrap_or(0..0);
            Problems(vec![Problem::at(&lines, span, found, remedy)])
        })?;
        let mut reader = Reader {
            text: lines,
            problems: Vec::new(),
        };
        let file = reader.file(&document, folder);
        let mut problems = reader.problems;
        if problems.is_empty() {
            return Ok(Self {
                text: text.to_owned(),
                ..file
            });
        }
        problems.sort_by_key(|problem| (problem.line, problem.column));
        Err(Problems(problems))
    }

    /// Checks the text of a tree file, but for what it says of the cores of hosts: that is in other files, which may not
    /// be here.
    ///
    /// # Errors
    /// [`Problems`], with the place of everything that is wrong.
    pub fn parse_without_hosts(text: &str) -> Result<Self, Problems> {
        Self::parse(&without_tables(text, "host"), Path::new(""))
    }

    /// The hosts that the file names and that are not among these, each with its place.
    #[must_use]
    pub fn unknown_hosts(&self, hosts: &[String]) -> Vec<Problem> {
        let is_known = |named: &&NamedHost| hosts.iter().any(|host| host_fits(&named.name, host));
        let unknown = self.hosts.iter().filter(|named| !is_known(named));
        unknown
            .map(|named| Problem {
                line: named.line,
                column: named.column,
                found: format!("no host is called \"{}\"", shown(&named.name)),
                remedy: match nearest(&named.name, hosts.iter().map(String::as_str)) {
                    Some(host) => format!("did you mean \"{}\"?", shown(host)),
                    None => "correct the name, or remove it".to_owned(),
                },
            })
            .collect()
    }
}

impl Reader<'_> {
    fn file(&mut self, document: &Spanned<DeTable<'_>>, folder: &Path) -> TreeFile {
        let table = self.entries(document.get_ref(), 0..0, "a tree file", &KEYS);
        if let Some(value) = table.get("version")
            && let Some(version) = self.number(value, "a version", (0, u64::from(u32::MAX)))
            && version.value != VERSION
        {
            let found = format!("version {}", version.value);
            let remedy = format!("this collbench reads version {VERSION}");
            self.wrong::<()>(version.span, found, remedy);
        }
        let mut file = TreeFile {
            rules: TreeRules::default(),
            text: String::new(),
            hosts: Vec::new(),
            remarks: Vec::new(),
        };
        for (key, level) in [("site", Level::Site), ("switch", Level::Switch)] {
            let values = table.get(key).map(|value| self.tables(value, key));
            for value in values.unwrap_or_default() {
                self.group(value, level, &mut file);
            }
        }
        let hosts = table.get("host").map(|value| self.tables(value, "host"));
        for value in hosts.unwrap_or_default() {
            self.described(value, folder, &mut file);
        }
        file.rules.wait = table.get("wait").and_then(|value| self.waiting(value));
        let mut found_trees = Vec::new();
        let trees = table.get("tree").map(|value| self.tables(value, "tree"));
        if trees.as_ref().is_none_or(Vec::is_empty) && self.problems.is_empty() {
            let remedy = "add [[tree]] with operations and a shape";
            self.wrong::<()>(0..0, "a file without trees", remedy);
        }
        let mut first = 0;
        for value in trees.unwrap_or_default() {
            if let Some(found) = self.tree(value) {
                file.hosts.extend(found.hosts);
                let adaptation = found.adaptation.into_iter();
                let adaptations = adaptation.map(|of| Adaptation { first, ..of });
                file.rules.adaptations.extend(adaptations);
                first += found.rules.len() as u32;
                found_trees.push(found.rules);
            }
        }
        file.remarks = unused(&self.text, &found_trees);
        let rules = found_trees.into_iter().flatten();
        file.rules.rules = rules.map(|(rule, _)| rule).collect();
        file
    }

    /// How processes wait.
    fn waiting(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Waiting> {
        let given = self.string(value, "a way to wait")?;
        let found = Waiting::ALL.into_iter().find(|of| of.name() == given.value);
        if found.is_none() {
            let what = format!("\"{}\" is no way to wait", shown(&given.value));
            let names = Waiting::ALL.iter().map(|of| of.name());
            self.wrong::<()>(given.span, what, suggestion(&given.value, names));
        }
        found
    }

    /// The tables of `[[key]]`.
    fn tables<'v>(
        &mut self,
        value: &'v Spanned<DeValue<'v>>,
        key: &str,
    ) -> Vec<&'v Spanned<DeValue<'v>>> {
        match value.get_ref() {
            DeValue::Array(values) => values.iter().collect(),
            _ => {
                let found = format!("{} instead of a list of tables", kind_of(value));
                self.wrong::<()>(value.span(), found, format!("write [[{key}]]"));
                Vec::new()
            }
        }
    }

    /// A `[[site]]` or a `[[switch]]`.
    fn group(&mut self, value: &Spanned<DeValue<'_>>, level: Level, file: &mut TreeFile) {
        let what = match level {
            Level::Site => "a site",
            _ => "a switch",
        };
        let Some(table) = self.table(value, what, &["name", "hosts"]) else {
            return;
        };
        let name = table.get("name");
        let name = name.and_then(|name| self.string(name, "a name"));
        let Some(hosts) = table.get("hosts") else {
            let remedy = "add hosts = [..]; * in a name stands for any characters";
            self.wrong::<()>(table.span.clone(), format!("{what} without hosts"), remedy);
            return;
        };
        let hosts = self.strings(hosts, "the name of a host");
        for host in &hosts {
            let mut groups = file
                .rules
                .groups
                .iter()
                .filter(|group| group.level == level);
            if let Some(other) = groups.find(|group| group.hosts.contains(&host.value)) {
                let found = format!(
                    "\"{}\" is of {what} \"{}\" already",
                    shown(&host.value),
                    shown(&other.name)
                );
                self.wrong::<()>(host.span.clone(), found, "name it once");
            }
        }
        let text = &self.text;
        file.hosts
            .extend(hosts.iter().map(|host| NamedHost::of(text, host)));
        file.rules.groups.push(HostGroup {
            level,
            name: name.map_or(String::new(), |name| name.value),
            hosts: hosts.into_iter().map(|host| host.value).collect(),
        });
    }

    /// A `[[host]]`: the cores of one or more hosts.
    fn described(&mut self, value: &Spanned<DeValue<'_>>, folder: &Path, file: &mut TreeFile) {
        let Some(table) = self.table(value, "a host", &["hosts", "topology"]) else {
            return;
        };
        let (Some(hosts), Some(path)) = (table.get("hosts"), table.get("topology")) else {
            let remedy = "add hosts = [..] and topology = \"..\", a file of lstopo --of xml";
            self.wrong::<()>(
                table.span.clone(),
                "a host without names or topology",
                remedy,
            );
            return;
        };
        let hosts = self.strings(hosts, "the name of a host");
        let Some(path) = self.string(path, "the path of a file") else {
            return;
        };
        match topology::read(&folder.join(&path.value)) {
            Ok(topology) => {
                let text = &self.text;
                file.hosts
                    .extend(hosts.iter().map(|host| NamedHost::of(text, host)));
                file.rules.hosts.push(DescribedHost {
                    hosts: hosts.into_iter().map(|host| host.value).collect(),
                    topology,
                });
            }
            Err(error) => {
                let remedy = "write it with lstopo --of xml FILE on that host";
                self.wrong::<()>(path.span, error.to_string(), remedy);
            }
        }
    }
}
