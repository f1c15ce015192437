//! The way up the stack.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use collbench_formats::{Module, NO_MODULE, SCRIPT, ScriptFunction, SiteFrame};

use super::frame_rule::FrameRule;
use super::loaded_object::{LoadedFile, ObjectFinder};
use super::places::{Known, Table};
use super::recent::RecentSites;
use super::registers::{Registers, UsedStack};
use super::scripts::{Interpreters, ScriptPlace, Scripts};
use super::steps::Steps;
use super::unwind_table::rule_at;
use super::wrappers::Wrappers;

/// Addresses that are remembered.
const PLACES: usize = 1 << 13;
/// Ways of more than one function that are remembered.
const WAYS: usize = 1 << 12;
/// Functions that are passed on one way, at most.
const MAX_FRAMES: usize = 48;

/// Flag of a rule: the address is in the preloaded library itself.
const OWN: u64 = 1 << 2;
/// Flag of a rule: the way ends here, since it need not go on: the function is no wrapper of MPI.
const LAST: u64 = 1 << 3;
/// Flag of a rule, besides [`LAST`]: the address is in the interpreter, and the way goes on in the script.
const SCRIPTED: u64 = 1 << 4;

/// Finds out from where calls are made.
#[derive(Debug)]
pub(crate) struct CallSites {
    places: Table,
    /// By hash.
    ways: Table,
    finder: ObjectFinder,
    /// The addresses of the preloaded library.
    own: Range<usize>,
    wrappers: Wrappers,
    scripts: Scripts,
    /// How often addresses were forgotten.
    epoch: AtomicU32,
}

/// A way up the stack: return addresses, the innermost first.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    addresses: [usize; MAX_FRAMES],
    n: usize,
    hash: u64,
    /// Whether it ends in a function that is no wrapper of MPI.
    pub(crate) is_whole: bool,
    /// Where in a script it goes on.
    script: Option<ScriptPlace>,
    is_in_interpreter: bool,
}

impl Way {
    pub(crate) fn addresses(&self) -> &[usize] {
        &self.addresses[..self.n]
    }

    fn add(&mut self, address: usize) {
        self.addresses[self.n] = address;
        self.n += 1;
        self.hash = mixed(self.hash, address);
    }
}

/// The key of a way that ends before a function that is no wrapper of MPI.
#[inline]
fn of_part(hash: u64) -> u64 {
    mixed(hash, usize::MAX)
}

/// The key of a way that ends in the interpreter, of this hash, and goes on in a script.
fn of_scripted(hash: u64, script: Option<&ScriptPlace>) -> u64 {
    let words = script.map(ScriptPlace::words).unwrap_or_default();
    words.into_iter().fold(mixed(hash, 1), mixed)
}

/// The hash of a way, one function further out.
#[inline]
fn mixed(hash: u64, address: usize) -> u64 {
    let sum = (hash ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    sum ^ sum >> 29
}

impl CallSites {
    /// `own` are the addresses of the preloaded library, `wrappers` further libraries that wrap MPI:
    /// begins of their file names, separated by commas.
    pub(crate) fn new(finder: ObjectFinder, own: Range<usize>, wrappers: &str) -> Self {
        Self {
            places: Table::new(PLACES),
            ways: Table::new(WAYS),
            finder,
            own,
            wrappers: Wrappers::with(wrappers),
            scripts: Scripts::default(),
            epoch: AtomicU32::new(0),
        }
    }

    /// With lines of scripts.
    pub(crate) fn with_scripts(self, interpreters: Option<Interpreters>) -> Self {
        let scripts = interpreters.map(|found| Scripts::of(found, &self.finder));
        Self {
            scripts: scripts.unwrap_or_default(),
            ..self
        }
    }

    /// The index of the call site, if the function that is called from there is in no other library, and the
    /// thread has met it last, as deep in its stack; `None` otherwise. `recent` are those that it has met last.
    #[inline(always)]
    pub(crate) fn met_last(&self, from: Registers, recent: &RecentSites) -> Option<u32> {
        recent.at_same_depth(self.epoch.load(Ordering::Relaxed), from)
    }

    /// The index of a call site that is not [met last](Self::met_last), if all on the way is known; `None`
    /// otherwise.
    #[inline]
    pub(crate) fn known(
        &self,
        from: Registers,
        stack: UsedStack,
        recent: &RecentSites,
    ) -> Option<u32> {
        let epoch = self.epoch.load(Ordering::Relaxed);
        let found = recent.of_caller(epoch, from, stack);
        let found = found.or_else(|| recent.of_way(epoch, from, stack));
        found.or_else(|| self.known_by_tables(from, stack, (recent, epoch)))
    }

    fn known_by_tables(
        &self,
        from: Registers,
        stack: UsedStack,
        (recent, epoch): (&RecentSites, u32),
    ) -> Option<u32> {
        let (mut at, mut stack) = (from, stack);
        // Where the return address is, if that of the first function is the caller's.
        let mut offset = None;
        let mut steps = Steps::default();
        let (mut hash, mut n) = (0, 0);
        for _ in 0..MAX_FRAMES {
            let known = self.places.get(at.behind as u64)?;
            let rule = known.rule();
            if !rule.has(OWN) {
                hash = mixed(hash, at.behind);
                n += 1;
                if rule.has(LAST) {
                    if rule.has(SCRIPTED) {
                        return self.known_in_script(hash, at.behind, stack);
                    }
                    if n > 1 {
                        let site = self.ways.get(hash)?.site()?;
                        recent.set_way(epoch, from.behind, &steps, site);
                        return Some(site);
                    }
                    let site = known.site()?;
                    match offset {
                        Some(offset) => {
                            recent.set(epoch, (from.behind, offset), (at.behind, site));
                        }
                        None => recent.set_way(epoch, from.behind, &steps, site),
                    }
                    return Some(site);
                }
            }
            let Some(caller) = rule.caller_of(at, stack) else {
                break;
            };
            offset = rule.return_from_stack().filter(|_| at == from);
            steps.add(rule, caller.behind);
            at = caller;
            stack = stack.beyond(at.stack);
        }
        self.ways.get(of_part(hash))?.site()
    }

    /// The index of the call site of a way that ends in the interpreter.
    #[cold]
    fn known_in_script(&self, hash: u64, behind: usize, stack: UsedStack) -> Option<u32> {
        let script = self.scripts.place(behind, stack);
        self.ways.get(of_scripted(hash, script.as_ref()))?.site()
    }

    /// The way from a function on; `None` if nothing more can be remembered. What is not known yet
    /// is looked up.
    #[cold]
    pub(crate) fn way(&self, from: Registers, stack: UsedStack) -> Option<Way> {
        if self.places.is_full() || self.ways.is_full() {
            return None;
        }
        let mut way = Way {
            addresses: [0; MAX_FRAMES],
            n: 0,
            hash: 0,
            is_whole: false,
            script: None,
            is_in_interpreter: false,
        };
        let (mut at, mut stack) = (from, stack);
        for _ in 0..MAX_FRAMES {
            let rule = self.rule(at.behind);
            if !rule.has(OWN) {
                way.add(at.behind);
                way.is_whole = rule.has(LAST);
                if rule.has(SCRIPTED) {
                    way.script = self.scripts.place(at.behind, stack);
                    way.hash = of_scripted(way.hash, way.script.as_ref());
                    way.is_in_interpreter = true;
                }
                if way.is_whole {
                    break;
                }
            }
            let Some(caller) = rule.caller_of(at, stack) else {
                break;
            };
            at = caller;
            stack = stack.beyond(at.stack);
        }
        Some(way)
    }

    /// The entry of a way, where its call site is stored; `None` if there is no room for it.
    pub(crate) fn entry(&self, way: &Way) -> Option<Known<'_>> {
        match way.addresses() {
            _ if !way.is_whole => self.ways.insert(of_part(way.hash), FrameRule::NONE),
            [only] if !way.is_in_interpreter => self.places.get(*only as u64),
            _ => self.ways.insert(way.hash, FrameRule::NONE),
        }
    }

    fn rule(&self, behind: usize) -> FrameRule {
        if let Some(known) = self.places.get(behind as u64) {
            return known.rule();
        }
        let rule = self.look_up(behind);
        self.places.insert(behind as u64, rule);
        rule
    }

    /// What the loader and the unwind tables say of an address.
    fn look_up(&self, behind: usize) -> FrameRule {
        // The call may be the last instruction of a function.
        let address = behind.wrapping_sub(1);
        let Some(object) = self.finder.object_at(address) else {
            // Code that was generated at run time.
            return FrameRule::NONE.with_flags(LAST);
        };
        if self.own.contains(&address) {
            return rule_at(&object, address).with_flags(OWN);
        }
        let name = object.name();
        if !name.is_empty() && self.wrappers.has(name) {
            return rule_at(&object, address);
        }
        if self.scripts.contain(address) {
            return FrameRule::NONE.with_flags(LAST | SCRIPTED);
        }
        FrameRule::NONE.with_flags(LAST)
    }

    /// Forgets what is known of addresses in an object that was unloaded, and all ways of several
    /// functions.
    fn forget(&self, addresses: &Range<usize>) {
        self.places
            .forget(|behind| addresses.contains(&(behind as usize - 1)));
        self.ways.forget(|_| true);
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }
}

/// The objects that call sites refer to.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    defined: Vec<(LoadedFile, u32)>,
    n: u32,
    /// Functions of scripts: file and name.
    scripts: Vec<(String, String)>,
}

impl Modules {
    /// The frame of a return address. A module that has no number yet gets one, and is passed to
    /// `define`.
    pub(crate) fn frame<E>(
        &mut self,
        sites: &CallSites,
        behind: usize,
        mut define: impl FnMut(Module) -> Result<(), E>,
    ) -> Result<SiteFrame, E> {
        let Some(object) = sites.finder.object_at(behind.wrapping_sub(1)) else {
            return Ok(SiteFrame {
                module: NO_MODULE,
                address: behind as u64,
            });
        };
        let known = self.defined.iter().find(|(known, _)| *known == object);
        let index = match known {
            Some(&(_, index)) => index,
            None => {
                self.forget_unloaded(sites, &object);
                let index = self.n;
                define(Module {
                    index,
                    path: object.path(),
                    build_id: object.build_id().unwrap_or_default().to_vec(),
                })?;
                self.n += 1;
                self.defined.push((object, index));
                index
            }
        };
        Ok(SiteFrame {
            module: index,
            address: object.in_file(behind),
        })
    }

    /// The frame in a script where a way goes on; `None` if it does not, or the interpreter's memory does
    /// not tell. A function of a script that has no number yet gets one, and is passed to `define`.
    pub(crate) fn script_frame<E>(
        &mut self,
        sites: &CallSites,
        way: &Way,
        define: impl FnOnce(ScriptFunction) -> Result<(), E>,
    ) -> Result<Option<SiteFrame>, E> {
        let place = way.script.as_ref();
        let Some(line) = place.and_then(|place| sites.scripts.line_of(place)) else {
            return Ok(None);
        };
        let function = (line.file, line.function);
        let index = match self.scripts.iter().position(|known| *known == function) {
            Some(index) => index,
            None => {
                define(ScriptFunction {
                    index: self.scripts.len() as u32,
                    file: function.0.clone(),
                    name: function.1.clone(),
                })?;
                self.scripts.push(function);
                self.scripts.len() - 1
            }
        };
        Ok(Some(SiteFrame {
            module: SCRIPT,
            address: (index as u64) << 32 | u64::from(line.line),
        }))
    }

    /// Forgets the objects whose place another one has taken.
    fn forget_unloaded(&mut self, sites: &CallSites, object: &LoadedFile) {
        let new = object.addresses();
        self.defined.retain(|(known, _)| {
            let old = known.addresses();
            let is_loaded = old.end <= new.start || new.end <= old.start;
            if !is_loaded {
                sites.forget(&old);
            }
            is_loaded
        });
    }
}
