//! How long it takes to predict all algorithms for a thousand allreduces of 64 processes on eight hosts, and to search the
//! best tree of 64 hosts for them.

use collbench_formats::Operation;
use collbench_schedules::open_mpi::{Named, Release, schedule};
use collbench_schedules::{Call, Evaluator, Link, Network, Parameters, Way};
use collbench_stats::random::Random;
use collbench_tune::predict::{
    Class, CollectiveCall, Figure, Given, Instance, Recorded, Sample, Search, predict, search,
};

const N: usize = 64;
const NAME: &str = "allreduce_intra_recursivedoubling";
const BYTES: u64 = 2048;

fn main() {
    divan::main();
}

/// So many processes are on each host.
fn recorded(of_host: usize) -> Recorded {
    let random = &mut Random::of(&[1]);
    let link = |latency_ns: f64| Link {
        send_overhead_ns: 1000.0,
        receive_overhead_ns: 1500.0,
        latency_ns,
        gap_ns: 0.0,
        gap_per_byte_ns: 0.1,
        receive_gap_ns: 0.0,
        receive_gap_per_byte_ns: 0.1,
        eager_bytes: 65_536,
    };
    let network = Network::new(N, vec![link(1000.0), link(20_000.0)], |from, to| Way {
        class: usize::from(from / of_host != to / of_host),
        shared: None,
    });
    let call = Call {
        n_processes: N,
        root: 0,
        elements: BYTES / 8,
        element_bytes: 8,
    };
    let named = Named {
        name: NAME,
        parameters: Parameters::default(),
    };
    let schedule = schedule(Release::V4_1, &[named], &call).expect("an algorithm without parts");
    let messages = schedule.messages().expect("messages have two ends");
    let mut evaluator = Evaluator::new(&schedule).expect("messages have two ends");
    let figure = Figure::of(Operation::Allreduce, 0);
    let instances = (0..1000).map(|position| {
        let enters_ns: Vec<f64> = (0..N).map(|_| random.uniform_real(0.0, 20_000.0)).collect();
        let leaves_ns =
            evaluator.leaves_ns(&network, &enters_ns, |_| random.exponential_real(500.0));
        let took_ns = figure.takes_ns(&enters_ns, leaves_ns);
        let sample = |of: &collbench_schedules::Message| {
            let sent_ns = evaluator.actions_ns(of.from)[0][of.send];
            let [begins_ns, ends_ns] = evaluator.actions_ns(of.to);
            let (posted_ns, received_ns) = (begins_ns[of.receive], ends_ns[of.receive]);
            Sample {
                from: of.from as u32,
                to: of.to as u32,
                bytes: of.bytes,
                is_alone: true,
                sent_ns: sent_ns as i64,
                returned_ns: Some(sent_ns as i64 + 1000),
                posted_ns: posted_ns as i64,
                received_ns: Some(received_ns as i64),
                positions: [of.send as u32, of.receive as u32],
            }
        };
        Instance {
            position,
            enters_ns,
            took_ns,
            messages: messages.iter().map(sample).collect(),
            passes: Vec::new(),
        }
    });
    let instances: Vec<Instance> = instances.collect();
    let calls = instances.iter().map(|instance| {
        let begin_ns = 1e6 * instance.position as f64;
        let enters = instance.enters_ns.iter().map(|ns| begin_ns + ns);
        let last_ns = instance.enters_ns.iter().copied().fold(0.0, f64::max);
        CollectiveCall {
            ranks: (0..N as u32).collect(),
            operation: Operation::Allreduce,
            root: 0,
            class: Some(0),
            enters_ns: enters.collect(),
            leaves_ns: vec![begin_ns + last_ns + instance.took_ns; N],
        }
    });
    let calls = calls.collect();
    Recorded {
        command: Vec::new(),
        library: "Open MPI v4.1.4".to_owned(),
        hosts: (0..N / of_host).map(|host| format!("h{host}")).collect(),
        host_of_rank: (0..N).map(|rank| Some(rank / of_host)).collect(),
        round_trips_ns: (0..N / of_host)
            .flat_map(|a| (a + 1..N / of_host).map(move |b| ((a, b), 50_000)))
            .collect(),
        classes: vec![Class {
            operation: Operation::Allreduce,
            communicator: "MPI_COMM_WORLD".to_owned(),
            number: None,
            ranks: (0..N as u32).collect(),
            root: 0,
            bytes: BYTES,
            reported: vec![NAME.to_owned()],
            tree: None,
            n_instances: 1000,
            instances,
        }],
        calls,
        has_more_calls: false,
    }
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn predicts(bencher: divan::Bencher<'_, '_>) {
    let recorded = recorded(8);
    bencher.bench_local(|| {
        let predictions = predict(&recorded, Given::default()).expect("predictions");
        let prediction = &predictions.predictions[0];
        assert!(
            !prediction.candidates.is_empty(),
            "{:?}",
            prediction.identity
        );
        prediction.candidates.len()
    });
}

#[divan::bench(sample_count = 1, sample_size = 1)]
fn searches(bencher: divan::Bencher<'_, '_>) {
    let recorded = recorded(1);
    bencher.bench_local(|| {
        let found = search(&recorded, &Given::default(), Search::default()).expect("a search");
        let tried = found.calls[0].found.as_ref().expect("predictions");
        assert!(tried.tree.is_some(), "{tried:?}");
        tried.n
    });
}
