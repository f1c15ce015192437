//! Runs selection files, and compares.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use collbench_tune::mpich::{
    Call, Choice, Chooser, Fate, Kind, Layout, Plan, Selection, Settings, Version, compiled,
    read_as, write,
};

use super::made_up::{Made, choices, made_up};
use super::program::{build, build_without_names, library_folder, wheel_folder};
use crate::machine::Workspace;

/// Processes of a run.
const RANKS: u32 = 4;

/// No more differences of one file are told.
const MAX_DIFFERENCES: usize = 5;

/// No more calls of a file are made that are said to end the program, each in a run of its own.
const MAX_FATAL: usize = 3;

/// How a run is stopped that does not come to its end, as algorithms may that cannot do a call.
const SECONDS: &str = "300";

/// The MPICH that reads selection files.
#[derive(Debug)]
pub struct MpichLibrary {
    program: PathBuf,
    launcher: PathBuf,
    /// Folder of its shared libraries.
    libraries: PathBuf,
    /// Whether the program tells which algorithms run.
    tells_algorithms: bool,
    version: &'static Version,
    mpir: String,
    ch4: String,
    calls: Vec<Listed>,
}

/// What was compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MpichAgreed {
    /// Files.
    pub files: u64,
    /// Files with which `MPI_Init` was said to end the program, or it was said to be undefined.
    pub refused: u64,
    /// Files that were loaded as was said, and with which `MPI_Init` then ended in a collective.
    pub ended_later: u64,
    /// Calls that were made and compared: one for each process.
    pub calls: u64,
    /// Algorithms that ran in them, those inside others included.
    pub algorithms: u64,
    /// Different algorithms among them.
    pub names: BTreeMap<String, u64>,
    /// Calls that were said to end the program, of which some of each file were made.
    pub fatal: u64,
    /// Those that were made.
    pub fatal_made: u64,
    /// Calls of which it was said that what they do is undefined, which were not made.
    pub undefined: u64,
    /// What was said otherwise than it happened.
    pub differences: Vec<String>,
}

impl MpichAgreed {
    /// Both together.
    pub fn add(&mut self, other: Self) {
        self.files += other.files;
        self.refused += other.refused;
        self.ended_later += other.ended_later;
        self.calls += other.calls;
        self.algorithms += other.algorithms;
        for (name, n) in other.names {
            *self.names.entry(name).or_default() += n;
        }
        self.fatal += other.fatal;
        self.fatal_made += other.fatal_made;
        self.undefined += other.undefined;
        self.differences.extend(other.differences);
    }
}

/// A call as the program lists it.
#[derive(Debug, Clone)]
struct Listed {
    /// World ranks of its communicator.
    members: Vec<u32>,
    call: Call,
    line: String,
}

/// What is said of a call on one process.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Said {
    /// These run, with their depths.
    Runs(Vec<(usize, String)>),
    Fatal(String),
    Undefined,
}

impl MpichLibrary {
    /// Debian's, if `scripts/mpis.sh` has unpacked it.
    ///
    /// # Panics
    ///
    /// If the program cannot be compiled, or the library has no files compiled in.
    #[must_use]
    pub fn of_debian() -> Option<Self> {
        let usr = library_folder();
        let libraries = usr.join("lib/x86_64-linux-gnu");
        let bytes = fs::read(libraries.join("libmpich.so.12")).ok()?;
        let launcher = usr.join("bin/mpiexec.hydra");
        Some(Self::of("4.0.2", &bytes, build(), launcher, libraries))
    }

    /// MPICH 5.0.2, if `scripts/mpis.sh` has installed it: only whether it loads a file is seen of it.
    ///
    /// # Panics
    ///
    /// As [`Self::of_debian`].
    #[must_use]
    pub fn five() -> Option<Self> {
        let root = wheel_folder();
        let libraries = root.join("lib");
        let bytes = fs::read(libraries.join("libmpi.so.12")).ok()?;
        let library = Self::of(
            "5.0.2",
            &bytes,
            build_without_names(),
            root.join("bin/mpiexec"),
            libraries,
        );
        Some(Self {
            tells_algorithms: false,
            ..library
        })
    }

    fn of(
        version: &str,
        library: &[u8],
        program: PathBuf,
        launcher: PathBuf,
        libraries: PathBuf,
    ) -> Self {
        let list = Command::new(&program)
            .arg("list")
            .output()
            .expect("the program runs");
        let calls = String::from_utf8_lossy(&list.stdout)
            .lines()
            .map(listed)
            .collect();
        let compiled_in = |kind| {
            let found = compiled(library, kind).expect("MPICH has its selection files as text");
            String::from_utf8_lossy(found).into_owned()
        };
        Self {
            program,
            launcher,
            libraries,
            tells_algorithms: true,
            version: Version::of(version),
            mpir: compiled_in(Kind::Mpir),
            ch4: compiled_in(Kind::Ch4),
            calls,
        }
    }

    /// File `number` of `seed`, run and compared.
    ///
    /// # Panics
    ///
    /// If files cannot be written.
    #[must_use]
    pub fn compare(&self, seed: u64, number: u64, shows: bool) -> MpichAgreed {
        let made = made_up(seed, number, &self.mpir, &self.ch4);
        if shows {
            println!("{:?} {:?}", made.faults, made.settings);
            println!("{}", String::from_utf8_lossy(&made.mpir));
            println!(
                "{}",
                made.ch4
                    .as_deref()
                    .map(String::from_utf8_lossy)
                    .unwrap_or_default()
            );
        }
        Run::compared(self, &made, number, shows).agreed
    }

    /// Choices of number `number` of `seed`, written as a file and run: whether the algorithms that were
    /// chosen ran, and all else as it is said.
    ///
    /// # Panics
    ///
    /// If choices that can be done cannot be written.
    #[must_use]
    pub fn compare_written(&self, seed: u64, number: u64, shows: bool) -> MpichAgreed {
        let choices = choices(seed, number);
        let written = write(&choices, self.version, self.mpir.as_bytes())
            .expect("choices that can be written");
        let made = Made {
            mpir: written
                .file
                .unwrap_or_else(|| self.mpir.clone())
                .into_bytes(),
            settings: written.variables,
            ..Made::default()
        };
        if shows {
            println!(
                "{choices:#?}\n{:?}\n{}",
                made.settings,
                String::from_utf8_lossy(&made.mpir)
            );
        }
        let mut run = Run::compared(self, &made, number, shows);
        run.compare_choices(&choices);
        run.agreed
    }
}

struct Run<'a> {
    library: &'a MpichLibrary,
    work: Workspace,
    made: &'a Made,
    number: u64,
    agreed: MpichAgreed,
}

/// How a run ended, and what each process wrote.
struct Ended {
    is_well: bool,
    initialized: bool,
    text: String,
    /// Of each process: by index of the call, what ran; communicators by their index behind all calls.
    ran: Vec<BTreeMap<usize, Vec<(usize, String)>>>,
}

impl<'a> Run<'a> {
    /// What is made up, run and compared.
    fn compared(library: &'a MpichLibrary, made: &'a Made, number: u64, shows: bool) -> Self {
        let mut run = Self {
            library,
            work: Workspace::new(),
            made,
            number,
            agreed: MpichAgreed::default(),
        };
        run.agreed.files = 1;
        run.compare(shows);
        run
    }

    fn differs(&mut self, what: String) {
        // After a call that ends the program, all others are missing.
        if self.agreed.differences.len() == MAX_DIFFERENCES {
            return;
        }
        let what = format!("file {} {:?}: {what}", self.number, self.made.faults);
        self.agreed.differences.push(what);
    }

    fn compare(&mut self, shows: bool) {
        let mpir = read_as(Kind::Mpir, &self.made.mpir, self.library.version);
        let ch4_text = self
            .made
            .ch4
            .clone()
            .unwrap_or_else(|| self.library.ch4.clone().into_bytes());
        let ch4 = read_as(Kind::Ch4, &ch4_text, self.library.version);
        if shows {
            for problem in mpir.problems.iter().chain(&ch4.problems) {
                println!("{problem}");
            }
        }
        let n_calls = self.library.calls.len();
        if mpir.fate != Fate::Loads || ch4.fate != Fate::Loads {
            self.agreed.refused += 1;
            let ended = self.run(&"0".repeat(n_calls));
            // What is undefined may end anyhow.
            let aborts = mpir.fate == Fate::Aborts || ch4.fate == Fate::Aborts;
            if aborts && ended.initialized {
                self.differs(format!(
                    "MPI_Init was said to end the program, but did not: {:?}",
                    mpir.problems
                ));
            }
            return;
        }
        if !self.library.tells_algorithms {
            let ended = self.run(&"1".repeat(n_calls));
            let by_reader = ["csel", "unknown key", "unrecognized key"]
                .iter()
                .any(|word| ended.text.contains(word));
            if !ended.initialized && !by_reader {
                // MPI_Init makes collectives itself, which the file chose algorithms for that cannot do them.
                self.agreed.ended_later += 1;
            } else if !ended.initialized {
                let tail: String = ended.text.chars().take(400).collect();
                self.differs(format!("was said to be loaded, but MPI_Init ended: {tail}"));
            }
            return;
        }
        let settings = Settings::of(self.made.settings.iter().cloned());
        let said: Vec<BTreeMap<u32, Said>> = self
            .library
            .calls
            .iter()
            .map(|listed| self.said(&mpir, &ch4, &settings, listed))
            .collect();
        if let Some(why) = self.cannot_start(&mpir, &ch4, &settings) {
            let ended = self.run(&"0".repeat(n_calls));
            if ended.is_well {
                self.differs(format!("communicators were said not to be made: {why}"));
            }
            self.agreed.fatal += 1;
            self.agreed.fatal_made += 1;
            return;
        }
        let is = |said: &BTreeMap<u32, Said>, undefined: bool| {
            said.values().any(|said| match said {
                Said::Runs(_) => false,
                Said::Fatal(_) => !undefined,
                Said::Undefined => undefined,
            })
        };
        let skip: String = said
            .iter()
            .map(|said| {
                if is(said, false) || is(said, true) {
                    '1'
                } else {
                    '0'
                }
            })
            .collect();
        let ended = self.run(&skip);
        if !ended.is_well {
            let tail: String = ended.text.chars().take(400).collect();
            self.differs(format!("did not end well: {tail}"));
        }
        for (idx, said) in said
            .iter()
            .enumerate()
            .filter(|(idx, _)| skip.as_bytes()[*idx] == b'0')
        {
            self.compare_call(idx, said, &ended);
        }
        let fatal: Vec<usize> = (0..n_calls)
            .filter(|idx| is(&said[*idx], false) && !is(&said[*idx], true))
            .collect();
        self.agreed.fatal += fatal.len() as u64;
        self.agreed.undefined += said.iter().filter(|said| is(said, true)).count() as u64;
        let step = fatal.len().div_ceil(MAX_FATAL).max(1);
        for &one in fatal.iter().skip(seeded(self.number, step)).step_by(step) {
            let skip: String = (0..n_calls)
                .map(|idx| if idx == one { '0' } else { '1' })
                .collect();
            self.agreed.fatal_made += 1;
            let ended = self.run(&skip);
            if ended.is_well || !ended.initialized {
                let line = &self.library.calls[one].line;
                self.differs(format!(
                    "the call `{line}` was said to end the program: {:?}",
                    said[one]
                ));
            }
        }
    }

    fn compare_call(&mut self, idx: usize, said: &BTreeMap<u32, Said>, ended: &Ended) {
        for (&rank, said) in said {
            let Said::Runs(expected) = said else {
                continue;
            };
            let ran = ended.ran[rank as usize].get(&idx);
            self.agreed.calls += 1;
            self.agreed.algorithms += expected.len() as u64;
            for (_, name) in expected {
                *self.agreed.names.entry(name.clone()).or_default() += 1;
            }
            if ran != Some(expected) {
                let line = &self.library.calls[idx].line;
                self.differs(format!(
                    "`{line}` on rank {rank}: said {expected:?}, ran {ran:?}"
                ));
            }
        }
    }

    /// What is said runs where it was chosen, all else having been compared with what ran.
    fn compare_choices(&mut self, choices: &[Choice]) {
        let mpir = read_as(Kind::Mpir, &self.made.mpir, self.library.version);
        if !mpir.problems.is_empty() {
            self.differs(format!(
                "the written file has problems: {:?}",
                mpir.problems
            ));
        }
        let ch4 = read_as(Kind::Ch4, self.library.ch4.as_bytes(), self.library.version);
        let settings = Settings::of(self.made.settings.iter().cloned());
        for listed in self.library.calls.clone() {
            let call = &listed.call;
            let fits = |choice: &&Choice| {
                let of_size = choice
                    .n_processes
                    .is_none_or(|n| n as usize == listed.members.len());
                let of_bytes = choice
                    .bytes
                    .is_none_or(|(least, most)| (least..=most).contains(&call.bytes));
                choice.collective == call.name() && of_size && of_bytes
            };
            let Some(choice) = choices.iter().find(fits) else {
                continue;
            };
            for said in self.said(&mpir, &ch4, &settings, &listed).values() {
                let Said::Runs(runs) = said else {
                    self.differs(format!("`{}`: {said:?}", listed.line));
                    continue;
                };
                // Nothing runs of calls that return at once; the choices are of algorithms that can do all.
                if runs
                    .first()
                    .is_some_and(|(_, name)| !name.ends_with(&choice.algorithm))
                {
                    self.differs(format!(
                        "`{}`: chosen {}, runs {runs:?}",
                        listed.line, choice.algorithm
                    ));
                }
            }
        }
    }

    fn layout(&self, members: &[u32]) -> Layout {
        let cliques = self
            .made
            .settings
            .iter()
            .find(|(name, _)| name == "MPIR_CVAR_NUM_CLIQUES");
        let n: u32 = cliques
            .and_then(|(_, value)| value.parse().ok())
            .unwrap_or(1);
        Layout::new(members.iter().map(|rank| rank % n).collect())
    }

    fn said(
        &self,
        mpir: &Selection,
        ch4: &Selection,
        settings: &Settings,
        listed: &Listed,
    ) -> BTreeMap<u32, Said> {
        let chooser = Chooser {
            version: self.library.version,
            mpir,
            ch4,
            settings,
        };
        let layout = self.layout(&listed.members);
        let of_rank = |rank: u32| {
            let plans = chooser.plans(&listed.call, &layout, rank);
            let [plan] = &plans[..] else {
                return Said::Fatal(format!("{} plans: {plans:?}", plans.len()));
            };
            said_of(plan)
        };
        (0..)
            .zip(&listed.members)
            .map(|(rank, member)| (*member, of_rank(rank)))
            .collect()
    }

    /// Why the program cannot make its communicators, if it cannot: `MPI_Comm_split` gathers two
    /// numbers of each process and reduces a mask, and each new communicator broadcasts one number.
    fn cannot_start(
        &self,
        mpir: &Selection,
        ch4: &Selection,
        settings: &Settings,
    ) -> Option<String> {
        let chooser = Chooser {
            version: self.library.version,
            mpir,
            ch4,
            settings,
        };
        let world: Vec<u32> = (0..RANKS).collect();
        let call = |name: &str, bytes: u64| {
            let mut call = Call::new(name, bytes).expect("a collective");
            call.count = Some(bytes / 4);
            (call.commutative, call.built_in, call.in_place) =
                (Some(true), Some(true), Some(false));
            call
        };
        let mut needed = vec![
            (call("allgather", 8), world.clone(), false),
            (call("allreduce", 260), world, false),
        ];
        for listed in &self.library.calls {
            needed.push((call("bcast", 4), listed.members.clone(), true));
        }
        needed.dedup_by(|(_, a, _), (_, b, _)| a == b && a.len() < RANKS as usize);
        for (call, members, by_file) in needed {
            let layout = self.layout(&members);
            for rank in 0..layout.size() {
                let plans = if by_file {
                    vec![chooser.by_file(&call, &layout)]
                } else {
                    chooser.plans(&call, &layout, rank)
                };
                if let Some(failure) = plans.iter().find_map(|plan| plan.failure.clone()) {
                    return Some(failure.why);
                }
            }
        }
        None
    }

    fn run(&self, skip: &str) -> Ended {
        let folder = self.work.path();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            fs::write(&path, bytes).expect("a file for the run");
            path
        };
        let out = folder.join("out");
        for rank in 0..RANKS {
            let _ = fs::remove_file(of_rank(&out, rank));
        }
        let mut command = Command::new("timeout");
        command
            .args(["-k", "5", SECONDS])
            .arg(&self.library.launcher)
            .args(["-n", &RANKS.to_string()])
            .arg(&self.library.program)
            .arg("run")
            .arg(&out)
            .arg(write("skip", skip.as_bytes()))
            .env("LD_LIBRARY_PATH", &self.library.libraries)
            .env(
                "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE",
                write("mpir.json", &self.made.mpir),
            )
            .envs(self.made.settings.iter().cloned())
            .stdin(Stdio::null());
        if let Some(ch4) = &self.made.ch4 {
            command.env(
                "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE",
                write("ch4.json", ch4),
            );
        }
        let output = command.output().expect("timeout runs");
        let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stdout));
        let written: Vec<String> = (0..RANKS)
            .map(|rank| fs::read_to_string(of_rank(&out, rank)).unwrap_or_default())
            .collect();
        Ended {
            is_well: output.status.success()
                && written.iter().all(|text| text.contains("finalized")),
            initialized: written.iter().any(|text| text.contains("initialized")),
            text,
            ran: written.iter().map(|text| ran(text)).collect(),
        }
    }
}

fn seeded(number: u64, step: usize) -> usize {
    usize::try_from(number).unwrap_or(0) % step
}

fn of_rank(out: &Path, rank: u32) -> PathBuf {
    out.with_extension(rank.to_string())
}

fn said_of(plan: &Plan) -> Said {
    match &plan.failure {
        Some(failure) if failure.checked => Said::Fatal(failure.why.clone()),
        Some(_) => Said::Undefined,
        None => Said::Runs(
            plan.steps
                .iter()
                .map(|step| (step.depth, function(&step.algorithm)))
                .collect(),
        ),
    }
}

/// The function that an algorithm is: those made for transports are named otherwise, and some are one
/// function with another parameter.
fn function(algorithm: &str) -> String {
    let Some((before, name)) = algorithm.split_once("_tsp_") else {
        return algorithm.to_owned();
    };
    let (collective, on) = before
        .trim_start_matches("MPIR_")
        .rsplit_once('_')
        .unwrap_or((before, "intra"));
    let name = match name {
        "ring" if matches!(collective, "Ibcast" | "Ireduce") => "tree",
        "scatterv_recexch_allgatherv" => "scatterv_allgatherv",
        "recexch_single_buffer"
        | "recexch_multiple_buffer"
        | "recexch_doubling"
        | "recexch_halving" => "recexch",
        other => other,
    };
    format!("MPIR_TSP_{collective}_sched_{on}_{name}")
}

/// What the program wrote of one process, without what is inside algorithms that choose nothing.
fn ran(text: &str) -> BTreeMap<usize, Vec<(usize, String)>> {
    let mut calls = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let Some(idx) = words.next().and_then(|word| word.parse().ok()) else {
            continue;
        };
        let mut closed: Option<usize> = None;
        let mut algorithms = Vec::new();
        for word in words {
            let Some((depth, name)) = word.split_once(':') else {
                continue;
            };
            let depth: usize = depth.parse().unwrap_or(0);
            if closed.is_some_and(|closed| depth > closed) {
                continue;
            }
            let chooses = name.ends_with("_intra_smp") || name.ends_with("_allcomm_nb");
            closed = (!chooses).then_some(depth);
            algorithms.push((depth, name.to_owned()));
        }
        calls.insert(idx, algorithms);
    }
    calls
}

fn listed(line: &str) -> Listed {
    let words: Vec<&str> = line.split(' ').collect();
    let number = |idx: usize| {
        words[idx]
            .parse::<u64>()
            .expect("a number in the list of calls")
    };
    let mut call = Call::new(words[2], 4 * number(3)).expect("a collective that MPICH chooses for");
    call.count = Some(number(3));
    call.count_of_all = Some(number(4));
    call.bytes_of_all = Some(4 * number(4));
    call.root = u32::try_from(number(5)).expect("a rank");
    call.commutative = Some(number(6) == 1);
    call.built_in = Some(number(7) == 1);
    call.in_place = Some(number(8) == 1);
    call.regular = Some(number(9) == 1);
    call.threaded = Some(false);
    let members = words[1]
        .split(',')
        .map(|rank| rank.parse().expect("a rank"))
        .collect();
    Listed {
        members,
        call,
        line: line.to_owned(),
    }
}
