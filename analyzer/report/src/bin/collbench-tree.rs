//! The command `collbench-tree`: checks, shows and begins tree files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::{Args, Parser, Subcommand, ValueEnum};
use collbench_analyzer::{RunFiles, RunHosts, analyze};
use collbench_command::Installation;
use collbench_files::guard_mappings;
use collbench_formats::tree::{Collective, Form};
use collbench_report::trees::{
    Ranks, RanksError, RuleTree, rule_trees, tree_file_of_log, tree_to_dot, tree_to_svg,
    trees_to_json, trees_to_text,
};
use collbench_text::inert;
use collbench_text::output::{print, write_file};
use collbench_text::quantity::counted;
use collbench_tree_files::make::{Beginning, best, hierarchical, spelled_out, with_shape};
use collbench_tree_files::{SHAPES, TreeFile, TreeFileError, shape_of};

/// Exit status: the command line is invalid.
const USAGE: u8 = 2;

/// What the short and the long help have in common.
macro_rules! after_help {
    () => {
        "\
Examples:
  collbench-tree make best -o trees.toml
      write the trees that were measured to be faster than the MPI library
  collbench-tree make hierarchical --hosts node1:4,node2:4 -o trees.toml
      begin a tree file
  collbench-tree check trees.toml --hosts node1:4,node2:4
      say what is wrong with it
  collbench-tree show trees.toml --trace trace
      show its trees for the ranks of a recorded run
  collbench-tree show trees.toml --hosts a:2,b:2 --operation bcast --format svg > tree.svg
      draw a tree
  collbench-tree from-log adapt.log -o found.toml
      write the trees that a program has found to be best

Exit status: 0 done; 1 the file is wrong or cannot be read: file, line and column are on stderr; 2 usage."
    };
}

const AFTER_HELP: &str = after_help!();
const AFTER_LONG_HELP: &str = concat!(
    after_help!(),
    "\n\n",
    include_str!("../../../trees/files/src/TREES.md")
);

/// Checks, shows and begins tree files: spanning trees for collective operations.
#[derive(Debug, Parser)]
#[command(
    name = "collbench-tree",
    version, long_version = collbench_version::details(),
    after_help = AFTER_HELP,
    after_long_help = AFTER_LONG_HELP,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true
)]
struct Options {
    #[command(flatten)]
    installation: Installation,

    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Say what is wrong with a tree file
    Check {
        /// Tree file (TOML)
        file: PathBuf,
        #[command(flatten)]
        of: Of,
    },
    /// Show the trees of a tree file
    Show(Show),
    /// Begin a tree file
    Make(Make),
    /// Make a tree file of what was found while a program ran
    FromLog(FromLog),
}

#[derive(Debug, Args)]
struct FromLog {
    /// What collbench-record --adapt-log has written
    log: PathBuf,

    /// File to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the file if it is there
    #[arg(long, requires = "output")]
    force: bool,
}

/// The ranks that trees are made for.
#[derive(Debug, Args)]
struct Of {
    /// Hosts with their numbers of ranks, in the order of ranks: A:4,B:4
    #[arg(long, value_name = "LIST", conflicts_with_all = ["trace", "links"])]
    hosts: Option<String>,

    /// Hosts and ranks of a recorded run
    #[arg(long, value_name = "TRACE", conflicts_with = "links")]
    trace: Option<PathBuf>,

    /// Hosts and ranks of a links file of collbench-bench logp, at the sites that its round trips
    /// show
    #[arg(long, value_name = "FILE")]
    links: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Show {
    /// Tree file (TOML)
    file: PathBuf,

    #[command(flatten)]
    of: Of,

    /// Only trees for this operation, such as allreduce
    #[arg(long, value_name = "NAME", value_parser = operation)]
    operation: Option<Collective>,

    /// Only trees for this payload of one rank
    #[arg(long, value_name = "BYTES")]
    bytes: Option<u64>,

    /// Root of operations that have one
    #[arg(long, value_name = "RANK", default_value_t = 0)]
    root: u32,

    /// What to print to stdout; dot and svg are of one tree, the first that fits
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Args)]
struct Make {
    /// best (the trees that were measured to be faster than the library, for any ranks), hierarchical, linear, "chain K", K-ary, K-nomial, binomial, "in-order binary" or exchange,
    /// such as 4-nomial
    #[arg(value_name = "SHAPE")]
    shape: String,

    #[command(flatten)]
    of: Of,

    /// Spell the tree out, node by node
    #[arg(long)]
    nodes: bool,

    /// File to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the file if it is there
    #[arg(long, requires = "output")]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Rows of text
    Text,
    /// One JSON document for scripts
    Json,
    /// A graph for Graphviz
    Dot,
    /// A picture for a browser
    Svg,
}

/// An invalid command line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

/// Lines that name a file and a place, each complete.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Places(String);

fn main() -> ExitCode {
    guard_mappings();
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let is_place = error.is::<Places>()
                || matches!(error.downcast_ref(), Some(TreeFileError::Wrong { .. }));
            if is_place {
                anstream::eprintln!("{error:#}");
            } else {
                anstream::eprintln!("collbench-tree: {error:#}");
            }
            let is_usage = error.is::<Usage>()
                || matches!(
                    error.downcast_ref(),
                    Some(RanksError::Part(_) | RanksError::TooMany(_))
                );
            if is_usage {
                ExitCode::from(USAGE)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

fn run(options: &Options) -> anyhow::Result<()> {
    if let Some(text) = options.installation.asked_for::<Options>()? {
        return Ok(print(&text)?);
    }
    match &options.action {
        Some(Action::Check { file, of }) => check(file, of),
        Some(Action::Show(options)) => show(options),
        Some(Action::Make(options)) => make(options),
        Some(Action::FromLog(options)) => from_log(options),
        None => Ok(()),
    }
}

fn check(path: &Path, of: &Of) -> anyhow::Result<()> {
    let (file, ranks) = read(path, of)?;
    let name = inert::path(path);
    let mut text = format!(
        "{name}: {}, nothing wrong\n",
        counted(file.rules.rules.len() as u64, "tree")
    );
    if let Some(ranks) = &ranks {
        let trees = rule_trees(&file.rules, ranks, None, 0);
        let wrong = misfits(&trees);
        if !wrong.is_empty() {
            let lines = wrong
                .iter()
                .map(|(line, what)| format!("{name}:{line}:1: {what}"));
            return Err(Places(lines.collect::<Vec<_>>().join("\n")).into());
        }
        for tree in trees.iter().filter(|tree| tree.tree.is_err()) {
            text += &format!("{name}:{}:1: not used for {}\n", tree.rule.line, {
                counted(u64::from(ranks.n()), "rank")
            });
        }
    }
    for remark in &file.remarks {
        text += &format!("{name}:{remark}\n");
    }
    Ok(print(text.as_bytes())?)
}

/// What is wrong with trees for these ranks, by line: a tree that is for such communicators, and does
/// not fit this one; all, if none is for such.
fn misfits(trees: &[RuleTree<'_>]) -> Vec<(u32, String)> {
    let all_are_for_others = trees.iter().all(RuleTree::is_for_others);
    let wrong = trees.iter().filter_map(|tree| {
        let error = tree.tree.as_ref().err()?;
        let remedy = match tree.rule.form {
            Form::Nodes(_) => "name each rank once, or make the file anew",
            Form::Shaped(_) => "change it, or add a tree for these ranks",
        };
        (all_are_for_others || !tree.is_for_others()).then(|| {
            (
                tree.rule.line,
                format!("no tree for these ranks: {error}; {remedy}"),
            )
        })
    });
    wrong.collect()
}

fn show(options: &Show) -> anyhow::Result<()> {
    let (mut file, ranks) = read(&options.file, &options.of)?;
    let name = inert::path(&options.file);
    file.rules.retain(|calls| {
        options
            .operation
            .is_none_or(|of| calls.operations.contains(&of))
            && options
                .bytes
                .is_none_or(|n| (calls.bytes.0..=calls.bytes.1).contains(&n))
    });
    if file.rules.rules.is_empty() {
        bail!(
            "{name}: no tree for this operation and payload; see all without --operation and --bytes"
        );
    }
    if let Some(ranks) = &ranks
        && options.root >= ranks.n()
    {
        let n = ranks.n();
        return Err(Usage(format!(
            "--root {}; expected a rank from 0 to {}",
            options.root,
            n - 1
        ))
        .into());
    }
    let trees = ranks
        .as_ref()
        .map(|ranks| rule_trees(&file.rules, ranks, options.operation, options.root));
    let of = ranks.as_ref().zip(trees.as_deref());
    let text = match options.format {
        Format::Text => trees_to_text(&name, &file, of),
        Format::Json => trees_to_json(&name, &file, of),
        Format::Dot => one_tree(of, options.operation, tree_to_dot)?,
        Format::Svg => one_tree(of, options.operation, tree_to_svg)?,
    };
    Ok(print(text.as_bytes())?)
}

/// A picture of the first tree that fits, for an operation if there is one.
fn one_tree(
    of: Option<(&Ranks, &[RuleTree<'_>])>,
    operation: Option<Collective>,
    draw: impl Fn(&RuleTree<'_>, &Ranks) -> Option<String>,
) -> anyhow::Result<String> {
    let Some((ranks, trees)) = of else {
        return Err(
            Usage("a picture needs ranks; add --hosts, --trace or --links".to_owned()).into(),
        );
    };
    let fitting: Vec<&RuleTree<'_>> = trees.iter().filter(|tree| tree.tree.is_ok()).collect();
    let Some(first) = fitting.first() else {
        let misfits = misfits(trees);
        let what = misfits
            .first()
            .map_or("no tree for these ranks", |(_, what)| what.as_str());
        return Err(anyhow!("{what}"));
    };
    if fitting.len() > 1 && operation.is_none() {
        anstream::eprintln!(
            "collbench-tree: the tree of line {}, one of {}; choose with --operation or --bytes",
            first.rule.line,
            fitting.len()
        );
    }
    draw(first, ranks).ok_or_else(|| anyhow!("no tree for these ranks"))
}

fn make(options: &Make) -> anyhow::Result<()> {
    let text = match options.shape.trim() {
        "best" if options.nodes => {
            let what =
                "--nodes for best, which has many trees; leave out --nodes, or take one shape";
            return Err(Usage(what.to_owned()).into());
        }
        "best" => {
            let ranks = ranks(&options.of)?;
            let of_sites = ranks
                .as_ref()
                .and_then(|ranks| Some((&*ranks.hosts, ranks.sites()?)));
            best(of_sites.as_ref().map(|(hosts, sites)| (*hosts, &**sites)))
        }
        name => begun(name, options)?,
    };
    write(&text, options.output.as_deref(), options.force)
}

fn write(text: &str, output: Option<&Path>, force: bool) -> anyhow::Result<()> {
    match output {
        None => Ok(print(text.as_bytes())?),
        Some(path) => Ok(write_file(path, text, force)?),
    }
}

fn from_log(options: &FromLog) -> anyhow::Result<()> {
    let shown = || inert::path(&options.log).to_string();
    let log = fs::read_to_string(&options.log).with_context(shown)?;
    let text = tree_file_of_log(&log).with_context(shown)?;
    write(&text, options.output.as_deref(), options.force)
}

/// A file with trees of a shape for some ranks.
fn begun(name: &str, options: &Make) -> anyhow::Result<String> {
    let shape = shape_of(name);
    if shape.is_none() && name != "hierarchical" {
        let shown = inert::line(name, 60);
        let known = SHAPES.join(", ");
        return Err(Usage(format!(
            "no shape \"{shown}\"; expected best, hierarchical, {known}"
        ))
        .into());
    }
    let Some(ranks) = ranks(&options.of)? else {
        return Err(Usage(
            "hosts are missing; add --hosts LIST, --trace TRACE or --links FILE".to_owned(),
        )
        .into());
    };
    let sites = ranks.sites();
    let given = match (&options.of.trace, &options.of.links) {
        (Some(trace), _) => format!("--trace {}", inert::path(trace)),
        (None, Some(links)) => format!("--links {}", inert::path(links)),
        (None, None) => inert::line(&ranks.as_option(), 200),
    };
    let beginning = Beginning {
        hosts: &ranks.hosts,
        n_ranks: ranks.n(),
        sites: sites.as_deref(),
        given: &given,
    };
    let text = match shape {
        Some(shape) => with_shape(beginning, shape),
        None => hierarchical(beginning),
    };
    if !options.nodes {
        return Ok(text);
    }
    let file = TreeFile::parse(&text, Path::new("")).map_err(|problems| {
        anyhow!("the file that was begun is wrong: {:?}", problems.0.first())
    })?;
    let mut described = ranks.clone();
    described.describe(&file.rules);
    let trees = rule_trees(&file.rules, &described, None, 0);
    match trees.first().map(|tree| &tree.tree) {
        Some(Ok(tree)) => Ok(spelled_out(beginning, tree)),
        _ => bail!("no tree of this shape for these ranks"),
    }
}

/// A tree file, and the ranks at the places that it describes. A host that it names is among theirs.
fn read(path: &Path, of: &Of) -> anyhow::Result<(TreeFile, Option<Ranks>)> {
    let file = TreeFile::read(path)?;
    let Some(mut ranks) = ranks(of)? else {
        return Ok((file, None));
    };
    let unknown = file.unknown_hosts(&ranks.hosts);
    if !unknown.is_empty() {
        let name = inert::path(path);
        let lines = unknown.iter().map(|problem| format!("{name}:{problem}"));
        return Err(Places(lines.collect::<Vec<_>>().join("\n")).into());
    }
    ranks.describe(&file.rules);
    Ok((file, Some(ranks)))
}

fn ranks(of: &Of) -> anyhow::Result<Option<Ranks>> {
    if let Some(list) = &of.hosts {
        return Ok(Some(Ranks::of_list(list)?));
    }
    if let Some(path) = &of.links {
        let shown = || format!("--links {}", inert::path(path));
        let text = fs::read_to_string(path).with_context(shown)?;
        return Ok(Some(Ranks::of_links(&text).with_context(shown)?));
    }
    let Some(trace) = &of.trace else {
        return Ok(None);
    };
    let files = RunFiles::open(trace)?;
    let mut run = RunHosts::of(&files)?;
    let of_trace = collbench_analyzer::Options::default();
    if run.names.len() > 2
        && !run.are_sites_sure
        && let Ok(found) = analyze(&files, &of_trace, &mut |_| {})
    {
        // By messages between other hosts than those that were measured.
        let sites = found.clock.hosts.iter().map(|host| host.site);
        run.sites = sites.collect();
    }
    let ranks = Ranks::of_run(&run).with_context(|| inert::path(trace))?;
    Ok(Some(ranks))
}

fn operation(name: &str) -> Result<Collective, String> {
    let plain = name.to_lowercase();
    let plain = plain.strip_prefix("mpi_").unwrap_or(&plain);
    let found = Collective::ALL.into_iter().find(|of| of.name() == plain);
    found.ok_or_else(|| {
        let names = Collective::ALL.map(Collective::name).join(", ");
        format!("no operation of trees; expected one of {names}")
    })
}
