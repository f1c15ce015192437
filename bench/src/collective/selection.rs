//! Which algorithm of an operation is the fastest, where several were measured.

use collbench_text::quantity::{counted, fine_duration};

use super::compare::fastest;
use super::results::{Key, MeasuredAlgorithm, Point, Results, Selected};

/// Most algorithms that are named as not distinguishable; the JSON has all.
const NAMED: usize = 3;

/// Of all operations and lengths that were measured with several algorithms, in the order of the
/// points.
pub(super) fn of(results: &Results) -> Vec<Selected> {
    let mut groups: Vec<(String, Vec<&Point>)> = Vec::new();
    for point in &results.points {
        let key = Key {
            algorithm: None,
            ..point.as_key()
        };
        let key = key.words();
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, points)) => points.push(point),
            None => groups.push((key, vec![point])),
        }
    }
    groups
        .iter()
        .filter(|(_, points)| points.len() > 1)
        .map(|(_, points)| Selected::of(points))
        .collect()
}

impl Selected {
    /// Of points that differ in their algorithm only. Doubtful ones are not compared.
    fn of(points: &[&Point]) -> Self {
        let candidates: Vec<MeasuredAlgorithm> = points
            .iter()
            .map(|point| MeasuredAlgorithm {
                algorithm: point.algorithm.clone(),
                time_ns: point.time_ns,
                relative_error: point.relative_error.filter(|_| !point.is_doubtful()),
            })
            .collect();
        let times: Vec<Option<f64>> = candidates.iter().map(|one| one.time_ns).collect();
        let sound: Vec<Option<f64>> = points
            .iter()
            .map(|point| point.time_ns.filter(|_| !point.is_doubtful()))
            .collect();
        let errors: Vec<Option<f64>> = candidates.iter().map(|one| one.relative_error).collect();
        let not_distinguishable = as_fast_as_the_fastest(&candidates);
        let shortest = not_distinguishable.first().copied();
        let own = candidates.iter().position(|one| one.algorithm.is_none());
        let own_choice_ratio = own.zip(shortest).and_then(|(own, shortest)| {
            let time = times[shortest]?;
            (time > 0.0).then_some(times[own]? / time)
        });
        let is_comparable = |idx: usize| times[idx].is_some() && errors[idx].is_some();
        let is_own_choice_slower = shortest.is_some()
            && own.is_some_and(|own| is_comparable(own) && !not_distinguishable.contains(&own));
        let first = points[0];
        Self {
            operation: first.operation.clone(),
            bytes: first.bytes,
            processes: first.processes,
            hosts: first.hosts,
            root: first.root,
            start: first.start.word().to_owned(),
            arrivals: first.arrivals.clone(),
            fastest: fastest(&sound, &errors),
            not_distinguishable,
            own_choice_ratio,
            is_own_choice_slower,
            candidates,
        }
    }

    /// The fastest, or those that cannot be distinguished from it, in words.
    pub(super) fn fastest_words(&self) -> String {
        match (self.fastest, &self.not_distinguishable[..]) {
            (_, []) => "unknown".to_owned(),
            (Some(fastest), _) => self.candidates[fastest].name().to_owned(),
            (None, several) => {
                let names = several.iter().map(|&idx| self.candidates[idx].name());
                let names: Vec<&str> = names.take(NAMED).collect();
                let more = match several.len() - names.len() {
                    0 => String::new(),
                    n => format!(" and {n} more"),
                };
                format!("not distinguishable: {}{more}", names.join(", "))
            }
        }
    }

    /// By how much the library's own choice is slower, as a sentence.
    pub(super) fn words(&self) -> String {
        let bytes = self
            .bytes
            .map_or(String::new(), |bytes| format!(" of {bytes} bytes"));
        let time = |algorithm: Option<&MeasuredAlgorithm>| {
            let time = algorithm.and_then(|one| one.time_ns);
            time.map_or("unknown".to_owned(), fine_duration)
        };
        let own = self.candidates.iter().find(|one| one.algorithm.is_none());
        let shortest = self.not_distinguishable.first();
        let shortest = shortest.map(|&idx| &self.candidates[idx]);
        format!(
            "{}{bytes} on {} processes{} takes {}, with {} {} (start {}).",
            self.operation,
            self.processes,
            self.hosts
                .map_or(String::new(), |n| format!(" of {}", counted(n, "host"))),
            time(own),
            shortest.map_or("another", |one| one.name()),
            time(shortest),
            self.start
        )
    }
}

impl MeasuredAlgorithm {
    fn name(&self) -> &str {
        self.algorithm.as_deref().unwrap_or("own choice")
    }
}

/// Indexes of those whose interval begins before that of the shortest time ends, by time. Times
/// without an error are left out.
fn as_fast_as_the_fastest(candidates: &[MeasuredAlgorithm]) -> Vec<usize> {
    let known = candidates.iter().enumerate();
    let mut known: Vec<(usize, f64, f64)> = known
        .filter_map(|(idx, one)| Some((idx, one.time_ns?, one.relative_error?)))
        .collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let Some(&(_, time, error)) = known.first() else {
        return Vec::new();
    };
    let end = time * (1.0 + error);
    let alike = known
        .iter()
        .enumerate()
        .filter(|(i, (_, time, error))| *i == 0 || time * (1.0 - error) <= end);
    alike.map(|(_, (idx, ..))| *idx).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(algorithm: Option<&str>, time_ns: f64, error: f64) -> Point {
        Point {
            algorithm: algorithm.map(str::to_owned),
            relative_error: Some(error),
            ..Point::example("MPI_Bcast", 8, Some(time_ns))
        }
    }

    #[test]
    fn the_fastest_is_chosen_if_it_can_be_distinguished() {
        let results = Results::example(vec![
            point(None, 2_000.0, 0.01),
            point(Some("linear"), 1_000.0, 0.01),
            point(Some("binomial"), 1_100.0, 0.01),
            Point::example("MPI_Scan", 8, Some(5.0)),
        ]);
        let found = of(&results);
        assert_eq!(found.len(), 1, "what has one algorithm is not selected");
        assert_eq!(found[0].fastest, Some(1));
        assert_eq!(found[0].own_choice_ratio, Some(2.0));
        assert!(found[0].is_own_choice_slower);
        let expected = "MPI_Bcast of 8 bytes on 4 processes takes 2.00 us, with linear 1.00 us (start window).";
        assert_eq!(found[0].words(), expected);
    }

    #[test]
    fn what_cannot_be_distinguished_is_said_and_the_library_is_not_blamed() {
        let mut points = vec![
            point(None, 1_050.0, 0.05),
            point(Some("linear"), 1_000.0, 0.05),
            point(Some("binomial"), 3_000.0, 0.01),
        ];
        let found = of(&Results::example(points.clone()));
        assert_eq!(found[0].fastest, None);
        assert_eq!(
            found[0].fastest_words(),
            "not distinguishable: linear, own choice"
        );
        assert!(!found[0].is_own_choice_slower);
        // A doubtful time is not the fastest.
        points[1].missed = points[1].made;
        let found = of(&Results::example(points));
        assert_eq!(found[0].fastest_words(), "own choice");
    }
}
