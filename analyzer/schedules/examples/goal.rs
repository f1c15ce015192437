//! Writes an algorithm of Open MPI in GOAL, and when each process ends by this crate's model, so that both can be compared
//! with LogGOPSim:
//!
//!     cargo run -p collbench-schedules --example goal -- bcast_intra_binomial 8 1 L o g G S binomial.goal
//!
//! The processes, the bytes of one of them, and the parameters, ns and bytes, as LogGOPSim has them.

use std::process::ExitCode;

use collbench_schedules::open_mpi::{Named, Release, schedule};
use collbench_schedules::{Call, Evaluator, Link, Network, Parameters, Way};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, numbers @ .., file] = &words[..] else {
        return usage();
    };
    let numbers: Option<Vec<u64>> = numbers.iter().map(|word| word.parse().ok()).collect();
    let Some(Ok(
        [
            n_processes,
            bytes,
            latency,
            overhead,
            gap,
            gap_per_byte,
            eager_bytes,
        ],
    )) = numbers.map(<[u64; 7]>::try_from)
    else {
        return usage();
    };
    let call = Call {
        n_processes: n_processes as usize,
        root: 0,
        elements: bytes,
        element_bytes: 1,
    };
    let named = Named {
        name,
        parameters: Parameters::default(),
    };
    let Some(schedule) = schedule(Release::V5_0, &[named], &call) else {
        eprintln!("goal: no schedule of {name} with these numbers");
        return ExitCode::FAILURE;
    };
    let link = Link {
        send_overhead_ns: overhead as f64,
        receive_overhead_ns: overhead as f64,
        latency_ns: latency as f64,
        gap_ns: gap as f64,
        gap_per_byte_ns: gap_per_byte as f64,
        receive_gap_ns: gap as f64,
        receive_gap_per_byte_ns: gap_per_byte as f64,
        eager_bytes,
    };
    let network = Network::new(call.n_processes, vec![link], |_, _| Way::default());
    let goal = schedule.to_goal(0.0).expect("messages have two ends");
    if let Err(error) = std::fs::write(file, goal) {
        eprintln!("goal: {file}: {error}");
        return ExitCode::FAILURE;
    }
    let mut evaluator = Evaluator::new(&schedule).expect("messages have two ends");
    let leaves_ns = evaluator.leaves_ns(&network, &vec![0.0; call.n_processes], |_| 0.0);
    for (rank, ns) in leaves_ns.iter().enumerate() {
        println!("Host {rank}: {ns}");
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: goal ALGORITHM PROCESSES BYTES L o g G S FILE");
    ExitCode::from(2)
}
