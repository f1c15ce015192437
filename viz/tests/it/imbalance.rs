//! Examples of load-imbalance graphs, and properties of all.

use crate::examples::{
    HOSTILE, assert_inert, assert_well_formed, heading, hostile_heading, scattered, svg,
};
use collbench_viz::{Blame, Imbalance, LateRank};
use proptest::prelude::*;
use roxmltree::{Document, Node};

/// Ranks that arrive last at random, except for one of them or one host of them.
fn graph(n_ranks: u32, per_host: u32, blame: Blame, finding: &str) -> Imbalance {
    let mut imbalance = Imbalance::new(heading(finding), "MPI_COMM_WORLD".into(), blame);
    for host in 0..n_ranks / per_host {
        let ranks = (host * per_host..(host + 1) * per_host).map(|rank| {
            let by_lot = scattered(u64::from(rank), 9) + 1;
            let last = match blame {
                Blame::Rank if rank == n_ranks / 2 + 1 => by_lot + u64::from(n_ranks) * 4,
                Blame::Host if host == 1 => by_lot * 12,
                _ => by_lot,
            };
            LateRank {
                rank,
                last,
                wait_caused_ns: last as i64 * 17_300,
            }
        });
        imbalance.push(format!("n{:02}", host + 1).into(), ranks);
    }
    imbalance
}

#[test]
fn one_of_four_ranks_is_late() {
    let finding = "Rank 3 arrives last in 48 % of the instances: the others wait 363 us for it";
    insta::assert_binary_snapshot!("four.svg", svg(graph(4, 2, Blame::Rank, finding)).into());
}

#[test]
fn one_of_four_hosts_is_late_as_a_whole() {
    let finding = "Host n02 arrives last most often, and no rank of it stands out";
    let picture = svg(graph(64, 16, Blame::Host, finding));
    insta::assert_binary_snapshot!("sixty-four.svg", picture.into());
}

#[test]
fn one_of_a_thousand_ranks_is_late() {
    let finding = "Rank 513 arrives last in 45 % of the instances";
    let picture = svg(graph(1_024, 16, Blame::Rank, finding));
    insta::assert_binary_snapshot!("thousand.svg", picture.into());
}

#[test]
fn no_single_rank_is_late() {
    let finding = "No rank stands out as the last to arrive";
    let picture = svg(graph(8, 4, Blame::Nobody, finding));
    insta::assert_binary_snapshot!("nobody.svg", picture.into());
}

fn edges<'a>(document: &'a Document<'a>) -> Vec<Node<'a, 'a>> {
    let nodes = document.descendants();
    nodes
        .filter(|node| node.has_attribute("data-last"))
        .collect()
}

fn is_heavy(edge: &Node<'_, '_>) -> bool {
    edge.attribute("class") == Some("edge heavy")
}

#[test]
fn edges_are_as_wide_as_they_weigh_and_the_heaviest_path_is_marked() {
    let svg = svg(graph(16, 4, Blame::Rank, "Rank 9"));
    let document = Document::parse(&svg).unwrap();
    let edges = edges(&document);
    assert_eq!(edges.len(), 4 + 16);
    let width_and_last = edges.iter().map(|edge| {
        let polygon = edge
            .children()
            .find(|c| c.tag_name().name() == "polygon")
            .unwrap();
        let points = polygon.attribute("points").unwrap().split(' ');
        let y = |point: &str| point.split_once(',').unwrap().1.parse::<f64>().unwrap();
        let ys: Vec<f64> = points.map(y).collect();
        let last: f64 = edge.attribute("data-last").unwrap().parse().unwrap();
        (ys[ys.len() - 1] - ys[0], last)
    });
    let all: Vec<(f64, f64)> = width_and_last.collect();
    let widest = all.iter().fold(
        (0.0, 0.0),
        |a: (f64, f64), b| if b.0 > a.0 { *b } else { a },
    );
    for (width, last) in all {
        let expected = (last / widest.1 * widest.0).max(1.0);
        assert!((width - expected).abs() < 0.21, "{last}: {width}");
    }
    let heavy = edges.iter().filter(|edge| is_heavy(edge));
    let titles = heavy.map(|edge| edge.first_element_child().unwrap().text().unwrap());
    let to: Vec<&str> = titles
        .map(|title| title.split_once(':').unwrap().0)
        .collect();
    assert_eq!(to, ["MPI_COMM_WORLD to n03", "n03 to rank 9"]);
    assert!(svg.contains(">waited for: rank 9, last in"), "{svg}");
    assert!(svg.contains("Waited for: rank 9 on n03."));
}

#[test]
fn no_rank_is_left_out() {
    for (n_ranks, per_host) in [(4, 2), (17, 17), (64, 16), (1_024, 16), (1_024, 1)] {
        for blame in [Blame::Nobody, Blame::Host, Blame::Rank] {
            let imbalance = graph(n_ranks, per_host, blame, "All");
            let svg = svg(imbalance);
            let document = Document::parse(&svg).unwrap();
            let last = |edge: &Node<'_, '_>| -> u64 {
                edge.attribute("data-last").unwrap().parse().unwrap()
            };
            let title =
                |e: &Node<'_, '_>| e.first_element_child().unwrap().text().unwrap().to_owned();
            let edges = edges(&document);
            let is_to_host = |e: &&Node<'_, '_>| title(e).starts_with("MPI_COMM_WORLD");
            let hosts: u64 = edges.iter().filter(is_to_host).map(last).sum();
            let all: u64 = edges.iter().map(last).sum();
            assert_eq!(all, 2 * hosts, "{n_ranks} ranks");
            assert!(
                svg.contains(&format!(">{} resolved<", thousands(hosts))),
                "{n_ranks} ranks"
            );
            let n_heavy = edges.iter().filter(|edge| is_heavy(edge)).count();
            assert_eq!(n_heavy, 2, "{n_ranks} ranks");
            assert!(svg.len() < 60_000, "{n_ranks} ranks: {} bytes", svg.len());
        }
    }
}

fn thousands(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        _ => format!("{},{:03}", n / 1_000, n % 1_000),
    }
}

#[test]
fn if_nothing_is_resolved_no_rank_is_marked() {
    let mut imbalance = Imbalance::new(heading("Unknown"), "world".into(), Blame::Rank);
    let never = |rank| LateRank {
        rank,
        last: 0,
        wait_caused_ns: 0,
    };
    imbalance.push("n01".into(), [never(0), never(1)]);
    let svg = svg(imbalance);
    assert!(svg.contains(">not resolvable<"), "{svg}");
    assert!(
        !svg.contains(">waited for: ") && !svg.contains("edge heavy"),
        "{svg}"
    );
}

#[test]
fn hostile_names_are_text_and_nothing_else() {
    let mut imbalance = Imbalance::new(hostile_heading(), HOSTILE.into(), Blame::Host);
    for n in 0..30 {
        let rank = LateRank {
            rank: n,
            last: u64::from(n),
            wait_caused_ns: 5,
        };
        imbalance.push(HOSTILE.into(), [rank, rank]);
    }
    assert_inert(&svg(imbalance));
}

proptest! {
    #[test]
    fn any_input_is_a_well_formed_picture_inside_its_frame(
        communicator in any::<String>(),
        hosts in prop::collection::vec(
            (any::<String>(), prop::collection::vec(any::<(u32, u64, i64)>(), 0..40)),
            0..30,
        ),
        shift in 0u32..64,
        blame in prop::sample::select(vec![Blame::Nobody, Blame::Host, Blame::Rank]),
    ) {
        let mut imbalance = Imbalance::new(heading("Anything"), communicator.into(), blame);
        for (name, ranks) in hosts {
            let ranks = ranks.into_iter().map(|(rank, last, wait_caused_ns)| LateRank {
                rank,
                last: last >> shift,
                wait_caused_ns,
            });
            imbalance.push(name.into(), ranks);
        }
        let drawn = svg(imbalance.clone());
        assert_well_formed(&drawn);
        prop_assert_eq!(drawn, svg(imbalance));
    }
}
