//! In which grouping a reduction combines the contributions of the processes.
//!
//! Sums of floating-point numbers are rounded, so their bits depend on which partial sums are formed: `(a+b)+(c+d)` is not
//! `((a+b)+c)+d`. They don't depend on which operand comes first: in IEEE 754 `a+b` and `b+a` have the same bits. So an
//! expression here is a binary tree without an order of the two sides. Two reductions whose expressions are equal for each
//! element and each process have the same bits, whatever is added. Where they are not, there are values for which the
//! bits differ.
//!
//! Operations whose result does not depend on the grouping (integers, minima, maxima, bits) need none of this.

mod numerics;
mod terms;

pub use numerics::Numerics;
use terms::Node;
pub(crate) use terms::{Term, Terms};

/// Consecutive elements that are combined in the same grouping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    /// How many; at least one.
    elements: u64,
    term: Term,
}

/// What the processes of a reduction get: for each element the expression in which the contributions were combined.
#[derive(Debug, Clone)]
pub struct Grouping {
    nodes: Vec<Node>,
    /// Different results: their elements in order.
    results: Vec<Vec<Block>>,
    /// By rank the position of its result.
    of_ranks: Vec<usize>,
    /// Whether all processes get the same elements, of the contributions of all.
    is_for_all: bool,
}

impl Grouping {
    /// All processes get the same elements, here in blocks, each of so many elements and with one term.
    pub(crate) fn for_all(
        n_ranks: usize,
        terms: Terms,
        blocks: impl IntoIterator<Item = (u64, Term)>,
    ) -> Self {
        Self {
            nodes: terms.into_nodes(),
            results: vec![joined(blocks)],
            of_ranks: vec![0; n_ranks],
            is_for_all: true,
        }
    }

    /// Each process gets its own result of some elements, with one term, or none.
    pub(crate) fn for_each(
        terms: Terms,
        elements: u64,
        results: impl IntoIterator<Item = Option<Term>>,
    ) -> Self {
        let results = results.into_iter();
        let results = results.map(|term| joined(term.map(|term| (elements, term))));
        let results: Vec<Vec<Block>> = results.collect();
        Self {
            nodes: terms.into_nodes(),
            of_ranks: (0..results.len()).collect(),
            results,
            is_for_all: false,
        }
    }

    /// The root gets the result.
    pub(crate) fn for_root(
        n_ranks: usize,
        root: usize,
        terms: Terms,
        elements: u64,
        term: Term,
    ) -> Self {
        let results = (0..n_ranks).map(|rank| (rank == root).then_some(term));
        Self::for_each(terms, elements, results)
    }

    /// How many processes contribute.
    #[must_use]
    pub fn n_ranks(&self) -> usize {
        self.of_ranks.len()
    }

    fn result(&self, rank: usize) -> &[Block] {
        &self.results[self.of_ranks[rank]]
    }

    /// The only process that gets something; `None`: several do.
    fn sole_rank(&self) -> Option<usize> {
        let ranks = 0..self.n_ranks();
        let mut with_result = ranks.filter(|&rank| !self.result(rank).is_empty());
        let first = with_result.next()?;
        with_result.next().is_none().then_some(first)
    }

    /// Whether processes that get the same elements get the same bits.
    #[must_use]
    pub fn is_same_on_all_ranks(&self) -> bool {
        // Within one grouping equal expressions are the same term.
        let is_as_first = |rank: usize| self.result(rank) == self.result(0);
        !self.is_for_all || (1..self.n_ranks()).all(is_as_first)
    }

    /// Whether each process gets the same bits from both, for any contributions.
    #[must_use]
    pub fn has_same_bits_as(&self, other: &Self) -> bool {
        let mut terms = Terms::default();
        let [own, others] = [self, other].map(|of| of.translated(&mut terms, |_| true));
        let are_alike = |rank: usize| own[self.of_ranks[rank]] == others[other.of_ranks[rank]];
        self.n_ranks() == other.n_ranks() && (0..self.n_ranks()).all(are_alike)
    }

    /// What the first processes get if the contributions of all others are neutral, such as zeros in a sum.
    #[must_use]
    pub fn of_first(&self, n_ranks: usize) -> Self {
        let mut terms = Terms::default();
        let results = self.translated(&mut terms, |rank| rank < n_ranks);
        Self {
            nodes: terms.into_nodes(),
            results,
            of_ranks: self.of_ranks.iter().copied().take(n_ranks).collect(),
            is_for_all: self.is_for_all,
        }
    }

    /// The results in terms of another table, with the contributions of some ranks only.
    fn translated(
        &self,
        terms: &mut Terms,
        contributes: impl Fn(usize) -> bool,
    ) -> Vec<Vec<Block>> {
        let mut translated: Vec<Option<Term>> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            translated.push(match *node {
                Node::Contribution(rank) => contributes(rank).then(|| terms.contribution(rank)),
                Node::Sum(parts) => match parts.map(|part| translated[part.idx()]) {
                    [Some(one), Some(other)] => Some(terms.sum(one, other)),
                    [one, other] => one.or(other),
                },
            });
        }
        let results = self.results.iter().map(|blocks| {
            let blocks = blocks.iter();
            joined(blocks.filter_map(|of| Some((of.elements, translated[of.term.idx()]?))))
        });
        results.collect()
    }

    /// What each process gets, by rank, for some contributions: values of consecutive elements, each with their number. All
    /// elements of a process have the same contribution here.
    #[must_use]
    pub fn evaluate<T: Copy>(
        &self,
        contribution: impl Fn(usize) -> T,
        combine: impl Fn(T, T) -> T,
    ) -> Vec<Vec<(u64, T)>> {
        let mut values: Vec<T> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            values.push(match *node {
                Node::Contribution(rank) => contribution(rank),
                Node::Sum([one, other]) => combine(values[one.idx()], values[other.idx()]),
            });
        }
        let of_rank = |rank: usize| {
            let blocks = self.result(rank).iter();
            blocks
                .map(|block| (block.elements, values[block.term.idx()]))
                .collect()
        };
        (0..self.n_ranks()).map(of_rank).collect()
    }

    /// The expressions of the elements that a process gets, such as `(0+1)+2`, each with the number of elements. Of two sides the
    /// one with the lowest rank comes first.
    #[must_use]
    pub fn expressions(&self, rank: usize) -> Vec<(u64, String)> {
        let blocks = self.result(rank).iter();
        blocks
            .map(|block| (block.elements, self.written(block.term).1))
            .collect()
    }

    /// An expression, with the lowest of its ranks.
    fn written(&self, term: Term) -> (usize, String) {
        let Node::Sum(sides) = self.nodes[term.idx()] else {
            return self.written_side(term);
        };
        let mut sides = sides.map(|side| self.written_side(side));
        sides.sort();
        let [(lowest, one), (_, other)] = sides;
        (lowest, format!("{one}+{other}"))
    }

    fn written_side(&self, term: Term) -> (usize, String) {
        match self.nodes[term.idx()] {
            Node::Contribution(rank) => (rank, rank.to_string()),
            Node::Sum(_) => {
                let (lowest, text) = self.written(term);
                (lowest, format!("({text})"))
            }
        }
    }
}

/// Blocks as they are compared: none is empty, and neighbours have different terms.
fn joined(blocks: impl IntoIterator<Item = (u64, Term)>) -> Vec<Block> {
    let mut joined: Vec<Block> = Vec::new();
    for (elements, term) in blocks.into_iter().filter(|(elements, _)| *elements > 0) {
        match joined.last_mut() {
            Some(last) if last.term == term => last.elements += elements,
            _ => joined.push(Block { elements, term }),
        }
    }
    joined
}
