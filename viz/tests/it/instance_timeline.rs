//! Timelines of instances: examples, and properties of all.

use std::collections::BTreeSet;

use crate::examples::{HOSTILE, assert_inert, assert_well_formed, classed, number, scattered, svg};
use collbench_viz::{InstanceTimeline, TimelineCall, TimelineInstance, TimelineMessage};
use proptest::prelude::*;
use roxmltree::Document;

/// An allreduce of so many ranks, of which one comes late, in two rounds of messages.
fn allreduce(n_ranks: u32, late: u32, begin_ns: i64) -> TimelineInstance {
    let last_ns = begin_ns + 100_000;
    let calls = (0..n_ranks).map(|rank| {
        let early_ns = 20_000 + scattered(u64::from(rank), 60_000) as i64;
        let enter_ns = if rank == late {
            last_ns
        } else {
            last_ns - early_ns
        };
        TimelineCall {
            rank,
            enter_ns,
            leave_ns: last_ns + 30_000 + scattered(u64::from(rank) + 77, 9_000) as i64,
            wait_ns: Some(last_ns - enter_ns),
            released_by: (rank != late).then_some(late),
            completion_ns: None,
        }
    });
    let rounds = [1, 2].map(|distance| {
        (0..n_ranks).map(move |rank| TimelineMessage {
            from: rank,
            to: (rank + distance) % n_ranks,
            bytes: 8,
            sent_ns: last_ns + i64::from(distance - 1) * 12_000 + 1_000,
            posted_ns: last_ns,
            received_ns: last_ns + i64::from(distance) * 12_000 + i64::from(rank) * 10,
        })
    });
    TimelineInstance {
        name: "MPI_Allreduce (call 7)".into(),
        is_beside: false,
        last: Some((late, 20_000)),
        is_late: true,
        on_path: Vec::new(),
        calls: calls.collect(),
        messages: rounds.into_iter().flatten().collect(),
    }
}

fn timeline(n_ranks: u32, ranks_per_host: u32, stretch_ns: (i64, i64)) -> InstanceTimeline {
    let mut timeline = InstanceTimeline::new(
        "Rank 2 arrives last, 20.0 us after the next".into(),
        "MPI_Allreduce, MPI_COMM_WORLD, 8 bytes, call 7".into(),
        stretch_ns,
        (1_000_000, "the first enter".into()),
    );
    for rank in 0..n_ranks {
        timeline.push_rank(rank, format!("n{:02}", rank / ranks_per_host + 1).into());
    }
    timeline
}

/// With a barrier before it.
fn late_among(n_ranks: u32, ranks_per_host: u32) -> InstanceTimeline {
    let mut timeline = timeline(n_ranks, ranks_per_host, (980_000, 1_180_000));
    let late = 2 * n_ranks / 4;
    timeline.push(TimelineInstance {
        name: "MPI_Barrier (call 6)".into(),
        is_beside: true,
        last: Some((0, 1_000)),
        messages: Vec::new(),
        ..allreduce(n_ranks, 0, 870_000)
    });
    timeline.push(allreduce(n_ranks, late, 1_020_000));
    timeline
}

/// A nonblocking call that was completed late, and one of unknown wait.
fn nonblocking() -> InstanceTimeline {
    let mut timeline = timeline(2, 2, (0, 100_000));
    let call = |rank, wait_ns, completion_ns| TimelineCall {
        rank,
        enter_ns: 10_000,
        leave_ns: 90_000,
        wait_ns,
        released_by: None,
        completion_ns,
    };
    timeline.push(TimelineInstance {
        name: "MPI_Iallreduce (call 0)".into(),
        calls: vec![
            call(0, Some(15_000), Some((14_000, 60_000))),
            call(1, None, None),
        ],
        ..TimelineInstance::default()
    });
    timeline
}

#[test]
fn the_last_rank_of_a_nonblocking_operation_initiates_last() {
    let mut timeline = timeline(2, 2, (0, 100_000));
    let call = |rank, enter_ns| TimelineCall {
        rank,
        enter_ns,
        leave_ns: 90_000,
        wait_ns: Some(5_000),
        released_by: None,
        completion_ns: Some((enter_ns + 4_000, 70_000)),
    };
    timeline.push(TimelineInstance {
        name: "MPI_Iallreduce (call 0)".into(),
        last: Some((1, 45_000)),
        calls: vec![call(0, 5_000), call(1, 50_000)],
        ..TimelineInstance::default()
    });
    let drawn = svg(timeline);
    assert!(drawn.contains("initiates last, 45.0 us after the next"));
    assert!(drawn.contains("the last initiates") && !drawn.contains("the last arrives"));
}

/// Corners of the rectangles of a path.
fn rectangles(path: &str) -> Vec<[f64; 4]> {
    let shapes = path.split('M').filter(|shape| !shape.is_empty());
    let rectangle = |shape: &str| {
        let numbers = shape
            .split(['h', 'v', ',', 'z'])
            .filter(|number| !number.is_empty());
        let numbers: Vec<f64> = numbers.map(|number| number.parse().unwrap()).collect();
        [
            numbers[0],
            numbers[1],
            numbers[0] + numbers[2],
            numbers[1] + numbers[3],
        ]
    };
    shapes.map(rectangle).collect()
}

#[test]
fn a_message_is_slow_by_its_transfer_and_not_by_a_receiver_that_is_late() {
    let drawn = |is_late: bool| {
        let mut timeline =
            InstanceTimeline::new("".into(), "".into(), (0, 100_000), (0, "0".into()));
        for rank in 0..8 {
            timeline.push_rank(rank, "n".into());
        }
        // All take 1 us but the last, which is received 50 us after it was sent.
        let messages = (0..7u32).map(|rank| {
            let sent_ns = 10_000 * i64::from(rank);
            let received_ns = sent_ns + if rank == 6 { 35_000 } else { 1_000 };
            TimelineMessage {
                from: rank,
                to: rank + 1,
                bytes: 8,
                sent_ns,
                posted_ns: if is_late { received_ns - 1_000 } else { 0 },
                received_ns,
            }
        });
        timeline.push(TimelineInstance {
            messages: messages.collect(),
            ..TimelineInstance::default()
        });
        svg(timeline)
    };
    let (late, slow) = (drawn(true), drawn(false));
    let count = |text: &str| {
        let document = Document::parse(text).unwrap();
        [
            classed(&document, "message").len(),
            classed(&document, "slow").len(),
        ]
    };
    let ([n_late, n_slow_of_late], [n_slow, n_slow_of_slow]) = (count(&late), count(&slow));
    assert_eq!(n_slow_of_late, 0);
    assert!(n_slow_of_slow > 0);
    assert!(n_late > 0 && n_slow >= n_late);
    assert!(
        late.contains("the receiver was ready 34.0 us after it was sent, and had it 1.00 us later")
    );
}

#[test]
fn four_ranks_wait_for_one() {
    insta::assert_binary_snapshot!("four.svg", svg(late_among(4, 2)).into());
}

#[test]
fn of_many_ranks_each_has_a_row_and_the_last_one_above() {
    insta::assert_binary_snapshot!("many.svg", svg(late_among(128, 16)).into());
}

/// The ranks of the calls that the picture is about, each with the upper end of its first part.
fn rows(drawn: &str) -> Vec<(String, f64)> {
    let document = Document::parse(drawn).unwrap();
    let calls = classed(&document, "call").into_iter();
    let calls = calls.filter(|call| call.attribute("class") == Some("call"));
    let row = calls.filter_map(|call| {
        let mut parts = call.descendants().filter_map(|part| part.attribute("d"));
        let top = rectangles(parts.next()?)[0][1];
        Some((call.attribute("data-ranks")?.to_owned(), top))
    });
    row.collect()
}

#[test]
fn up_to_256_ranks_have_a_row_each() {
    for (n_ranks, n_apart) in [(8, 0), (64, 1), (256, 1)] {
        let rows = rows(&svg(late_among(n_ranks, 16)));
        let ranks = rows[n_apart..].iter().map(|(ranks, _)| ranks.clone());
        let all = (0..n_ranks).map(|rank| rank.to_string());
        assert_eq!(ranks.collect::<Vec<_>>(), all.collect::<Vec<_>>());
        let mut tops = rows[n_apart..].windows(2).map(|pair| pair[1].1 - pair[0].1);
        assert!(tops.all(|height| height > 2.0), "{n_ranks}");
    }
}

/// An allreduce of 1,000 ranks with a critical path through these.
fn with_path(on_path: &[u32]) -> (InstanceTimeline, TimelineInstance) {
    let mut timeline = timeline(1_000, 16, (980_000, 1_180_000));
    let instance = TimelineInstance {
        on_path: on_path.to_vec(),
        ..allreduce(1_000, 777, 1_020_000)
    };
    timeline.push(instance.clone());
    (timeline, instance)
}

/// The names of rows, and whether they are bold.
fn names(drawn: &str) -> Vec<(String, bool)> {
    let document = Document::parse(drawn).unwrap();
    let texts = document.descendants().filter(|node| {
        node.tag_name().name() == "text" && node.attribute("text-anchor") == Some("end")
    });
    let names = texts.map(|text| {
        let is_bold = text.attribute("class").unwrap().contains("label");
        (text.text().unwrap_or_default().to_owned(), is_bold)
    });
    names.filter(|(name, _)| name.contains("rank ")).collect()
}

#[test]
fn of_more_ranks_the_deciles_of_arrival_and_the_critical_path_have_rows() {
    let on_path = [777, 778, 12, 13];
    let (timeline, instance) = with_path(&on_path);
    let drawn = svg(timeline);
    let mut by_arrival = instance.calls.clone();
    by_arrival.sort_by_key(|call| call.enter_ns);
    let enter_ns = |rank: u32| instance.calls[rank as usize].enter_ns;
    let mut expected: Vec<(i64, String, bool)> = (0..=10)
        .map(|part| {
            // Of 1,000 places the one nearest to each tenth of 999.
            let call = by_arrival[(999.0 * f64::from(part) / 10.0).round() as usize];
            let name = match part {
                0 => format!("first: rank {}", call.rank),
                10 => format!("last: rank {}", call.rank),
                _ => format!("{part}0 %: rank {}", call.rank),
            };
            (call.enter_ns, name, on_path.contains(&call.rank))
        })
        .collect();
    let others = on_path.iter().filter(|rank| **rank != 777);
    expected.extend(others.map(|&rank| (enter_ns(rank), format!("rank {rank}"), true)));
    expected.sort();
    let expected: Vec<(String, bool)> = expected
        .into_iter()
        .map(|(_, name, is_bold)| (name, is_bold))
        .collect();
    assert_eq!(names(&drawn), expected);
    assert!(drawn.contains(
        "14 of 1,000 ranks, in order of arrival: the deciles, and in bold all on the critical path"
    ));
    assert!(drawn.contains("all 1,000 ranks"));
    // Of the messages to the next rank and to the next but one: 777 to 778, and 12 to 13.
    assert!(
        drawn.contains("; 2 messages between ranks with a row"),
        "{drawn}"
    );
    let document = Document::parse(&drawn).unwrap();
    let arrows = classed(&document, "message");
    let arrows = arrows
        .iter()
        .filter_map(|mark| mark.attribute("data-ranks"));
    assert_eq!(
        arrows.collect::<BTreeSet<_>>(),
        BTreeSet::from(["12 13", "777 778"])
    );
}

#[test]
fn at_most_256_ranks_have_rows_however_long_the_critical_path_is() {
    let on_path: Vec<u32> = (0..600).collect();
    let (timeline, _) = with_path(&on_path);
    let drawn = svg(timeline);
    let rows = rows(&drawn);
    let single = rows.iter().filter(|(ranks, _)| !ranks.contains('-'));
    let n_rows = single.count();
    assert!((240..=256).contains(&n_rows), "{n_rows}");
    assert!(drawn.contains("of 600 on the critical path, on which it stays longest"));
}

#[test]
fn without_a_critical_path_the_last_to_leave_has_a_row() {
    let (timeline, instance) = with_path(&[]);
    let drawn = svg(timeline);
    let last = instance
        .calls
        .iter()
        .max_by_key(|call| call.leave_ns)
        .unwrap();
    let mut names = names(&drawn).into_iter();
    assert!(
        names.any(|(name, is_bold)| name.ends_with(&format!("rank {}", last.rank)) && !is_bold)
    );
    assert!(drawn.contains("the deciles, and the last to leave"));
}

#[test]
fn a_nonblocking_call_has_its_time_between_the_calls() {
    insta::assert_binary_snapshot!("nonblocking.svg", svg(nonblocking()).into());
}

#[test]
fn every_part_of_a_call_is_where_the_axis_says_and_no_time_is_lost() {
    let svg = svg(late_among(4, 2));
    let document = Document::parse(&svg).unwrap();
    let ticks = classed(&document, "ticks")[0];
    let number = |name: &str| number(ticks, name);
    let (left, right) = (number("data-left"), number("data-right"));
    let us = |x: f64| {
        let (start, end) = (number("data-start"), number("data-end"));
        start + (x - left) / (right - left) * (end - start)
    };
    let instance = allreduce(4, 2, 1_020_000);
    let about = classed(&document, "call").into_iter().filter(|call| {
        call.attribute("class") == Some("call") && call.attribute("data-ranks").is_some()
    });
    for (call, drawn) in instance.calls.iter().zip(about) {
        let parts = drawn.descendants().filter_map(|part| part.attribute("d"));
        let mut parts: Vec<[f64; 4]> = parts.flat_map(rectangles).collect();
        parts.sort_by(|a, b| a[0].total_cmp(&b[0]));
        assert_eq!(parts.len(), if call.rank == 2 { 1 } else { 2 });
        let at = |ns: i64| (ns - 1_000_000) as f64 / 1_000.0;
        // Pictures have a tenth of a px: here 25 ns.
        let is_near = |x: f64, ns: i64| assert!((us(x) - at(ns)).abs() < 0.03, "{x} {ns}");
        is_near(parts[0][0], call.enter_ns);
        is_near(parts.last().unwrap()[2], call.leave_ns);
        if let [wait, work] = parts[..] {
            is_near(wait[2], call.enter_ns + call.wait_ns.unwrap());
            assert!((wait[2] - work[0]).abs() < 0.11);
            assert!(wait[3] - wait[1] < work[3] - work[1], "waiting is lower");
        }
    }
}

#[test]
fn arrows_go_from_sender_to_receiver_and_only_the_longest_are_drawn() {
    let mut some = late_among(4, 2);
    let drawn = svg(some.clone());
    let document = Document::parse(&drawn).unwrap();
    let arrows = |document: &Document<'_>| {
        let marks = classed(document, "message");
        let marks = marks.iter().filter_map(|mark| mark.attribute("data-ranks"));
        marks.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(arrows(&document).len(), 8);
    some = some.with_arrows(3);
    let drawn = svg(some);
    let document = Document::parse(&drawn).unwrap();
    // Those that rank 3 sends take longest; the longest are on top.
    assert_eq!(arrows(&document), ["2 3", "3 1", "3 0"]);
    assert!(drawn.contains("the 3 messages that took longest, of 8"));
}

#[test]
fn by_how_much_one_is_late_is_a_bar_up_to_its_arrival() {
    for (n_ranks, ranks_per_host) in [(4, 2), (256, 16)] {
        let drawn = svg(late_among(n_ranks, ranks_per_host));
        let document = Document::parse(&drawn).unwrap();
        // In the plot, and in the legend.
        let bars = classed(&document, "late");
        assert_eq!(bars.len(), 2, "{n_ranks}");
        let number = |name| number(bars[0], name);
        let arrival = classed(&document, "arrival")[0]
            .attribute("points")
            .unwrap();
        let at: f64 = arrival.split(',').next().unwrap().parse().unwrap();
        assert!(
            (number("x") + number("width") - at).abs() < 0.2,
            "{arrival}"
        );
        // 20 us of the 200 us that the plot shows.
        let plot = 944.0 - 172.0;
        assert!(
            (number("width") - plot / 10.0).abs() < 1.0,
            "{}",
            number("width")
        );
        assert!(drawn.contains("late: a cause of waiting"));
    }
}

#[test]
fn words_on_the_last_arrival_are_not_cut_off_at_the_left_edge() {
    // Of "arrives last, 20.0 us after the next" in bold DejaVu Sans, which is wide.
    let width = 213.5;
    let mut lefts = Vec::new();
    for margin_ns in (20_000..80_000).step_by(500) {
        let mut timeline = timeline(4, 4, (1_120_000 - margin_ns, 1_240_000));
        timeline.push(allreduce(4, 2, 1_020_000));
        let drawn = svg(timeline);
        let document = Document::parse(&drawn).unwrap();
        let labels = classed(&document, "label").into_iter();
        lefts.extend(labels.map(|label| number(label, "x") - width));
    }
    let least = lefts.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((172.0..182.0).contains(&least), "{least}");
}

#[test]
fn messages_that_are_short_at_the_scale_have_no_arrows_if_so_asked() {
    let some = late_among(4, 2).with_shortest_arrow(0.5);
    let drawn = svg(some);
    let document = Document::parse(&drawn).unwrap();
    assert!(classed(&document, "message").is_empty());
    assert!(drawn.contains("8 messages, too short to be shown at this scale"));
}

proptest! {
    #[test]
    fn whatever_happens_the_picture_is_well_formed_and_nothing_leaves_the_plot(
        calls in prop::collection::vec(
            (0u32..200, any::<i64>(), any::<i64>(), any::<Option<i64>>(), any::<Option<(i64, i64)>>()),
            0..60,
        ),
        messages in prop::collection::vec((0u32..200, 0u32..200, any::<i64>(), any::<i64>()), 0..40),
        stretch in any::<(i64, i64)>(),
        n_ranks in 0u32..150,
        excess_ns in any::<i64>(),
    ) {
        let mut timeline = InstanceTimeline::new(HOSTILE.into(), HOSTILE.into(), stretch, (stretch.0, HOSTILE.into()));
        for rank in 0..n_ranks {
            timeline.push_rank(rank, HOSTILE.into());
        }
        let calls = calls.into_iter().map(|(rank, enter_ns, leave_ns, wait_ns, completion_ns)| TimelineCall {
            rank, enter_ns, leave_ns, wait_ns, released_by: wait_ns.map(|_| rank), completion_ns,
        });
        let messages = messages.into_iter().map(|(from, to, sent_ns, received_ns)| TimelineMessage {
            from, to, bytes: 8, sent_ns, posted_ns: received_ns / 2, received_ns,
        });
        timeline.push(TimelineInstance {
            name: HOSTILE.into(),
            is_beside: false,
            last: Some((n_ranks / 2, excess_ns)),
            is_late: true,
            on_path: vec![0, n_ranks],
            calls: calls.collect(),
            messages: messages.collect(),
        });
        let svg = svg(timeline);
        assert_well_formed(&svg);
        assert_inert(&svg);
        let document = Document::parse(&svg).unwrap();
        for path in document.descendants().filter_map(|node| node.attribute("d").filter(|_| node.tag_name().name() == "path" && node.attribute("class") != Some("hatch"))) {
            for [from, _, to, _] in rectangles(path) {
                prop_assert!(from >= 171.9 && to <= 945.0, "{} {}", from, to);
            }
        }
    }
}
