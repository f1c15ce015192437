//! A spanning tree of hosts, as it is changed step by step.

use collbench_formats::tree::{Contributor, Form, Level, Node, Place, WrapperKind, Wrappers};

/// A spanning tree of hosts: the ranks of each are joined first, and one link leads from each host to its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostTree {
    /// By host its ranks, ascending; hosts are in the order of their first ranks.
    pub(super) ranks: Vec<Vec<u32>>,
    /// By host the rank that acts for it.
    pub(super) owners: Vec<u32>,
    /// By host its children, in the order in which they are joined.
    pub(super) children: Vec<Vec<usize>>,
    /// The root, or the partners of an exchange.
    pub(super) tops: Vec<usize>,
}

impl HostTree {
    /// All hosts below the first one.
    pub(super) fn flat(places: &[Place]) -> Self {
        let mut hosts: Vec<u32> = Vec::new();
        let mut ranks: Vec<Vec<u32>> = Vec::new();
        for (rank, place) in (0..).zip(places) {
            match hosts.iter().position(|host| *host == place.host) {
                Some(at) => ranks[at].push(rank),
                None => {
                    hosts.push(place.host);
                    ranks.push(vec![rank]);
                }
            }
        }
        let mut children = vec![Vec::new(); ranks.len()];
        children[0] = (1..ranks.len()).collect();
        Self {
            owners: ranks.iter().map(|of| of[0]).collect(),
            children,
            tops: vec![0],
            ranks,
        }
    }

    /// The tree of hosts of a tree of processes; `None` if several links lead from a host towards the root, or if hosts
    /// are joined otherwise.
    pub(super) fn of(tree: &Wrappers, places: &[Place]) -> Option<Self> {
        let mut of_hosts = Self::flat(places);
        of_hosts.children.iter_mut().for_each(Vec::clear);
        let host_of = |rank: u32| {
            let mut hosts = of_hosts.ranks.iter();
            hosts.position(|ranks| ranks.contains(&rank))
        };
        let mut has_parent = vec![false; of_hosts.ranks.len()];
        let mut children = of_hosts.children.clone();
        let mut owners = of_hosts.owners.clone();
        for wrapper in tree.all() {
            let to = host_of(wrapper.owner)?;
            for &contributor in &wrapper.contributors {
                let from = tree.owner_of(contributor);
                let is_proxy = match contributor {
                    Contributor::Wrapper(idx) => {
                        tree.all()[idx as usize].kind == WrapperKind::Proxy
                    }
                    Contributor::Rank(_) => false,
                };
                // The result is handed over to a root that no join has: that is no tree of this kind.
                if wrapper.kind == WrapperKind::Core && is_proxy {
                    return None;
                }
                if wrapper.kind == WrapperKind::Gred && is_proxy {
                    let from_host = host_of(from)?;
                    if std::mem::replace(&mut has_parent[from_host], true) {
                        return None;
                    }
                    owners[from_host] = from;
                    children[to].push(from_host);
                }
            }
        }
        let bottommost = tree.bottommost();
        let tops = if bottommost.kind == WrapperKind::Exchange {
            let owners = bottommost.contributors.iter().map(|&of| tree.owner_of(of));
            owners.map(host_of).collect::<Option<Vec<_>>>()?
        } else {
            vec![host_of(bottommost.owner)?]
        };
        for &top in &tops {
            if std::mem::replace(&mut has_parent[top], true) {
                return None;
            }
        }
        if !has_parent.iter().all(|has| *has) {
            return None;
        }
        let last = bottommost.contributors.iter().map(|&of| tree.owner_of(of));
        for (&top, owner) in tops.iter().zip(last) {
            owners[top] = owner;
        }
        of_hosts.children = children;
        of_hosts.owners = owners;
        of_hosts.tops = tops;
        Some(of_hosts)
    }

    /// The host of a rank.
    pub(super) fn host_of(&self, rank: u32) -> usize {
        let mut hosts = self.ranks.iter();
        hosts.position(|ranks| ranks.contains(&rank)).unwrap_or(0)
    }

    /// How many hosts there are.
    pub(super) fn len(&self) -> usize {
        self.ranks.len()
    }

    /// Whether a host is below another one, or is that one.
    pub(super) fn is_below(&self, host: usize, above: usize) -> bool {
        host == above
            || self.children[above]
                .iter()
                .any(|&child| self.is_below(host, child))
    }

    /// The parent of a host; of a top, none.
    pub(super) fn parent(&self, host: usize) -> Option<usize> {
        (0..self.len()).find(|&parent| self.children[parent].contains(&host))
    }

    /// Node by node, as in a tree file.
    pub(super) fn form(&self) -> Form {
        let mut nodes = Vec::new();
        let tops: Vec<Contributor> = (self.tops.iter())
            .map(|&top| self.add(top, &mut nodes))
            .collect();
        if tops.len() > 1 {
            let owner = self.owners[self.tops[0]];
            push(&mut nodes, WrapperKind::Exchange, owner, tops);
        }
        Form::Nodes(nodes)
    }

    /// Adds the nodes of a host and of all below it.
    fn add(&self, host: usize, nodes: &mut Vec<Node>) -> Contributor {
        let owner = self.owners[host];
        let own = match self.ranks[host][..] {
            [rank] => Contributor::Rank(rank),
            ref ranks => {
                let ranks = ranks.iter().map(|&rank| Contributor::Rank(rank));
                push(nodes, WrapperKind::Gred, owner, ranks.collect())
            }
        };
        if self.children[host].is_empty() {
            return own;
        }
        let below = self.children[host].iter();
        let below: Vec<Contributor> = below.map(|&child| self.add(child, nodes)).collect();
        let contributors = std::iter::once(own).chain(below).collect();
        push(nodes, WrapperKind::Gred, owner, contributors)
    }
}

fn push(
    nodes: &mut Vec<Node>,
    kind: WrapperKind,
    owner: u32,
    contributors: Vec<Contributor>,
) -> Contributor {
    nodes.push(Node {
        name: format!("n{}", nodes.len()),
        line: 0,
        kind,
        owner,
        contributors,
        collectors: None,
        proxy_collectors: None,
    });
    Contributor::Wrapper(nodes.len() as u32 - 1)
}

/// How many hosts there are among some places.
pub(super) fn n_hosts(places: &[Place]) -> usize {
    let mut hosts: Vec<Option<u32>> = places.iter().map(|place| place.at(Level::Host)).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts.len()
}

#[cfg(test)]
mod tests {
    use collbench_formats::tree::{Shape, Shaped};
    use collbench_trees::wrappers::{Members, Order, resolve};

    use super::super::objective::rule_of;
    use super::*;

    fn places() -> Vec<Place> {
        let place = |host| Place {
            host,
            ..Place::default()
        };
        [0, 0, 1, 2, 2, 3, 4].map(place).to_vec()
    }

    fn resolved(form: Form) -> Wrappers {
        let hosts: Vec<String> = (0..5).map(|host| format!("h{host}")).collect();
        let places = places();
        let members = Members {
            hosts: &hosts,
            places: &places,
        };
        resolve(&rule_of(form), None, Order::Any, members).expect("a tree")
    }

    #[test]
    fn a_tree_of_a_shape_is_the_same_node_by_node() {
        for shape in [
            Shape::Linear,
            Shape::Binomial,
            Shape::Kary(2),
            Shape::Chain(1),
            Shape::Exchange,
        ] {
            let shaped = resolved(Form::Shaped(Shaped {
                joins: vec![(Level::Rank, Shape::Linear), (Level::Host, shape)],
                root: None,
                hosts: Vec::new(),
            }));
            let of_hosts = HostTree::of(&shaped, &places()).expect("a tree of hosts");
            let again = resolved(of_hosts.form());
            // Numbers of wrappers may differ.
            assert_eq!(again.order(), shaped.order(), "{shape:?}");
            assert_eq!(again.all().len(), shaped.all().len(), "{shape:?}");
            let again = HostTree::of(&again, &places()).expect("a tree of hosts");
            assert_eq!(again, of_hosts);
        }
    }

    #[test]
    fn a_tree_in_which_two_links_lead_from_a_host_is_none_of_hosts() {
        let shaped = resolved(Form::Shaped(Shaped {
            joins: vec![(Level::Rank, Shape::Binomial)],
            root: None,
            hosts: Vec::new(),
        }));
        let of_hosts = HostTree::of(&shaped, &places());
        assert!(of_hosts.is_none_or(|of| of.len() == 5));
        assert_eq!(n_hosts(&places()), 5);
    }
}
