//! A tree as rows, each below what it contributes to.

use collbench_formats::tree::{Collectors, Contributor, Level, Wrapper, WrapperKind, Wrappers};
use collbench_text::quantity::counted;

use super::ranks::Ranks;

/// A wrapper, or consecutive ranks of one host that contribute to the row above.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// Index of the row that it contributes to.
    pub(super) parent: Option<usize>,
    /// Number of rows above it on the path to the root.
    pub(super) depth: usize,
    pub(super) what: What,
    /// The rank that acts for it, or the first of the ranks.
    pub(super) rank: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A wrapper, by its index.
    Wrapper(u32),
    /// Ranks, the first and the last.
    Ranks(u32, u32),
}

/// The rows of a tree, the bottommost wrapper first.
pub(super) fn rows(tree: &Wrappers) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let bottommost = tree.all().len() as u32 - 1;
    let mut open = vec![(What::Wrapper(bottommost), 0, None)];
    while let Some((what, depth, parent)) = open.pop() {
        let row = rows.len();
        let rank = match what {
            What::Ranks(first, _) => first,
            What::Wrapper(idx) => {
                let wrapper = &tree.all()[idx as usize];
                let parts = parts(tree, wrapper).into_iter().rev();
                open.extend(parts.map(|part| (part, depth + 1, Some(row))));
                wrapper.owner
            }
        };
        rows.push(Row {
            parent,
            depth,
            what,
            rank,
        });
    }
    rows
}

/// The contributors of a wrapper, consecutive ranks on one host together.
fn parts(tree: &Wrappers, wrapper: &Wrapper) -> Vec<What> {
    let host = |rank: u32| tree.hosts()[rank as usize];
    let mut parts: Vec<What> = Vec::new();
    for contributor in &wrapper.contributors {
        match (*contributor, parts.last_mut()) {
            (Contributor::Wrapper(idx), _) => parts.push(What::Wrapper(idx)),
            (Contributor::Rank(rank), Some(What::Ranks(_, last)))
                if *last + 1 == rank && host(*last) == host(rank) =>
            {
                *last = rank;
            }
            (Contributor::Rank(rank), _) => parts.push(What::Ranks(rank, rank)),
        }
    }
    parts
}

impl Row {
    /// What it is called: `gred 4`, `ranks 0-3`.
    pub(super) fn name(&self, tree: &Wrappers) -> String {
        match self.what {
            What::Ranks(first, last) if first == last => format!("rank {first}"),
            What::Ranks(first, last) => format!("ranks {first}-{last}"),
            What::Wrapper(idx) => {
                let wrapper = &tree.all()[idx as usize];
                match wrapper.kind {
                    WrapperKind::Exchange => "exchange".to_owned(),
                    kind => format!("{} {}", kind.name(), wrapper.owner),
                }
            }
        }
    }

    /// What it does, and which of its collectors are off; nothing for ranks.
    pub(super) fn note(&self, tree: &Wrappers) -> String {
        match self.what {
            What::Ranks(..) => String::new(),
            What::Wrapper(idx) => {
                let wrapper = &tree.all()[idx as usize];
                format!("{}{}", work(wrapper), collectors(tree, idx))
            }
        }
    }

    /// The host of it: several names for an exchange between hosts.
    pub(super) fn host(&self, tree: &Wrappers, ranks: &Ranks) -> String {
        let name = |rank: u32| {
            let host = ranks
                .places
                .get(rank as usize)
                .map(|place| place.host as usize);
            host.and_then(|host| ranks.hosts.get(host))
                .map_or("", String::as_str)
        };
        let What::Wrapper(idx) = self.what else {
            return name(self.rank).to_owned();
        };
        let wrapper = &tree.all()[idx as usize];
        if wrapper.kind != WrapperKind::Exchange {
            return name(self.rank).to_owned();
        }
        let mut names: Vec<&str> = Vec::new();
        for &partner in &wrapper.contributors {
            let host = name(tree.owner_of(partner));
            if !names.contains(&host) {
                names.push(host);
            }
        }
        names.join(", ")
    }
}

/// What a wrapper joins or crosses, in words: `joins 3 contributors across hosts`.
pub(super) fn work(wrapper: &Wrapper) -> String {
    let across = match wrapper.level {
        Level::Rank => String::new(),
        level => format!(" across {}", words(level)),
    };
    let n = wrapper.contributors.len() as u64;
    match wrapper.kind {
        WrapperKind::Gred => format!("joins {}{across}", counted(n, "contributor")),
        WrapperKind::Proxy => format!("crosses {}", words(wrapper.level)),
        WrapperKind::Core => "holds the result".to_owned(),
        WrapperKind::Exchange => format!("joins {}{across}", counted(n, "partner")),
    }
}

/// Several places of a level, in words.
pub(super) fn words(level: Level) -> &'static str {
    match level {
        Level::CoreComplex => "core complexes",
        level => level.plural(),
    }
}

/// Which collectors around a wrapper are off, in words; nothing if none is.
fn collectors(tree: &Wrappers, idx: u32) -> String {
    let wrapper = &tree.all()[idx as usize];
    let mut before = wrapper.contributors.iter();
    let before = before.all(|&of| tree.collects(of, idx));
    let after = wrapper
        .parent
        .is_none_or(|parent| tree.collects(Contributor::Wrapper(idx), parent));
    let is_bottommost = matches!(wrapper.kind, WrapperKind::Core | WrapperKind::Exchange);
    match (Collectors { before, after }, is_bottommost) {
        (
            Collectors {
                before: true,
                after: true,
            },
            _,
        ) => "",
        (
            Collectors {
                before: false,
                after: false,
            },
            _,
        )
        | (Collectors { before: false, .. }, true) => ", no collectors",
        (Collectors { before: true, .. }, _) => ", no collector after it",
        (Collectors { after: true, .. }, _) => ", no collector before it",
    }
    .to_owned()
}
