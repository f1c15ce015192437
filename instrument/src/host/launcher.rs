//! What launchers tell the ranks that they start.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// The rank that a launcher gave this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LauncherRank(pub u32);

/// A launcher, by the environment variables that it sets in each rank.
#[derive(Debug)]
struct Launcher {
    /// Its commands: what a user types before the program.
    commands: &'static [&'static str],
    /// The rank in the world.
    rank: &'static str,
    /// Set only if the rank is this launcher's: others set a variable of the same name too.
    along_with: Option<&'static str>,
    /// Number of processes that were started together.
    size: Option<&'static str>,
    /// How many of these are on this host.
    local_size: Option<&'static str>,
    /// Variables that together identify what was started: equal in all its processes, and in no others.
    job: &'static [&'static str],
}

/// The launchers, of which the first that set a rank counts.
///
/// If one launcher is started by another, the variables of both are set. So those that other
/// launchers start (MPI libraries' own) are before those that start others (batch systems).
const LAUNCHERS: [Launcher; 10] = [
    // Not a launcher: what users set where their launcher is unknown.
    Launcher {
        commands: &[],
        rank: "COLLBENCH_RANK",
        along_with: None,
        size: None,
        local_size: None,
        job: &[],
    },
    // Open MPI 5, whose launcher is that of PRRTE; and 4, if it was built with PMIx.
    Launcher {
        commands: &["mpirun", "mpiexec", "prterun", "prun"],
        rank: "OMPI_COMM_WORLD_RANK",
        along_with: Some("PMIX_NAMESPACE"),
        size: Some("OMPI_COMM_WORLD_SIZE"),
        local_size: Some("OMPI_COMM_WORLD_LOCAL_SIZE"),
        job: &["PMIX_NAMESPACE"],
    },
    // Open MPI 4 without PMIx.
    Launcher {
        commands: &["mpirun", "mpiexec", "orterun"],
        rank: "OMPI_COMM_WORLD_RANK",
        along_with: None,
        size: Some("OMPI_COMM_WORLD_SIZE"),
        local_size: Some("OMPI_COMM_WORLD_LOCAL_SIZE"),
        job: &["OMPI_MCA_ess_base_jobid"],
    },
    // Hydra: MPICH, Intel MPI, MVAPICH. Its jobs have no variable: see `hydra_job`.
    Launcher {
        commands: &["mpirun", "mpiexec", "mpiexec.hydra", "mpirun_rsh"],
        rank: "PMI_RANK",
        along_with: Some("MPI_LOCALNRANKS"),
        size: Some("PMI_SIZE"),
        local_size: Some("MPI_LOCALNRANKS"),
        job: &[],
    },
    // Flux.
    Launcher {
        commands: &["flux"],
        rank: "FLUX_TASK_RANK",
        along_with: None,
        size: Some("FLUX_JOB_SIZE"),
        local_size: None,
        job: &["FLUX_JOB_ID"],
    },
    // PALS, of HPE Cray.
    Launcher {
        commands: &["mpiexec", "aprun"],
        rank: "PALS_RANKID",
        along_with: None,
        size: Some("PMI_SIZE"),
        local_size: None,
        job: &["PALS_APID"],
    },
    // The job step manager of LSF, over PMIx.
    Launcher {
        commands: &["jsrun"],
        rank: "JSM_NAMESPACE_RANK",
        along_with: None,
        size: Some("JSM_NAMESPACE_SIZE"),
        local_size: Some("JSM_NAMESPACE_LOCAL_SIZE"),
        job: &["PMIX_NAMESPACE"],
    },
    // Slurm with --mpi=pmix, and whatever else serves PMIx.
    Launcher {
        commands: &["srun"],
        rank: "PMIX_RANK",
        along_with: None,
        size: Some("SLURM_STEP_NUM_TASKS"),
        local_size: None,
        job: &["PMIX_NAMESPACE"],
    },
    // Slurm with --mpi=pmi2, ParaStation, and whatever else serves PMI.
    Launcher {
        commands: &["srun", "mpiexec"],
        rank: "PMI_RANK",
        along_with: None,
        size: Some("PMI_SIZE"),
        local_size: None,
        job: &["PMI_JOBID"],
    },
    // Slurm, whatever --mpi is.
    Launcher {
        commands: &["srun"],
        rank: "SLURM_PROCID",
        along_with: Some(SLURM_STEP),
        size: Some("SLURM_STEP_NUM_TASKS"),
        local_size: None,
        job: &["SLURM_JOB_ID", SLURM_STEP],
    },
];

/// The step of Slurm that a process is in. A batch script has a rank (0), but is in no step, or in
/// one with a number from [`FIRST_SPECIAL_STEP`] on, as the shell of an interactive allocation.
const SLURM_STEP: &str = "SLURM_STEP_ID";
const FIRST_SPECIAL_STEP: u32 = 0xffff_fff0;

/// The environment, or what stands for it in tests.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

fn of_this_process(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn number(get: Variables, name: &str) -> Option<u32> {
    get(name)?.parse().ok()
}

impl Launcher {
    /// The launcher that started a process with these variables, and its rank.
    fn find(get: Variables) -> Option<(&'static Self, LauncherRank)> {
        LAUNCHERS.iter().find_map(|launcher| {
            let rank = number(get, launcher.rank)?;
            let is_meant = match launcher.along_with {
                None => true,
                Some(SLURM_STEP) => number(get, SLURM_STEP)? < FIRST_SPECIAL_STEP,
                Some(other) => get(other).is_some(),
            };
            is_meant.then_some((launcher, LauncherRank(rank)))
        })
    }

    /// What its job has in no other: see [`launched_job`].
    fn job(&self, get: Variables) -> Option<String> {
        let values: Option<Vec<String>> = self.job.iter().map(|name| get(name)).collect();
        values
            .filter(|values| !values.is_empty())
            .map(|values| values.join("."))
    }
}

/// Whether a command is that of a launcher, which starts ranks on hosts that it finds by their
/// names: with or without the name of the MPI library behind it, as `mpiexec.openmpi`.
pub fn is_launcher(command: &OsStr) -> bool {
    let name = Path::new(command).file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let first = name.split('.').next().unwrap_or_default();
    let mut commands = LAUNCHERS.iter().flat_map(|launcher| launcher.commands);
    commands.any(|known| *known == first)
}

impl LauncherRank {
    /// The rank in the environment; `None` if no launcher started this process.
    pub fn of_this_process() -> Option<Self> {
        Launcher::find(&of_this_process).map(|(_, rank)| rank)
    }
}

/// Number of processes that the launcher started together with this one; `None` if it does not say.
pub(crate) fn launched_processes() -> Option<u32> {
    let get = &of_this_process;
    number(get, Launcher::find(get)?.0.size?)
}

/// Whether the launcher says that all processes of a world of this size are on this host.
pub(crate) fn all_on_this_host(world_size: u32) -> bool {
    let get = &of_this_process;
    let n_local = Launcher::find(get)
        .and_then(|(launcher, _)| launcher.local_size)
        .and_then(|name| number(get, name));
    n_local.is_some_and(|n_local| n_local >= world_size)
}

/// Identifies the processes that the launcher started together with this one: what it sets equally in
/// all of them, and in no other job. `None` if no launcher started this process, or if it does not say.
pub fn launched_job() -> Option<String> {
    let get = &of_this_process;
    Launcher::find(get)
        .and_then(|(launcher, _)| launcher.job(get))
        .or_else(hydra_job)
}

/// Identifies this job if Hydra (the launcher of MPICH) started it, which gives no such number in
/// the environment: the port at which its proxy reports, the same on all hosts, and the number of
/// the process group, which spawned processes have of their own. `None` under another launcher.
fn hydra_job() -> Option<String> {
    /// Most shells and wrappers between the proxy and the program.
    const MOST_BETWEEN: usize = 32;
    let mut process = std::os::unix::process::parent_id();
    for _ in 0..MOST_BETWEEN {
        let command = fs::read(format!("/proc/{process}/cmdline")).ok()?;
        if let Some(job) = job_of_proxy(&String::from_utf8_lossy(&command)) {
            return Some(job);
        }
        let status = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        process = parent_in(&status)?;
    }
    None
}

/// The job in the command line of a proxy, whose words end in zeros.
fn job_of_proxy(command: &str) -> Option<String> {
    let words: Vec<&str> = command.split('\0').collect();
    if !words[0].ends_with("hydra_pmi_proxy") {
        return None;
    }
    let value = |option| {
        let at = words.iter().position(|word| *word == option)?;
        words.get(at + 1).copied()
    };
    Some(format!(
        "{} {}",
        value("--control-port")?,
        value("--pgid").unwrap_or_default()
    ))
}

/// The parent in a `/proc/PID/stat`, in which the name of the program may have any characters.
fn parent_in(status: &str) -> Option<u32> {
    let (_, after_name) = status.rsplit_once(')')?;
    after_name.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rank and the job of a process with these variables.
    fn found(variables: &[(&str, &str)]) -> Option<(u32, Option<String>)> {
        let get = |name: &str| {
            let mut named = variables.iter().filter(|(key, _)| *key == name);
            named.next().map(|(_, value)| (*value).to_owned())
        };
        let (launcher, LauncherRank(rank)) = Launcher::find(&get)?;
        Some((rank, launcher.job(&get)))
    }

    const BATCH_SCRIPT: [(&str, &str); 2] = [("SLURM_JOB_ID", "7"), ("SLURM_PROCID", "0")];
    const STEP: [(&str, &str); 3] = [
        ("SLURM_JOB_ID", "7"),
        ("SLURM_PROCID", "5"),
        ("SLURM_STEP_ID", "2"),
    ];

    #[test]
    fn each_launcher_says_rank_and_job() {
        for (variables, rank, job) in [
            (
                &[
                    ("OMPI_COMM_WORLD_RANK", "3"),
                    ("PMIX_RANK", "3"),
                    ("PMIX_NAMESPACE", "prterun-h-1@1"),
                ][..],
                3,
                Some("prterun-h-1@1"),
            ),
            (
                &[
                    ("OMPI_COMM_WORLD_RANK", "3"),
                    ("OMPI_MCA_ess_base_jobid", "99"),
                ],
                3,
                Some("99"),
            ),
            (&[("PMI_RANK", "0"), ("MPI_LOCALNRANKS", "2")], 0, None),
            (
                &[
                    ("PALS_RANKID", "4"),
                    ("PMI_RANK", "4"),
                    ("PALS_APID", "a-b"),
                ],
                4,
                Some("a-b"),
            ),
            (
                &[("FLUX_TASK_RANK", "6"), ("FLUX_JOB_ID", "11")],
                6,
                Some("11"),
            ),
            (
                &[
                    ("JSM_NAMESPACE_RANK", "1"),
                    ("PMIX_RANK", "1"),
                    ("PMIX_NAMESPACE", "2"),
                ],
                1,
                Some("2"),
            ),
            (&[("PMI_RANK", "2")], 2, None),
            (&[("COLLBENCH_RANK", "9")], 9, None),
            (&STEP, 5, Some("7.2")),
        ] {
            let expected = Some((rank, job.map(str::to_owned)));
            assert_eq!(found(variables), expected, "{variables:?}");
        }
        let with_step =
            |variables: &[(&'static str, &'static str)]| found(&[&STEP, variables].concat());
        let pmix = [("PMIX_RANK", "5"), ("PMIX_NAMESPACE", "slurm.pmix.7.2")];
        assert_eq!(
            with_step(&pmix),
            Some((5, Some("slurm.pmix.7.2".to_owned())))
        );
        let pmi2 = [("PMI_RANK", "5"), ("PMI_JOBID", "7.2")];
        assert_eq!(with_step(&pmi2), Some((5, Some("7.2".to_owned()))));
    }

    #[test]
    fn a_rank_that_is_left_over_from_an_outer_job_is_none() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&BATCH_SCRIPT), None);
        // The shell of an interactive allocation.
        let interactive = [&BATCH_SCRIPT[..], &[("SLURM_STEP_ID", "4294967290")]].concat();
        assert_eq!(found(&interactive), None);
        // What a launcher sets that a step or another launcher has started goes before.
        let outer = [
            &STEP[..],
            &[("PMIX_RANK", "5"), ("PMIX_NAMESPACE", "slurm")],
        ]
        .concat();
        let hydra = [("PMI_RANK", "1"), ("MPI_LOCALNRANKS", "4")];
        assert_eq!(found(&[&outer[..], &hydra].concat()), Some((1, None)));
        let flux = [("FLUX_TASK_RANK", "2"), ("FLUX_JOB_ID", "11")];
        assert_eq!(
            found(&[&outer[..], &flux].concat()),
            Some((2, Some("11".to_owned())))
        );
    }

    #[test]
    fn launchers_are_known_by_their_commands() {
        let launchers = ["mpirun", "/usr/bin/mpiexec.hydra", "srun", "flux", "jsrun"];
        assert!(launchers.iter().all(|name| is_launcher(name.as_ref())));
        assert!(!is_launcher("cluster".as_ref()) && !is_launcher("./mpirunner".as_ref()));
    }

    #[test]
    fn the_page_on_launchers_names_all_of_them() {
        let page = include_str!("../../../docs/launchers.md");
        for launcher in &LAUNCHERS {
            for word in launcher.commands.iter().chain([&launcher.rank]) {
                assert!(page.contains(&format!("`{word}")), "{word}");
            }
        }
    }

    #[test]
    fn a_job_of_hydra_is_identified_by_its_proxy() {
        let job = |words: &[&str]| job_of_proxy(&words.join("\0"));
        assert_eq!(
            job(&[
                "/x/hydra_pmi_proxy",
                "--control-port",
                "h:4711",
                "--rmk",
                "user",
                "--pgid",
                "1"
            ]),
            Some("h:4711 1".to_owned())
        );
        assert_eq!(
            job(&["/bin/sh", "-c", "hydra_pmi_proxy --control-port h:1"]),
            None
        );
        assert_eq!(job(&[""]), None);
        assert_eq!(parent_in("17 (odd) (name) S 5 17 17 0"), Some(5));
        assert_eq!(parent_in(""), None);
    }
}
