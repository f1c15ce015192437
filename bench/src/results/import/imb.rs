//! Texts of Intel's MPI benchmarks.
//!
//! `# Benchmarking NAME` and `# #processes = N` begin a table, a line with `[usec]` names its columns,
//! and rows of numbers follow.
//!
//! Collectives were timed in a loop after barriers, and the root changed from one to the next. From
//! version 2017 on a barrier follows each of them, and the root stays; `-sync off` and
//! `-root_shift on` on the command line are as before.

use super::{Entry, Read, collective};
use crate::measure::start::StartScheme;

/// First version whose collectives are each followed by a barrier.
const BARRIERS_FROM: u32 = 2017;

/// What the lines that follow belong to.
#[derive(Debug, Default)]
struct Section {
    name: String,
    processes: Option<usize>,
    /// Whether several groups of processes run at once.
    has_groups: bool,
    columns: Vec<String>,
}

/// How collectives are repeated.
#[derive(Debug, Default)]
struct Loops {
    /// Whether a barrier follows each repetition.
    have_barriers: bool,
    /// Whether each repetition has another root.
    change_root: bool,
}

pub(super) fn read(text: &str) -> Read {
    let mut found = Read::default();
    let mut section = Section::default();
    let mut loops = Loops::default();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        if let Some((_, version)) = text.split_once("MPI Benchmarks ") {
            let version = version.split([',', ' ']).next();
            found.version = version.unwrap_or_default().to_owned();
            loops = Loops::of_version(&found.version);
        } else if text.starts_with("# ") && text.contains(" -") {
            loops.set(text);
        } else if let Some(name) = text.strip_prefix("# Benchmarking ") {
            section = Section {
                name: name
                    .split_whitespace()
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
                ..Section::default()
            };
        } else if let Some(n) = text.strip_prefix("# #processes = ") {
            section.processes = n.split_whitespace().next().and_then(|n| n.parse().ok());
        } else if text.contains("groups of") && text.starts_with('#') {
            section.has_groups = true;
        } else if text.contains("[usec]") {
            section.columns = text.split_whitespace().map(str::to_owned).collect();
        } else if let Some(entry) = section.entry(line, text, &loops) {
            found.entries.push(entry);
        } else if text.starts_with(|c: char| c.is_ascii_digit()) && !section.columns.is_empty() {
            found
                .left_out
                .push(format!("line {line}: is no row of IMB {}", section.name));
        }
    }
    found
}

impl Section {
    fn column(&self, names: &[&str]) -> Option<usize> {
        names
            .iter()
            .find_map(|name| self.columns.iter().position(|column| column == name))
    }

    /// The entry of a row of numbers.
    fn entry(&self, line: usize, text: &str, loops: &Loops) -> Option<Entry> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        if fields.len() != self.columns.len() {
            return None;
        }
        let time = self.column(&["t_max[usec]", "t[usec]", "t_pure[usec]"])?;
        let us: f64 = fields[time].parse().ok()?;
        let number = |name: &str| -> Option<u64> { fields[self.column(&[name])?].parse().ok() };
        if !us.is_finite() || (self.column(&["#bytes"]).is_some() && number("#bytes").is_none()) {
            return None;
        }
        let is_pair = matches!(&*self.name, "PingPong" | "Sendrecv");
        Some(Entry {
            line,
            operation: operation(&self.name).filter(|_| !self.has_groups),
            benchmark: format!("IMB {}", self.name),
            bytes: number("#bytes"),
            processes: self.processes,
            us,
            repetitions: number("#repetitions").map(|n| n as usize),
            start: if loops.have_barriers && !is_pair {
                StartScheme::Barrier
            } else {
                StartScheme::LoopImb
            },
            changes_root: loops.change_root,
        })
    }
}

impl Loops {
    fn of_version(version: &str) -> Self {
        let year = version
            .split('.')
            .next()
            .and_then(|year| year.parse::<u32>().ok());
        let is_new = year.is_some_and(|year| year >= BARRIERS_FROM);
        Self {
            have_barriers: is_new,
            change_root: !is_new,
        }
    }

    /// By options on a command line.
    fn set(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            let option = match word {
                "-sync" => &mut self.have_barriers,
                "-root_shift" => &mut self.change_root,
                _ => continue,
            };
            *option = !matches!(words.next(), Some("off" | "0" | "false" | "no"));
        }
    }
}

/// Our name of a benchmark.
fn operation(name: &str) -> Option<String> {
    match name {
        "PingPong" => return Some("MPI_Send-MPI_Recv".to_owned()),
        "Sendrecv" => return Some("MPI_Sendrecv".to_owned()),
        // How its length is counted is not documented.
        "Reduce_scatter_block" => return None,
        _ => {}
    }
    let name = name.strip_suffix("_pure").unwrap_or(name);
    let nonblocking = name.strip_prefix('I').map(|word| (word, true));
    let (word, is_nonblocking) = nonblocking.unwrap_or((name, false));
    collective(word, is_nonblocking)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{points, read_text};
    use super::*;

    /// As IMB-MPI1 and IMB-NBC print.
    const TEXT: &str = "\
#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.8, MPI-1 part
#----------------------------------------------------------------
# Date                  : Mon Nov 23 22:40:05 2026
# Calling sequence was:
# ./IMB-MPI1 PingPong Sendrecv Allreduce Barrier

# List of Benchmarks to run:
# PingPong

#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
# ( 2 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.20         0.00
            8         1000         0.25        32.00

#-----------------------------------------------------------------------------
# Benchmarking Sendrecv
# #processes = 4
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            0         1000         4.06         4.06         4.06         0.00

#----------------------------------------------------------------
# Benchmarking Allreduce
# #processes = 4
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            4         1000         2.11         3.07         2.50
      4194304           10      8100.00      8300.25      8200.00
      8388608 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over

#----------------------------------------------------------------
# Benchmarking Reduce_scatter
# #processes = 4
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
           16         1000         3.00         4.00         3.50

#---------------------------------------------------
# Benchmarking Barrier
# #processes = 4
#---------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000        22.93        22.95        22.94

#-----------------------------------------------------------------------------
# Benchmarking Ibcast
# #processes = 4
#-----------------------------------------------------------------------------
       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
            8         1000         9.75         4.15         4.96         0.00

#-----------------------------------------------------------------------------
# Benchmarking Exchange
# #processes = 4
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            1         1000         4.06         4.06         4.06         0.00

# All processes entering MPI_Finalize
";

    #[test]
    fn times_lengths_and_processes_are_those_of_the_text() {
        let import = read_text(TEXT, None).unwrap();
        assert_eq!(import.version, "2021.8");
        let expected = [
            // There and back.
            ("MPI_Send-MPI_Recv", Some(0), 2, 400.0),
            ("MPI_Send-MPI_Recv", Some(8), 2, 500.0),
            ("MPI_Allreduce", Some(4), 4, 3_070.0),
            ("MPI_Allreduce", Some(4_194_304), 4, 8_300_250.0),
            // Blocks of one process.
            ("MPI_Reduce_scatter", Some(4), 4, 4_000.0),
            ("MPI_Barrier", None, 4, 22_950.0),
            ("MPI_Ibcast", Some(8), 4, 4_150.0),
        ];
        assert_eq!(points(&import), expected);
        let starts = import.results.points.iter().map(|point| point.start);
        let (pairs, others) = (StartScheme::LoopImb, StartScheme::Barrier);
        assert_eq!(
            starts.collect::<Vec<_>>(),
            [pairs, pairs, others, others, others, others, others]
        );
        assert_eq!(import.results.points[3].made, 10);
        let left_out = import.left_out.join("\n");
        for expected in [
            "is no row of IMB Allreduce",
            "IMB Sendrecv: a ring of more than two processes",
            "IMB Exchange: has no counterpart",
        ] {
            assert!(left_out.contains(expected), "{left_out}");
        }
    }
    #[test]
    fn old_versions_and_options_have_no_barriers_and_other_roots() {
        let old = TEXT.replace("2021.8", "4.1 Update 1");
        let set = TEXT.replace("IMB-MPI1 ", "IMB-MPI1 -sync off -root_shift on ");
        for text in [old, set] {
            let import = read_text(&text, None).unwrap();
            let points = &import.results.points;
            assert!(
                points
                    .iter()
                    .all(|point| point.start == StartScheme::LoopImb && point.root.is_none()),
                "{points:?}"
            );
            let left_out = import.left_out.join("\n");
            assert!(
                left_out.contains("IMB Ibcast: each repetition has another root"),
                "{left_out}"
            );
        }
    }
}
