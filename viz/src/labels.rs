//! Labels along an edge that do not overlap, each as close as possible to what it names.

/// Position of a label: its lane (0 is nearest to the plot) and the middle of its text, in px.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Placed {
    pub(crate) lane: usize,
    pub(crate) center: f64,
}

/// A requested position: the preferred middle and the width of a label, in px.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabelRequest {
    pub(crate) center: f64,
    pub(crate) width: f64,
}

/// The labels along one edge.
#[derive(Debug, Clone, Default)]
pub(crate) struct LabelStrip {
    /// One per request, in the same order.
    pub(crate) placed: Vec<Placed>,
    pub(crate) n_lanes: usize,
    /// Height of the leader lines between labels and what they name, in px: it grows with the
    /// largest shift, so that the lines do not overlap.
    pub(crate) leader_height: f64,
}

/// More lanes are opened only if labels would not fit otherwise.
const MAX_LANES: usize = 4;
/// A label may move up to this far, in px, before another lane is opened.
const MAX_SHIFT: f64 = 60.0;

/// Places labels between `left` and `right`, in the order of their requests, neighbours in
/// different lanes. Within a lane the sum of squared shifts is minimal.
pub(crate) fn spread(requests: &[LabelRequest], left: f64, right: f64) -> LabelStrip {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by(|&a, &b| {
        requests[a]
            .center
            .total_cmp(&requests[b].center)
            .then(a.cmp(&b))
    });
    let mut strip = LabelStrip::default();
    for n_lanes in 1..=requests.len() {
        let lanes: Vec<Vec<usize>> = (0..n_lanes)
            .map(|lane| order.iter().copied().skip(lane).step_by(n_lanes).collect())
            .collect();
        let width = |lane: &Vec<usize>| lane.iter().map(|&idx| requests[idx].width).sum::<f64>();
        if n_lanes < requests.len() && lanes.iter().any(|lane| width(lane) > right - left) {
            continue;
        }
        let mut placed = vec![
            Placed {
                lane: 0,
                center: 0.0
            };
            requests.len()
        ];
        for (lane, members) in lanes.iter().enumerate() {
            let row: Vec<LabelRequest> = members.iter().map(|&idx| requests[idx]).collect();
            for (&idx, center) in members.iter().zip(spread_lane(&row, left, right)) {
                placed[idx] = Placed { lane, center };
            }
        }
        // A label whose text still covers what it names counts as not moved.
        let shifts = placed.iter().zip(requests);
        let shifts = shifts
            .map(|(placed, request)| (placed.center - request.center).abs() - request.width / 2.0);
        let max_shift = shifts.fold(0.0, f64::max);
        strip = LabelStrip {
            placed,
            n_lanes,
            leader_height: 12.0 + (max_shift / 5.0).min(28.0),
        };
        if max_shift <= MAX_SHIFT || n_lanes >= MAX_LANES {
            break;
        }
    }
    strip
}

/// Least-squares positions without overlap, for requests sorted by middle: isotonic regression of
/// the requested positions minus the widths of the labels before them.
fn spread_lane(row: &[LabelRequest], left: f64, right: f64) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(row.len());
    for (idx, request) in row.iter().enumerate() {
        let before = if idx == 0 { 0.0 } else { row[idx - 1].width };
        offsets.push(offsets.last().copied().unwrap_or(0.0) + (before + request.width) / 2.0);
    }
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (request, offset) in row.iter().zip(&offsets) {
        let mut block = (request.center - offset, 1);
        while let Some(&(mean, n)) = blocks.last() {
            if mean <= block.0 {
                break;
            }
            blocks.pop();
            let sum = mean * n as f64 + block.0 * block.1 as f64;
            block = (sum / (n + block.1) as f64, n + block.1);
        }
        blocks.push(block);
    }
    let last_room = row.last().map_or(0.0, |request| request.width / 2.0);
    let highest = right - last_room - offsets.last().copied().unwrap_or(0.0);
    let shifts = blocks
        .iter()
        .flat_map(|&(mean, n)| std::iter::repeat_n(mean, n));
    // The lower bound is applied last: a label that is too wide extends beyond the right end.
    shifts
        .zip(&offsets)
        .map(|(mean, offset)| mean.min(highest).max(left) + offset)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn labels_of_a_lane_never_overlap_and_stay_inside(
            raw in prop::collection::vec((0.0..700.0f64, 10.0..400.0f64), 0..40),
        ) {
            let requests: Vec<LabelRequest> =
                raw.iter().map(|&(center, width)| LabelRequest { center, width }).collect();
            let placed = spread(&requests, 0.0, 700.0).placed;
            let mut boxes: Vec<(usize, f64, f64)> = placed
                .iter()
                .zip(&requests)
                .map(|(p, w)| (p.lane, p.center - w.width / 2.0, p.center + w.width / 2.0))
                .collect();
            boxes.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            for pair in boxes.windows(2) {
                prop_assert!(pair[0].0 != pair[1].0 || pair[0].2 <= pair[1].1 + 1e-6, "{pair:?}");
            }
            prop_assert!(boxes.iter().all(|b| b.1 >= -1e-6 && b.2 <= 700.0 + 1e-6), "{boxes:?}");
        }
    }

    #[test]
    fn labels_with_room_are_where_they_were_requested() {
        let requests = [100.0, 300.0].map(|center| LabelRequest {
            center,
            width: 50.0,
        });
        let placed = spread(&requests, 0.0, 400.0).placed;
        assert_eq!(centers(&placed), [100.0, 300.0]);
    }

    #[test]
    fn labels_that_collide_part_evenly() {
        let requests = [200.0, 200.0].map(|center| LabelRequest {
            center,
            width: 50.0,
        });
        assert_eq!(
            centers(&spread(&requests, 0.0, 400.0).placed),
            [175.0, 225.0]
        );
    }

    #[test]
    fn a_crowd_opens_lanes_instead_of_moving_far() {
        let requests = vec![
            LabelRequest {
                center: 350.0,
                width: 50.0
            };
            9
        ];
        let strip = spread(&requests, 0.0, 700.0);
        assert_eq!(strip.n_lanes, 3);
        assert!(
            strip
                .placed
                .iter()
                .all(|placed| (placed.center - 350.0).abs() <= MAX_SHIFT)
        );
    }

    fn centers(placed: &[Placed]) -> Vec<f64> {
        placed.iter().map(|placed| placed.center).collect()
    }
}
