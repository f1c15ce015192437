//! Collectives along a spanning tree: each process sends to its children in order, and receives from them
//! in the order in which they come.

use crate::program::Program;
use crate::schedule::Schedule;

/// A spanning tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The root.
    pub root: usize,
    /// By rank, in the order in which they are sent to.
    pub children: Vec<Vec<usize>>,
}

impl Tree {
    /// By rank the parent; the root has none.
    #[must_use]
    pub fn parents(&self) -> Vec<Option<usize>> {
        let mut parents = vec![None; self.children.len()];
        for (parent, children) in self.children.iter().enumerate() {
            for &child in children {
                parents[child] = Some(parent);
            }
        }
        parents
    }

    fn schedule(&self, each: impl Fn(Option<usize>, &[usize], &mut Program)) -> Schedule {
        let parents = self.parents();
        let processes = parents.iter().zip(&self.children).enumerate();
        let processes = processes.map(|(rank, (parent, children))| {
            let mut p = Program::new(rank);
            each(*parent, children, &mut p);
            p.finish()
        });
        Schedule {
            processes: processes.collect(),
        }
    }

    /// So many bytes from the root to all.
    #[must_use]
    pub fn bcast(&self, bytes: u64) -> Schedule {
        self.schedule(|parent, children, p| down(parent, children, bytes, p))
    }

    /// So many bytes of each, combined at the root.
    #[must_use]
    pub fn reduce(&self, bytes: u64) -> Schedule {
        self.schedule(|parent, children, p| up(parent, children, bytes, p))
    }

    /// So many bytes of each, combined at the root, and from there to all.
    #[must_use]
    pub fn allreduce(&self, bytes: u64) -> Schedule {
        self.schedule(|parent, children, p| {
            up(parent, children, bytes, p);
            down(parent, children, bytes, p);
        })
    }
}

pub(crate) fn down(parent: Option<usize>, children: &[usize], bytes: u64, p: &mut Program) {
    if let Some(parent) = parent {
        p.recv(parent);
    }
    let sent: Vec<_> = children
        .iter()
        .map(|&child| p.isend(child, bytes))
        .collect();
    p.wait_all(sent);
}

fn up(parent: Option<usize>, children: &[usize], bytes: u64, p: &mut Program) {
    let received: Vec<_> = children.iter().map(|&child| p.irecv(child)).collect();
    for request in received {
        p.wait(request);
        p.combine(bytes);
    }
    if let Some(parent) = parent {
        p.send(parent, bytes);
    }
}
