//! The efficiencies of POP in one line.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::UsefulTime;
use collbench_text::quantity::share;

/// The efficiencies and what counts as useful; `None` where they are not known, or nothing was
/// called.
pub(crate) fn sentence(analysis: &Analysis) -> Option<String> {
    let found = analysis.efficiencies.as_ref()?;
    let load_balance = found.load_balance.filter(|_| analysis.trace.calls > 0)?;
    let communication = match found.serialization.zip(found.transfer) {
        Some((serialization, transfer)) => format!(
            "serialization {} x transfer {}",
            share(serialization),
            share(transfer)
        ),
        None => format!("communication {}", share(found.communication)),
    };
    let useful = match found.useful {
        UsefulTime::OutsideMpi => "useful: outside MPI",
        UsefulTime::OutsideCollectives | UsefulTime::Newer => "useful: outside collectives",
    };
    Some(format!(
        "parallel {} = load balance {} x {communication} ({useful}{})",
        share(found.parallel),
        share(load_balance),
        match analysis.looked_at.time_ns {
            None => "",
            Some(_) => ", mean of the threads of a rank",
        }
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::nothing::nothing;
    use collbench_analyzer::results::{Efficiencies, TraceSummary};

    #[test]
    fn the_line_has_the_product_as_far_as_it_is_known() {
        let efficiencies = Efficiencies {
            useful: UsefulTime::OutsideCollectives,
            runtime_ns: 1000,
            mean_useful_ns: 500,
            max_useful_ns: 800,
            max_rank: 0,
            load_balance: Some(0.625),
            communication: 0.8,
            serialization: None,
            transfer: None,
            parallel: 0.5,
        };
        let of = |efficiencies: Option<Efficiencies>, calls| {
            let empty = nothing();
            sentence(&Analysis {
                efficiencies,
                trace: TraceSummary {
                    calls,
                    ..empty.trace
                },
                ..empty
            })
        };
        assert_eq!(
            of(Some(efficiencies.clone()), 4).unwrap(),
            "parallel 50 % = load balance 62 % x communication 80 % (useful: outside collectives)"
        );
        assert_eq!(of(None, 4), None);
        assert_eq!(of(Some(efficiencies.clone()), 0), None);
        let known = Efficiencies {
            useful: UsefulTime::OutsideMpi,
            serialization: Some(0.889),
            transfer: Some(0.9),
            ..efficiencies
        };
        assert_eq!(
            of(Some(known), 4).unwrap(),
            "parallel 50 % = load balance 62 % x serialization 89 % x transfer 90 % (useful: outside \
             MPI)"
        );
    }
}
