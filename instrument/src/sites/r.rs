//! The line of an R script from which a package calls MPI.
//!
//! R keeps a context on the stack for each function of R that is under way: the function, its
//! environment, the call, and what of the source was executed when it was called. Where these are in
//! memory has been the same from R 4.0 to 4.3, and again since 4.4. Contexts must follow each other outwards
//! on this thread's stack. All other memory is read through the kernel, and objects must have the types that
//! they should have. Nothing of R is called. That takes some dozens of system calls, so what was
//! found for a context is kept: a known place takes one, by which the source is looked at again.
//!
//! The place is the innermost one of which R has the source: packages are installed without. If it has none
//! at all (Rscript keeps none unless told to), the place is the innermost function that is in no package,
//! without a line.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::guarded::{read, word};
use super::registers::UsedStack;
use super::script_line::{NO_INTERPRETER, ScriptLine};
use crate::mpi::find_datum;

const WORD: usize = size_of::<usize>();
/// Words of a context in front of the first object in it: the link to the next one, its kind, the
/// buffer of `sigsetjmp`, two numbers.
const BEFORE_OBJECTS: usize = 2 + JUMP_BUFFER_WORDS + 1;
/// Words of a `sigjmp_buf` of the GNU C library.
const JUMP_BUFFER_WORDS: usize = if cfg!(target_arch = "aarch64") {
    39
} else {
    25
};

/// Words of a context, from its begin.
const KIND: usize = 1;
const FUNCTION: usize = BEFORE_OBJECTS + 1;
const CALLED_FROM: usize = BEFORE_OBJECTS + 2;
const CALL: usize = BEFORE_OBJECTS + 3;
const ENVIRONMENT: usize = BEFORE_OBJECTS + 4;
const BYTE_CODE: usize = BEFORE_OBJECTS + 11;
/// Address of the variable with the address of the current instruction of byte code.
const INSTRUCTION: usize = BEFORE_OBJECTS + 12;
/// From R 4.4 on: the index of the instruction when the function was called.
const INDEX: usize = BEFORE_OBJECTS + 13;
/// The source, up to R 4.3 and from 4.4 on.
const SOURCES: [usize; 2] = [BEFORE_OBJECTS + 18, BEFORE_OBJECTS + 20];
/// The bit of a kind that contexts of functions have.
const IS_FUNCTION: usize = 4;

/// Types of objects, in the lowest bits of their first word.
const TYPE_BITS: usize = 31;
const SYMBOL: usize = 1;
const PAIRS: usize = 2;
const CLOSURE: usize = 3;
const ENVIRONMENT_TYPE: usize = 4;
const CALL_TYPE: usize = 6;
const LETTERS: usize = 9;
const INTEGERS: usize = 13;
const TEXTS: usize = 16;
const LIST: usize = 19;
const CODE: usize = 21;

/// Words of an object, from its begin: attributes, and behind the header what depends on the type.
const ATTRIBUTES: usize = 1;
const FIRST: usize = 4;
const SECOND: usize = 5;
const THIRD: usize = 6;
/// Of a vector.
const LENGTH: usize = FIRST;
const DATA: usize = THIRD;
const OBJECT_WORDS: usize = 7;

/// Contexts that are looked at, at most.
const MAX_CONTEXTS: usize = 64;
/// Pairs of a list that are followed, and environments around a function, at most.
const MAX_PAIRS: usize = 64;
/// Constants of byte code that are looked at for its table of source: it is one of the last.
const MAX_CONSTANTS: usize = 8;
/// Bytes of a file name or a function's name, at most.
const MAX_NAME: usize = 4096;
/// Buckets of the table of an environment that are read, at most.
const MAX_BUCKETS: usize = 1024;

/// Contexts of which is kept what was found, a power of two.
const KEPT: usize = 512;

/// The interpreter in this process.
#[derive(Debug)]
pub(super) struct R {
    objects: Objects,
    /// Which word of a context has the source; 0: not known yet.
    source_at: AtomicUsize,
    /// By the hash of the context.
    kept: Mutex<Box<[(Context, Found)]>>,
}

/// The parts of a context that decide what is found for it: whatever was called like this from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Context {
    function: usize,
    call: usize,
    source: usize,
    byte_code: usize,
    /// The instruction of byte code, by its index if that is positive, or else its address.
    index: usize,
    instruction: usize,
}

/// What is found for a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Found {
    is_function: bool,
    /// From where it was called, if R has the source of that.
    source: Option<Source>,
    /// What was called: mostly a symbol; 0 if that is not known.
    called: usize,
    is_in_no_package: bool,
}

/// The memory of the interpreter, of which some objects are known.
#[derive(Debug, Clone, Copy)]
struct Objects {
    /// Where the address of the innermost context is.
    innermost: usize,
    nil: usize,
    /// What stands for the source where byte code was executed.
    in_byte_code: usize,
    source_file_symbol: usize,
    class_symbol: usize,
    global: usize,
    base: usize,
}

/// A place in a script, as the interpreter's memory has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RPlace {
    /// What R knows of the source there; all 0 if it knows nothing.
    source: Source,
    /// What is called in the call of the function that the place is in: mostly a symbol. 0: it is in none.
    function: usize,
}

/// A part of the source, as R has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Source {
    reference: usize,
    attributes: usize,
    file: usize,
    line: u32,
}

/// An object's first words.
type Object = [usize; OBJECT_WORDS];

impl RPlace {
    /// Numbers that differ where places do. Memory of a script that is gone may be used again, mostly by one
    /// that differs in one of these.
    pub(super) fn words(&self) -> [usize; 5] {
        let Source {
            reference,
            file,
            line,
            ..
        } = self.source;
        [reference, file, line as usize, self.function, 0]
    }
}

impl R {
    /// The interpreter in this process.
    ///
    /// # Errors
    /// Says why lines of its scripts cannot be found.
    pub(super) fn find() -> Result<Self, &'static str> {
        let found = [
            c"R_GlobalContext",
            c"R_NilValue",
            c"R_InBCInterpreter",
            c"R_SrcfileSymbol",
            c"R_ClassSymbol",
            c"R_GlobalEnv",
            c"R_BaseNamespace",
        ]
        .map(find_datum);
        if found.contains(&0) {
            return Err(NO_INTERPRETER);
        }
        let objects = Objects::from_symbols(found);
        let symbols = [
            objects.in_byte_code,
            objects.source_file_symbol,
            objects.class_symbol,
        ];
        let are_as_known = object(objects.nil, 0).is_some()
            && symbols.iter().all(|&at| object(at, SYMBOL).is_some())
            && object(objects.global, ENVIRONMENT_TYPE).is_some()
            && name_of_symbol(objects.class_symbol).as_deref() == Some("class");
        if are_as_known {
            Ok(Self::of(objects))
        } else {
            Err("lines of scripts of R are known of R 4 only")
        }
    }

    fn of(objects: Objects) -> Self {
        Self {
            objects,
            source_at: AtomicUsize::new(0),
            kept: Mutex::new(vec![Default::default(); KEPT].into_boxed_slice()),
        }
    }

    /// An address in the executable or library that the interpreter is in.
    pub(super) fn an_address_in_it(&self) -> usize {
        self.objects.innermost
    }

    /// Where in a script this thread is, whose stack this is; `None` if that is unknown.
    pub(super) fn place(&self, mut stack: UsedStack) -> Option<RPlace> {
        let mut at = word(self.objects.innermost)?;
        let mut source = None;
        let mut without_source = None;
        for _ in 0..MAX_CONTEXTS {
            // Of another thread, or the outermost, which is not on the stack.
            if !stack.has_frames_from(at) {
                break;
            }
            let field = |index: usize| stack.word(at.checked_add(index * WORD)?);
            if field(KIND)? & IS_FUNCTION != 0 {
                let context = self.context(stack, field)?;
                let mut found = self.found_for(&context, false);
                if source.is_none() && found.source.is_some_and(|of| !self.objects.has(of)) {
                    found = self.found_for(&context, true);
                }
                let called_from = field(CALLED_FROM)?;
                match (source, found.source) {
                    _ if !found.is_function => {}
                    (None, Some(source)) if called_from == self.objects.global => {
                        let function = 0;
                        return Some(RPlace { source, function });
                    }
                    (None, Some(found)) => source = Some((found, called_from)),
                    (None, None) => {
                        if found.is_in_no_package && without_source.is_none() {
                            without_source = Some(found.called);
                        }
                    }
                    (Some((source, environment)), _) => {
                        if field(ENVIRONMENT)? == environment {
                            let function = found.called;
                            return Some(RPlace { source, function });
                        }
                    }
                }
            }
            let next = field(0)?;
            stack = stack.beyond(at);
            at = next;
        }
        let source = source.map(|(source, _)| source);
        if source.is_none() && without_source.is_none() {
            return None;
        }
        Some(RPlace {
            source: source.unwrap_or_default(),
            function: without_source.filter(|_| source.is_none()).unwrap_or(0),
        })
    }

    /// The parts of the context whose words these are.
    fn context(&self, stack: UsedStack, field: impl Fn(usize) -> Option<usize>) -> Option<Context> {
        let source_at = match self.source_at.load(Ordering::Relaxed) {
            0 => {
                let objects = &self.objects;
                let has_source = |&at: &usize| {
                    let found = field(at).unwrap_or(0);
                    [objects.nil, objects.in_byte_code].contains(&found)
                        || objects.source(found).is_some()
                };
                let at = SOURCES.into_iter().find(has_source)?;
                self.source_at.store(at, Ordering::Relaxed);
                at
            }
            known => known,
        };
        let mut context = Context {
            function: field(FUNCTION)?,
            call: field(CALL)?,
            source: field(source_at)?,
            ..Context::default()
        };
        if context.source == self.objects.in_byte_code {
            context.byte_code = field(BYTE_CODE)?;
            let index = field(INDEX).filter(|_| source_at == SOURCES[1]);
            match index.filter(|index| index.cast_signed() > 0) {
                Some(index) => context.index = index,
                None => context.instruction = stack.word(field(INSTRUCTION)?).unwrap_or(0),
            }
        }
        Some(context)
    }

    /// What was found for such a context before, or is found now, which it is if `anew`.
    fn found_for(&self, context: &Context, anew: bool) -> Found {
        let mixed = |sum: usize, word: usize| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let words = [
            context.function,
            context.call,
            context.source,
            context.byte_code,
            context.index,
            context.instruction,
        ];
        let at = words.into_iter().fold(0, mixed) >> (usize::BITS - KEPT.ilog2());
        // A signal handler may have interrupted this.
        let kept = self.kept.try_lock().ok();
        if let Some((of, found)) = kept.as_ref().map(|kept| kept[at])
            && of == *context
            && !anew
        {
            return found;
        }
        let found = self.objects.find(context);
        if let Some(mut kept) = kept {
            kept[at] = (*context, found);
        }
        found
    }

    /// The line and the names of a place; only while the thread is there. Allocates.
    pub(super) fn line_of(&self, place: &RPlace) -> Option<ScriptLine> {
        let function = name_of_called(place.function).unwrap_or_default();
        let file = place.source.file;
        let file = self.objects.name_of_file(file).unwrap_or_default();
        if function.is_empty() && file.is_empty() {
            return None;
        }
        Some(ScriptLine {
            function,
            file,
            line: place.source.line,
        })
    }
}

impl Objects {
    /// From the addresses of the variables of R in the order of these fields. The first stays an address, since it
    /// changes.
    fn from_symbols(
        [
            innermost,
            nil,
            in_byte_code,
            source_file_symbol,
            class_symbol,
            global,
            base,
        ]: [usize; 7],
    ) -> Self {
        let value = |at| word(at).unwrap_or(0);
        Self {
            innermost,
            nil: value(nil),
            in_byte_code: value(in_byte_code),
            source_file_symbol: value(source_file_symbol),
            class_symbol: value(class_symbol),
            global: value(global),
            base: value(base),
        }
    }

    /// What is found for a context.
    fn find(&self, context: &Context) -> Found {
        let Some(function) = object(context.function, CLOSURE) else {
            return Found::default();
        };
        let source = if context.source == self.in_byte_code {
            self.source_in_byte_code(context)
        } else {
            self.source(context.source)
        };
        Found {
            is_function: true,
            source,
            called: object(context.call, CALL_TYPE).map_or(0, |call| call[FIRST]),
            is_in_no_package: self.is_in_no_package(&function),
        }
    }

    /// What a reference to the source says.
    fn source(&self, reference: usize) -> Option<Source> {
        let vector = object(reference, INTEGERS)?;
        if ![4, 6, 8].contains(&vector[LENGTH]) {
            return None;
        }
        let file = self.attribute(&vector, self.source_file_symbol)?;
        // The first of these numbers, each of four bytes.
        let line = vector[DATA] as u32;
        let is_line = line > 0 && line <= i32::MAX as u32;
        is_line.then_some(Source {
            reference,
            attributes: vector[ATTRIBUTES],
            file,
            line,
        })
    }

    /// Whether that is there still, and not something else in the same place.
    fn has(&self, source: Source) -> bool {
        object(source.reference, INTEGERS).is_some_and(|vector| {
            vector[ATTRIBUTES] == source.attributes && vector[DATA] as u32 == source.line
        })
    }

    /// The source of the instruction of byte code from which the function of a context was called.
    fn source_in_byte_code(&self, context: &Context) -> Option<Source> {
        let body = object(context.byte_code, CODE)?;
        let (code, constants) = (body[FIRST], body[SECOND]);
        let index = match context.index {
            0 => {
                let first = code.checked_add(DATA * WORD)?;
                context.instruction.checked_sub(first)? / WORD
            }
            index => index,
        };
        let n = object(constants, LIST)?[LENGTH];
        let known = (n.saturating_sub(MAX_CONSTANTS)..n).rev();
        for at in known {
            let constant = element(constants, at)?;
            let Some(table) = object(constant, INTEGERS) else {
                continue;
            };
            if !self.has_class(&table, "srcrefsIndex") {
                continue;
            }
            if index >= table[LENGTH] {
                return None;
            }
            let mut number = [0; 4];
            let data = constant.checked_add(DATA * WORD)?;
            read(data.checked_add(index.checked_mul(4)?)?, &mut number)?;
            let which = usize::try_from(i32::from_ne_bytes(number)).ok()?;
            return self.source(element(constants, which).filter(|_| which < n)?);
        }
        None
    }

    /// The value of an attribute.
    fn attribute(&self, of: &Object, symbol: usize) -> Option<usize> {
        let mut pairs = self.pairs(of[ATTRIBUTES]);
        let found = pairs.find(|pair| pair[THIRD] == symbol)?;
        Some(found[FIRST])
    }

    fn has_class(&self, of: &Object, wanted: &str) -> bool {
        let Some(classes) = self.attribute(of, self.class_symbol) else {
            return false;
        };
        let n = object(classes, TEXTS).map_or(0, |texts| texts[LENGTH]);
        (0..n.min(MAX_PAIRS)).any(|at| {
            let text = element(classes, at).and_then(text);
            text.as_deref() == Some(wanted)
        })
    }

    /// The pairs of a list: value, rest, name.
    fn pairs(&self, list: usize) -> impl Iterator<Item = Object> {
        let first = object(list, PAIRS);
        std::iter::successors(first, |pair| object(pair[SECOND], PAIRS)).take(MAX_PAIRS)
    }

    /// Whether a function is in no package: the environments around it lead to the global one without a
    /// package's, around which are those that it imports and the base package's.
    fn is_in_no_package(&self, function: &Object) -> bool {
        let mut around = function[THIRD];
        for _ in 0..MAX_PAIRS {
            if around == self.global {
                return true;
            }
            match object(around, ENVIRONMENT_TYPE) {
                Some(environment) if around != self.base => around = environment[SECOND],
                _ => return false,
            }
        }
        false
    }

    /// The name in the environment that stands for a file.
    fn name_of_file(&self, file: usize) -> Option<String> {
        let environment = object(file, ENVIRONMENT_TYPE)?;
        let (frame, table) = (environment[FIRST], environment[THIRD]);
        let n_buckets = object(table, LIST).map_or(0, |table| table[LENGTH]);
        let buckets = (0..n_buckets.min(MAX_BUCKETS)).filter_map(|at| element(table, at));
        // Lists may lead into one another in damaged memory.
        let mut seen = HashSet::new();
        let lists = std::iter::once(frame).chain(buckets);
        let mut entries = lists
            .filter(|&list| list != self.nil && seen.insert(list))
            .flat_map(|list| self.pairs(list));
        let is_name = |entry: &Object| {
            let symbol = name_of_symbol(entry[THIRD]);
            symbol.as_deref() == Some("filename")
        };
        let value = entries.find(is_name)?[FIRST];
        let texts = object(value, TEXTS)?;
        text(element(value, 0).filter(|_| texts[LENGTH] > 0)?)
    }
}

/// The name of what is called: of `f(x)`, `p::f(x)` and `p$f(x)` it is `f`.
fn name_of_called(called: usize) -> Option<String> {
    if let Some(call) = object(called, CALL_TYPE) {
        let package = object(call[SECOND], PAIRS)?;
        let name = object(package[SECOND], PAIRS)?;
        return name_of_symbol(name[FIRST]);
    }
    name_of_symbol(called)
}

fn name_of_symbol(symbol: usize) -> Option<String> {
    text(object(symbol, SYMBOL)?[FIRST])
}

fn words<const N: usize>(at: usize) -> Option<[usize; N]> {
    let mut bytes = [[0; WORD]; N];
    read(at, bytes.as_flattened_mut())?;
    Some(bytes.map(usize::from_ne_bytes))
}

/// The object at an address, if it is of a type.
fn object(at: usize, of_type: usize) -> Option<Object> {
    let found: Object = words(at)?;
    (found[0] & TYPE_BITS == of_type).then_some(found)
}

/// An element of a list or of texts, whose length is known to be greater than that.
fn element(vector: usize, at: usize) -> Option<usize> {
    word(vector.checked_add(at.checked_add(DATA)?.checked_mul(WORD)?)?)
}

fn text(at: usize) -> Option<String> {
    let length = object(at, LETTERS)?[LENGTH];
    if length > MAX_NAME {
        return None;
    }
    let mut bytes = vec![0; length];
    read(at.checked_add(DATA * WORD)?, &mut bytes)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::registers::tests::stack_of;
    use super::*;

    /// Objects in memory, each of [`OBJECT_WORDS`] words or more.
    fn address(of: &[usize]) -> usize {
        of.as_ptr().expose_provenance()
    }

    fn letters(name: &str) -> Vec<usize> {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize(name.len().max(1).next_multiple_of(WORD), 0);
        let words = bytes.chunks_exact(WORD);
        let words = words.map(|word| usize::from_ne_bytes(word.try_into().unwrap()));
        [LETTERS, 0, 0, 0, name.len(), 0]
            .into_iter()
            .chain(words)
            .collect()
    }

    /// What a test has of R: objects that it made, and the interpreter that knows some of them.
    #[derive(Default)]
    struct Memory(Vec<Vec<usize>>);

    impl Memory {
        fn add(&mut self, object: Vec<usize>) -> usize {
            self.0.push(object);
            address(self.0.last().unwrap())
        }

        fn symbol(&mut self, name: &str) -> usize {
            let name = self.add(letters(name));
            self.add(vec![SYMBOL, 0, 0, 0, name, 0, 0])
        }

        fn pair(&mut self, value: usize, rest: usize, name: usize) -> usize {
            self.add(vec![PAIRS, 0, 0, 0, value, rest, name])
        }

        fn environment(&mut self, frame: usize, around: usize) -> usize {
            self.add(vec![ENVIRONMENT_TYPE, 0, 0, 0, frame, around, 0])
        }

        fn closure(&mut self, around: usize) -> usize {
            self.add(vec![CLOSURE, 0, 0, 0, 0, 0, around])
        }

        fn call(&mut self, called: usize) -> usize {
            self.add(vec![CALL_TYPE, 0, 0, 0, called, 0, 0])
        }

        /// A reference to a line of a file.
        fn source(&mut self, line: usize, file: usize, r: &Objects) -> usize {
            let attributes = self.pair(file, r.nil, r.source_file_symbol);
            self.add(vec![INTEGERS, attributes, 0, 0, 8, 0, line, 0, 0, 0])
        }

        fn interpreter(&mut self, innermost: usize) -> Objects {
            let nil = self.add(vec![0; OBJECT_WORDS]);
            let global = self.environment(nil, nil);
            let base = self.environment(nil, global);
            Objects {
                innermost,
                nil,
                in_byte_code: self.symbol("<in-bc-interp>"),
                source_file_symbol: self.symbol("srcfile"),
                class_symbol: self.symbol("class"),
                global,
                base,
            }
        }
    }

    /// A context of a function.
    struct Of {
        function: usize,
        environment: usize,
        call: usize,
        from: usize,
        source: usize,
    }

    /// Two contexts on a stack, the innermost first, of the layout with the source there.
    fn contexts(source_at: usize, of: [Of; 2]) -> Vec<usize> {
        const CONTEXT_WORDS: usize = BEFORE_OBJECTS + 21;
        let mut words = vec![0; 2 * CONTEXT_WORDS + 2];
        let begin = address(&words) + WORD;
        for (i, of) in of.into_iter().enumerate() {
            let next = if i == 0 {
                begin + WORD * CONTEXT_WORDS
            } else {
                8
            };
            let context = &mut words[1 + i * CONTEXT_WORDS..];
            context[0] = next;
            context[KIND] = 12;
            context[FUNCTION] = of.function;
            context[ENVIRONMENT] = of.environment;
            context[CALL] = of.call;
            context[CALLED_FROM] = of.from;
            context[source_at] = of.source;
        }
        words
    }

    #[test]
    fn the_place_is_the_innermost_with_source_and_else_the_innermost_of_no_package() {
        for source_at in SOURCES {
            let innermost = Box::new([0usize]);
            let mut memory = Memory::default();
            let r = memory.interpreter(address(&*innermost));
            let name = memory.add(letters("/home/me/a.R"));
            let names = memory.add(vec![TEXTS, 0, 0, 0, 1, 0, name]);
            let file_symbol = memory.symbol("filename");
            let entry = memory.pair(names, r.nil, file_symbol);
            let file = memory.environment(entry, r.global);
            let line_7 = memory.source(7, file, &r);
            let package = memory.environment(r.nil, r.base);
            let [of_package, own] = [package, r.global].map(|around| memory.closure(around));
            let [inner, outer] =
                [package, r.global].map(|around| memory.environment(r.nil, around));
            let [barrier, step] = ["mpi.barrier", "step"].map(|name| memory.symbol(name));
            let [call_barrier, call_step] = [barrier, step].map(|symbol| memory.call(symbol));
            let place = |source: [usize; 2], from: [usize; 2]| {
                let mut innermost = innermost.clone();
                let words = contexts(
                    source_at,
                    [
                        Of {
                            function: of_package,
                            environment: inner,
                            call: call_barrier,
                            from: from[0],
                            source: source[0],
                        },
                        Of {
                            function: own,
                            environment: outer,
                            call: call_step,
                            from: from[1],
                            source: source[1],
                        },
                    ],
                );
                innermost[0] = address(&words) + WORD;
                let r = R::of(Objects {
                    innermost: address(&*innermost),
                    ..r
                });
                let (stack, _) = stack_of(&words);
                let first = r.place(stack);
                assert_eq!(r.place(stack), first, "what was kept is the same");
                first.and_then(|place| r.line_of(&place))
            };
            let line = |function: &str, file: &str, line| ScriptLine {
                file: file.to_owned(),
                function: function.to_owned(),
                line,
            };
            let with = place([line_7, r.nil], [outer, r.global]);
            assert_eq!(with, Some(line("step", "/home/me/a.R", 7)));
            // The innermost with source is further out: at top level.
            let further_out = place([r.nil, line_7], [outer, r.global]);
            assert_eq!(further_out, Some(line("", "/home/me/a.R", 7)));
            let without = place([r.nil, r.nil], [outer, r.global]);
            assert_eq!(without, Some(line("step", "", 0)));
        }
    }

    #[test]
    fn memory_that_is_no_interpreter_is_no_place() {
        let mut memory = Memory::default();
        let innermost = [0usize];
        let r = memory.interpreter(address(&innermost));
        let noise: Vec<usize> = (0..512).map(|i| i * 0x1357_9bdf_0246).collect();
        let itself = vec![address(&noise); 512];
        for words in [&noise, &itself, &vec![12; 512], &vec![usize::MAX; 512]] {
            let (stack, begin) = stack_of(words);
            for at in [0, 8, begin, begin + 8, begin + 8 * 500, usize::MAX - 8] {
                let innermost = [at];
                let r = R::of(Objects {
                    innermost: address(&innermost),
                    ..r
                });
                assert_eq!(r.place(stack), None);
                assert_eq!(r.objects.name_of_file(at), None);
                assert_eq!(name_of_called(at), None);
                assert_eq!(r.objects.source(at), None);
            }
        }
    }
}
