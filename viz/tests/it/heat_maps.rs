//! Examples of heat maps, as snapshots that open in a browser, and properties of all.

use std::num::NonZeroU64;

use crate::examples::{
    HOSTILE, assert_inert, assert_well_formed, classed, heading, hostile_heading, scattered, svg,
};
use collbench_viz::{Heading, Order, OrderMap, Positions, TimeBin, WaitsOverTime};
use proptest::prelude::*;
use roxmltree::{Document, Node};

const N_INSTANCES: u64 = 2_500;

/// Arrivals of ranks of which one, `late`, arrives last in nine of ten instances; the others arrive
/// around their own position. `n_undecided` instances are unresolved for each.
fn arrivals(n_ranks: u64, ranks_per_host: u64, late: u64, n_undecided: u64) -> OrderMap {
    let finding = format!("Rank {late} arrives last in 90 % of the instances");
    let positions = match n_ranks {
        0..=256 => Positions::Each(n_ranks as usize),
        _ => Positions::Tenths,
    };
    let n_positions = n_ranks.min(if n_ranks > 256 { 10 } else { 256 });
    let mut map = OrderMap::new(heading(&finding), Order::Arrival, positions);
    for rank in 0..n_ranks {
        let mut counts = vec![0; n_positions as usize];
        let n_decided = N_INSTANCES - n_undecided;
        for instance in 0..n_decided {
            let near = scattered(rank * N_INSTANCES + instance, n_positions.min(7));
            let position = if rank == late && instance * 10 < n_decided * 9 {
                n_positions - 1
            } else {
                (rank * n_positions / n_ranks + near) % n_positions
            };
            counts[position as usize] += 1;
        }
        let host = format!("n{:02}", rank / ranks_per_host + 1);
        map.push(rank as u32, host.as_str().into(), |position| {
            counts[position]
        });
    }
    map
}

/// Ranks that wait for one, `late`, in the middle of a run of 1.28 s, in intervals of 10 ms.
fn waits(n_ranks: u64, ranks_per_host: u64, late: u64, unknown: Option<u64>) -> WaitsOverTime {
    let bin_ns = NonZeroU64::new(10_000_000).unwrap();
    let finding = "Waiting takes 21 % of the time, most from 400 ms to 800 ms";
    let mut map = WaitsOverTime::new(finding.into(), bin_ns, 128);
    for rank in 0..n_ranks {
        let host = format!("n{:02}", rank / ranks_per_host + 1);
        map.push(rank as u32, host.as_str().into(), |bin| {
            let is_in_middle = (40..80).contains(&bin) && rank != late;
            let few = scattered(rank * 128 + bin as u64, 300_000);
            let wait_ns = few + if is_in_middle { 5_000_000 + 9 * few } else { 0 };
            match bin {
                0..4 => TimeBin {
                    wait_ns: Some(0),
                    ..TimeBin::default()
                },
                _ if unknown == Some(rank) && bin > 100 => TimeBin {
                    wait_ns: None,
                    call_ns: 9_000_000,
                    n_calls: 20,
                    n_unknown: 20,
                    leads_to: None,
                },
                _ => TimeBin {
                    wait_ns: Some(wait_ns),
                    call_ns: wait_ns + 200_000,
                    n_calls: 20,
                    n_unknown: 0,
                    leads_to: (rank == 2).then_some(bin),
                },
            }
        });
    }
    map
}

// Snapshots.

#[test]
fn the_arrivals_of_four_ranks() {
    insta::assert_binary_snapshot!("arrivals-four.svg", svg(arrivals(4, 2, 2, 25)).into());
}

#[test]
fn the_arrivals_of_sixteen_ranks_that_are_mostly_undecided() {
    let map = arrivals(16, 16, 5, 2_200);
    insta::assert_binary_snapshot!("arrivals-undecided.svg", svg(map).into());
}

#[test]
fn the_arrivals_of_sixty_four_ranks() {
    insta::assert_binary_snapshot!(
        "arrivals-sixty-four.svg",
        svg(arrivals(64, 16, 37, 0)).into()
    );
}

#[test]
fn the_arrivals_of_a_thousand_ranks_are_in_bands_and_tenths() {
    let map = arrivals(1_024, 64, 700, 12);
    insta::assert_binary_snapshot!("arrivals-thousand.svg", svg(map).into());
}

#[test]
fn the_waits_of_four_ranks() {
    insta::assert_binary_snapshot!("waits-four.svg", svg(waits(4, 2, 1, Some(3))).into());
}

#[test]
fn the_waits_of_a_thousand_ranks_are_in_bands_under_the_extremes() {
    insta::assert_binary_snapshot!(
        "waits-thousand.svg",
        svg(waits(1_024, 64, 700, None)).into()
    );
}

#[test]
fn the_shorter_intervals_of_a_part_of_the_run() {
    let bin_ns = NonZeroU64::new(10_000_000).unwrap();
    let mut map = WaitsOverTime::new("Rank 1 waits".into(), bin_ns, 8).after(100);
    for rank in 0..2u32 {
        let waits = |wait_ns| TimeBin {
            wait_ns,
            call_ns: 2_500_000,
            n_calls: 1,
            n_unknown: u64::from(wait_ns.is_none()),
            leads_to: None,
        };
        map.push(rank, "n01".into(), |bin| {
            waits(Some(bin as u64 * 10_000 * u64::from(rank)))
        });
        // All of the wait of an interval is in its last quarter.
        map.push_finer(4, |part| match (part % 4, part) {
            (_, 8) => TimeBin {
                wait_ns: Some(0),
                ..TimeBin::default()
            },
            (_, 9) => waits(None),
            (3, _) => waits(Some(part as u64 / 4 * 10_000 * u64::from(rank))),
            _ => waits(Some(0)),
        });
    }
    let svg = svg(map);
    let document = Document::parse(&svg).unwrap();
    let rows = rows(&document);
    let finer = rows[1].attribute("data-finer").unwrap();
    assert_eq!(finer.len(), 2 * 8 * 4);
    // The longest is 70 us of 2.5 ms, the number 2,000.
    assert_eq!((&finer[62..], &finer[54..56]), ("fQ", "ay"));
    assert_eq!((&finer[16..18], &finer[18..20]), ("__", "_-"));
    let plot = classed(&document, "plot")[0];
    let data = |name| plot.attribute(name).unwrap().to_owned();
    assert_eq!(
        (data("data-parts"), data("data-before")),
        ("4".into(), "100".into())
    );
    assert_eq!(data("data-highest"), "28000000");
    // They reach further than the shades of the intervals that are drawn.
    assert!(svg.contains("more of the time waiting"));
    assert!(
        titles(rows[1])
            .iter()
            .any(|title| title.contains("1.01 s to 1.02 s"))
    );
}

// Content of the pictures.

fn rows<'a>(document: &'a Document<'a>) -> Vec<Node<'a, 'a>> {
    classed(document, "ranks")
}

fn titles(node: Node<'_, '_>) -> Vec<String> {
    let titles = node.descendants().filter(|node| node.has_tag_name("title"));
    titles
        .filter_map(|title| title.text().map(str::to_owned))
        .collect()
}

#[test]
fn one_late_rank_among_a_thousand_is_seen_and_named() {
    let svg = svg(arrivals(1_024, 64, 700, 0));
    let document = Document::parse(&svg).unwrap();
    let last_of = |name: &str| {
        let rows = rows(&document).into_iter();
        let mut named = rows.filter(|row| row.attribute("data-row") == Some(name));
        let row = named.next().unwrap();
        let mut cells = row.children();
        let last = cells.rfind(|node| node.attribute("class") == Some("cell"));
        let last = last.unwrap();
        let mut classes = last
            .descendants()
            .filter_map(|node| node.attribute("class"));
        let shade = classes.find(|class| class.starts_with("step")).unwrap();
        (titles(last), shade.to_owned())
    };
    assert_eq!(rows(&document)[0].attribute("data-row"), Some("rank 700"));
    assert!(svg.contains(">mostly last<") && !svg.contains(">mostly first<"));
    let (title, shade) = last_of("rank 700");
    assert_eq!(
        title,
        ["rank 700, tenth 10: 91 % (2,280 of 2,500 instances)"]
    );
    assert_eq!(shade, "step6");
    // The row of its band is the mean of 16 ranks.
    let (title, shade) = last_of("ranks 688-703");
    assert_eq!(
        title,
        ["ranks 688-703, tenth 10: 19 % on average; most often rank 700, in 91 %"]
    );
    assert_eq!(shade, "step3");
}

#[test]
fn a_rank_that_is_mostly_last_has_a_row_above_the_others_among_many_only() {
    for (n_ranks, n_rows) in [(16, 16), (64, 65)] {
        let svg = svg(arrivals(n_ranks, 16, 5, 0));
        let document = Document::parse(&svg).unwrap();
        assert_eq!(rows(&document).len(), n_rows);
        assert_eq!(svg.contains(">mostly last<"), n_ranks == 64);
        let first = rows(&document)[0].attribute("data-row");
        assert_eq!(first, Some(if n_ranks == 64 { "rank 5" } else { "rank 0" }));
    }
}

#[test]
fn a_wait_that_is_known_in_part_is_hatched_over_its_shade() {
    let bin = TimeBin {
        wait_ns: Some(300),
        call_ns: 900,
        n_calls: 10,
        n_unknown: 9,
        leads_to: Some(4),
    };
    let few = TimeBin {
        n_calls: 1_000,
        ..bin
    };
    let mut map = WaitsOverTime::new("Partly".into(), NonZeroU64::new(1_000).unwrap(), 2);
    map.push(0, "n".into(), |idx| if idx == 0 { bin } else { few });
    let svg = svg(map);
    let document = Document::parse(&svg).unwrap();
    let cells = rows(&document)[0].children();
    let cells: Vec<Node<'_, '_>> = cells
        .filter(|node| node.attribute("class") == Some("cell"))
        .collect();
    let marks = |cell: Node<'_, '_>| {
        let rectangles = cell.children().filter(|node| node.has_tag_name("rect"));
        let marks = rectangles.map(|node| node.attribute("class").or(node.attribute("fill")));
        marks
            .map(|mark| mark.unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(marks(cells[0]), ["step6", "url(#collbench-hatch)"]);
    assert_eq!(marks(cells[1]), ["step6"]);
    assert!(svg.contains(">≥30 %<") && svg.contains(">30 %<"), "{svg}");
}

#[test]
fn unresolved_instances_are_beside_the_cells_and_in_none_of_them() {
    let svg = svg(arrivals(4, 4, 2, 2_500));
    let document = Document::parse(&svg).unwrap();
    let rows = rows(&document);
    assert_eq!(rows.len(), 1, "one row says it for all ranks");
    assert_eq!(rows[0].attribute("data-row"), Some("ranks 0-3"));
    let titles = titles(rows[0]);
    assert!(
        titles[0].contains("unresolved: at most 100 %"),
        "{titles:?}"
    );
    let mut shaded = rows[0]
        .descendants()
        .filter_map(|node| node.attribute("class"));
    assert!(shaded.all(|class| !class.starts_with("step")));
}

#[test]
fn a_wait_that_is_not_known_is_hatched_and_no_call_is_blank() {
    let svg = svg(waits(4, 2, 1, Some(3)));
    let document = Document::parse(&svg).unwrap();
    let hatched = |row: Node<'_, '_>| -> usize {
        let fills = row.descendants().filter_map(|node| node.attribute("fill"));
        fills
            .filter(|&fill| fill == "url(#collbench-hatch)")
            .count()
    };
    assert_eq!(
        rows(&document).into_iter().map(hatched).collect::<Vec<_>>(),
        [0, 0, 0, 27]
    );
    let tooltips = titles(rows(&document)[3]);
    assert!(
        tooltips.contains(&"rank 3, 1.27 s to 1.28 s: wait not known (20 calls began)".to_owned())
    );
    assert!(svg.contains("class=\"blank\""), "no call");
}

#[test]
fn the_rank_that_waits_least_among_a_thousand_has_a_row_of_its_own() {
    let svg = svg(waits(1_024, 64, 700, None));
    let document = Document::parse(&svg).unwrap();
    assert_eq!(rows(&document)[0].attribute("data-row"), Some("rank 700"));
    assert!(svg.contains(">waits least<"));
    assert_eq!(rows(&document).len(), 66);
}

#[test]
fn pictures_of_a_thousand_ranks_stay_small() {
    let random = {
        let mut map = OrderMap::new(heading("Random"), Order::Departure, Positions::Each(1_024));
        for rank in 0..1_024u64 {
            let host = format!("n{:02}", rank / 16);
            map.push(rank as u32, host.as_str().into(), |position| {
                scattered(rank * 1_024 + position as u64, 400)
            });
        }
        map
    };
    for svg in [
        svg(random),
        svg(arrivals(1_024, 16, 3, 0)),
        svg(waits(1_024, 16, 3, None)),
    ] {
        assert!(svg.len() < 400_000, "{} bytes", svg.len());
    }
}

#[test]
fn without_ranks_a_heat_map_says_so() {
    let order = OrderMap::new(heading("Nothing"), Order::Arrival, Positions::Each(0));
    let waits = WaitsOverTime::new("Nothing".into(), NonZeroU64::MIN, 0);
    for svg in [svg(order), svg(waits)] {
        assert!(svg.contains(">no ranks<"), "{svg}");
        Document::parse(&svg).unwrap();
    }
}

#[test]
fn hostile_names_in_a_heat_map_are_text_and_nothing_else() {
    let mut order = OrderMap::new(hostile_heading(), Order::Arrival, Positions::Each(1));
    let mut waits = WaitsOverTime::new(HOSTILE.into(), NonZeroU64::MIN, 1);
    for rank in 0..3 {
        order.push(rank, HOSTILE.into(), |_| 1);
        waits.push(rank, HOSTILE.into(), |_| TimeBin::default());
    }
    for svg in [svg(order), svg(waits)] {
        assert_inert(&svg);
    }
}

prop_compose! {
    fn any_order()(
        order in prop_oneof![Just(Order::Arrival), Just(Order::Departure)],
        n_positions in 0usize..150,
        is_tenths in any::<bool>(),
        n_instances in any::<u64>(),
        ranks in prop::collection::vec((any::<u32>(), any::<String>(), any::<u64>()), 0..100),
    ) -> OrderMap {
        let heading = Heading { n_instances, ..heading("Anything") };
        let positions = if is_tenths { Positions::Tenths } else { Positions::Each(n_positions) };
        let mut map = OrderMap::new(heading, order, positions);
        for (rank, host, count) in ranks {
            map.push(rank, host.into(), |position| count >> (position % 64));
        }
        map
    }
}

prop_compose! {
    fn any_waits()(
        finding in any::<String>(),
        bin_ns in 1u64..,
        n_bins in 0usize..140,
        ranks in prop::collection::vec(
            (any::<u32>(), 0u8..99, any::<Option<u64>>(), any::<u64>(), any::<u64>()), 0..100),
    ) -> WaitsOverTime {
        let bin_ns = NonZeroU64::new(bin_ns).unwrap();
        let mut map = WaitsOverTime::new(finding.into(), bin_ns, n_bins);
        for (rank, host, wait_ns, call_ns, n_calls) in ranks {
            map.push(rank, format!("n{host}").into(), |bin| TimeBin {
                wait_ns: wait_ns.map(|ns| ns >> (bin % 64)),
                call_ns,
                n_calls,
                n_unknown: n_calls / 2,
                leads_to: None,
            });
        }
        map
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_order_is_a_well_formed_picture_inside_its_frame(map in any_order()) {
        let drawn = svg(map.clone());
        assert_well_formed(&drawn);
        prop_assert!(drawn.len() < 400_000, "{} bytes", drawn.len());
        prop_assert_eq!(drawn, svg(map));
    }

    #[test]
    fn any_waits_are_a_well_formed_picture_inside_its_frame(map in any_waits()) {
        let drawn = svg(map.clone());
        assert_well_formed(&drawn);
        prop_assert!(drawn.len() < 400_000, "{} bytes", drawn.len());
        prop_assert_eq!(drawn, svg(map));
    }
}
