//! The list of runs that were kept.

use std::io::{self, Write};

use collbench_text::quantity::counted;
use serde::Serialize;

use super::kept::Kept;
use crate::collective::{Results, points_in_journal};
use crate::overhead::empty_table;

/// The document `collbench.bench.results/1`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct List {
    schema: &'static str,
    runs: Vec<Entry>,
}

/// One run. What is not known is `None` or empty.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Entry {
    name: String,
    path: String,
    state: State,
    /// Why it cannot be read.
    problem: Option<String>,
    date: Option<String>,
    user: Option<String>,
    /// Names of the hosts.
    hosts: Vec<String>,
    /// Processor of the first host.
    processor: Option<String>,
    /// Least and greatest frequency of the cores, in words.
    frequency: Option<String>,
    network: Vec<String>,
    mpi_library: Option<String>,
    /// Processes of the job.
    ranks: Option<usize>,
    placement: Option<String>,
    command: Vec<String>,
    points: usize,
    /// Operations, by name.
    operations: Vec<String>,
    /// Number of launches of which the points are medians.
    runs: Option<usize>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum State {
    #[default]
    Ended,
    Interrupted,
    Unreadable,
}

impl List {
    pub(super) fn of(kept: &[Kept]) -> Self {
        Self {
            schema: "collbench.bench.results/1",
            runs: kept.iter().map(Entry::of).collect(),
        }
    }

    /// Writes a table of what can be told from one another at a glance.
    pub(super) fn write(&self, output: &mut impl Write) -> io::Result<()> {
        let head = [
            "run",
            "date",
            "user",
            "hosts",
            "processor",
            "cores",
            "network",
            "MPI",
            "ranks",
            "points",
        ];
        let mut table = empty_table(&head);
        for entry in &self.runs {
            table.add_row(entry.row());
        }
        for column in table.column_iter_mut().take(8) {
            column.set_cell_alignment(comfy_table::CellAlignment::Left);
        }
        writeln!(output, "{}", table.trim_fmt())?;
        for entry in &self.runs {
            match (&entry.problem, entry.state) {
                (Some(problem), _) => writeln!(output, "unreadable: {problem}")?,
                (None, State::Interrupted) => writeln!(
                    output,
                    "interrupted: {} has {}; the same command with --output {} goes on",
                    entry.name,
                    counted(entry.points, "point"),
                    folder_of(&entry.path)
                )?,
                (None, _) => {}
            }
        }
        Ok(())
    }
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

impl Entry {
    fn of(kept: &Kept) -> Self {
        let (name, path) = (kept.name.clone(), kept.path.display().to_string());
        match &kept.results {
            Ok(Some(results)) => Self::of_results(name, path, results),
            Ok(None) => Self {
                points: points_in_journal(&kept.path),
                ..Self::unknown(name, path, State::Interrupted)
            },
            Err(problem) => Self {
                problem: Some(problem.clone()),
                ..Self::unknown(name, path, State::Unreadable)
            },
        }
    }

    fn unknown(name: String, path: String, state: State) -> Self {
        Self {
            name,
            path,
            state,
            ..Self::default()
        }
    }

    fn of_results(name: String, path: String, results: &Results) -> Self {
        let run = &results.run;
        let surroundings = &run.surroundings;
        let known = |words: String| Some(words).filter(|words| !words.is_empty());
        let mut hosts: Vec<String> = surroundings
            .hosts()
            .into_iter()
            .map(str::to_owned)
            .collect();
        if hosts.is_empty() {
            hosts.extend(run.machine.host.clone());
        }
        let mut operations: Vec<String> = Vec::new();
        for point in &results.points {
            if !operations.contains(&point.operation) {
                operations.push(point.operation.clone());
            }
        }
        Self {
            date: surroundings.date.clone(),
            user: surroundings.user.clone(),
            hosts,
            processor: run.machine.cpu.clone(),
            frequency: known(surroundings.frequency_in_words()),
            network: surroundings.network.clone(),
            mpi_library: run.mpi_library.clone(),
            ranks: Some(run.ranks),
            placement: known(surroundings.placement_in_words()),
            command: run.command.clone(),
            points: results.points.len(),
            operations,
            runs: Some(run.runs),
            ..Self::unknown(name, path, State::Ended)
        }
    }

    fn row(&self) -> Vec<String> {
        let or_dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
        let hosts = match &self.hosts[..] {
            [] => "-".to_owned(),
            [one] => one.clone(),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        };
        let network = self.network.join("; ");
        let library = self.mpi_library.as_deref();
        let library = library.map(|text| text.split([',', '\n']).next().unwrap_or(text).trim());
        // To the minute.
        let date = self.date.as_deref().map(|date| {
            let minute = date.get(..16).unwrap_or(date);
            minute.replace('T', " ")
        });
        vec![
            self.name.clone(),
            or_dash(date.as_deref()),
            or_dash(self.user.as_deref()),
            hosts,
            or_dash(self.processor.as_deref()),
            or_dash(self.frequency.as_deref()),
            or_dash(Some(network.as_str()).filter(|text| !text.is_empty())),
            or_dash(library),
            self.ranks.map_or("-".to_owned(), |n| n.to_string()),
            self.points.to_string(),
        ]
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<super::List>("collbench.bench.results/1");
    }
}
