//! Labels along an edge that do not overlap, each as near as possible to what it names.

/// Where a label went: its lane (0 is nearest to the plot) and the middle of its text, in px.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Placed {
    pub(super) lane: usize,
    pub(super) center: f64,
}

/// A label's wish: the middle it would like and the width it needs, in px.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    pub(super) center: f64,
    pub(super) width: f64,
}

/// Places labels between `left` and `right` in as few lanes as hold them, in the order of their
/// wishes, neighbours in different lanes. Within a lane the sum of squared shifts is least.
pub(super) fn spread(wishes: &[Wish], left: f64, right: f64) -> Vec<Placed> {
    let mut order: Vec<usize> = (0..wishes.len()).collect();
    order.sort_by(|&a, &b| {
        wishes[a]
            .center
            .total_cmp(&wishes[b].center)
            .then(a.cmp(&b))
    });
    let lane_of = |lane: usize, n_lanes: usize| order.iter().copied().skip(lane).step_by(n_lanes);
    let fits = |n_lanes: usize| {
        (0..n_lanes).all(|lane| {
            let width: f64 = lane_of(lane, n_lanes).map(|idx| wishes[idx].width).sum();
            width <= right - left
        })
    };
    let n_lanes = (1..wishes.len()).find(|&n| fits(n)).unwrap_or(wishes.len());
    let mut placed = vec![
        Placed {
            lane: 0,
            center: 0.0
        };
        wishes.len()
    ];
    for lane in 0..n_lanes {
        let members: Vec<usize> = lane_of(lane, n_lanes).collect();
        let row: Vec<Wish> = members.iter().map(|&idx| wishes[idx]).collect();
        for (&idx, center) in members.iter().zip(spread_lane(&row, left, right)) {
            placed[idx] = Placed { lane, center };
        }
    }
    placed
}

/// Least-squares positions without overlap, for wishes sorted by middle: isotonic regression of
/// the wishes less the room that the labels before them need.
fn spread_lane(row: &[Wish], left: f64, right: f64) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(row.len());
    for (idx, wish) in row.iter().enumerate() {
        let before = if idx == 0 { 0.0 } else { row[idx - 1].width };
        offsets.push(offsets.last().copied().unwrap_or(0.0) + (before + wish.width) / 2.0);
    }
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (wish, offset) in row.iter().zip(&offsets) {
        let mut block = (wish.center - offset, 1);
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
    let last_room = row.last().map_or(0.0, |wish| wish.width / 2.0);
    let highest = right - last_room - offsets.last().copied().unwrap_or(0.0);
    let shifts = blocks
        .iter()
        .flat_map(|&(mean, n)| std::iter::repeat_n(mean, n));
    // The lower bound is applied last: a label that is too long by itself runs out at the right.
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
            let wishes: Vec<Wish> =
                raw.iter().map(|&(center, width)| Wish { center, width }).collect();
            let placed = spread(&wishes, 0.0, 700.0);
            let mut boxes: Vec<(usize, f64, f64)> = placed
                .iter()
                .zip(&wishes)
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
    fn labels_with_room_get_their_wish() {
        let wishes = [100.0, 300.0].map(|center| Wish {
            center,
            width: 50.0,
        });
        let placed = spread(&wishes, 0.0, 400.0);
        assert_eq!(centers(&placed), [100.0, 300.0]);
    }

    #[test]
    fn labels_that_collide_part_evenly() {
        let wishes = [200.0, 200.0].map(|center| Wish {
            center,
            width: 50.0,
        });
        assert_eq!(centers(&spread(&wishes, 0.0, 400.0)), [175.0, 225.0]);
    }

    fn centers(placed: &[Placed]) -> Vec<f64> {
        placed.iter().map(|placed| placed.center).collect()
    }
}
