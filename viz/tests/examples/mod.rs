//! Inputs that several tests share.

use collbench_viz::{Heading, Line, StageTime, Stages, Timemap};

/// A name that tries what a name in a trace could try.
pub(crate) const HOSTILE: &str =
    "</title></style></script><script>alert(1)</script>\u{1b}]0;x\u{7}\u{202e}\"'&\r\u{0}\u{fffe}";

/// A number in 0..n that depends on `seed` alone.
fn scattered(seed: u64, n: u64) -> u64 {
    let mut x = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^= x >> 31;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ (x >> 29)) % n
}

pub(crate) fn heading(finding: &str) -> Heading {
    Heading {
        finding: finding.into(),
        operation: "MPI_Allreduce, world, 8 to 15 B".into(),
        n_instances: 2_500,
    }
}

pub(crate) fn rank(rank: u64, host: u64) -> Line {
    Line {
        name: format!("rank {rank}").into(),
        host: format!("n{:02}", host + 1).into(),
        class: None,
    }
}

/// The times in ns of an allreduce whose last rank arrives last.
pub(crate) fn times_ns(n_ranks: u64, ranks_per_host: u64, rank: u64) -> [i64; 5] {
    let host = rank / ranks_per_host;
    let is_last_host = host == (n_ranks - 1) / ranks_per_host;
    let is_last_of_host = rank % ranks_per_host == ranks_per_host - 1;
    let inside = if is_last_of_host {
        0
    } else {
        2_000 + scattered(rank, 9_000)
    };
    let across = if is_last_host {
        0
    } else {
        14_000 + scattered(1_000 + host, 12_000)
    };
    let leaving_across = scattered(2_000 + host, 5_000);
    let leaving_inside = 300 + scattered(3_000 + rank, 3_000);
    [inside, across, 6_350, leaving_across, leaving_inside].map(|ns| ns as i64)
}

pub(crate) fn allreduce(n_ranks: u64, ranks_per_host: u64) -> Timemap {
    let finding = format!(
        "Rank {} arrives last: the others wait for it far longer than the operation itself takes",
        n_ranks - 1
    );
    let mut timemap = Timemap::new(heading(&finding), Stages::seen_from_outside());
    for idx in 0..n_ranks {
        let times_ns = times_ns(n_ranks, ranks_per_host, idx);
        timemap.push(rank(idx, idx / ranks_per_host), |stage| {
            StageTime::new(times_ns[stage], 2_500)
        });
    }
    timemap
}
