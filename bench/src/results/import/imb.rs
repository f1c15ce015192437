//! Texts of Intel's MPI benchmarks.
//!
//! `# Benchmarking NAME` and `# #processes = N` begin a table, a line with `[usec]` names its columns,
//! and rows of numbers follow.

use super::{Entry, Read, collective};

/// What the lines that follow belong to.
#[derive(Debug, Default)]
struct Section {
    name: String,
    processes: Option<usize>,
    /// Whether several groups of processes run at once.
    has_groups: bool,
    columns: Vec<String>,
}

pub(super) fn read(text: &str) -> Read {
    let mut found = Read::default();
    let mut section = Section::default();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        if let Some((_, version)) = text.split_once("MPI Benchmarks ") {
            let version = version.split([',', ' ']).next();
            found.version = version.unwrap_or_default().to_owned();
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
        } else if let Some(entry) = section.entry(line, text) {
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
    fn entry(&self, line: usize, text: &str) -> Option<Entry> {
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
        Some(Entry {
            line,
            operation: operation(&self.name).filter(|_| !self.has_groups),
            benchmark: format!("IMB {}", self.name),
            bytes: number("#bytes"),
            processes: self.processes,
            us,
            repetitions: number("#repetitions").map(|n| n as usize),
        })
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
}
