//! Expressions, each of them kept once, and the ways in which algorithms build them.

use std::collections::HashMap;

/// An expression: its position in a table. Within a table equal expressions are the same term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Term(u32);

impl Term {
    pub(super) fn idx(self) -> usize {
        self.0 as usize
    }
}

/// How an expression begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// What the process with this rank contributes.
    Contribution(usize),
    /// The sum of two other expressions, the earlier one first.
    Sum([Term; 2]),
}

/// A table of expressions. Those of which one consists come before it.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    nodes: Vec<Node>,
    known: HashMap<Node, Term>,
}

impl Terms {
    pub(super) fn into_nodes(self) -> Vec<Node> {
        self.nodes
    }

    fn term(&mut self, node: Node) -> Term {
        *self.known.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            Term(self.nodes.len() as u32 - 1)
        })
    }

    /// What a process contributes.
    pub(crate) fn contribution(&mut self, rank: usize) -> Term {
        self.term(Node::Contribution(rank))
    }

    /// What the first processes contribute.
    pub(crate) fn contributions(&mut self, n_ranks: usize) -> Vec<Term> {
        (0..n_ranks).map(|rank| self.contribution(rank)).collect()
    }

    pub(crate) fn sum(&mut self, one: Term, other: Term) -> Term {
        self.term(Node::Sum([one.min(other), one.max(other)]))
    }

    /// `((a+b)+c)+d`; there is at least one.
    pub(crate) fn one_by_one(&mut self, terms: impl IntoIterator<Item = Term>) -> Term {
        let sum = terms.into_iter().reduce(|sum, next| self.sum(sum, next));
        sum.expect("at least one term")
    }

    /// What the processes with these ranks contribute, one by one.
    pub(crate) fn chain(&mut self, ranks: impl IntoIterator<Item = usize>) -> Term {
        let ranks: Vec<Term> = ranks.into_iter().map(|of| self.contribution(of)).collect();
        self.one_by_one(ranks)
    }

    /// Groups of neighbours one by one, then groups of these sums, until there is one: with two in a group
    /// `((a+b)+(c+d))+e`. The last group may be smaller.
    pub(crate) fn of_neighbours(&mut self, mut terms: Vec<Term>, in_group: usize) -> Term {
        while terms.len() > 1 {
            let groups = terms.chunks(in_group);
            terms = groups
                .map(|of| self.one_by_one(of.iter().copied()))
                .collect();
        }
        terms[0]
    }

    /// Along a tree: each process adds what its children have to its own contribution, one child after the other.
    /// `children` gives those of a process.
    pub(crate) fn along(&mut self, root: usize, children: impl Fn(usize) -> Vec<usize>) -> Term {
        let mut open = vec![root];
        let mut found: Vec<(usize, Vec<usize>)> = Vec::new();
        while let Some(rank) = open.pop() {
            let children = children(rank);
            open.extend(&children);
            found.push((rank, children));
        }
        let mut sums: HashMap<usize, Term> = HashMap::with_capacity(found.len());
        for (rank, children) in found.iter().rev() {
            let own = self.contribution(*rank);
            let of_children = children.iter().map(|child| sums[child]);
            let sum = self.one_by_one(std::iter::once(own).chain(of_children));
            sums.insert(*rank, sum);
        }
        sums[&root]
    }
}
