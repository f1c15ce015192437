//! What a run sets by `MPIR_CVAR_` variables.

use std::collections::BTreeMap;

use super::tree::Kind;

/// Variables of a run, by name without `MPIR_CVAR_`.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    values: BTreeMap<String, String>,
}

/// What the library takes names of variables to begin with; a later one goes before an earlier.
static PREFIXES: [&str; 3] = ["MPICH_", "MPIR_PARAM_", "MPIR_CVAR_"];

impl Settings {
    /// Those of an environment.
    pub fn of<N: AsRef<str>, V: Into<String>>(
        environment: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let mut found: Vec<(usize, String, String)> = Vec::new();
        for (name, value) in environment {
            let name = name.as_ref();
            let prefix = PREFIXES
                .iter()
                .enumerate()
                .find_map(|(idx, prefix)| Some((idx, name.strip_prefix(prefix)?)));
            if let Some((idx, name)) = prefix {
                found.push((idx, name.to_owned(), value.into()));
            }
        }
        found.sort();
        Self {
            values: found
                .into_iter()
                .map(|(_, name, value)| (name, value))
                .collect(),
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The file that the run names for `kind`.
    #[must_use]
    pub fn file(&self, kind: Kind) -> Option<&str> {
        self.get(kind.setting().trim_start_matches("MPIR_CVAR_"))
            .filter(|file| !file.is_empty())
    }

    /// Whether `collective` goes to the device, and the setting that says so where one does:
    /// `dump_mpir` of `maint/gen_coll.py`.
    pub(super) fn device(&self, collective: &str) -> (bool, Option<String>) {
        let name = "DEVICE_COLLECTIVES";
        let says = |name: &str, value: &str| Some(format!("MPIR_CVAR_{name}={value}"));
        match self.get(name) {
            Some(value @ "all") => (true, says(name, value)),
            Some(value @ "none") => (false, says(name, value)),
            _ => {
                let name = format!("{}_DEVICE_COLLECTIVE", collective.to_ascii_uppercase());
                match self.get(&name) {
                    Some(value) => (is_true(value), says(&name, value)),
                    None => (true, None),
                }
            }
        }
    }

    /// The algorithm that the run sets for `collective`, and the setting.
    pub(super) fn algorithm(&self, collective: &str, intra: bool) -> Option<(&str, String)> {
        let on = if intra { "INTRA" } else { "INTER" };
        let name = format!("{}_{on}_ALGORITHM", collective.to_ascii_uppercase());
        let value = self.get(&name).filter(|value| *value != "auto")?;
        Some((value, format!("MPIR_CVAR_{name}={value}")))
    }

    /// The composition that the run sets for `collective`, from 5.0 on; 0 is none.
    pub(super) fn number(&self, name: &str, default: u64) -> u64 {
        self.get(name)
            .and_then(|value| value.parse().ok())
            .unwrap_or(default)
    }

    /// Whether an algorithm that a setting names and that cannot do a call ends the program.
    pub(super) fn fallback_is_error(&self) -> bool {
        self.get("COLLECTIVE_FALLBACK") == Some("error")
    }
}

/// `MPL_env2bool`.
fn is_true(value: &str) -> bool {
    matches!(value, "YES" | "yes" | "TRUE" | "true" | "ON" | "on" | "1")
}
