//! From a tree file to what the preloaded library reads: checked before anything is started, and
//! encoded, since the library has no parser of TOML in it.

use std::fs::File;
use std::io::Write;
use std::net::ToSocketAddrs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail};
use collbench_adapt::{OF_FILE, last_of_each, read_log};
use collbench_files::Folder;
use collbench_formats::encode_meta;
use collbench_formats::tree::{Adaptation, Adapting, Policy, Results, TreeRules};
use collbench_instrument::{LauncherRank, Settings, host_name, launched_job};
use collbench_text::inert;
use collbench_tree_files::{Problem, TreeFile};

use super::tell;

/// What the user asks for where there are several candidates.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) policy: Policy,
    /// The file to which decisions are to be written.
    pub(super) log: Option<&'a Path>,
    /// The log of an earlier run, with what it has found.
    pub(super) from: Option<&'a Path>,
}

/// What a tree file says. Its remarks go to stderr. `can_look_up`: hosts of the job have addresses
/// here.
///
/// # Errors
/// If it cannot be read, is wrong, or names hosts that are not there.
pub(super) fn rules_of(
    path: &Path,
    can_look_up: bool,
    asked: &Asked<'_>,
) -> anyhow::Result<TreeRules> {
    let mut file = TreeFile::read(path)?;
    let unknown = unknown_hosts(&file, can_look_up);
    if !unknown.is_empty() {
        bail!("{}", listed(path, &unknown));
    }
    if !file.remarks.is_empty() {
        tell(&listed(path, &file.remarks));
    }
    if let Some(log) = asked.log
        && std::fs::read(log).is_ok_and(|there| !collbench_adapt::is_log(&there))
    {
        bail!(
            "--adapt-log {}: it exists, and is no log of decisions; name another file",
            inert::path(log)
        );
    }
    // Before a new log takes its place.
    let learned = asked
        .from
        .map(|log| learned(log, &file.rules))
        .transpose()?;
    file.rules.adapting = Adapting {
        policy: asked.policy,
        learned: learned.unwrap_or_default(),
        log: asked.log.and_then(|log| begin_log(log, &file)),
    };
    let adaptations = &file.rules.adaptations;
    if asked.policy != Policy::Off && adaptations.iter().any(|of| of.results == Results::Any) {
        let path = inert::path(path);
        tell(&format!(
            "{path}: with results = \"any\", floating-point sums and products may differ in their last digits from \
             run to run"
        ));
    }
    Ok(file.rules)
}

/// What the log of an earlier run has found, for these trees.
///
/// # Errors
/// If it cannot be read, or is no log.
fn learned(path: &Path, rules: &TreeRules) -> anyhow::Result<Vec<String>> {
    let shown = inert::path(path);
    let log = std::fs::read(path).map_err(|error| {
        anyhow!("--adapt-from {shown}: {error}; expected a log that --adapt-log has written")
    })?;
    let (text, entries) = read_log(&String::from_utf8_lossy(&log))
        .with_context(|| format!("--adapt-from {shown}"))?;
    let there = TreeFile::parse_without_hosts(&text).map_err(|mut problems| {
        for problem in &mut problems.0 {
            // Behind the first line of the log, each of its lines behind a mark.
            problem.line += 1;
            problem.column += OF_FILE.len() as u32;
        }
        let listed = listed(path, &problems.0);
        anyhow!("--adapt-from {shown}: the tree file in it is wrong\n{listed}")
    })?;
    if entries.is_empty() {
        tell(&format!(
            "{shown}: no control point in it; the program begins as without it"
        ));
    }
    let entries = last_of_each(entries).into_iter();
    let adapted = entries.filter(|entry| entry.candidates.len() > 1);
    let lines = adapted.map(|mut entry| {
        let line = entry.subject.line;
        let mut adaptations = there.rules.adaptations.iter();
        let adaptation = adaptations.find(|of| of.line == line);
        let here = adaptation.and_then(|of| same_trees(&there.rules, of, rules));
        // No tree begins there: it is counted as one that this run does not have.
        entry.subject.line = here.map_or(0, |here| here.line);
        entry.line().trim_end().to_owned()
    });
    Ok(lines.collect())
}

/// Which adaptation of other rules has the candidates of this one, for the same calls.
fn same_trees<'r>(
    of: &TreeRules,
    adaptation: &Adaptation,
    others: &'r TreeRules,
) -> Option<&'r Adaptation> {
    let own = &of.rules[adaptation.candidates()];
    others.adaptations.iter().find(|other| {
        let others = &others.rules[other.candidates()];
        let mut pairs = own.iter().zip(others);
        own.len() == others.len() && pairs.all(|(one, other)| one.makes_same_trees_as(other))
    })
}

/// Begins a log of decisions; its absolute path. What cannot be written is said, and the program runs without.
fn begin_log(path: &Path, file: &TreeFile) -> Option<String> {
    let begun = std::fs::write(path, collbench_adapt::first_lines(&file.text));
    let absolute = begun.and_then(|()| path.canonicalize());
    let shown = inert::path(path);
    match absolute.map(|path| path.into_os_string().into_string()) {
        Ok(Ok(path)) => {
            if file.rules.adaptations.is_empty() {
                tell(&format!(
                    "{shown}: nothing will be written, as no tree has candidates"
                ));
            }
            return Some(path);
        }
        Ok(Err(_)) => tell(&format!(
            "{shown}: not UTF-8; decisions about trees are not written down"
        )),
        Err(error) => tell(&format!(
            "{shown}: {error}; decisions about trees are not written down"
        )),
    }
    None
}

/// One line for each of the problems.
fn listed(path: &Path, problems: &[Problem]) -> String {
    let path = inert::path(path);
    let lines: Vec<String> = problems.iter().map(|of| format!("{path}:{of}")).collect();
    lines.join("\n")
}

/// The hosts that a tree file names and that the job cannot have: they are not among those of the
/// batch system, or, without one, there is no address for them.
fn unknown_hosts(file: &TreeFile, can_look_up: bool) -> Vec<Problem> {
    if let Some(hosts) = allocated_hosts() {
        return file.unknown_hosts(&hosts);
    }
    if !can_look_up {
        return Vec::new();
    }
    let own = host_name();
    let exists = |name: &str| name == own || (name, 0).to_socket_addrs().is_ok();
    // What a pattern stands for cannot be looked up.
    let names = file.hosts.iter().map(|named| named.name.clone());
    let mut known: Vec<String> = names
        .filter(|name| name.contains('*') || exists(name))
        .collect();
    known.push(own);
    file.unknown_hosts(&known)
}

/// The hosts that a batch system has given this job; `None` without one.
fn allocated_hosts() -> Option<Vec<String>> {
    if let Ok(list) = std::env::var("SLURM_JOB_NODELIST") {
        return Some(slurm_hosts(&list));
    }
    if let Ok(list) = std::env::var("LSB_HOSTS") {
        return Some(list.split_whitespace().map(str::to_owned).collect());
    }
    let file = std::env::var_os("PBS_NODEFILE")?;
    let text = std::fs::read_to_string(file).ok()?;
    Some(text.lines().map(|line| line.trim().to_owned()).collect())
}

/// The hosts of a list of Slurm, such as `login,node[01-03,07]`.
fn slurm_hosts(list: &str) -> Vec<String> {
    let mut hosts = Vec::new();
    let mut depth = 0;
    let parts = list.split(|c| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    for part in parts.filter(|part| !part.is_empty()) {
        expand(part, &mut hosts);
    }
    hosts
}

/// Adds the hosts that a part of the list stands for.
fn expand(part: &str, hosts: &mut Vec<String>) {
    /// More than any cluster has: a list that says more is not expanded.
    const MOST: u64 = 1 << 20;
    let bracketed = part.split_once('[').and_then(|(before, rest)| {
        let (ranges, after) = rest.split_once(']')?;
        Some((before, ranges, after))
    });
    let Some((before, ranges, after)) = bracketed else {
        hosts.push(part.to_owned());
        return;
    };
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (Ok(from), Ok(to)) = (first.parse::<u64>(), last.parse::<u64>()) else {
            continue;
        };
        let width = first.len();
        for number in from..=to.min(from.saturating_add(MOST)) {
            expand(&format!("{before}{number:0width$}{after}"), hosts);
        }
    }
}

/// The file in which the trees are handed over: beside the trace directory, which all hosts share,
/// and not in it, since a run without a trace has none. All processes of a job know its name.
pub(super) fn path_of(settings: &Settings, rank: Option<LauncherRank>) -> PathBuf {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let of_this_command = || {
        let nanoseconds = since.map_or(0, |since| since.as_nanos());
        format!("{}-{nanoseconds}", std::process::id())
    };
    let job = rank.and_then(|_| launched_job());
    let job = job.unwrap_or_else(of_this_command);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let job: String = job
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    let name = format!("{PREFIX}{job}");
    settings.output.with_file_name(name)
}

/// How the names of files begin by which trees are handed over.
const PREFIX: &str = ".collbench-trees-";

/// Trees that are handed over. When dropped, the file is removed, and what the processes have
/// written beside it.
#[derive(Debug)]
pub(super) struct HandedOver<'a> {
    path: &'a Path,
    /// Locked as long as this process lives.
    _file: File,
}

/// Writes what the preloaded library reads.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn hand_over<'a>(rules: &TreeRules, path: &'a Path) -> anyhow::Result<HandedOver<'a>> {
    let (bytes, crc32) = encode_meta(rules)?;
    let shown = || format!("{}, by which trees are handed over", inert::path(path));
    let (folder, name) = split(path).with_context(shown)?;
    std::fs::create_dir_all(folder).with_context(shown)?;
    let folder = Folder::open(folder).with_context(shown)?;
    // Left over if a job with the same number was killed.
    let _ = folder.remove_file(name);
    remove_abandoned(&folder);
    let mut file = create_locked(&folder, name).with_context(shown)?;
    // Before the content: if that cannot be written, the file is removed.
    let handed_over = HandedOver {
        path,
        _file: file.try_clone().with_context(shown)?,
    };
    file.write_all(&crc32.to_le_bytes()).with_context(shown)?;
    file.write_all(&bytes).with_context(shown)?;
    Ok(handed_over)
}

/// Creates a file that is locked, where files can be locked.
fn create_locked(folder: &Folder, name: &str) -> std::io::Result<File> {
    loop {
        let file = folder.create_private(name)?;
        let is_locked = try_lock(&file);
        // Another job may have taken it for abandoned before it was locked.
        if !is_locked || file.metadata()?.nlink() > 0 {
            return Ok(file);
        }
    }
}

/// Removes the files of commands that were killed and could not do it: those that nobody has locked.
fn remove_abandoned(folder: &Folder) {
    for of_job in folder.names().unwrap_or_default() {
        let name = of_job.to_str().unwrap_or_default();
        let is_first = name
            .strip_prefix(PREFIX)
            .is_some_and(|job| !job.contains('.'));
        if !is_first {
            continue;
        }
        if let Ok(file) = folder.file(name)
            && try_lock(&file)
        {
            remove_of_job(folder, name);
        }
    }
}

/// Locks a file for this process, unless another one has locked it, or that cannot be done there.
fn try_lock(file: &File) -> bool {
    // SAFETY: the descriptor is open; flock only uses the descriptor.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Removes the file with this name, and those beside it whose names begin with it and a dot.
fn remove_of_job(folder: &Folder, name: &str) {
    // What cannot be removed stays.
    for of_job in folder.names().unwrap_or_default() {
        let rest = of_job.to_str().and_then(|of_job| of_job.strip_prefix(name));
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) {
            let _ = folder.remove_file(&of_job);
        }
    }
}

fn split(path: &Path) -> anyhow::Result<(&Path, &str)> {
    let name = path.file_name().and_then(|name| name.to_str());
    path.parent().zip(name).context("no path of a file")
}

impl Drop for HandedOver<'_> {
    fn drop(&mut self) {
        let Ok((folder, name)) = split(self.path) else {
            return;
        };
        if let Ok(folder) = Folder::open(folder) {
            remove_of_job(&folder, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use collbench_formats::decode_meta;

    use super::*;

    const TREE: &str = "[[tree]]\noperations = [\"bcast\"]\nshape = \"binomial\"\n";

    fn file_of(hosts: &str) -> TreeFile {
        TreeFile::parse(&format!("{TREE}hosts = [{hosts}]\n"), Path::new("")).unwrap()
    }

    #[test]
    fn a_list_of_slurm_names_each_host_with_its_zeros() {
        assert_eq!(slurm_hosts("a"), ["a"]);
        assert_eq!(
            slurm_hosts("login,n[08-10,2]x,r[1-2]c[0-1]"),
            [
                "login", "n08x", "n09x", "n10x", "n2x", "r1c0", "r1c1", "r2c0", "r2c1"
            ]
        );
        assert!(slurm_hosts("").is_empty());
        assert_eq!(slurm_hosts("a[").len(), 1);
    }

    #[test]
    fn hosts_without_an_address_are_unknown_and_patterns_are_not_looked_up() {
        let own = host_name();
        let file = file_of(&format!("\"{own}\", \"b*\", \"no-such-host.invalid\""));
        let unknown = unknown_hosts(&file, true);
        assert_eq!(unknown.len(), 1, "{unknown:?}");
        assert!(unknown[0].found.contains("no-such-host.invalid"));
        assert_eq!(unknown[0].line, 4);
        assert!(unknown_hosts(&file, false).is_empty());
    }

    #[test]
    fn what_is_handed_over_is_what_the_file_says_and_is_removed_with_all_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".collbench-trees-7");
        let rules = file_of("\"a\"").rules;
        let handed_over = hand_over(&rules, &path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let (crc32, encoded) = bytes.split_first_chunk().unwrap();
        let decoded: TreeRules = decode_meta(encoded, u32::from_le_bytes(*crc32)).unwrap();
        assert_eq!(decoded, rules);
        for name in [".collbench-trees-7.0123", ".collbench-trees-78"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        drop(handed_over);
        let left = std::fs::read_dir(folder.path()).unwrap();
        let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [".collbench-trees-78"]);
    }

    #[test]
    fn what_commands_have_left_that_were_killed_is_removed_and_what_others_use_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in [".collbench-trees-1-5", ".collbench-trees-1-5.0123", "mine"] {
            std::fs::write(path(name), "").unwrap();
        }
        let (one, other) = (path(".collbench-trees-2"), path(".collbench-trees-3"));
        let rules = file_of("\"a\"").rules;
        let first = hand_over(&rules, &one).unwrap();
        std::fs::write(path(".collbench-trees-2.0123"), "").unwrap();
        let second = hand_over(&rules, &other).unwrap();
        let names = || {
            let left = std::fs::read_dir(folder.path()).unwrap();
            let names = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.collect::<std::collections::BTreeSet<_>>()
        };
        let expected = [
            ".collbench-trees-2",
            ".collbench-trees-2.0123",
            ".collbench-trees-3",
            "mine",
        ];
        assert_eq!(names(), expected.map(String::from).into());
        drop((first, second));
        assert_eq!(names(), ["mine".to_owned()].into());
    }
}
