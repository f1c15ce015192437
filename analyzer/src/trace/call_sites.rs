//! From where in the program calls were made: the call sites of all processes, as one list.
//!
//! A process numbers its modules and call sites by itself. Those of several processes are one if
//! they have the same modules (path and build id) and addresses.

use std::collections::BTreeMap;

use collbench_formats::{CallSite, Definition, Layer, NO_MODULE, SCRIPT, SiteFrame};
use rayon::prelude::*;

use crate::trace::rank_file::RankFile;

/// A call site in lists of numbers: none is known.
pub(crate) const NO_SITE: u32 = u32::MAX;

/// Call sites that are told apart, in all processes together.
const MAX_SITES: usize = 1 << 16;

/// An executable or library that calls were made from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SiteModule {
    /// Path of its file, as the process saw it.
    pub(crate) path: String,
    /// Its build id; empty if it has none.
    pub(crate) build_id: Vec<u8>,
}

/// One function on the way up the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SiteAddress {
    /// In an executable or library.
    Module {
        /// Index in [`RunSites::modules`].
        module: u32,
        /// The return address in that file.
        address: u64,
    },
    /// In no file; the address in memory.
    NoFile(u64),
    /// In a script.
    Script {
        /// Index in [`RunSites::scripts`].
        function: u32,
        /// The line, 0 where it is not known.
        line: u32,
    },
}

/// A function of a script.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ScriptName {
    /// The file, as the interpreter named it.
    pub(crate) file: String,
    /// Its name; empty if it is not known.
    pub(crate) function: String,
}

/// A place in the program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RunSite {
    /// The functions on the way up the stack, the innermost first.
    pub(crate) way: Vec<SiteAddress>,
    /// Whether the last one is of the program.
    pub(crate) is_whole: bool,
}

/// The call sites of a run.
#[derive(Debug, Default)]
pub(crate) struct RunSites {
    pub(crate) modules: Vec<SiteModule>,
    pub(crate) scripts: Vec<ScriptName>,
    /// By number.
    pub(crate) list: Vec<RunSite>,
    /// By process: the number of each of its call sites, by its own index.
    of_process: Vec<Vec<u32>>,
}

/// What the file of one process defines.
#[derive(Debug, Default)]
struct Defined {
    modules: Vec<SiteModule>,
    scripts: Vec<ScriptName>,
    sites: Vec<CallSite>,
}

impl Defined {
    /// Up to the first definition that is out of order, which damage has made so.
    fn of(file: &RankFile<'_>) -> Self {
        let mut this = Self::default();
        if !file.has_layer(Layer::Sites) {
            return this;
        }
        for definition in file.trace.definitions.iter() {
            match definition {
                Definition::Module(module) if module.index as usize == this.modules.len() => {
                    this.modules.push(SiteModule {
                        path: module.path,
                        build_id: module.build_id,
                    });
                }
                Definition::ScriptFunction(script)
                    if script.index as usize == this.scripts.len() =>
                {
                    this.scripts.push(ScriptName {
                        file: script.file,
                        function: script.name,
                    });
                }
                Definition::CallSite(site) if site.index as usize == this.sites.len() => {
                    this.sites.push(site);
                }
                _ => {}
            }
        }
        this
    }
}

/// The numbers of some things of one process in a list of all, to which new ones are added.
fn numbered<T: Clone + Ord>(
    of_process: Vec<T>,
    known: &mut BTreeMap<T, u32>,
    all: &mut Vec<T>,
) -> Vec<u32> {
    let numbers = of_process.into_iter().map(|thing| {
        *known.entry(thing).or_insert_with_key(|thing| {
            all.push(thing.clone());
            (all.len() - 1) as u32
        })
    });
    numbers.collect()
}

impl SiteAddress {
    /// That of a frame of a process, whose modules and functions of scripts have these numbers.
    fn of(frame: &SiteFrame, modules: &[u32], scripts: &[u32]) -> Self {
        let address = frame.address;
        let number = |of: &[u32], index: u64| of.get(usize::try_from(index).ok()?).copied();
        let found = match frame.module {
            NO_MODULE => None,
            SCRIPT => number(scripts, address >> 32).map(|function| Self::Script {
                function,
                line: address as u32,
            }),
            index => number(modules, index.into()).map(|module| Self::Module { module, address }),
        };
        found.unwrap_or(Self::NoFile(address))
    }
}

impl RunSites {
    /// The call sites of some processes.
    pub(crate) fn of(processes: &[RankFile<'_>]) -> Self {
        let defined: Vec<Defined> = processes.par_iter().map(Defined::of).collect();
        let mut this = Self::default();
        let mut known_modules = BTreeMap::new();
        let mut known_scripts = BTreeMap::new();
        let mut known = BTreeMap::new();
        for Defined {
            modules,
            scripts,
            sites,
        } in defined
        {
            let modules = numbered(modules, &mut known_modules, &mut this.modules);
            let scripts = numbered(scripts, &mut known_scripts, &mut this.scripts);
            let numbers = sites.into_iter().map(|site| {
                let frames = site.frames.iter();
                let way = frames.map(|frame| SiteAddress::of(frame, &modules, &scripts));
                let site = RunSite {
                    way: way.collect(),
                    is_whole: site.is_whole,
                };
                // A way of which nothing is known is no place.
                if site.way.is_empty() {
                    return NO_SITE;
                }
                if let Some(&number) = known.get(&site) {
                    return number;
                }
                let number = this.list.len();
                if number >= MAX_SITES {
                    return NO_SITE;
                }
                known.insert(site.clone(), number as u32);
                this.list.push(site);
                number as u32
            });
            let numbers = numbers.collect();
            this.of_process.push(numbers);
        }
        this
    }

    /// The numbers of the call sites of a process, by its own index.
    pub(crate) fn of_process(&self, process: usize) -> &[u32] {
        self.of_process.get(process).map_or(&[], Vec::as_slice)
    }
}
