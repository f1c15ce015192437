//! Texts of OSU's benchmarks.
//!
//! A title names the benchmark, a line with `(us)` the columns, which two blanks or more divide.
//! Rows of numbers follow. What else is there, of launchers and libraries, is passed over.

use super::{Entry, Read, collective};
use crate::measure::start::StartScheme;

/// The columns whose time is that of one operation alone, in the order in which they are looked for.
const TIMES: [&str; 4] = [
    "Avg Latency(us)",
    "Latency (us)",
    "Latency(us)",
    "Pure Comm.(us)",
];

/// What the lines that follow belong to.
#[derive(Debug, Default)]
struct Section {
    benchmark: String,
    operation: Option<String>,
    columns: Vec<String>,
}

pub(super) fn read(text: &str) -> Read {
    let mut found = Read::default();
    let mut section = Section::default();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        if let Some(title) = text.strip_prefix("# OSU MPI") {
            section = Section::of_title(title, &mut found.version);
        } else if text.contains("(us)") || text.contains("(MB/s)") {
            section.columns = columns(text);
        } else if let Some(entry) = section.entry(line, text) {
            found.entries.push(entry);
        } else if text.starts_with(|c: char| c.is_ascii_digit()) && !section.columns.is_empty() {
            let why = match section.time_column() {
                None => format!("{}: has no time of an operation", section.benchmark),
                Some(_) => format!("line {line}: is no row of {}", section.benchmark),
            };
            if !found.left_out.contains(&why) {
                found.left_out.push(why);
            }
        }
    }
    found
}

/// Names of columns, which two blanks or more divide.
fn columns(line: &str) -> Vec<String> {
    let line = line.trim_start_matches('#').replace('\t', "  ");
    let names = line.split("  ").map(str::trim);
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

impl Section {
    /// From what follows `# OSU MPI`: ` Allreduce Latency Test v7.5`.
    fn of_title(title: &str, version: &mut String) -> Self {
        let (name, rest) = title.split_once(" Test").unwrap_or((title, ""));
        let words = rest.split_whitespace();
        if let Some(found) = words.into_iter().find(|word| word.starts_with('v')) {
            *version = found.to_owned();
        }
        // Of devices: `-CUDA Allreduce Latency`.
        let name = match name.strip_prefix('-') {
            Some(of_device) => of_device.split_once(' ').map_or("", |(_, name)| name),
            None => name,
        };
        let name = name.trim();
        Self {
            benchmark: format!("OSU {name}"),
            operation: operation(name),
            columns: Vec::new(),
        }
    }

    /// Place of the time among the columns.
    fn time_column(&self) -> Option<usize> {
        TIMES
            .iter()
            .find_map(|time| self.columns.iter().position(|name| name == time))
    }

    /// The entry of a row of numbers.
    fn entry(&self, line: usize, text: &str) -> Option<Entry> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let time = self.time_column()?;
        if fields.len() != self.columns.len() {
            return None;
        }
        let us: f64 = fields[time].parse().ok()?;
        let number = |name: &str| -> Option<u64> {
            let at = self.columns.iter().position(|column| column == name)?;
            fields[at].parse().ok()
        };
        let has_size = self.columns.iter().any(|column| column == "Size");
        if !us.is_finite() || (has_size && number("Size").is_none()) {
            return None;
        }
        let is_pair = self.operation.as_deref() == Some("MPI_Send-MPI_Recv");
        Some(Entry {
            line,
            operation: self.operation.clone(),
            benchmark: self.benchmark.clone(),
            bytes: number("Size"),
            processes: is_pair.then_some(2),
            us,
            repetitions: number("Iterations").map(|n| n as usize),
            start: if is_pair {
                StartScheme::LoopMpptest
            } else {
                StartScheme::Barrier
            },
            changes_root: false,
        })
    }
}

/// Our name of a benchmark: `Allreduce Latency`, `Non-blocking All-to-All Latency`.
fn operation(name: &str) -> Option<String> {
    if name == "Latency" {
        return Some("MPI_Send-MPI_Recv".to_owned());
    }
    let name = name.strip_suffix(" Latency")?;
    let (is_nonblocking, name) = match name.strip_prefix("Non-blocking ") {
        Some(name) => (true, name),
        None => (false, name),
    };
    let name = name.trim_end_matches(" Personalized Exchange");
    let word = match name {
        "Broadcast" => "Bcast".to_owned(),
        _ => name.replace("All-to-All", "Alltoall"),
    };
    collective(&word, is_nonblocking)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{points, read_text};

    /// As osu_allreduce, osu_barrier, osu_ialltoall, osu_latency and osu_bw print, with what a
    /// launcher adds.
    const TEXT: &str = "\
[node1:4711] mca_base_component: a warning of 12 words

# OSU MPI Allreduce Latency Test v7.5
# Datatype: MPI_INT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                       2.50              2.11              3.07        1000
1048576               812.25            790.00            830.50         100
# OSU MPI Barrier Latency Test v7.5
# Avg Latency(us)
             1.57

# OSU MPI Non-blocking All-to-All Latency Test v7.5
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
8                       9.10              4.76              3.97              0.00
# OSU MPI-CUDA Reduce_scatter Latency Test v7.5
# Size       Avg Latency(us)
16                      4.00
18                      5.00
# OSU MPI Latency Test v7.5
# Size          Latency (us)
0                       0.20
8                       0.25
# OSU MPI Bandwidth Test v7.5
# Size      Bandwidth (MB/s)
1                       3.45
2                       6.90
# OSU MPI Neighbor Allgather Latency Test v7.5
# Size       Avg Latency(us)
1                       3.45
";

    #[test]
    fn times_lengths_and_repetitions_are_those_of_the_text() {
        let import = read_text(TEXT, Some(4)).unwrap();
        assert_eq!(import.version, "v7.5");
        let expected = [
            ("MPI_Allreduce", Some(4), 4, 2_500.0),
            ("MPI_Allreduce", Some(1_048_576), 4, 812_250.0),
            ("MPI_Barrier", None, 4, 1_570.0),
            ("MPI_Ialltoall", Some(8), 4, 3_970.0),
            // Blocks of one process.
            ("MPI_Reduce_scatter", Some(4), 4, 4_000.0),
            // There and back.
            ("MPI_Send-MPI_Recv", Some(0), 2, 400.0),
            ("MPI_Send-MPI_Recv", Some(8), 2, 500.0),
        ];
        assert_eq!(points(&import), expected);
        assert_eq!(import.results.points[1].made, 100);
        let left_out = import.left_out.join("\n");
        for expected in [
            "OSU Bandwidth: has no time of an operation",
            "lengths that 4 processes do not divide",
            "OSU Neighbor Allgather Latency: has no counterpart",
        ] {
            assert!(left_out.contains(expected), "{left_out}");
        }
        assert_eq!(import.left_out.len(), 3, "{left_out}");
    }

    #[test]
    fn without_the_number_of_processes_a_collective_is_refused_with_its_line() {
        let said = read_text(TEXT, None).unwrap_err().to_string();
        assert!(
            said.contains(":6: OSU Allreduce Latency does not say how many"),
            "{said}"
        );
    }

    #[test]
    fn rows_that_are_cut_or_no_numbers_are_named() {
        let text = "# OSU MPI Reduce Latency Test v5.8\n# Size       Avg Latency(us)\n\
                    4    2.50\n8\n16   nan\n32   3.50\n";
        let import = read_text(text, Some(2)).unwrap();
        assert_eq!(points(&import).len(), 2);
        assert_eq!(import.left_out.len(), 2, "{:?}", import.left_out);
        assert!(import.left_out[0].contains("line 4"));
    }
}
