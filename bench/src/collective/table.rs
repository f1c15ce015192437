//! The results as text and as CSV.

use std::fmt::Write as _;
use std::io::{self, Write};

use collbench_text::quantity::{self, fine_duration};

use super::results::{Point, Results, Run, Violation};
use super::surroundings::Surroundings;
use crate::measure::start::StartScheme;
use crate::overhead::{empty_table, write_machine};

/// Writes where and how it was measured, and a table of each operation.
pub(crate) fn write(results: &Results, output: &mut impl Write) -> io::Result<()> {
    write_run("Collective operations", &results.run, output)?;
    write_given_up(results, output)?;
    for points in results.points.chunk_by(|a, b| a.operation == b.operation) {
        write_operation(points, output)?;
    }
    write_selection(results, output)?;
    write_guidelines(&results.guidelines, output)?;
    write_doubts(results, output)
}

/// Which starts were given up.
pub(super) fn write_given_up(results: &Results, output: &mut impl Write) -> io::Result<()> {
    for words in results.given_up_in_words() {
        writeln!(output, "{words}\n")?;
    }
    Ok(())
}

/// Which algorithm is the fastest, beside the library's own choice.
fn write_selection(results: &Results, output: &mut impl Write) -> io::Result<()> {
    if results.selection.is_empty() {
        return Ok(());
    }
    let launches = match results.run.runs {
        1 => "one launch; merge several before you choose by it".to_owned(),
        n => format!("medians of {n} launches"),
    };
    writeln!(output, "The fastest algorithms ({launches})")?;
    let head = [
        "operation",
        "processes",
        "bytes",
        "start",
        "fastest",
        "time",
        "own choice",
        "ratio",
    ];
    let mut table = empty_table(&head);
    for selected in &results.selection {
        let time = |idx: Option<usize>| {
            known_duration(idx.and_then(|idx| selected.candidates[idx].time_ns))
        };
        let own = selected
            .candidates
            .iter()
            .position(|one| one.algorithm.is_none());
        let ratio = selected.own_choice_ratio;
        table.add_row(vec![
            selected.operation.clone(),
            match selected.hosts {
                None => selected.processes.to_string(),
                Some(hosts) => format!("{} on {hosts}", selected.processes),
            },
            selected.bytes.map_or("-".to_owned(), quantity::grouped),
            selected.start.clone(),
            selected.fastest_words(),
            time(selected.not_distinguishable.first().copied()),
            time(own),
            ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
        ]);
    }
    writeln!(output, "{}\n", table.trim_fmt())
}

/// Most operations that are named; the JSON has all.
const NAMED: usize = 10;

/// Operations that take longer than others that do the same, those with the largest ratio.
fn write_guidelines(violations: &[Violation], output: &mut impl Write) -> io::Result<()> {
    if violations.is_empty() {
        return Ok(());
    }
    writeln!(
        output,
        "{} longer than others that do the same, beyond the errors:",
        match violations.len() {
            1 => "1 operation takes".to_owned(),
            n => format!("{n} operations take"),
        }
    )?;
    let mut sorted: Vec<&Violation> = violations.iter().collect();
    sorted.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
    for violation in sorted.iter().take(NAMED) {
        writeln!(output, " {} (start {})", violation.words(), violation.start)?;
    }
    if sorted.len() > NAMED {
        writeln!(output, " and {} more", sorted.len() - NAMED)?;
    }
    writeln!(output)
}

/// Writes where and how it was measured, below this heading.
pub(super) fn write_run(heading: &str, run: &Run, output: &mut impl Write) -> io::Result<()> {
    let runs = match run.runs {
        1 => String::new(),
        n => format!(", medians of {n} runs"),
    };
    writeln!(output, "{heading} of {} processes{runs}", run.ranks)?;
    let library = run.mpi_library.as_deref().unwrap_or("unknown");
    write_machine(&run.machine, library, &run.environment, output)?;
    let error = match run.clock_error {
        None => "one clock for all processes".to_owned(),
        Some(error) => format!(
            "{} clocks; uncertainty {}, bound {}, extrapolated within {}",
            run.clocks,
            fine_duration(error.uncertainty_ns),
            fine_duration(error.bound_ns),
            fine_duration(error.extrapolation_ns)
        ),
    };
    writeln!(output, "  clock    {}; {error}", run.clock)?;
    writeln!(
        output,
        "  times    {} of the repetitions; repeated until the 95 % interval of the trimmed mean is \
         within {} %",
        run.figure,
        percent(run.precision)
    )?;
    if run.has_cold_caches {
        writeln!(output, "  caches   invalidated before each repetition")?;
    }
    write_surroundings(&run.surroundings, output)?;
    if let Some(words) = run.points_before_in_words() {
        writeln!(output, "  before   {words}")?;
    }
    writeln!(output, "  command  {}\n", run.command.join(" "))
}

/// Writes who measured when, on which network and cores, as far as known.
fn write_surroundings(of: &Surroundings, output: &mut impl Write) -> io::Result<()> {
    let when = of.date.iter().cloned();
    let by = of.user.iter().map(|user| format!("by {user}"));
    let lines = [
        ("date", when.chain(by).collect::<Vec<String>>().join(", ")),
        ("network", of.network.join("; ")),
        ("ran on", of.placement_in_words()),
        ("cores", of.frequency_in_words()),
    ];
    for (name, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
        writeln!(output, "  {name:<8} {text}")?;
    }
    Ok(())
}

/// A column: what it shows of a point.
type Figure<'a> = Box<dyn Fn(&Point) -> String + 'a>;

/// Columns with their headings.
#[derive(Default)]
struct Columns<'a>(Vec<(&'static str, Figure<'a>)>);

impl<'a> Columns<'a> {
    fn add(&mut self, is_shown: bool, name: &'static str, of: Figure<'a>) {
        self.0.extend(is_shown.then_some((name, of)));
    }
}

/// Points of one operation, one row each. Columns that are the same in all rows are not shown.
fn write_operation(points: &[Point], output: &mut impl Write) -> io::Result<()> {
    let first = &points[0];
    writeln!(output, "{}{}", first.operation, what_all_share(points))?;
    let differs = |of: fn(&Point) -> String| points.iter().any(|point| of(point) != of(first));
    let mut columns = Columns::default();
    type Word = fn(&Point) -> String;
    let processes: Word = |point| point.processes.to_string();
    let root: Word = |point| point.root.map_or("-".to_owned(), |root| root.to_string());
    let arrivals: Word = |point| point.arrivals.clone().unwrap_or("together".to_owned());
    let start: Word = |point| point.start.word().to_owned();
    columns.add(differs(processes), "processes", Box::new(processes));
    let hosts: Word = |point| point.hosts.map_or("-".to_owned(), |n| n.to_string());
    columns.add(differs(hosts), "hosts", Box::new(hosts));
    columns.add(differs(root), "root", Box::new(root));
    let pieces: Word = |point| point.pieces.map_or("-".to_owned(), |n| n.to_string());
    columns.add(differs(pieces), "pieces", Box::new(pieces));
    let algorithm: Word = |point| point.algorithm.clone().unwrap_or("own choice".to_owned());
    columns.add(differs(algorithm), "algorithm", Box::new(algorithm));
    columns.add(differs(arrivals), "arrivals", Box::new(arrivals));
    columns.add(differs(start), "start", Box::new(start));
    let has_bytes = first.bytes.is_some();
    let bytes = |point: &Point| point.bytes.map_or("-".to_owned(), quantity::grouped);
    columns.add(has_bytes, "bytes", Box::new(bytes));
    columns.add(
        true,
        "time",
        Box::new(|point| known_duration(point.time_ns)),
    );
    let of_window = |point: &Point| {
        let with_window = points.iter().find(|other| {
            other.start == StartScheme::Window
                && (other.bytes, other.processes) == (point.bytes, point.processes)
                && other.hosts == point.hosts
                && (other.root, other.pieces) == (point.root, point.pieces)
                && (&other.arrivals, &other.algorithm) == (&point.arrivals, &point.algorithm)
        });
        let both = with_window.and_then(|other| other.time_ns.zip(point.time_ns));
        both.map_or("-".to_owned(), |(window, own)| {
            format!("{:.2}", own / window)
        })
    };
    columns.add(differs(start), "of window", Box::new(of_window));
    let error = |point: &Point| {
        let error = point.relative_error;
        error.map_or("unknown".to_owned(), |error| {
            format!("{} %", percent(error))
        })
    };
    columns.add(true, "+-", Box::new(error));
    let bandwidth = |point: &Point| {
        let bandwidth = point.bandwidth();
        bandwidth.map_or("-".to_owned(), |of| format!("{:.1}", of / 1e6))
    };
    columns.add(has_bytes, "MB/s", Box::new(bandwidth));
    columns.add(
        true,
        "by",
        Box::new(|point| point.reduction.word().to_owned()),
    );
    let valid = |point: &Point| {
        let valid = point.made - point.missed - point.delayed;
        format!("{valid} of {}", point.made)
    };
    columns.add(true, "valid", Box::new(valid));
    let has_skew = points.iter().any(|point| point.skew_ns.is_some());
    let median = |point: &Point| known_duration(point.skew_ns.map(|skew| skew.median));
    columns.add(has_skew, "skew of starts", Box::new(median));
    let largest = |point: &Point| known_duration(point.skew_ns.map(|skew| skew.max));
    columns.add(has_skew, "largest", Box::new(largest));
    let head: Vec<&str> = columns.0.iter().map(|(name, _)| *name).collect();
    let mut table = empty_table(&head);
    for point in points {
        table.add_row(
            columns
                .0
                .iter()
                .map(|(_, of)| of(point))
                .collect::<Vec<String>>(),
        );
    }
    writeln!(output, "{}\n", table.trim_fmt())
}

/// What is the same for all points of an operation, in words after its name.
fn what_all_share(points: &[Point]) -> String {
    let first = &points[0];
    let mut words = String::new();
    let mut add = |is_same: bool, text: String| {
        if is_same {
            words += &text;
        }
    };
    let same_processes = points
        .iter()
        .all(|point| point.processes == first.processes);
    add(same_processes, format!(", {} processes", first.processes));
    if let Some(hosts) = first.hosts {
        add(
            points.iter().all(|point| point.hosts == first.hosts),
            format!(", {}", quantity::counted(hosts, "host")),
        );
    }
    if let Some([a, b]) = first.pair {
        add(true, format!(" (ranks {a} and {b}, there and back)"));
    }
    if let Some(root) = first.root {
        add(
            points.iter().all(|point| point.root == first.root),
            format!(", root {root}"),
        );
    }
    if let Some(pieces) = first.pieces {
        add(
            points.iter().all(|point| point.pieces == first.pieces),
            format!(", {pieces} pieces for each worker"),
        );
    }
    let same_start = points.iter().all(|point| point.start == first.start);
    add(same_start, format!(", start {}", first.start.word()));
    if let Some(arrivals) = &first.arrivals {
        let same = points.iter().all(|point| point.arrivals == first.arrivals);
        add(same, format!(", arrivals {arrivals}"));
    }
    words
}

/// What has to be known before a figure is believed.
fn write_doubts(results: &Results, output: &mut impl Write) -> io::Result<()> {
    for point in &results.points {
        let key = point.key();
        let invalid = point.missed + point.delayed;
        if point.time_ns.is_none() {
            writeln!(
                output,
                "invalid: {key}: none of {} starts was valid",
                point.made
            )?;
        } else if point.is_mostly_disturbed() {
            writeln!(
                output,
                "doubtful: {key}: {invalid} of {} starts were invalid ({} missed, {} delayed)",
                point.made, point.missed, point.delayed
            )?;
        }
        if let Some(change) = &point.change {
            writeln!(
                output,
                "doubtful: {key}: the time changed within the measurement, from {} to {} (p {:.1e})",
                fine_duration(change.first_ns),
                fine_duration(change.second_ns),
                change.p
            )?;
        }
    }
    let imprecise = results
        .points
        .iter()
        .filter(|point| !point.is_precise && point.time_ns.is_some());
    let imprecise = imprecise.count();
    if imprecise > 0 {
        writeln!(
            output,
            "{imprecise} of {} did not reach {} % within their repetitions and time; --thorough and \
             --seconds give them more",
            quantity::counted(results.points.len(), "point"),
            percent(results.run.precision)
        )?;
    }
    Ok(())
}

/// One line for each point.
pub(super) fn csv(results: &Results) -> String {
    let mut text = "operation,bytes,processes,root,start,arrivals,reduction,time_ns,relative_error,\
                    bandwidth_bytes_per_s,made,missed,delayed,skew_median_ns,skew_max_ns,window_ns,pieces,algorithm,hosts,\
                    start_asked\n"
        .to_owned();
    for point in &results.points {
        let skew = point.skew_ns.as_ref();
        let fields = [
            point.operation.clone(),
            known(point.bytes),
            point.processes.to_string(),
            known(point.root),
            point.start.word().to_owned(),
            quoted(point.arrivals.as_deref().unwrap_or_default()),
            point.reduction.word().to_owned(),
            known(point.time_ns),
            known(point.relative_error),
            known(point.bandwidth()),
            point.made.to_string(),
            point.missed.to_string(),
            point.delayed.to_string(),
            known(skew.map(|skew| skew.median)),
            known(skew.map(|skew| skew.max)),
            known(point.window_ns),
            known(point.pieces),
            quoted(point.algorithm.as_deref().unwrap_or_default()),
            known(point.hosts),
            known(point.start_asked.map(StartScheme::word)),
        ];
        text += &fields.join(",");
        text.push('\n');
    }
    text
}

/// One line for each process and repetition; empty without samples.
pub(super) fn samples_csv(results: &Results) -> String {
    let mut text = String::new();
    for point in &results.points {
        for (i, sample) in point.samples.iter().flatten().enumerate() {
            if text.is_empty() {
                text += "operation,bytes,processes,root,start,repetition,valid,rank,enter_ns,leave_ns,\
                         arrivals,pieces,algorithm,counter_ns,hosts\n";
            }
            for (rank, (enter, leave)) in sample.enter_ns.iter().zip(&sample.leave_ns).enumerate() {
                let counter = sample.counter_ns.as_ref().and_then(|all| all.get(rank));
                let _ = writeln!(
                    text,
                    "{},{},{},{},{},{i},{},{rank},{enter},{leave},{},{},{},{},{}",
                    point.operation,
                    known(point.bytes),
                    point.processes,
                    known(point.root),
                    point.start.word(),
                    sample.is_valid,
                    quoted(point.arrivals.as_deref().unwrap_or_default()),
                    known(point.pieces),
                    quoted(point.algorithm.as_deref().unwrap_or_default()),
                    known(counter),
                    known(point.hosts),
                );
            }
        }
    }
    text
}

fn known(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// A field that may hold commas or quotes.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

fn known_duration(ns: Option<f64>) -> String {
    ns.map_or("unknown".to_owned(), fine_duration)
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::results::Sample;
    use crate::measure::change::Change;

    fn results() -> Results {
        let bcast = |bytes, time| Point::example("MPI_Bcast", bytes, time);
        let slow = Point {
            start: StartScheme::Barrier,
            arrivals: Some("late, or \"last\"".to_owned()),
            ..bcast(64, Some(3_000.0))
        };
        let barrier = Point {
            bytes: None,
            root: None,
            change: Some(Change {
                first_ns: 400.0,
                second_ns: 500.0,
                p: 1e-6,
            }),
            ..Point::example("MPI_Barrier", 0, Some(450.0))
        };
        Results::example(vec![
            bcast(8, None),
            bcast(64, Some(2_000.0)),
            slow,
            barrier,
        ])
    }

    #[test]
    fn the_text_has_what_differs_in_columns_and_names_what_is_doubtful() {
        let mut text = Vec::new();
        write(&results(), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        for expected in [
            "2 clocks; uncertainty 1.20 us, bound 12.0 us, extrapolated within 300 ns",
            "MPI_Bcast, 4 processes, root 0\n",
            "MPI_Barrier, 4 processes, start window\n",
            "invalid: MPI_Bcast, 8 bytes, 4 processes, root 0, window: none of 4 starts was valid",
            "doubtful: MPI_Barrier, 4 processes, window: the time changed",
        ] {
            assert!(text.contains(expected), "{expected}\nis not in\n{text}");
        }
        let row = text.lines().find(|line| line.contains("2.00 us")).unwrap();
        // 64 bytes in 2 us.
        assert!(row.contains("32.0") && row.contains("3 of 4"), "{row}");
        let unknown = text.lines().find(|line| line.contains("unknown")).unwrap();
        assert!(unknown.contains("0 of 4"), "{unknown}");
    }

    #[test]
    fn a_start_that_was_given_up_is_named_once_above_the_table() {
        let mut results = results();
        for point in &mut results.points[1..] {
            point.start = StartScheme::Barrier;
            point.start_asked = Some(StartScheme::Window);
        }
        results.points[2].skew_ns.as_mut().unwrap().median = 7_000.0;
        let mut text = Vec::new();
        write(&results, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let words = "They start by barrier instead; the median skew of starts is up to 7.00 us.";
        assert_eq!(
            text.matches("Start window was given up at 3 points")
                .count(),
            1
        );
        assert!(
            text.find(words) < text.find("MPI_Bcast, 4 processes"),
            "{text}"
        );
        let csv = csv(&results);
        let last = csv.lines().map(|line| line.rsplit(',').next().unwrap());
        assert_eq!(
            last.collect::<Vec<_>>(),
            ["start_asked", "", "window", "window", "window"]
        );
    }

    #[test]
    fn of_many_operations_that_take_longer_than_others_the_worst_are_named() {
        let mut results = Results::example(Vec::new());
        // From 1 byte on, each time is shorter than the one before.
        for bytes in 1..=13u32 {
            let time = 1_000.0 * f64::from(100 / bytes);
            results
                .points
                .push(Point::example("MPI_Scan", bytes.into(), Some(time)));
        }
        results.guidelines = crate::collective::guidelines::violations(&results);
        let mut text = Vec::new();
        write(&results, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.contains("12 operations take longer than others"),
            "{text}"
        );
        let first = text
            .lines()
            .position(|line| line.contains("12 operations take"))
            .unwrap();
        let worst = text.lines().nth(first + 1).unwrap();
        assert!(
            worst.starts_with(
                " MPI_Scan of 1 bytes on 4 processes takes 100 us, MPI_Scan of 13 bytes"
            ),
            "{worst}"
        );
        assert!(text.contains(" and 2 more\n"), "{text}");
    }

    #[test]
    fn csv_has_one_line_for_each_point_and_leaves_out_what_is_unknown() {
        let text = csv(&results());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5);
        let n_fields = lines[0].split(',').count();
        assert_eq!(lines[1], "MPI_Bcast,8,4,0,window,,span,,,,4,4,0,,,3000,,,,");
        assert_eq!(lines[1].split(',').count(), n_fields);
        assert!(
            lines[3].contains(",\"late, or \"\"last\"\"\","),
            "{}",
            lines[3]
        );
        assert!(
            lines[4].starts_with("MPI_Barrier,,4,,window"),
            "{}",
            lines[4]
        );
        assert_eq!(samples_csv(&results()), "");
    }

    #[test]
    fn samples_say_all_that_distinguishes_their_point() {
        let samples = |point: Point| Point {
            samples: Some(vec![Sample {
                enter_ns: vec![0, 5],
                leave_ns: vec![9, 7],
                counter_ns: Some(vec![0, 6]),
                is_valid: true,
            }]),
            ..point
        };
        let of_pieces = |pieces| {
            samples(Point {
                pieces: Some(pieces),
                root: None,
                ..Point::example("master-MPI_Waitsome", 8, Some(9.0))
            })
        };
        let chosen = samples(Point {
            algorithm: Some("linear, or so".to_owned()),
            ..Point::example("MPI_Bcast", 8, Some(9.0))
        });
        let results = Results::example(vec![of_pieces(1), of_pieces(100), chosen]);
        let text = samples_csv(&results);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with("leave_ns,arrivals,pieces,algorithm,counter_ns,hosts"));
        assert_eq!(
            lines[2],
            "master-MPI_Waitsome,8,4,,window,0,true,1,5,7,,1,,6,"
        );
        assert!(lines[3].ends_with(",100,,0,"), "{text}");
        assert!(lines[5].ends_with(",,,\"linear, or so\",0,"), "{text}");
    }

    #[test]
    fn times_are_drawn_over_lengths_and_over_processes() {
        let mut results = results();
        results
            .points
            .push(Point::example("MPI_Bcast", 512, Some(7_000.0)));
        results.points.push(Point {
            processes: 2,
            ..Point::example("MPI_Bcast", 512, Some(4_000.0))
        });
        let pictures = crate::collective::pictures::of_results(&results);
        let names: Vec<&str> = pictures.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["time-over-bytes", "time-over-processes"]);
        for (_, curves) in pictures {
            let svg = collbench_viz::Picture::from(curves).to_svg();
            assert!(svg.contains("MPI_Bcast") && !svg.contains("MPI_Barrier"));
        }
    }
}
