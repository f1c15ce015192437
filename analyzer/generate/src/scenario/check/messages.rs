//! Checks messages in a scenario: the network, and the trees of its collectives.

use std::ops::Range;

use collbench_formats::Operation;
use toml::Spanned;

use super::file::{Check, MAX_DELAY_NS};
use crate::delay::{Amount, Delay};
use crate::messages::{Directions, Link, LinkEnds, MessageModel, Network, Receives, Shape};
use crate::scenario::written::{
    WrittenDelay, WrittenInside, WrittenLink, WrittenNetwork, WrittenReceives, WrittenShape,
    WrittenTree,
};
use crate::scenario::{Bytes, ScenarioError, StepKind};

/// Most messages per edge.
const MAX_SEGMENTS: u64 = 10_000;

impl Check<'_> {
    pub(super) fn read_network(
        &mut self,
        network: Spanned<WrittenNetwork>,
    ) -> Result<Network, ScenarioError> {
        let network = network.into_inner();
        let default = Network::default();
        let jitter = match network.jitter {
            None => None,
            Some(jitter) => Some(self.read_jitter(jitter)?),
        };
        let mut links = Vec::new();
        for link in network.links {
            links.push(self.read_link(link)?);
        }
        let time = |what, value, default| self.number(what, value, default, 0..=MAX_DELAY_NS);
        Ok(Network {
            in_host_ns: time("in_host_ns", network.in_host_ns, default.in_host_ns)?,
            across_hosts_ns: time(
                "across_hosts_ns",
                network.across_hosts_ns,
                default.across_hosts_ns,
            )?,
            send_ns: time("send_ns", network.send_ns, default.send_ns)?,
            receive_ns: time("receive_ns", network.receive_ns, default.receive_ns)?,
            jitter,
            rendezvous_bytes: network.rendezvous_bytes.unwrap_or(default.rendezvous_bytes),
            links,
        })
    }

    /// A delay of messages, which depends on their sender, or of a wrapper, which depends on its owner.
    pub(super) fn read_jitter(
        &mut self,
        jitter: Spanned<WrittenDelay>,
    ) -> Result<Delay, ScenarioError> {
        let span = jitter.span();
        let jitter = self.read_delay(jitter)?;
        if matches!(jitter.amount, Amount::Noise { .. }) || jitter.moves_every.is_some() {
            let found = "noise, or moves_every, as jitter";
            return self.wrong(span, found, "an amount of time");
        }
        Ok(jitter)
    }

    fn read_link(&self, link: Spanned<WrittenLink>) -> Result<Link, ScenarioError> {
        let span = link.span();
        let link = link.into_inner();
        let ends = match (link.ranks, link.hosts) {
            (Some(ranks), None) => {
                if let Some(rank) = ranks.iter().find(|&&rank| rank >= self.n_ranks) {
                    let expected = format!("0 to {}", self.n_ranks - 1);
                    return self.wrong(span, format!("rank {rank}"), expected);
                }
                LinkEnds::Ranks(ranks.map(|rank| rank as u32))
            }
            (None, Some(names)) => {
                let mut hosts = [0; 2];
                for (host, name) in hosts.iter_mut().zip(&names) {
                    let found = self.hosts.iter().position(|known| known.name == *name);
                    let Some(found) = found else {
                        let known = self.hosts.iter().map(|host| host.name.as_str());
                        let known: Vec<&str> = known.collect();
                        let expected = format!("two of the hosts {}", known.join(", "));
                        return self.wrong(span, format!("host \"{name}\""), expected);
                    };
                    *host = found;
                }
                LinkEnds::Hosts(hosts)
            }
            _ => {
                let expected = "either ranks = [0, 1] or hosts = [\"a\", \"b\"]";
                return self.wrong(
                    span,
                    "a link without ends, or with both ranks and hosts",
                    expected,
                );
            }
        };
        Ok(Link {
            ends,
            ns: self.number("ns", Some(link.ns), 0, 0..=MAX_DELAY_NS)?,
            is_one_way: link.one_way,
        })
    }

    pub(super) fn read_tree(
        &mut self,
        tree: Spanned<WrittenTree>,
        operation: Option<Operation>,
        bytes: &Bytes,
        kind: &StepKind,
    ) -> Result<MessageModel, ScenarioError> {
        let span = tree.span();
        let is_seen = |operation: &Operation| Directions::of(operation.semantics()).is_some();
        let may_have = matches!(kind, StepKind::Call | StepKind::Begin(_));
        let Some(operation) = operation.filter(|op| is_seen(op) && may_have) else {
            let expected = "a barrier, broadcast, scatter, reduce, gather or N x N";
            return self.wrong(span, "tree in a step that cannot have one", expected);
        };
        if let Bytes::PerRank(_) = bytes {
            let expected = "one number, the size of every message";
            return self.wrong(span, "bytes by rank in a step with a tree", expected);
        }
        let written = match tree.into_inner() {
            WrittenTree::Table(written) => *written,
            WrittenTree::Shape(shape) => WrittenInside::of(shape),
        };
        let shape = self.read_shape(&span, written.shape)?;
        if shape.is_exchange() && operation.semantics().is_rooted() {
            let found = format!("{} for an operation with a root", shape.name());
            return self.wrong(span, found, "a tree");
        }
        if shape.is_exchange() && (written.segments.is_some() || written.posts_all) {
            let expected = "these fields only for a tree";
            return self.wrong(span, "segments or posts_all for an exchange", expected);
        }
        let is_nonblocking = matches!(kind, StepKind::Begin(_));
        if is_nonblocking && (shape.is_exchange() || written.segments.is_some_and(|n| n > 1)) {
            let found = "an exchange, or segments, in a step that only initiates a collective";
            return self.wrong(span, found, "a tree with one message per edge");
        }
        let mut delays = |written: Vec<WrittenDelay>| {
            let read = written.into_iter().map(|delay| {
                let delay = self.read_delay(Spanned::new(span.clone(), delay))?;
                match delay.amount {
                    Amount::Noise { .. } => {
                        self.wrong(span.clone(), "noise within a tree", "an amount of time")
                    }
                    _ => Ok(delay),
                }
            });
            read.collect::<Result<Vec<_>, _>>()
        };
        let (busy, compute) = (delays(written.busy)?, delays(written.compute)?);
        let number = |what, value: Option<u64>, default, within| {
            let value = value.map(|value| Spanned::new(span.clone(), value));
            self.number(what, value, default, within)
        };
        let times = 0..=MAX_DELAY_NS;
        Ok(MessageModel {
            shape,
            segments: number("segments", written.segments, 1, 1..=MAX_SEGMENTS)? as u32,
            posts_all: written.posts_all,
            receives: match written.receives {
                WrittenReceives::Known => Receives::Known,
                WrittenReceives::FromAny => Receives::FromAny,
                WrittenReceives::Unseen => Receives::Unseen,
            },
            entry_ns: number("entry_ns", written.entry_ns, 200, times.clone())?,
            exit_ns: number("exit_ns", written.exit_ns, 200, times)?,
            busy,
            compute,
        })
    }

    fn read_shape(&self, span: &Range<usize>, shape: WrittenShape) -> Result<Shape, ScenarioError> {
        let parents = match shape {
            WrittenShape::Name(name) => {
                let Some(shape) = Shape::of_name(&name) else {
                    let expected = "linear, chain, binary, kary:4, binomial, knomial:4, \
                                    recursive-doubling, ring, dissemination, or a list of parents";
                    return self.wrong(span.clone(), format!("tree = \"{name}\""), expected);
                };
                return Ok(shape);
            }
            WrittenShape::Parents(parents) => parents,
        };
        let n = parents.len();
        let leads_to_the_root = |rank: usize| {
            let mut at = rank;
            for _ in 0..n {
                if at == 0 {
                    return true;
                }
                match parents.get(at).map(|&parent| usize::try_from(parent)) {
                    Some(Ok(parent)) => at = parent,
                    _ => return false,
                }
            }
            false
        };
        if parents.first() != Some(&-1) || !(0..n).all(leads_to_the_root) {
            let expected = "the parent of each rank, counted from the root, such as [-1, 0, 0, 1]; \
                            the root has -1, and all paths lead to it";
            return self.wrong(span.clone(), format!("tree = {parents:?}"), expected);
        }
        let parent = |&parent: &i64| u32::try_from(parent).ok();
        Ok(Shape::Parents(parents.iter().map(parent).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Scenario;
    use super::super::tests::{HEAD, error};

    #[test]
    fn a_tree_that_makes_no_sense_is_refused_with_its_line() {
        let cases = [
            ("MPI_Bcast", "\"bynomial\"", "\"bynomial\""),
            ("MPI_Bcast", "\"ring\"", "an operation with a root"),
            ("MPI_Scan", "\"chain\"", "tree"),
            ("MPI_Ibarrier", "\"ring\"", "only initiates"),
            (
                "MPI_Ibcast",
                "{ shape = \"chain\", segments = 2 }",
                "only initiates",
            ),
            ("MPI_Bcast", "[-1, 2, 3, 1]", "[-1, 2, 3, 1]"),
            ("MPI_Bcast", "[0, 0]", "[0, 0]"),
            (
                "MPI_Bcast",
                "{ shape = \"chain\", segments = 0 }",
                "segments = 0",
            ),
            (
                "MPI_Barrier",
                "{ shape = \"ring\", segments = 2 }",
                "for an exchange",
            ),
            ("MPI_Bcast", "{ form = \"chain\" }", "the name of a tree"),
            (
                "MPI_Bcast",
                "{ shape = \"chain\", busy = [{ constant_ns = 5, ranks = [4] }] }",
                "rank 4",
            ),
        ];
        for (operation, tree, expected) in cases {
            let wrong = error(&format!(
                "[[program]]\noperation = \"{operation}\"\ntree = {tree}\n"
            ));
            assert_eq!(wrong.line, 7, "{wrong}");
            assert!(wrong.found.contains(expected), "{wrong}");
        }
        let wrong = error(
            "[[program]]\noperation = \"MPI_Bcast\"\ntree = \"chain\"\nlatency = { base_ns = 5 }\n",
        );
        assert_eq!((wrong.line, &*wrong.found), (7, "both tree and latency"));
        // A nonblocking one is completed in the next step, and in no other.
        let begin = "[[program]]\noperation = \"MPI_Ibcast\"\ntree = \"chain\"\n";
        let complete = "[[program]]\ncomplete = \"MPI_Wait\"\n";
        for rest in [begin.to_owned(), format!("{begin}repeat = 2\n{complete}")] {
            let wrong = error(&rest);
            assert_eq!(wrong.line, 5, "{wrong}");
            assert!(wrong.found.contains("only initiates"), "{wrong}");
        }
        let whole = format!("{HEAD}{begin}{complete}");
        assert!(Scenario::parse(&whole).is_ok());
    }

    #[test]
    fn a_link_needs_ends_that_exist() {
        let program = "[[program]]\noperation = \"MPI_Barrier\"\n";
        let network = |link: &str| error(&format!("[network]\nlinks = [{link}]\n{program}"));
        assert!(
            network("{ ranks = [0, 4], ns = 5 }")
                .found
                .contains("rank 4")
        );
        assert!(
            network("{ hosts = [\"a\", \"b\"], ns = 5 }")
                .found
                .contains("\"b\"")
        );
        assert!(network("{ ns = 5 }").found.contains("without ends"));
    }
}
