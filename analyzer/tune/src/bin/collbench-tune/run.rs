//! `collbench-tune run`: whether a program becomes faster.

mod launch;
mod prepare;
mod propose;
mod prove;
mod results;
mod signals;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use collbench_analyzer::RunFiles;
use collbench_text::inert;
use collbench_text::output::write_file;
use collbench_text::quantity::{counted, duration};
use collbench_tune::open_mpi::Parameters;
use collbench_tune::predict::{Given, Recorded};
use collbench_tune::run::{
    Ending, Files, Outcome, Plan, Rounds, Stop, Tried, Turn, collectives_s, of_command, other_calls,
};

use crate::{Format, Usage, predict};
use launch::{Ended, Input, Launch, last_lines, status_in_words};
use prepare::{Reaching, file_name, prepare};
use prove::Proved;
use results::{DOCUMENT, PAGE, Results};

/// Variables by which a launcher tells a process that it is a rank.
const LAUNCHER_VARIABLES: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"];
/// A run that takes a smaller part of the time that the collectives of the recorded one took did something else.
const MUCH_SHORTER: f64 = 0.7;
/// A search takes at most so long.
const MOST_SEARCH: Duration = Duration::from_secs(60);
/// The file to which stderr of a run goes.
const STDERR: &str = "stderr";

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// Rounds, at most: in each the program is run twice, and once with each proposal
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(4..=10_000))]
    rounds: u32,

    /// Take at most so long, in all: fewer rounds, and the end of a run that takes longer [default: twice as long as all rounds are
    /// expected to take]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,

    /// Try the trees of this tree file, too; may be given several times
    #[arg(long, value_name = "FILE")]
    trees: Vec<PathBuf>,

    /// Predict with the parameters of links from this file of collbench-bench logp --links
    #[arg(long, value_name = "FILE")]
    links: Option<PathBuf>,

    /// Directory for traces, for the files that the program is to be used with, for run.json and for the page index.html
    #[arg(short, long, value_name = "DIR", default_value = "tuned")]
    output: PathBuf,

    /// Replace the directory if it is there, and of this command
    #[arg(long)]
    force: bool,

    /// Number with which orders of runs are drawn [default: another one each time]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// What to print to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Launcher line with its arguments; it is run as it is
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
}

/// Says something while runs go on.
fn tell(words: &str) {
    anstream::eprintln!("collbench-tune: {words}");
}

fn time(of: Duration) -> String {
    duration(i64::try_from(of.as_nanos()).unwrap_or(i64::MAX))
}

fn seconds(s: f64) -> String {
    duration((s * 1e9) as i64)
}

/// Runs a program with what is predicted to be faster, and without it.
pub(crate) fn run(options: &Run) -> anyhow::Result<ExitCode> {
    if let Some(variable) = LAUNCHER_VARIABLES
        .iter()
        .find(|name| std::env::var_os(name).is_some())
    {
        let what = format!(
            "this is a process of an MPI job ({variable} is set), and runs whole jobs; expected: collbench-tune run -- mpirun ..."
        );
        return Err(Usage(what).into());
    }
    let tree_files = predict::tree_files(&options.trees)?;
    let (links, _) = predict::links(options.links.as_deref())?;
    let given = Given {
        links,
        tree_files,
        over_trees: Vec::new(),
    };
    let record = beside(OsStr::new("collbench-record"))?;
    let (input, not_passed_on) = Input::of_this_process();
    signals::watch();
    let results = Results::begin(&options.output, options.force)?;
    let begin = Instant::now();
    let mut runs = Runs {
        options,
        record,
        input,
        begin,
        deadline: options.seconds.map(|s| begin + Duration::from_secs(s)),
        stderr: results.path(STDERR),
        results: &results,
        limit_of_run: None,
    };
    let outcome = runs.measure(given, not_passed_on);
    let stderr = runs.stderr.clone();
    let outcome = match outcome {
        Ok(Some(outcome)) => outcome,
        // Nothing was measured.
        Ok(None) => {
            drop(results);
            tell("interrupted; nothing was measured so far");
            return Ok(signals::end_by_received(ExitCode::FAILURE));
        }
        Err(error) => return Err(error),
    };
    let _ = fs::remove_file(stderr);
    if !outcome.is_interrupted() {
        write_file(&results.path(PAGE), &outcome.to_html(), false)?;
    }
    let json = outcome.to_json(&results.names());
    if outcome.is_interrupted() {
        drop(results);
    } else {
        write_file(&results.path(DOCUMENT), &json, false)?;
        results.keep()?;
    }
    (options.format).print(|| outcome.to_text(), || json)?;
    let status = match outcome.differs {
        Some(_) => ExitCode::FAILURE,
        None => ExitCode::SUCCESS,
    };
    Ok(signals::end_by_received(status))
}

/// Path of a command that is installed or built with this one.
fn beside(name: &OsStr) -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe()
        .context("finding this command's own file")?
        .with_file_name(name);
    if !path.is_file() {
        bail!(
            "{} is missing; install the commands together",
            inert::path(&path)
        );
    }
    Ok(path)
}

/// All runs of a command.
struct Runs<'o> {
    options: &'o Run,
    record: PathBuf,
    input: Input,
    begin: Instant,
    /// When everything has to be over.
    deadline: Option<Instant>,
    stderr: PathBuf,
    results: &'o Results,
    limit_of_run: Option<Duration>,
}

/// A run of a turn.
enum Timed {
    /// It ended as the program does, after s.
    After(f64),
    /// It ended otherwise: how.
    Otherwise(String),
    /// It took longer than a run may: that.
    TooLong(String),
    /// There was no time left for it.
    NoTime,
    Interrupted,
}

impl Runs<'_> {
    /// Records the program, finds out what to try, and measures it; `None` if a signal came before anything was measured.
    fn measure(
        &mut self,
        given: Given,
        not_passed_on: Option<String>,
    ) -> anyhow::Result<Option<Outcome>> {
        let directory = std::env::current_dir().context("the current directory is gone")?;
        let mut remarks: Vec<String> = not_passed_on.into_iter().collect();
        remarks.iter().for_each(|remark| tell(remark));
        tell("recording the program as it is");
        let before = Files::of(&directory, &self.results.folder);
        let Some((status, recorded_s)) = self.record_baseline()? else {
            return Ok(None);
        };
        if let Some(written) = Files::of(&directory, &self.results.folder)
            .since(&before)
            .in_words()
        {
            tell(&written);
            remarks.push(written);
        }
        let recorded = read_trace(&self.results.path("baseline"))?;
        let Some(first) = self.repeat(&recorded, &mut remarks, status)? else {
            return Ok(None);
        };
        let (first_s, differs) = match first {
            Ok(first_s) => (Some(first_s), None),
            Err(how) => (None, Some(how)),
        };
        tell("searching for what is faster");
        let mut found = propose::find(&recorded, &given, self.time_to_search());
        let mut proof = None;
        if let (Ok(found), true) = (&mut found, first_s.is_some()) {
            match self.prove(found)? {
                Proved::Interrupted => return Ok(None),
                Proved::Nothing => {}
                Proved::Made(made) => {
                    found.refuse(&given, |call, what| made.why_not(call, what))?;
                    proof = Some(made);
                }
            }
        }
        let proposals = propose::propose(&recorded, found.as_ref(), &given, &self.options.trees);
        let mut outcome = Outcome {
            command: (self.options.command.iter())
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            library: recorded.library.clone(),
            seed: self.options.seed.unwrap_or_else(seed_of_time),
            plan: None,
            recorded_s,
            first_s,
            rounds: Rounds::new(proposals.all.len()),
            stop: None,
            differs,
            proof,
            tried: Vec::new(),
            considered: proposals.considered,
            not_tried: proposals.not_tried,
            remarks,
            directory: Some(inert::path(&self.results.directory)),
        };
        let mut reaching = Vec::new();
        let Some(first_s) = first_s else {
            return Ok(Some(outcome));
        };
        for (idx, proposed) in proposals.all.into_iter().enumerate() {
            let (reach, tried) = prepare(&self.options.command, self.results, idx, proposed)?;
            let run = tried.proposal.run;
            let predicted = run.map(|run| of_command(run, &recorded, first_s));
            let tried = Tried { predicted, ..tried };
            reaching.push(reach);
            outcome.tried.push(tried);
        }
        if outcome.tried.is_empty() {
            return Ok(Some(outcome));
        }
        let plan = Plan::new(
            self.options.rounds as usize,
            outcome.tried.len(),
            [first_s, recorded_s].map(Duration::from_secs_f64),
            self.options.seconds.map(Duration::from_secs),
            self.begin.elapsed(),
        )?;
        outcome.plan = Some(plan);
        self.announce(&plan);
        self.deadline = self.deadline.or(Some(Instant::now() + plan.limit));
        self.limit_of_run = Some(plan.limit_of_run());
        self.record_proposals(&mut outcome, &reaching, &recorded, status)?;
        if outcome.stop.is_none() {
            self.rounds(&mut outcome, &plan, &reaching, status)?;
        }
        if outcome.is_interrupted() {
            outcome.directory = None;
        }
        Ok(Some(outcome))
    }

    /// A tenth of the time that is given.
    fn time_to_search(&self) -> Duration {
        let given = self.options.seconds.map(|s| Duration::from_secs(s) / 10);
        given.unwrap_or(MOST_SEARCH).min(MOST_SEARCH)
    }

    fn announce(&self, plan: &Plan) {
        tell(&format!(
            "{} recorded, then {} of {}, of about {} each: {} in all, {} at most",
            counted(plan.n_proposals as u64, "run"),
            counted(plan.n_rounds as u64, "round"),
            counted(plan.n_turns() as u64, "run"),
            time(plan.run),
            time(plan.expected()),
            time(plan.limit),
        ));
        if plan.n_rounds < self.options.rounds as usize {
            tell(&format!(
                "{} instead of {}: more do not fit into --seconds",
                counted(plan.n_rounds as u64, "round"),
                self.options.rounds
            ));
        }
    }

    fn launch(
        &self,
        command: Vec<OsString>,
        variables: &[(String, OsString)],
    ) -> anyhow::Result<(Ended, Duration)> {
        self.launch_for(command, variables, self.limit_of_run)
    }

    /// Runs a command for so long, and not beyond the deadline.
    fn launch_for(
        &self,
        command: Vec<OsString>,
        variables: &[(String, OsString)],
        limit: Option<Duration>,
    ) -> anyhow::Result<(Ended, Duration)> {
        let left = self
            .deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let limit = match (left, limit) {
            (Some(left), Some(limit)) => Some(left.min(limit)),
            (left, limit) => left.or(limit),
        };
        let launch = Launch {
            command,
            variables,
            input: &self.input,
            stderr: &self.stderr,
        };
        let shown = inert::line(&launch.command[0].to_string_lossy(), 200);
        launch
            .run(limit)
            .with_context(|| format!("starting {shown}"))
    }

    /// The command, below collbench-record with these options.
    fn below_record(&self, options: &[&OsStr], trace: &str) -> Vec<OsString> {
        let mut command = vec![self.record.clone().into_os_string()];
        command.extend(options.iter().map(|&option| option.to_owned()));
        command.extend(["-o".into(), self.results.path(trace).into(), "--".into()]);
        command.extend(self.options.command.iter().cloned());
        command
    }

    /// Records the program; its status and how long it took, or `None` if a signal came.
    fn record_baseline(&self) -> anyhow::Result<Option<(ExitStatus, f64)>> {
        let (ended, took) = self.launch(self.below_record(&[], "baseline"), &[])?;
        let status = match ended {
            Ended::Interrupted => return Ok(None),
            Ended::TooLong => bail!(
                "the program did not end within --seconds {}; expected that to be enough for some twenty runs of it",
                self.options.seconds.unwrap_or_default()
            ),
            Ended::Itself(status) => status,
        };
        if !status.success() {
            let input = if self.input.is_empty() {
                " Its stdin was empty."
            } else {
                ""
            };
            bail!(
                "the first run, recorded, ended {}: nothing to compare with.{input} It wrote at last:{}",
                status_in_words(status),
                last_lines(&self.stderr)
            );
        }
        Ok(Some((status, took.as_secs_f64())))
    }

    /// Runs the program again, without recording it: how long that takes, or how it ended otherwise than before; `None` if a
    /// signal came.
    fn repeat(
        &self,
        recorded: &Recorded,
        remarks: &mut Vec<String>,
        status: ExitStatus,
    ) -> anyhow::Result<Option<Result<f64, String>>> {
        tell("running it again, without recording it");
        let s = match self.timed(self.options.command.clone(), &[], status)? {
            Timed::After(s) => s,
            Timed::Otherwise(how) => {
                return Ok(Some(Err(format!(
                    "the program ended {} the first time; the second time {how}",
                    status_in_words(status)
                ))));
            }
            Timed::Interrupted => return Ok(None),
            Timed::TooLong(_) | Timed::NoTime => bail!(
                "two runs of the program do not end within --seconds; expected it to be enough for some twenty runs"
            ),
        };
        if let Some(before_s) = collectives_s(recorded)
            && s < MUCH_SHORTER * before_s
        {
            let remark = format!(
                "the program now took {}, where its collectives alone took {} from the first to the last one when it was recorded: \
                 it may go on from what the first run has written",
                seconds(s),
                seconds(before_s),
            );
            tell(&remark);
            remarks.push(remark);
        }
        Ok(Some(Ok(s)))
    }

    /// Records a run of each proposal, and looks at what ran.
    fn record_proposals(
        &self,
        outcome: &mut Outcome,
        reaching: &[Reaching],
        recorded: &Recorded,
        status: ExitStatus,
    ) -> anyhow::Result<()> {
        let parameters = self.parameters()?;
        for (idx, reach) in reaching.iter().enumerate() {
            let trace = format!(
                "{}-{}",
                file_name(&outcome.tried[idx].proposal.name),
                idx + 1
            );
            let trees = reach.trees.as_ref();
            let options: Vec<&OsStr> = trees.map_or_else(Vec::new, |path| {
                vec![OsStr::new("--trees"), path.as_os_str()]
            });
            let ending = match self.timed(
                self.below_record(&options, &trace),
                &reach.variables,
                status,
            )? {
                Timed::Interrupted => {
                    outcome.stop = Some(Stop::Interrupted);
                    return Ok(());
                }
                Timed::NoTime => {
                    outcome.stop = Some(Stop::Time);
                    return Ok(());
                }
                Timed::Otherwise(how) => Ending::Failed(how),
                Timed::TooLong(how) => Ending::TooSlow(how),
                Timed::After(_) => {
                    let with_proposal = read_trace(&self.results.path(&trace))?;
                    let tried = &mut outcome.tried[idx];
                    tried.check(&with_proposal, &parameters);
                    if let Some(other) = other_calls(recorded, &with_proposal) {
                        let remark = format!(
                            "with {} the program made {other}: runs of other lengths are no gain",
                            tried.proposal.name
                        );
                        tell(&remark);
                        outcome.remarks.push(remark);
                    }
                    continue;
                }
            };
            outcome.tried[idx].ending = ending;
        }
        for tried in &outcome.tried {
            match &tried.ending {
                Ending::AsTheProgram => {}
                Ending::NotApplied(why) => {
                    tell(&format!("{}: not applied: {why}", tried.proposal.name))
                }
                Ending::Failed(how) => tell(&format!("{}: failed: {how}", tried.proposal.name)),
                Ending::TooSlow(how) => tell(&format!("{}: too slow: {how}", tried.proposal.name)),
            }
        }
        Ok(())
    }

    /// What the user has told the library himself, which may go before a proposal.
    fn parameters(&self) -> anyhow::Result<Vec<String>> {
        let command: Vec<String> = (self.options.command.iter())
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let files = RunFiles::open(&self.results.path("baseline"))?;
        let parameters =
            Parameters::of_run(&command, files.environment(), &crate::parameter_files());
        let all = parameters.of_collectives();
        Ok(all
            .map(|(name, value, from)| format!("{from} sets {name} to {}", inert::line(value, 60)))
            .collect())
    }

    /// A run that should end as the program does.
    fn timed(
        &self,
        command: Vec<OsString>,
        variables: &[(String, OsString)],
        status: ExitStatus,
    ) -> anyhow::Result<Timed> {
        let (ended, took) = self.launch(command, variables)?;
        Ok(match ended {
            Ended::Itself(now) if now == status => Timed::After(took.as_secs_f64()),
            Ended::Itself(now) => Timed::Otherwise(format!(
                "it ended {}, and wrote at last:{}",
                status_in_words(now),
                last_lines(&self.stderr)
            )),
            Ended::Interrupted => Timed::Interrupted,
            Ended::TooLong
                if self
                    .deadline
                    .is_some_and(|deadline| Instant::now() >= deadline) =>
            {
                Timed::NoTime
            }
            Ended::TooLong => Timed::TooLong(format!("ended after {}", time(took))),
        })
    }

    /// All rounds.
    fn rounds(
        &self,
        outcome: &mut Outcome,
        plan: &Plan,
        reaching: &[Reaching],
        status: ExitStatus,
    ) -> anyhow::Result<()> {
        for round in 0..plan.n_rounds {
            if let Some(stop) = self.stop(outcome, plan) {
                outcome.stop = Some(stop);
                return Ok(());
            }
            let is_out = |idx: usize| !self.is_in(outcome, idx);
            let turns = plan.turns(outcome.seed, round, is_out);
            let mut baselines = [0.0; 2];
            let mut of_proposals = Vec::new();
            for turn in turns {
                let left = self
                    .deadline
                    .map(|deadline| deadline.saturating_duration_since(Instant::now()));
                if left.is_some_and(|left| left < plan.run) {
                    outcome.stop = Some(Stop::Time);
                    return Ok(());
                }
                match (turn, self.turn(turn, reaching, status)?) {
                    (_, Timed::Interrupted) => {
                        outcome.stop = Some(Stop::Interrupted);
                        return Ok(());
                    }
                    (_, Timed::NoTime) => {
                        outcome.stop = Some(Stop::Time);
                        return Ok(());
                    }
                    (Turn::Baseline(nth), Timed::After(s)) => baselines[nth] = s,
                    (Turn::Proposal(idx), Timed::After(s)) => of_proposals.push((idx, s)),
                    (Turn::Baseline(_), Timed::Otherwise(how)) => {
                        outcome.differs = Some(format!(
                            "the program ended {} the first time; now {how}",
                            status_in_words(status)
                        ));
                        return Ok(());
                    }
                    (Turn::Baseline(_), Timed::TooLong(how)) => {
                        outcome.differs = Some(format!(
                            "the program took {} the first time; now it was {how}",
                            time(plan.run)
                        ));
                        return Ok(());
                    }
                    (Turn::Proposal(idx), Timed::Otherwise(how)) => {
                        outcome.tried[idx].ending = Ending::Failed(how)
                    }
                    (Turn::Proposal(idx), Timed::TooLong(how)) => {
                        outcome.tried[idx].ending = Ending::TooSlow(how)
                    }
                }
            }
            outcome.rounds.add(baselines, &of_proposals);
            self.tell_round(outcome, plan, baselines, &of_proposals);
        }
        Ok(())
    }

    /// Whether a proposal is run in the next round.
    fn is_in(&self, outcome: &Outcome, idx: usize) -> bool {
        outcome.tried[idx].ending == Ending::AsTheProgram
            && !outcome
                .rounds
                .judge(idx)
                .is_some_and(|judged| judged.is_decided)
    }

    fn stop(&self, outcome: &Outcome, plan: &Plan) -> Option<Stop> {
        let tried = outcome.tried.iter().enumerate();
        let valid = tried.filter(|(_, tried)| tried.ending == Ending::AsTheProgram);
        let gains: Vec<(usize, Option<f64>)> = valid
            .map(|(idx, tried)| (idx, tried.largest_gain()))
            .collect();
        outcome.rounds.stop(plan.n_rounds, &gains)
    }

    fn turn(&self, turn: Turn, reaching: &[Reaching], status: ExitStatus) -> anyhow::Result<Timed> {
        let reach = match turn {
            Turn::Baseline(_) => return self.timed(self.options.command.clone(), &[], status),
            Turn::Proposal(idx) => &reaching[idx],
        };
        let command = match &reach.trees {
            Some(trees) => {
                let options = [
                    OsStr::new("--trees"),
                    trees.as_os_str(),
                    OsStr::new("--no-trace"),
                ];
                self.below_record(&options, "no-trace")
            }
            None => self.options.command.clone(),
        };
        self.timed(command, &reach.variables, status)
    }

    fn tell_round(
        &self,
        outcome: &Outcome,
        plan: &Plan,
        baselines: [f64; 2],
        of_proposals: &[(usize, f64)],
    ) {
        let shown = seconds;
        let mut words = format!(
            "round {} of {}: as it is {}, {}",
            outcome.rounds.n(),
            plan.n_rounds,
            shown(baselines[0]),
            shown(baselines[1])
        );
        let mut of_proposals = of_proposals.to_vec();
        of_proposals.sort_by_key(|(idx, _)| *idx);
        for (idx, s) in of_proposals {
            let name = inert::line(&outcome.tried[idx].proposal.name, 40);
            words += &format!("; {name} {}", shown(s));
        }
        tell(&words);
    }
}

fn read_trace(path: &Path) -> anyhow::Result<Recorded> {
    let files = RunFiles::open(path)?;
    Ok(Recorded::read(&files, &mut |_| {})?)
}

fn seed_of_time() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    // Few enough digits to be typed again.
    u64::from(since.subsec_nanos()) ^ (since.as_secs() & 0xff_ffff)
}
