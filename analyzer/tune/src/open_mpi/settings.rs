//! What a run told the library: parameters on the command line, in the environment and in files.

use std::collections::BTreeMap;

use super::library::Library;
use super::run::{HanSettings, Settings};

/// Parameters of a run, by name, and where each was set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    by_name: BTreeMap<String, (String, String)>,
}

impl Parameters {
    /// Those of a command line, of variables, and of the texts of files with their names, of which the
    /// first ones go before the last ones.
    #[must_use]
    pub fn of_run(
        command: &[String],
        environment: &BTreeMap<String, String>,
        files: &[(String, String)],
    ) -> Self {
        let mut by_name = BTreeMap::new();
        let mut set = |name: &str, value: &str, from: &str| {
            let entry = by_name.entry(name.to_owned());
            entry.or_insert_with(|| (value.to_owned(), from.to_owned()));
        };
        for words in command.windows(3) {
            if matches!(&*words[0], "--mca" | "-mca" | "--gmca" | "-gmca") {
                set(&words[1], &words[2], "the command line");
            }
        }
        for (name, value) in environment {
            if let Some(name) = name.strip_prefix("OMPI_MCA_") {
                set(name, value, "the environment");
            }
        }
        for (file, text) in files {
            for line in text.lines() {
                let line = line.split('#').next().unwrap_or_default();
                if let Some((name, value)) = line.split_once('=') {
                    set(name.trim(), value.trim(), file);
                }
            }
        }
        Self { by_name }
    }

    /// The value of a parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.by_name.get(name).map(|(value, _)| value.as_str())
    }

    /// Where a parameter was set.
    #[must_use]
    pub fn from(&self, name: &str) -> Option<&str> {
        self.by_name.get(name).map(|(_, from)| from.as_str())
    }

    /// Those of the components for collectives: name, value, and where each was set.
    pub fn of_collectives(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let all = self.by_name.iter();
        let of_collectives = all.filter(|(name, _)| *name == "coll" || name.starts_with("coll_"));
        of_collectives.map(|(name, (value, from))| (&**name, &**value, &**from))
    }

    /// Whether rules are looked at: `coll_tuned_use_dynamic_rules`.
    #[must_use]
    pub fn uses_rules(&self) -> bool {
        self.is_on("coll_tuned_use_dynamic_rules")
    }

    /// Whether rules of `coll_han` are looked at: `coll_han_use_dynamic_file_rules`.
    #[must_use]
    pub fn uses_han_rules(&self) -> bool {
        self.is_on("coll_han_use_dynamic_file_rules")
    }

    fn is_on(&self, name: &str) -> bool {
        let value = self.get(name).unwrap_or("0");
        let value = value.trim().to_ascii_lowercase();
        match value.parse::<i64>() {
            Ok(number) => number != 0,
            Err(_) => matches!(&*value, "true" | "t" | "yes" | "y" | "enabled" | "on"),
        }
    }

    /// The file that the run named.
    #[must_use]
    pub fn rule_file(&self) -> Option<&str> {
        self.get("coll_tuned_dynamic_rules_filename")
            .filter(|name| !name.is_empty())
    }

    /// The file of rules of `coll_han` that the run named.
    #[must_use]
    pub fn han_rule_file(&self) -> Option<&str> {
        self.get("coll_han_dynamic_rules_filename")
            .filter(|name| !name.is_empty())
    }

    fn han(&self) -> HanSettings {
        let mut han = HanSettings {
            ignores_rules: self.han_rule_file().is_some() && !self.uses_han_rules(),
            is_reproducible: self.is_on("coll_han_reproducible"),
            ..HanSettings::default()
        };
        for (name, (value, _)) in &self.by_name {
            let Some(of_han) = name.strip_prefix("coll_han_") else {
                continue;
            };
            let value = value.trim();
            if of_han.contains("_dynamic_") && of_han.ends_with("_module") {
                if let Ok(number) = value.parse() {
                    han.modules.insert(name.clone(), number);
                }
            } else if let Some(simple) = of_han.strip_prefix("use_simple_") {
                if self.is_on(name) {
                    han.simple.insert(simple.to_owned());
                }
            } else if let Some(operation) = of_han
                .strip_prefix("use_")
                .and_then(|rest| rest.strip_suffix("_algorithm"))
            {
                han.algorithms
                    .insert(operation.to_owned(), value.to_owned());
            }
        }
        han
    }

    /// What of them decides calls.
    #[must_use]
    pub fn settings(&self, library: Library) -> Settings {
        let number = |name: &str| self.get(name)?.trim().parse().ok();
        let mut forced = BTreeMap::new();
        for table in library.table.operations {
            let Some(value) = self.get(&format!("coll_tuned_{}_algorithm", table.name)) else {
                continue;
            };
            let mut algorithms = table.algorithms.iter();
            let by_name = algorithms.find(|algorithm| algorithm.name == value.trim());
            let id = by_name.map_or_else(|| value.trim().parse().unwrap_or(0), |found| found.id);
            if id != 0 {
                forced.insert(table.name.to_owned(), id);
            }
        }
        Settings {
            ignores_rules: false,
            forced,
            han_priority: number("coll_han_priority"),
            tuned_priority: number("coll_tuned_priority"),
            han: self.han(),
            components: self.get("coll").map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open_mpi::library_of;

    #[test]
    fn the_command_line_goes_before_the_environment_and_that_before_files() {
        let command = ["mpirun", "--mca", "coll", "^han", "-n", "4", "a.out"];
        let command = command.map(str::to_owned);
        let environment = BTreeMap::from([
            ("OMPI_MCA_coll".to_owned(), "basic".to_owned()),
            (
                "OMPI_MCA_coll_tuned_bcast_algorithm".to_owned(),
                "binomial".to_owned(),
            ),
        ]);
        let file =
            "# all\ncoll_tuned_use_dynamic_rules = true # on\ncoll_tuned_bcast_algorithm = 1\n";
        let files = [("a.conf".to_owned(), file.to_owned())];
        let parameters = Parameters::of_run(&command, &environment, &files);
        assert_eq!(parameters.get("coll"), Some("^han"));
        assert!(parameters.uses_rules());
        assert_eq!(
            parameters.from("coll_tuned_use_dynamic_rules"),
            Some("a.conf")
        );
        let library = library_of("Open MPI 5.0.11");
        let settings = parameters.settings(library);
        assert_eq!(settings.forced, BTreeMap::from([("bcast".to_owned(), 6)]));
    }
}
