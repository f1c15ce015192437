//! What launchers tell the ranks that they start.

use std::fs;

/// The rank that a launcher gave this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LauncherRank(pub u32);

impl LauncherRank {
    /// The rank in the environment; `None` if no launcher started this process.
    pub fn of_this_process() -> Option<Self> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(get: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name| get(name).and_then(|value| value.parse().ok());
        ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"]
            .into_iter()
            .find_map(number)
            .or_else(|| {
                // A batch script of Slurm also has SLURM_PROCID=0, but is not a step.
                get("SLURM_STEP_ID")?;
                number("SLURM_PROCID")
            })
            .map(Self)
    }
}

/// Number of processes that the launcher started together with this one; `None` if it does not say.
pub(crate) fn launched_processes() -> Option<u32> {
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// Whether the launcher says that all processes of a world of this size are on this host.
pub(crate) fn all_on_this_host(world_size: u32) -> bool {
    ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok()?.parse::<u32>().ok())
        .is_some_and(|n_local| n_local >= world_size)
}

/// Identifies the processes that the launcher started together with this one: what it sets equally in
/// all of them, and in no other job. `None` if no launcher started this process.
pub fn launched_job() -> Option<String> {
    const VARIABLES: [&[&str]; 4] = [
        &["PMIX_NAMESPACE"],
        &["OMPI_MCA_ess_base_jobid"],
        &["PMI_JOBID"],
        &["SLURM_JOB_ID", "SLURM_STEP_ID"],
    ];
    let value = |name: &&str| std::env::var(name).ok();
    let job = VARIABLES.iter().find_map(|names| {
        let values: Option<Vec<String>> = names.iter().map(value).collect();
        Some(values?.join("."))
    });
    job.or_else(hydra_job)
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

    #[test]
    fn ranks_of_all_launchers_are_seen_and_a_batch_script_is_none() {
        let rank = |variables: &[(&str, &str)]| {
            LauncherRank::from_variables(|name| {
                variables
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(
            rank(&[("OMPI_COMM_WORLD_RANK", "3")]),
            Some(LauncherRank(3))
        );
        assert_eq!(rank(&[("PMI_RANK", "0")]), Some(LauncherRank(0)));
        assert_eq!(rank(&[("SLURM_PROCID", "0")]), None);
        assert_eq!(
            rank(&[("SLURM_PROCID", "5"), ("SLURM_STEP_ID", "0")]),
            Some(LauncherRank(5))
        );
        assert_eq!(rank(&[]), None);
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
