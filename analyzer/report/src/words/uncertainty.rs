//! Times with the error of the clocks, as far as it matters.

use collbench_text::quantity::duration;

/// An error of less than one part in this many of a time is not said.
const MATTERS: u64 = 20;

/// `215 us`, `215 us ±12.0 us` where the error is notable, `not resolved (clock error ±5.13 ms)` where it
/// is larger than the time. `error_ns`: `None` on one clock.
pub(crate) fn time(ns: i64, error_ns: Option<u64>) -> String {
    match error_ns {
        Some(error_ns) if !is_resolved(ns, Some(error_ns)) => {
            format!("not resolved (clock error ±{})", error(error_ns))
        }
        Some(error_ns) if error_ns.saturating_mul(MATTERS) >= ns.unsigned_abs() => {
            format!("{} ±{}", duration(ns), error(error_ns))
        }
        _ => duration(ns),
    }
}

/// Whether a time is longer than the error of the clocks.
pub(crate) fn is_resolved(ns: i64, error_ns: Option<u64>) -> bool {
    error_ns.is_none_or(|error_ns| ns.unsigned_abs() > error_ns)
}

/// `, clock error ±5.13 ms` where it is notable beside the largest of the times that were said before.
pub(crate) fn after(largest_ns: i64, error_ns: Option<u64>) -> String {
    let notable = |error_ns: &u64| error_ns.saturating_mul(MATTERS) >= largest_ns.unsigned_abs();
    match error_ns.filter(notable) {
        Some(error_ns) => format!(", clock error ±{}", error(error_ns)),
        None => String::new(),
    }
}

/// An error, without its sign.
pub(crate) fn error(ns: u64) -> String {
    duration(i64::try_from(ns).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_said_where_it_matters_and_replaces_what_it_exceeds() {
        assert_eq!(time(215_000, None), "215 us");
        assert_eq!(time(215_000, Some(4_000)), "215 us");
        assert_eq!(time(215_000, Some(12_000)), "215 us ±12.0 us");
        assert_eq!(
            time(408_000, Some(5_130_000)),
            "not resolved (clock error ±5.13 ms)"
        );
        assert_eq!(time(-7, Some(7)), "not resolved (clock error ±7 ns)");
        assert_eq!(after(215_000, Some(4_000)), "");
        assert_eq!(after(215_000, Some(12_000)), ", clock error ±12.0 us");
        assert_eq!(after(215_000, None), "");
    }
}
