//! Decisions as lines of text, and back.
//!
//! The first line names the format, `collbench.adapt/1`. The lines after it that begin with `#` are the tree file. Each
//! further one is a control point: fields between tabs, each a name, `=` and a value.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::controller::{CandidateState, Decision, Standing};
use crate::plan::{Learned, MAX_CANDIDATES};

/// What a log begins with.
const FORMAT: &str = "collbench.adapt/1";
/// What a line of the tree file begins with.
pub const OF_FILE: &str = "# ";

/// Calls that are alike, for which there are several candidates.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject {
    /// Line of the tree file where the tree with these candidates begins, from 1.
    pub line: u32,
    /// The operation, as tree files name it.
    pub operation: String,
    /// Processes of the communicator, and the rank in the world of the one that decides.
    pub ranks: u32,
    /// As `ranks`.
    pub first_rank: u32,
    /// A number that is the same where the processes run in the same way on hosts, sites and sockets.
    pub places: u64,
    /// Least and greatest payload of a rank, bytes, both included.
    pub bytes: (u64, u64),
    /// The root, of operations that have one.
    pub root: Option<u32>,
    /// Whether values must be combined in the grouping of the first candidate, so that sums have the same bits.
    pub keeps_grouping: bool,
    /// The number of each candidate in the tree file, from 1; `None`: the MPI library.
    pub candidates: Vec<Option<u32>>,
}

/// A control point.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The calls that it is about.
    pub subject: Subject,
    /// How many of them there were before it.
    pub calls: u64,
    /// The candidate in use, by its position.
    pub in_use: usize,
    /// The one that was in use before.
    pub before: usize,
    /// Why, as [`Reason::name`](crate::Reason::name).
    pub reason: String,
    /// What trying has cost so far without the first calls of each candidate, with these, and what it might have cost; ns over
    /// all processes.
    pub cost_ns: [u64; 3],
    /// Of each candidate its standing, calls, and time in a call over all processes, ns.
    pub candidates: Vec<(String, u64, Option<u64>)>,
    /// Of each candidate its gain over the one in use, with the interval, in millionths; `None` if it is not known.
    pub gains: Vec<Option<[i64; 3]>>,
}

/// Why something is no log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The first line is another one.
    #[error("line 1: expected {FORMAT}, as in what --adapt-log has written")]
    Format,
    /// A line is no control point.
    #[error(
        "line {0}: expected a control point, tree=LINE and so on; remove this line and those behind it, or record again"
    )]
    Line(usize),
}

/// The lines with which a log begins, with the text of the tree file.
#[must_use]
pub fn first_lines(tree_file: &str) -> String {
    let mut text = format!("{FORMAT}\n");
    for line in tree_file.lines() {
        let _ = writeln!(text, "{OF_FILE}{line}");
    }
    text
}

/// Whether the content of a file is a log, or nothing.
#[must_use]
pub fn is_log(content: &[u8]) -> bool {
    content.is_empty() || content.starts_with(FORMAT.as_bytes())
}

impl Entry {
    /// A decision about some calls.
    #[must_use]
    pub fn new(subject: Subject, decision: &Decision) -> Self {
        let whole = |of: f64| of as u64;
        let millionths = |of: f64| (of.clamp(-1e6, 1e6) * 1e6).round() as i64;
        let of_candidate = |state: &CandidateState| {
            let total = state.total_ns.map(whole);
            (state.standing.name().to_owned(), state.calls, total)
        };
        let gain = |state: &CandidateState| {
            let gain = state.gain?;
            Some([gain.estimate, gain.lower, gain.upper].map(millionths))
        };
        Self {
            subject,
            calls: decision.plan.begin,
            in_use: decision.in_use,
            before: decision.before,
            reason: decision.reason.name().to_owned(),
            cost_ns: [
                decision.spent_ns,
                decision.spent_ns + decision.first_ns,
                decision.allowed_ns,
            ]
            .map(whole),
            candidates: decision.candidates.iter().map(of_candidate).collect(),
            gains: decision.candidates.iter().map(gain).collect(),
        }
    }

    /// Calls that have one candidate, since others would combine values in another grouping.
    #[must_use]
    pub fn only(subject: Subject) -> Self {
        Self {
            subject,
            calls: 0,
            in_use: 0,
            before: 0,
            reason: "only".to_owned(),
            cost_ns: [0; 3],
            candidates: vec![(Standing::InUse.name().to_owned(), 0, None)],
            gains: vec![None],
        }
    }

    /// As a line, with its end.
    #[must_use]
    pub fn line(&self) -> String {
        let subject = &self.subject;
        let or_none = |of: Option<u64>| of.map_or("-".to_owned(), |of| of.to_string());
        let mut text = format!(
            "tree={}\toperation={}\tranks={}\tfirst={}\tplaces={:x}\tbytes={}-{}\troot={}\trounds={}\tcalls={}\tin-use={}\tbefore={}\treason={}\tcost={},{},{}",
            subject.line,
            subject.operation,
            subject.ranks,
            subject.first_rank,
            subject.places,
            subject.bytes.0,
            subject.bytes.1,
            or_none(subject.root.map(u64::from)),
            u8::from(subject.keeps_grouping),
            self.calls,
            self.in_use,
            self.before,
            self.reason,
            self.cost_ns[0],
            self.cost_ns[1],
            self.cost_ns[2],
        );
        let all = subject
            .candidates
            .iter()
            .zip(&self.candidates)
            .zip(&self.gains);
        for ((number, (standing, calls, total)), gain) in all {
            let number = number.map_or("library".to_owned(), |number| number.to_string());
            let _ = write!(
                text,
                "\tcandidate={number},{standing},{calls},{}",
                or_none(*total)
            );
            if let Some([estimate, lower, upper]) = gain {
                let _ = write!(text, ",{estimate},{lower},{upper}");
            }
        }
        text.push('\n');
        text
    }

    /// What the line of a control point says; `None` if it is none.
    #[must_use]
    pub fn of_line(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let mut value = |name: &str| fields.next()?.strip_prefix(name)?.strip_prefix('=');
        let or_none = |text: &str| match text {
            "-" => Some(None),
            number => number.parse::<u64>().ok().map(Some),
        };
        let mut subject = Subject {
            line: value("tree")?.parse().ok()?,
            operation: value("operation")?.to_owned(),
            ranks: value("ranks")?.parse().ok()?,
            first_rank: value("first")?.parse().ok()?,
            places: u64::from_str_radix(value("places")?, 16).ok()?,
            bytes: {
                let (least, most) = value("bytes")?.split_once('-')?;
                (least.parse().ok()?, most.parse().ok()?)
            },
            root: match or_none(value("root")?)? {
                Some(root) => Some(u32::try_from(root).ok()?),
                None => None,
            },
            keeps_grouping: value("rounds")? == "1",
            candidates: Vec::new(),
        };
        let calls = value("calls")?.parse().ok()?;
        let in_use = value("in-use")?.parse().ok()?;
        let before = value("before")?.parse().ok()?;
        let reason = value("reason")?.to_owned();
        let costs = value("cost")?.split(',').map(str::parse);
        let costs: Vec<u64> = costs.collect::<Result<_, _>>().ok()?;
        let (mut candidates, mut gains) = (Vec::new(), Vec::new());
        for field in fields {
            let parts: Vec<&str> = field.strip_prefix("candidate=")?.split(',').collect();
            let [number, standing, calls, total, gain @ ..] = &parts[..] else {
                return None;
            };
            subject.candidates.push(match *number {
                "library" => None,
                number => Some(number.parse().ok()?),
            });
            candidates.push(((*standing).to_owned(), calls.parse().ok()?, or_none(total)?));
            let gain: Vec<i64> = gain
                .iter()
                .map(|of| of.parse())
                .collect::<Result<_, _>>()
                .ok()?;
            gains.push(gain.try_into().ok());
        }
        let is_one = |nth: usize| nth < candidates.len();
        (is_one(in_use) && is_one(before)).then_some(Self {
            subject,
            calls,
            in_use,
            before,
            reason,
            cost_ns: costs.try_into().ok()?,
            candidates,
            gains,
        })
    }

    /// What a later run can begin with; `None` if the candidate in use could not execute the calls.
    #[must_use]
    pub fn learned(&self) -> Option<Learned> {
        let (standing, _, in_use_ns) = &self.candidates[self.in_use];
        let in_use_ns = in_use_ns.filter(|_| standing == Standing::InUse.name())? as f64;
        let mut relative = [None; MAX_CANDIDATES];
        let all = self.candidates.iter().zip(&self.gains);
        for (relative, ((standing, _, total), gain)) in relative.iter_mut().zip(all) {
            // Calls in turns say more than those of different times.
            let by_gain = gain.map(|[estimate, ..]| 1.0 + estimate as f64 / 1e6);
            let by_total = total.map(|total| total as f64 / in_use_ns);
            let is_able = standing != Standing::Unable.name();
            *relative = by_gain
                .or(by_total)
                .filter(|of| is_able && of.is_finite() && *of > 0.0);
        }
        Some(Learned {
            in_use: self.in_use,
            in_use_ns,
            relative,
        })
    }
}

/// The last control point of each class of calls; of communicators with the same processes, the one with the most calls.
#[must_use]
pub fn last_of_each(entries: Vec<Entry>) -> Vec<Entry> {
    let mut last: BTreeMap<Subject, Entry> = BTreeMap::new();
    for entry in entries {
        let calls = last.get(&entry.subject).map_or(0, |of| of.calls);
        if entry.calls >= calls {
            last.insert(entry.subject.clone(), entry);
        }
    }
    last.into_values().collect()
}

/// The text of the tree file and the control points of a log.
///
/// # Errors
/// [`LogError`]; a last line without an end is not looked at: the program was killed.
pub fn read_log(text: &str) -> Result<(String, Vec<Entry>), LogError> {
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = complete.lines().enumerate();
    if lines.next().is_none_or(|(_, first)| first != FORMAT) {
        return Err(LogError::Format);
    }
    let (mut file, mut entries) = (String::new(), Vec::new());
    for (nth, line) in lines {
        // Trailing blanks of an empty line may be lost.
        if let Some(of_file) = line.strip_prefix(OF_FILE).or((line == "#").then_some("")) {
            file.push_str(of_file);
            file.push('\n');
        } else {
            entries.push(Entry::of_line(line).ok_or(LogError::Line(nth + 1))?);
        }
    }
    Ok((file, entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            subject: Subject {
                line: 3,
                operation: "allreduce".to_owned(),
                ranks: 8,
                first_rank: 0,
                places: 0xfeed,
                bytes: (8, 15),
                root: None,
                keeps_grouping: true,
                candidates: vec![None, Some(1)],
            },
            calls: 42,
            in_use: 1,
            before: 0,
            reason: "better".to_owned(),
            cost_ns: [1, 2, 3],
            candidates: vec![
                ("tried".to_owned(), 20, Some(1_000)),
                ("in-use".to_owned(), 22, None),
            ],
            gains: vec![Some([250_000, 100_000, 300_000]), None],
        }
    }

    #[test]
    fn a_log_is_read_as_it_was_written_up_to_where_the_program_was_killed() {
        let rooted = Entry {
            subject: Subject {
                root: Some(3),
                ..entry().subject
            },
            ..entry()
        };
        let begin = first_lines("[[tree]]\n\noperations = 'x'\n");
        let text = format!("{begin}{}{}", entry().line(), rooted.line());
        let (file, entries) = read_log(&text).unwrap();
        assert_eq!(file, "[[tree]]\n\noperations = 'x'\n");
        assert_eq!(entries, [entry(), rooted]);
        let (_, entries) = read_log(&text[..text.len() - 5]).unwrap();
        assert_eq!(entries.len(), 1);
    }

    #[test]
    fn what_is_learned_is_the_last_that_is_known_of_the_calls() {
        let of_other_root = Entry {
            subject: Subject {
                root: Some(3),
                ..entry().subject
            },
            ..entry()
        };
        let later = Entry {
            calls: 90,
            candidates: vec![
                ("worse".to_owned(), 20, Some(3_000)),
                ("in-use".to_owned(), 70, Some(1_000)),
            ],
            ..entry()
        };
        let all = vec![entry(), later.clone(), of_other_root.clone(), entry()];
        assert_eq!(last_of_each(all), [later.clone(), of_other_root.clone()]);
        assert_eq!(of_other_root.learned(), None, "its time is not known");
        let learned = later.learned().unwrap();
        assert_eq!((learned.in_use, learned.in_use_ns), (1, 1_000.0));
        assert_eq!(learned.relative[..3], [Some(1.25), Some(1.0), None]);
        let gains = vec![None; 2];
        let by_totals = Entry { gains, ..later };
        assert_eq!(by_totals.learned().unwrap().relative[0], Some(3.0));
    }

    #[test]
    fn what_is_no_log_is_named_with_its_line() {
        assert_eq!(read_log(""), Err(LogError::Format));
        assert_eq!(read_log("collbench.tune/1\n"), Err(LogError::Format));
        let wrong = format!("{}{}tree=x\n", first_lines("a"), entry().line());
        assert_eq!(read_log(&wrong), Err(LogError::Line(4)));
        let out_of_range = entry().line().replace("in-use=1", "in-use=2");
        assert!(read_log(&format!("{}{out_of_range}", first_lines(""))).is_err());
    }
}
