//! What operations are by definition, without any engine: plain recursion over the tree.

use collbench_formats::tree::{Contributor, WrapperKind, Wrappers};
use collbench_paths::Combine;

/// An operation on elements of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// Wrapping sum of 64-bit integers.
    Sum,
    /// Sum of doubles, which depends on the order.
    Floats,
    /// Product of 2 x 2 matrices of 32-bit integers, which does not commute.
    Matrices,
}

impl Op {
    pub(crate) const ALL: [Self; 3] = [Self::Sum, Self::Floats, Self::Matrices];

    /// `left` op `right`, one element each.
    fn of_elements(self, left: &[u8], right: &[u8]) -> Vec<u8> {
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap());
        match self {
            Self::Sum => word(left).wrapping_add(word(right)).to_ne_bytes().to_vec(),
            Self::Floats => {
                let sum = f64::from_bits(word(left)) + f64::from_bits(word(right));
                sum.to_bits().to_ne_bytes().to_vec()
            }
            Self::Matrices => {
                let entries = |bytes: &[u8]| -> Vec<u32> {
                    let entries = bytes.chunks(4);
                    entries
                        .map(|entry| u32::from_ne_bytes(entry.try_into().unwrap()))
                        .collect()
                };
                let (a, b) = (entries(left), entries(right));
                let product = |row: usize, column: usize| {
                    let first = a[2 * row].wrapping_mul(b[column]);
                    first.wrapping_add(a[2 * row + 1].wrapping_mul(b[2 + column]))
                };
                let all = [product(0, 0), product(0, 1), product(1, 0), product(1, 1)];
                all.iter().flat_map(|entry| entry.to_ne_bytes()).collect()
            }
        }
    }

    pub(crate) fn of_values(self, left: &[u8], right: &[u8]) -> Vec<u8> {
        let n = self.element_bytes();
        let pairs = left.chunks(n).zip(right.chunks(n));
        pairs.flat_map(|(a, b)| self.of_elements(a, b)).collect()
    }
}

impl Combine for Op {
    fn element_bytes(&self) -> usize {
        match self {
            Self::Sum | Self::Floats => 8,
            Self::Matrices => 16,
        }
    }

    fn keeps_rank_order(&self) -> bool {
        *self == Self::Matrices
    }

    fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        let result = self.of_values(left, right);
        right.copy_from_slice(&result);
    }
}

/// The values of several contributors as one, from the last to the first.
fn together(op: Op, parts: Vec<Vec<u8>>) -> Vec<u8> {
    let reversed = parts.into_iter().rev();
    let all = reversed.reduce(|right, left| op.of_values(&left, &right));
    all.expect("at least one contributor")
}

/// What the values of all ranks are combined to, with the result at the bottommost wrapper.
pub(crate) fn allreduce(tree: &Wrappers, op: Op, values: &[Vec<u8>]) -> Vec<u8> {
    if op.keeps_rank_order() {
        return together(op, values.to_vec());
    }
    above(
        tree,
        op,
        values,
        Contributor::Wrapper(tree.all().len() as u32 - 1),
    )
}

/// What a contributor brings.
fn above(tree: &Wrappers, op: Op, values: &[Vec<u8>], from: Contributor) -> Vec<u8> {
    match from {
        Contributor::Rank(rank) => values[rank as usize].clone(),
        Contributor::Wrapper(idx) => {
            let contributors = tree.all()[idx as usize].contributors.iter();
            let parts = contributors.map(|&of| above(tree, op, values, of));
            together(op, parts.collect())
        }
    }
}

/// What the values of all ranks are combined to, with the result at a rank.
pub(crate) fn reduce(tree: &Wrappers, op: Op, values: &[Vec<u8>], root: u32) -> Vec<u8> {
    if op.keeps_rank_order() {
        return together(op, values.to_vec());
    }
    let first = tree.first_wrappers()[root as usize];
    let is_proxy = tree.all()[first as usize].kind == WrapperKind::Proxy;
    let own = Contributor::Rank(root);
    if is_proxy {
        let rest = below(tree, op, values, (own, first));
        return together(
            op,
            vec![values[root as usize].clone(), rest.expect("a parent")],
        );
    }
    let contributors = tree.all()[first as usize].contributors.iter();
    let mut parts: Vec<_> = contributors
        .map(|&of| above(tree, op, values, of))
        .collect();
    let from = Contributor::Wrapper(first);
    let parent = tree.all()[first as usize].parent;
    parts.extend(parent.and_then(|parent| below(tree, op, values, (from, parent))));
    together(op, parts)
}

/// What comes back from wrapper `idx` to a contributor: all other values. `None` if there are none.
fn below(
    tree: &Wrappers,
    op: Op,
    values: &[Vec<u8>],
    (to, idx): (Contributor, u32),
) -> Option<Vec<u8>> {
    let wrapper = &tree.all()[idx as usize];
    let others = wrapper.contributors.iter().filter(|&&of| of != to);
    let mut parts: Vec<_> = others.map(|&of| above(tree, op, values, of)).collect();
    let from = Contributor::Wrapper(idx);
    parts.extend(
        wrapper
            .parent
            .and_then(|parent| below(tree, op, values, (from, parent))),
    );
    (!parts.is_empty()).then(|| together(op, parts))
}
