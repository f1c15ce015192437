//! What a launcher tells the processes that it starts as ranks.

/// The rank that a launcher gave to this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LauncherRank(pub(crate) u32);

impl LauncherRank {
    /// The rank in the environment; `None` where no launcher stands above this process.
    pub(crate) fn of_this_process() -> Option<Self> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(get: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name| get(name).and_then(|value| value.parse().ok());
        ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"]
            .into_iter()
            .find_map(number)
            .or_else(|| {
                // A batch script of Slurm has SLURM_PROCID=0 too, but is no step.
                get("SLURM_STEP_ID")?;
                number("SLURM_PROCID")
            })
            .map(Self)
    }
}

/// How many processes the launcher started together with this one; `None` where it does not say.
pub(crate) fn launched_processes() -> Option<u32> {
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok()?.parse().ok())
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
}
