//! Attributing the waits of a program of 64 processes: on the world, rooted there, and on rows of
//! eight. As in analyzer/benches/scenarios/64-ranks.toml.

use std::sync::Arc;

use collbench_causes::{Attribution, Calls, Dependence, Instance};
use collbench_stats::random::Random;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

/// Processes of the program.
const N: usize = 64;
/// Processes of a row.
const ROW: usize = 8;
/// Collectives on the world.
const WORLD: &[Kind] = &[Kind::World];
/// Collectives with a root, and on the world.
const ROOTED: &[Kind] = &[Kind::FromRoot, Kind::World, Kind::ToRoot, Kind::World];
/// Collectives on rows, and on the world.
const ROWS: &[Kind] = &[Kind::Row, Kind::Row, Kind::World];
/// All of them.
const MIXED: &[Kind] = &[
    Kind::World,
    Kind::FromRoot,
    Kind::World,
    Kind::ToRoot,
    Kind::World,
    Kind::Row,
    Kind::Row,
    Kind::World,
];

/// Who calls a collective, and who waits for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    World,
    FromRoot,
    ToRoot,
    Row,
}

fn main() {
    divan::main();
}

/// The instances of a program of so many repetitions; times in ns.
fn program(steps: &[Kind], n_repeats: usize) -> Vec<Instance> {
    let mut random = Random::of(&[3]);
    let world: Arc<[u32]> = (0..N as u32).collect();
    let rows: Vec<Arc<[u32]>> = (0..N / ROW)
        .map(|row| ((row * ROW) as u32..((row + 1) * ROW) as u32).collect())
        .collect();
    let mut now = [0_i64; N];
    let mut instances = Vec::new();
    for repeat in 0..n_repeats {
        for (operation, kind) in steps.iter().copied().enumerate() {
            let groups = match kind {
                Kind::Row => &rows[..],
                _ => std::slice::from_ref(&world),
            };
            for (group, members) in groups.iter().enumerate() {
                let mut work = || 20_000 + random.below(9_000) as i64;
                let enters: Vec<i64> = (members.iter())
                    .map(|&member| now[member as usize] + work())
                    .collect();
                let last = (0..enters.len()).max_by_key(|&slot| (enters[slot], slot));
                let last = last.unwrap_or(0);
                let release = |slot: usize| match kind {
                    Kind::World | Kind::Row => last,
                    Kind::FromRoot => 0,
                    Kind::ToRoot if slot == 0 => last,
                    Kind::ToRoot => slot,
                };
                let slots = 0..enters.len();
                let releasers: Vec<u32> = slots.map(|slot| release(slot) as u32).collect();
                let waits: Vec<i64> = (enters.iter().zip(&releasers))
                    .map(|(enter, &on)| (enters[on as usize] - enter).max(0))
                    .collect();
                let mut inside = || 3_000 + random.below(800) as i64;
                let leaves: Vec<i64> = (enters.iter().zip(&waits))
                    .map(|(enter, wait)| enter + wait + inside())
                    .collect();
                for (&member, &leave) in members.iter().zip(&leaves) {
                    now[member as usize] = leave;
                }
                instances.push(Instance {
                    communicator: if kind == Kind::Row {
                        1 + group as u32
                    } else {
                        0
                    },
                    position: (repeat * steps.len() + operation) as u64,
                    operation: operation as u64,
                    id: 0,
                    members: Arc::clone(members),
                    dependence: match kind {
                        Kind::World | Kind::Row => Dependence::All,
                        Kind::FromRoot | Kind::ToRoot => Dependence::Root(0),
                    },
                    calls: Calls {
                        enters_ns: enters,
                        leaves_ns: leaves,
                        waits_ns: waits,
                        releasers,
                        ..Calls::default()
                    },
                    parts: Vec::new(),
                });
            }
        }
    }
    instances
}

/// Calls per second.
#[divan::bench(args = [("world", WORLD), ("rooted", ROOTED), ("rows", ROWS), ("mixed", MIXED)])]
fn waits_of_64_processes(bencher: Bencher<'_, '_>, (_, steps): (&str, &[Kind])) {
    let n_repeats = 800 / steps.len();
    let instances = program(steps, n_repeats);
    bencher
        .counter(ItemsCount::new(n_repeats * steps.len() * N))
        .with_inputs(|| instances.clone())
        .bench_values(|instances| {
            let mut attribution = Attribution::new(&[0; N]);
            for instance in instances {
                let until_ns = instance.calls.enters_ns.iter().min().copied().unwrap_or(0);
                attribution.advance(until_ns - 1_000_000);
                attribution.add(instance);
            }
            black_box(attribution.finish(None))
        });
}
