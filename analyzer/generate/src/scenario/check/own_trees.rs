//! Checks the spanning trees of our own in a scenario.

use std::collections::BTreeMap;
use std::ops::Range;

use collbench_formats::Operation;
use collbench_formats::tree::{
    Collective, Collectors, Contributor, Level, Wrapper, WrapperKind, Wrappers,
};
use toml::Spanned;

use super::file::{Check, MAX_DELAY_NS};
use crate::own_trees::{OwnTree, WrapperTimes};
use crate::scenario::ScenarioError;
use crate::scenario::written::{
    WrittenCollectors, WrittenContributor, WrittenOwnTree, WrittenWrapper,
};

/// Threads of a process that contribute, at most.
const MAX_THREADS: u64 = 64;

impl Check<'_> {
    pub(super) fn read_own_trees(
        &mut self,
        written: Vec<Spanned<WrittenOwnTree>>,
    ) -> Result<Vec<OwnTree>, ScenarioError> {
        let mut trees: Vec<OwnTree> = Vec::new();
        for tree in written {
            let span = tree.span();
            let tree = self.read_own_tree(span.clone(), tree.into_inner())?;
            if trees.iter().any(|known| known.name == tree.name) {
                let found = format!("a second tree \"{}\"", tree.name);
                return self.wrong(span, found, "another name");
            }
            trees.push(tree);
        }
        Ok(trees)
    }

    fn read_own_tree(
        &mut self,
        span: Range<usize>,
        tree: WrittenOwnTree,
    ) -> Result<OwnTree, ScenarioError> {
        let mut named: BTreeMap<String, u32> = BTreeMap::new();
        let (mut wrappers, mut times, mut jitters) = (Vec::new(), Vec::new(), Vec::new());
        for wrapper in tree.wrappers {
            let at = wrapper.span();
            let mut wrapper = wrapper.into_inner();
            let idx = wrappers.len() as u32;
            let jitter = wrapper.jitter.take();
            jitters.push(match jitter {
                None => None,
                Some(jitter) => Some(self.read_jitter(jitter)?),
            });
            let name = wrapper.name.clone();
            let (wrapper, takes) = self.read_wrapper(at, wrapper, &named)?;
            wrappers.push(wrapper);
            times.push(takes);
            named.extend(name.map(|name| (name, idx)));
        }
        for idx in 0..wrappers.len() {
            for of in wrappers[idx].contributors.clone() {
                if let Contributor::Wrapper(above) = of {
                    wrappers[above as usize].parent = Some(idx as u32);
                }
            }
        }
        let threads = self.number("threads", tree.threads, 1, 1..=MAX_THREADS)?;
        let hosts = self.host_of.iter().map(|&host| host as u32);
        let hosts = hosts.flat_map(|host| std::iter::repeat_n(host, threads as usize));
        let hosts = hosts.collect();
        let wrappers = match Wrappers::new(hosts, wrappers) {
            Ok(wrappers) => wrappers,
            Err(error) => {
                let expected = "a whole tree of all ranks of the run";
                return self.wrong(span, error.to_string(), expected);
            }
        };
        let time = |what, value| self.number(what, value, 0, 0..=MAX_DELAY_NS);
        Ok(OwnTree {
            name: tree.name,
            wrappers,
            times,
            jitters,
            entry_ns: time("entry_ns", tree.entry_ns)?,
            exit_ns: time("exit_ns", tree.exit_ns)?,
            threads: threads as u32,
            thread_ns: time("thread_ns", tree.thread_ns)?,
        })
    }

    fn read_wrapper(
        &self,
        span: Range<usize>,
        wrapper: WrittenWrapper,
        named: &BTreeMap<String, u32>,
    ) -> Result<(Wrapper, WrapperTimes), ScenarioError> {
        let mut kinds = WrapperKind::ALL.into_iter();
        let Some(kind) = kinds.find(|kind| kind.name() == wrapper.kind) else {
            let found = format!("kind = \"{}\"", wrapper.kind);
            return self.wrong(span, found, "gred, proxy, core or exchange");
        };
        let mut contributors = Vec::new();
        for of in wrapper.contributors {
            contributors.push(match of {
                WrittenContributor::Rank(rank) => Contributor::Rank(rank),
                WrittenContributor::Wrapper(name) => match named.get(&name) {
                    Some(&idx) => Contributor::Wrapper(idx),
                    None => {
                        let expected = "the name of a wrapper that stands before it";
                        return self.wrong(span, format!("\"{name}\""), expected);
                    }
                },
            });
        }
        let time = |what, value| self.number(what, value, 0, 0..=MAX_DELAY_NS);
        let (before, after) = match wrapper.collectors {
            WrittenCollectors::Both => (true, true),
            WrittenCollectors::Before => (true, false),
            WrittenCollectors::After => (false, true),
            WrittenCollectors::None => (false, false),
        };
        let times = WrapperTimes {
            down_ns: time("down_ns", wrapper.down_ns)?,
            up_ns: time("up_ns", wrapper.up_ns)?,
            departure_ns: time("departure_ns", wrapper.departure_ns)?,
        };
        let wrapper = Wrapper {
            kind,
            owner: wrapper.owner,
            contributors,
            parent: None,
            level: Level::Host,
            collectors: Collectors { before, after },
        };
        Ok((wrapper, times))
    }

    /// The tree that a step runs over: its index.
    pub(super) fn read_over(
        &self,
        over: Option<Spanned<String>>,
        operation: Option<Operation>,
        on: Option<&str>,
        is_alone: bool,
    ) -> Result<Option<usize>, ScenarioError> {
        let Some(over) = over else {
            return Ok(None);
        };
        let is_known = |operation| Collective::ALL.iter().any(|of| of.operation() == operation);
        if !operation.is_some_and(is_known) || on.is_some_and(|on| on != "world") || !is_alone {
            let expected = "a blocking allreduce, reduce, bcast, barrier, gather, scatter or allgather on \
                            world, with neither tree nor latency";
            return self.wrong(over.span(), "over in a step that cannot have it", expected);
        }
        match self
            .own_trees
            .iter()
            .position(|name| name == over.get_ref())
        {
            Some(at) => Ok(Some(at)),
            None => {
                let found = format!("over = \"{}\"", over.get_ref());
                self.wrong(over.span(), found, "the name of one of [[trees]]")
            }
        }
    }
}
