//! Programs of collectives that are carried out: who enters, waits and leaves when.

use std::sync::Arc;

use collbench_causes::{Attribution, Call, Costs, Dependence, Instance, Wait};

/// A collective that the members of a communicator call next.
pub(crate) struct Step {
    pub(crate) communicator: usize,
    pub(crate) operation: u64,
    pub(crate) kind: Kind,
    /// By slot: own work before it, ns.
    pub(crate) work_ns: Vec<i64>,
    /// By slot: time inside without waits, ns.
    pub(crate) inside_ns: Vec<i64>,
    /// By slot: work between initiation and completion, ns; `None`: it is blocking.
    pub(crate) overlapped_ns: Option<Vec<i64>>,
}

/// Who depends on whom.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    All,
    FromRoot(usize),
    ToRoot(usize),
    Prefix,
}

/// What an initiation takes, ns.
const INITIATION_NS: i64 = 3;

/// The instances of a program, in its order.
pub(crate) fn carry_out(
    n_processes: usize,
    communicators: &[Vec<u32>],
    steps: &[Step],
) -> Vec<Instance> {
    let mut now = vec![0; n_processes];
    let instances = steps.iter().zip(0..).map(|(step, position)| {
        let members: Arc<[u32]> = communicators[step.communicator].clone().into();
        let process = |slot: usize| members[slot] as usize;
        let n = members.len();
        let enters: Vec<i64> = (0..n)
            .map(|slot| now[process(slot)] + step.work_ns[slot])
            .collect();
        let calls = (0..n).map(|slot| {
            let others: Vec<usize> = match step.kind {
                Kind::All => (0..n).collect(),
                Kind::FromRoot(root) if slot != root => vec![root],
                Kind::ToRoot(root) if slot == root => (0..n).collect(),
                Kind::Prefix => (0..slot).collect(),
                Kind::FromRoot(_) | Kind::ToRoot(_) => Vec::new(),
            };
            let on = others
                .into_iter()
                .max_by_key(|&other| (enters[other], other));
            let (initiated_ns, completion_ns) = match &step.overlapped_ns {
                None => (enters[slot], enters[slot]),
                Some(overlapped) => {
                    let initiated_ns = enters[slot] + INITIATION_NS;
                    (initiated_ns, initiated_ns + overlapped[slot])
                }
            };
            let wait = on.and_then(|on| {
                let ns = enters[on] - completion_ns;
                (ns > 0).then_some(Wait {
                    ns,
                    on: on as u32,
                    is_resolved: true,
                    is_counted: true,
                })
            });
            let wait_ns = wait.map_or(0, |wait| wait.ns);
            let leave_ns = completion_ns + wait_ns + step.inside_ns[slot];
            now[process(slot)] = leave_ns;
            Call {
                enter_ns: enters[slot],
                initiated_ns,
                completion_ns,
                leave_ns,
                n_together: 1,
                wait,
            }
        });
        let calls = calls.collect();
        Instance {
            communicator: step.communicator as u32,
            position,
            operation: step.operation,
            id: 0,
            dependence: match step.kind {
                Kind::All => Dependence::All,
                Kind::FromRoot(root) | Kind::ToRoot(root) => Dependence::Root(root as u32),
                Kind::Prefix => Dependence::Pairs,
            },
            members,
            calls,
            parts: Vec::new(),
        }
    });
    instances.collect()
}

/// Their costs, all known at once.
pub(crate) fn costs(n_processes: usize, instances: &[Instance]) -> Costs {
    let mut attribution = Attribution::new(&vec![0; n_processes]);
    for instance in instances {
        attribution.add(instance.clone());
    }
    attribution.finish(None).costs
}

/// The sum of all waits, ns.
pub(crate) fn waits_ns(instances: &[Instance]) -> i64 {
    let calls = instances.iter().flat_map(|instance| instance.calls.iter());
    calls.filter_map(|call| Some(call.wait?.ns)).sum()
}
