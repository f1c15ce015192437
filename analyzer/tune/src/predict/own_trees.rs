//! The spanning trees of tree files, as candidates: those that calls would run on.
//!
//! A tree file is read as `collbench-record --trees` reads it: of its rules the first one counts that
//! is for the call and has a tree for the communicator. Operators are taken for predefined ones, which
//! are combined in any order.

use collbench_formats::encode_meta;
use collbench_formats::tree::{
    Collective, Collectors, Form, Level, Place, Rule, TreeRules, Waiting, Wrapper, Wrappers,
};
use collbench_schedules::own_trees::{NoSchedule, TreeCall, TreeSchedule, schedule};
use collbench_tree_files::TreeFile;
use collbench_trees::wrappers::{Members, Order, group_hosts, resolve, tree_for};
use serde::Serialize;

use super::recorded::{Class, Recorded};

/// A tree file with its name.
#[derive(Debug, Clone)]
pub struct NamedTreeFile {
    /// Its path, or `best`.
    pub name: String,
    /// The CRC-32 of its contents.
    pub crc32: u32,
    /// What it says.
    pub file: TreeFile,
}

/// The tree of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeOfCall {
    /// Where it is: file and line.
    pub(super) place: String,
    /// What it is: see [`checksum`].
    pub(super) crc32: u32,
    /// What each process does.
    pub(super) schedule: TreeSchedule,
}

/// A tree for which nothing is predicted, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Where it is: file and line, or the file alone.
    pub tree: String,
    /// Why, and what to do.
    pub why: String,
}

/// The operation of a class that trees execute.
pub(super) fn collective(class: &Class) -> Option<Collective> {
    Collective::of(class.operation)
}

/// The call of a class: `None` if it never runs on a tree.
pub(super) fn call(class: &Class) -> Option<TreeCall> {
    TreeCall::of(class.operation, class.root, class.bytes)
}

/// The schedule of a class over a tree.
///
/// # Errors
/// Says why there is none, and what to do.
pub(super) fn schedule_over(tree: &Wrappers, class: &Class) -> Result<TreeSchedule, String> {
    let call = call(class).ok_or("such calls are left to the library")?;
    if tree.n_ranks() as usize != class.ranks.len() {
        return Err("several threads of each process take part, which is not modelled".to_owned());
    }
    schedule(tree, &call).map_err(|why| match why {
        NoSchedule::Overtaking { .. } => {
            format!(
                "{why}; write the tree so that each rank acts for nodes that follow one another"
            )
        }
        NoSchedule::Root { .. } | NoSchedule::Payload => why.to_string(),
    })
}

/// A number for the paths of a tree, whatever its event collectors and the numbers of hosts are.
#[must_use]
pub(super) fn checksum(tree: &Wrappers) -> u32 {
    let first = |host: &u32| tree.hosts().iter().position(|of| of == host);
    let hosts: Vec<Option<usize>> = tree.hosts().iter().map(first).collect();
    let wrappers: Vec<Wrapper> = (tree.all().iter())
        .map(|wrapper| Wrapper {
            level: Level::Rank,
            collectors: Collectors::NONE,
            ..wrapper.clone()
        })
        .collect();
    let hosts: Vec<u32> = hosts.into_iter().map(|at| at.unwrap_or(0) as u32).collect();
    encode_meta(&(hosts, wrappers)).map_or(0, |(_, crc32)| crc32)
}

/// Where the processes of a class are, as a tree file groups hosts; `None` where that is not known.
pub(super) fn places(recorded: &Recorded, class: &Class, rules: &TreeRules) -> Option<Vec<Place>> {
    let sites = recorded.sites();
    let place = |rank: &u32| {
        let host = recorded.host_of_rank.get(*rank as usize).copied()??;
        Some(Place {
            host: host as u32,
            site: sites.as_ref().map(|sites| sites.of_host[host] as u32),
            ..Place::default()
        })
    };
    let mut places: Vec<Place> = class.ranks.iter().map(place).collect::<Option<_>>()?;
    group_hosts(rules, &recorded.hosts, &mut places);
    Some(places)
}

impl NamedTreeFile {
    fn place_of(&self, rule: &Rule) -> String {
        format!("{}:{}", self.name, rule.line)
    }

    /// The tree that the calls of a class would run on; `None` where they would not run on any.
    pub(super) fn tree_of(
        &self,
        recorded: &Recorded,
        class: &Class,
    ) -> Option<Result<TreeOfCall, LeftOut>> {
        let call = call(class)?;
        let places = places(recorded, class, &self.file.rules)?;
        let members = Members {
            hosts: &recorded.hosts,
            places: &places,
        };
        let rules = &self.file.rules;
        let operation = (call.collective, call.named_root());
        let (at, tree) = tree_for(rules, operation, call.bytes, Order::Any, members)?;
        let rule = &rules.rules[at];
        if self.why_not(rule, recorded, Some(&places)).is_some() {
            return None;
        }
        let place = self.place_of(rule);
        Some(match schedule_over(&tree, class) {
            Ok(schedule) => Ok(TreeOfCall {
                crc32: checksum(&tree),
                place,
                schedule,
            }),
            Err(why) => Err(LeftOut { tree: place, why }),
        })
    }

    /// Why nothing is predicted of a rule on any communicator, or on one with processes at these places.
    fn why_not(
        &self,
        rule: &Rule,
        recorded: &Recorded,
        places: Option<&[Place]>,
    ) -> Option<String> {
        let joins_sites = match &rule.form {
            Form::Shaped(shaped) => shaped.joins.iter().any(|(level, _)| *level == Level::Site),
            Form::Nodes(_) => false,
        };
        let is_for_sites = joins_sites || rule.calls.across == Some(Level::Site);
        let has_sites = match places {
            Some(places) => places.iter().any(|place| place.site.is_some()),
            None => {
                let groups = &self.file.rules.groups;
                groups.iter().any(|group| group.level == Level::Site) || recorded.sites().is_some()
            }
        };
        if is_for_sites && !has_sites {
            return Some(
                "it is for several sites, and the round trips of the trace show none; name them in the file, each as \
                 [[site]] with name and hosts"
                    .to_owned(),
            );
        }
        (self.file.rules.wait == Some(Waiting::Sleep)).then(|| {
            "processes that sleep while they wait (wait = \"sleep\") are not modelled; take \"yield\" or \"spin\""
                .to_owned()
        })
    }

    /// What the file has that no call of the run would run on, with the reason.
    pub(super) fn unused(&self, recorded: &Recorded) -> Vec<LeftOut> {
        let unknown = self.file.unknown_hosts(&recorded.hosts).into_iter();
        let mut left_out: Vec<LeftOut> = unknown
            .map(|problem| LeftOut {
                tree: format!("{}:{}", self.name, problem.line),
                why: format!("{}; {}", problem.found, problem.remedy),
            })
            .collect();
        for rule in &self.file.rules.rules {
            if let Some(why) = self.why_unused(rule, recorded) {
                let tree = self.place_of(rule);
                left_out.push(LeftOut { tree, why });
            }
        }
        left_out
    }

    fn why_unused(&self, rule: &Rule, recorded: &Recorded) -> Option<String> {
        if let Some(why) = self.why_not(rule, recorded, None) {
            return Some(why);
        }
        let mut unfit = None;
        for class in &recorded.classes {
            let Some(call) = call(class).filter(|of| rule.calls.include(of.collective, of.bytes))
            else {
                continue;
            };
            let Some(places) = places(recorded, class, &self.file.rules) else {
                continue;
            };
            let members = Members {
                hosts: &recorded.hosts,
                places: &places,
            };
            match resolve(rule, call.named_root(), Order::Any, members) {
                Ok(_) => return None,
                Err(why) => unfit = Some((why, class)),
            }
        }
        Some(match unfit {
            Some((why, class)) => format!(
                "it has no tree for {}, {} processes: {why}; record a run with processes as it names them, or change it",
                class.communicator_in_words(),
                class.ranks.len()
            ),
            None => "the run has none of its calls; record one that calls its operations with these payloads"
                .to_owned(),
        })
    }
}
