//! Programs that nobody here wrote, all that Debian has at hand: each runs as it is, with an
//! independent counter preloaded, and recorded. It does what it does without recording, every call is
//! counted as the counter counts it, and what is told of messages and algorithms does not contradict
//! itself. `make test-strangers` installs and runs them.
//!
//! What was measured goes into `strangers.md` in cargo's target folder, a table with a row for each
//! program, and what the library calls its algorithms into `strangers-names.md` beside it. `STRANGERS=TEXT,..`
//! runs only those whose name has one of these texts. With `STRANGERS_KEEP=1` runs stay in the folder
//! `strangers` beside the tables, and those that are there are not made again, only analysed.

mod measured;
mod programs;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use collbench_tests::{
    Analysis, Finished, Job, Workspace, analyze, calls_by_class, program, run_in, skipped,
    source_dir, target_dir,
};

use crate::measured::{Figures, Names};
use crate::programs::{Output, PROGRAMS, Program};

/// Everything that can be recorded.
const ALL_LAYERS: &[&str] = &["--layers", "all"];

type ByClass = BTreeMap<String, u64>;

/// The version of an installed Debian package.
fn version(package: &str) -> Option<String> {
    let format = "-f=${db:Status-Status} ${Version}";
    let output = Command::new("dpkg-query")
        .args(["-W", format, package])
        .output()
        .ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    said.strip_prefix("installed ").map(str::to_owned)
}

/// What a run left: how it ended, what each rank said, and the files to compare.
struct Ran {
    finished: Finished,
    said: Vec<String>,
    written: Vec<String>,
}

impl Program {
    fn words(&self) -> Vec<String> {
        let inputs = source_dir().join("inputs");
        let mpi4py = target_dir().join("mpi4py");
        let line = self
            .line
            .replace("{inputs}", inputs.to_str().unwrap())
            .replace("{mpi4py}", mpi4py.to_str().unwrap());
        if line.contains(" < ") {
            return vec!["sh".to_owned(), "-c".to_owned(), line];
        }
        line.split_whitespace().map(str::to_owned).collect()
    }

    /// What of it is not on this machine.
    fn missing(&self) -> Option<String> {
        let package = self.packages.iter().find(|name| version(name).is_none());
        if let Some(package) = package {
            return Some(format!("the package {package} is not installed"));
        }
        let needs_mpi4py = self.line.contains("{mpi4py}");
        (needs_mpi4py && !target_dir().join("mpi4py/source").is_dir())
            .then(|| "mpi4py is not there".to_owned())
    }

    /// The folder of its runs, if they are to be kept.
    fn kept(&self) -> Option<PathBuf> {
        std::env::var_os("STRANGERS_KEEP")?;
        let slug = self
            .name
            .replace(|character: char| !character.is_alphanumeric(), "_");
        let folder = target_dir().join("strangers").join(slug);
        fs::create_dir_all(&folder).unwrap();
        Some(folder)
    }

    /// Runs it by `launch` in an empty folder, which has the same path each time, for programs that say
    /// it, and is `name` below `workspace` afterwards.
    fn run(
        &self,
        workspace: &Path,
        name: &str,
        launch: impl FnOnce(&Job<'_>, &Path) -> Finished,
    ) -> Ran {
        let has_ended = workspace.join(format!("{name}.status"));
        if let Ok(status) = fs::read_to_string(&has_ended) {
            let finished = Finished {
                line: self.line.to_owned(),
                status: status.parse().unwrap(),
                stdout: String::new(),
                stderr: String::new(),
            };
            return self.ran(workspace, name, finished);
        }
        let folder = workspace.join("run");
        let said = workspace.join(format!("{name}.said"));
        // Of a run that was interrupted.
        for left in [&folder, &said] {
            if left.exists() {
                fs::remove_dir_all(left).unwrap();
            }
        }
        fs::create_dir(&folder).unwrap();
        if !self.prepare.is_empty() {
            let inputs = source_dir().join("inputs");
            let variables = [
                ("INPUTS", inputs.to_str().unwrap()),
                ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
                ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ];
            run_in(&folder, &variables, &["sh", "-c", self.prepare]).expect(0);
        }
        let words = self.words();
        let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        let options = ["--output-filename", said.to_str().unwrap()];
        let job = Job {
            launcher_options: &options,
            options: ALL_LAYERS,
            ..Job::new(self.ranks, &*words[0], &arguments)
        };
        let finished = launch(&job, &folder);
        fs::rename(&folder, workspace.join(name)).unwrap();
        fs::write(has_ended, finished.status.to_string()).unwrap();
        self.ran(workspace, name, finished)
    }

    /// What a run has left below `workspace`.
    fn ran(&self, workspace: &Path, name: &str, finished: Finished) -> Ran {
        let folder = workspace.join(name);
        let said = workspace.join(format!("{name}.said"));
        let stream = match self.output {
            Output::Verdicts => "stderr",
            _ => "stdout",
        };
        let read = |path: PathBuf| {
            let bytes = fs::read(path).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Ran {
            finished,
            said: (0..self.ranks)
                .map(|rank| read(said.join(format!("1/rank.{rank}/{stream}"))))
                .collect(),
            written: self
                .writes
                .iter()
                .map(|name| read(folder.join(name)))
                .collect(),
        }
    }

    /// What there is to compare of an output, or a file.
    fn compared(&self, text: &str, output: Output) -> String {
        let mut lines: Vec<&str> = text
            .lines()
            .filter(|line| !self.changes.iter().any(|change| line.contains(change)))
            .collect();
        match output {
            Output::Nothing => String::new(),
            Output::Characters => {
                let mut characters: Vec<char> = text.chars().collect();
                characters.retain(|character| !character.is_whitespace());
                characters.sort_unstable();
                characters.into_iter().collect()
            }
            Output::Verdicts => {
                lines.retain(|line| line.starts_with("OK") || line.starts_with("FAILED"));
                lines.join("\n")
            }
            Output::Lines => {
                lines.sort_unstable();
                lines.join("\n")
            }
        }
    }

    /// In what two runs differ that should not.
    fn differences(&self, plain: &Ran, other: &Ran) -> Vec<String> {
        let mut wrong = Vec::new();
        if plain.finished.status != other.finished.status {
            wrong.push(format!(
                "status {} instead of {}: {}",
                other.finished.status, plain.finished.status, other.finished
            ));
        }
        let output = std::iter::repeat_n(self.output, plain.said.len());
        let outputs = plain.said.iter().zip(&other.said).zip(output).enumerate();
        let files = plain.written.iter().zip(&other.written);
        let files = files.zip(std::iter::repeat(Output::Lines)).enumerate();
        let named = outputs
            .map(|(rank, texts)| (format!("output of rank {rank}"), texts))
            .chain(files.map(|(at, texts)| (self.writes[at].to_owned(), texts)));
        for (what, ((plain, other), output)) in named {
            let [plain, other] = [plain, other].map(|text| self.compared(text, output));
            if let Some(line) = first_difference(&plain, &other) {
                wrong.push(format!("{what}: {line}"));
            }
        }
        wrong
    }
}

/// Where two texts differ first.
fn first_difference(expected: &str, found: &str) -> Option<String> {
    if expected == found {
        return None;
    }
    let (mut expected, mut found) = (expected.lines(), found.lines());
    loop {
        match (expected.next(), found.next()) {
            (None, None) => return Some("ends of lines".to_owned()),
            (one, other) if one != other => return Some(format!("{other:?} instead of {one:?}")),
            _ => {}
        }
    }
}

/// How the classes of calls of a rank differ from what the counter counted.
fn uncounted(program: &Program, folder: &Path, analysis: &Analysis) -> Vec<String> {
    let mut wrong = Vec::new();
    for rank in 0..program.ranks {
        let path = folder.join(format!("counter.{rank}.json"));
        let Ok(text) = fs::read_to_string(&path) else {
            wrong.push(format!("rank {rank}: the counter has counted nothing"));
            continue;
        };
        let counted: ByClass = serde_json::from_str(&text).unwrap();
        let found = calls_by_class(analysis.rank(rank));
        let classes = counted.keys().chain(found.keys());
        let mut classes: Vec<&String> = classes.collect();
        classes.sort_unstable();
        classes.dedup();
        for class in classes {
            let [counted, found] =
                [&counted, &found].map(|counts| counts.get(class).copied().unwrap_or(0));
            if counted != found && !program.varies.contains(&&**class) {
                wrong.push(format!(
                    "rank {rank}: {class}: {found} instead of {counted}"
                ));
            }
        }
    }
    wrong
}

/// Runs one program in all three ways.
fn measure(program: &Program, names: &mut Names) -> (Figures, Vec<String>) {
    let kept = program.kept();
    let passing = kept.is_none().then(Workspace::new);
    let workspace = kept
        .as_deref()
        .or(passing.as_ref().map(Workspace::path))
        .unwrap();
    let plain = program.run(workspace, "plain", |job, folder| job.plain(folder));
    let mut wrong = Vec::new();
    let said = plain.said.concat();
    for words in program.says {
        if !said.contains(words) {
            wrong.push(format!("does not say {words:?}"));
        }
    }
    if plain.finished.status != 0 {
        wrong.push(format!("without recording: {}", plain.finished));
    }

    let counter = self::counter();
    let here = workspace.to_str().unwrap();
    let counted = program.run(workspace, "counted", |job, folder| {
        let variables = [
            ("LD_PRELOAD", counter.to_str().unwrap()),
            ("COUNTER_DIRECTORY", here),
        ];
        let job = Job {
            variables: &variables,
            ..job.clone()
        };
        job.plain(folder)
    });
    if counted.finished.status != plain.finished.status {
        wrong.push(format!("with the counter: {}", counted.finished));
    }

    let recorded = program.run(workspace, "recorded", |job, folder| job.record(folder).0);
    wrong.extend(program.differences(&plain, &recorded));
    let analysis = analyze(&workspace.join("recorded/trace"), &["--full"]);
    if analysis.finished.status != 0 {
        wrong.push(format!("analysis: {}", analysis.finished.stderr));
    }
    if analysis.json.is_null() {
        return (Figures::default(), wrong);
    }
    wrong.extend(uncounted(program, workspace, &analysis));
    let figures = Figures::of(&analysis, names);
    for (what, n) in [
        ("ends of messages meet no other", figures.unpaired),
        (
            "ends of messages are in no complete instance",
            figures.elsewhere,
        ),
        ("calls are told with another name", figures.contradictions),
        (
            "more critical paths begin elsewhere than at the last to come, than are told",
            figures.begin_untold,
        ),
    ] {
        if n != 0 {
            wrong.push(format!("{n} {what}"));
        }
    }
    (figures, wrong)
}

/// Characters of what is wrong with a program that are told.
const LONGEST: usize = 1000;

fn counter() -> PathBuf {
    program("counter.c")
}

const HEAD: &str = "\
| program | package | ranks | calls | messages | instances | with a graph | without a name | \
named by the library | contradictions | unpaired | elsewhere | critical paths | not known | \
all wait for all | begin elsewhere |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: | --- |
";

/// Counts by reason in words, `0` if there are none.
fn by_reason(counts: &BTreeMap<impl AsRef<str>, u64>) -> String {
    let counts = counts.iter().filter(|&(_, &n)| n > 0);
    let said: Vec<String> = counts
        .map(|(reason, n)| format!("{n} {}", reason.as_ref().replace('_', " ")))
        .collect();
    if said.is_empty() {
        "0".to_owned()
    } else {
        said.join(", ")
    }
}

fn row(program: &Program, figures: &Figures) -> String {
    let package = program.packages[0];
    let package = if program.line.contains("{mpi4py}") {
        "mpi4py 4.1.2".to_owned()
    } else {
        format!("{package} {}", version(package).unwrap_or_default())
    };
    format!(
        "| {} | {package} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        program.name,
        program.ranks,
        figures.calls,
        figures.messages,
        figures.instances,
        figures.with_graph,
        figures.without_name,
        figures.said,
        figures.contradictions,
        figures.unpaired,
        figures.elsewhere,
        figures.with_path,
        by_reason(&figures.without_path),
        figures.all_for_all,
        by_reason(&figures.begin_elsewhere),
    )
}

#[test]
fn strangers_do_what_they_do_and_nothing_of_them_is_lost() {
    let chosen = std::env::var("STRANGERS").unwrap_or_default();
    let is_chosen = |program: &&Program| chosen.split(',').any(|text| program.name.contains(text));
    let chosen = PROGRAMS.iter().filter(is_chosen);
    let mut table = HEAD.to_owned();
    let mut names = Names::new();
    let (mut n_run, mut left_out, mut failed) = (0, Vec::new(), String::new());
    for program in chosen {
        if let Some(missing) = program.missing() {
            skipped(&format!("{}: {missing}", program.name));
            left_out.push(program.name);
            continue;
        }
        // What cannot be done with one, such as preparing it, does not keep others from being run.
        let measured = catch_unwind(AssertUnwindSafe(|| measure(program, &mut names)));
        let (figures, wrong) = measured.unwrap_or_else(|panic| {
            let said = panic
                .downcast_ref::<String>()
                .map_or("it panicked", String::as_str);
            (Figures::default(), vec![said.to_owned()])
        });
        let row = row(program, &figures);
        eprint!("{row}");
        table.push_str(&row);
        n_run += 1;
        for wrong in &wrong {
            // All that a program has said may be long; what it comes to stands in front and at the end.
            let wrong = match wrong.char_indices().rev().nth(LONGEST) {
                Some((tail, _)) => format!(
                    "{} ... {}",
                    wrong.lines().next().unwrap_or(""),
                    &wrong[tail..]
                ),
                None => wrong.clone(),
            };
            eprintln!("  WRONG {}: {wrong}", program.name);
            writeln!(failed, "{}: {wrong}", program.name).unwrap();
        }
    }
    let mut named = "| operation | the library's name | told as | instances |\n\
                     | --- | --- | --- | ---: |\n"
        .to_owned();
    for ((operation, library, told), n) in &names {
        writeln!(named, "| {operation} | {library} | {told} | {n} |").unwrap();
    }
    fs::write(target_dir().join("strangers.md"), table).unwrap();
    fs::write(target_dir().join("strangers-names.md"), named).unwrap();
    eprintln!(
        "{n_run} programs recorded, {} left out {left_out:?}",
        left_out.len()
    );
    assert!(failed.is_empty(), "{failed}");
    assert!(n_run > 0, "nothing was recorded");
}
