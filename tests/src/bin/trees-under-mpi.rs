//! Operations over trees on the processes of an MPI library, compared with their definitions, and
//! timed beside the library's own.
//!
//! The library is loaded, not linked: whichever the launcher belongs to. Hosts are pretended: ranks
//! on different ones exchange messages.
//!
//!     mpirun -n N trees-under-mpi check FIRST COUNT    COUNT random trees from seed FIRST on
//!     mpirun -n N trees-under-mpi threads FIRST COUNT  the same, with three threads of each process as
//!                                                      ranks
//!     mpirun -n 2 trees-under-mpi outstanding          a large send is under way in each operation
//!     mpirun -n N trees-under-mpi time OPERATION BYTES CALLS
//!                                                      medians, ns, in interleaved rounds

// What the tests of the engine on threads use.
#[path = "../../../instrument/paths/tests/it/call.rs"]
mod call;
#[path = "../../../instrument/paths/tests/it/random.rs"]
mod random;
#[path = "../../../instrument/paths/tests/it/reference.rs"]
mod reference;

use std::ffi::{CStr, c_int, c_void};

use collbench_formats::tree::{
    Collective, Collectors, Contributor, Level, Wrapper, WrapperKind, Wrappers,
};
use collbench_paths::{
    Buffers, Elements, Kernel, MpiConstants, MpiFunctions, MpiTransport, MpiWorld, Reduction, Team,
    TeamOptions, ThreadTransport, Transport, WaitPolicy, Word,
};

use call::{Call, rank_0_waits};
use random::{Random, random_tree, random_tree_on, with_collectors};

/// The MPI library of this process.
struct Library {
    loaded: *mut c_void,
    constants: MpiConstants,
    /// `MPI_DOUBLE` and `MPI_SUM`.
    double: Word,
    sum: Word,
    timed: TimedFunctions,
}

/// Functions of the library that are timed beside trees.
#[derive(Clone, Copy)]
struct TimedFunctions {
    allreduce: unsafe extern "C" fn(Word, Word, Word, Word, Word, Word) -> c_int,
    bcast: unsafe extern "C" fn(Word, Word, Word, Word, Word) -> c_int,
    barrier: unsafe extern "C" fn(Word) -> c_int,
}

impl TimedFunctions {
    fn of(loaded: *mut c_void) -> Self {
        let find = |name: &CStr| {
            // SAFETY: the library is loaded, and the name is a C string.
            let found = unsafe { libc::dlsym(loaded, name.as_ptr()) };
            assert!(!found.is_null(), "{name:?}");
            found
        };
        // SAFETY: the MPI functions of these names take these numbers of arguments.
        unsafe {
            Self {
                allreduce: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(Word, Word, Word, Word, Word, Word) -> c_int,
                >(find(c"MPI_Allreduce")),
                bcast: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(Word, Word, Word, Word, Word) -> c_int,
                >(find(c"MPI_Bcast")),
                barrier: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Word) -> c_int>(
                    find(c"MPI_Barrier"),
                ),
            }
        }
    }
}

macro_rules! call_mpi {
    ($library:expr, $name:literal; $($argument:expr),*) => {{
        let function = $library.find($name);
        assert!(!function.is_null());
        // SAFETY: the MPI function of this name takes these arguments.
        let code = unsafe {
            std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn($(call_mpi!(@word $argument)),*) -> c_int,
            >(function)($($argument),*)
        };
        assert_eq!(code, 0, "{:?}", $name);
    }};
    (@word $argument:expr) => { Word };
}

impl Library {
    fn load() -> Self {
        let load = |name: &CStr| {
            // SAFETY: loading an MPI library runs its constructors, which is what it is for.
            unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) }
        };
        let open_mpi = load(c"libmpi.so.40");
        let datum = |name: &CStr| {
            // SAFETY: the library is loaded, and the name is a C string.
            unsafe { libc::dlsym(open_mpi, name.as_ptr()) as Word }
        };
        if !open_mpi.is_null() {
            return Self {
                loaded: open_mpi,
                constants: MpiConstants {
                    comm_world: datum(c"ompi_mpi_comm_world"),
                    errors_return: datum(c"ompi_mpi_errors_return"),
                    byte: datum(c"ompi_mpi_byte"),
                    status_ignore: 0,
                    any_source: -1,
                    status_source: 0,
                },
                double: datum(c"ompi_mpi_double"),
                sum: datum(c"ompi_mpi_op_sum"),
                timed: TimedFunctions::of(open_mpi),
            };
        }
        let mpich = load(c"libmpi.so.12");
        assert!(!mpich.is_null(), "no MPI library");
        Self {
            loaded: mpich,
            constants: MpiConstants {
                comm_world: 0x4400_0000,
                errors_return: 0x5400_0001,
                byte: 0x4c00_010d,
                status_ignore: 1,
                any_source: -2,
                status_source: 8,
            },
            double: 0x4c00_080b,
            sum: 0x5800_0003,
            timed: TimedFunctions::of(mpich),
        }
    }

    fn find(&self, name: &CStr) -> *mut c_void {
        // SAFETY: the library is loaded, and the name is a C string.
        unsafe { libc::dlsym(self.loaded, name.as_ptr()) }
    }
}

/// `MPI_THREAD_MULTIPLE`, which is the same number in all libraries.
const THREAD_MULTIPLE: c_int = 3;

/// One process of the run.
struct Process {
    library: Library,
    world: MpiWorld,
    /// Whether several threads may call the library at once.
    allows_threads: bool,
    me: u32,
    n_ranks: u32,
}

impl Process {
    /// Several threads may call the library at once only if `has_threads`: that makes it slower.
    fn begin(has_threads: bool) -> Self {
        let library = Library::load();
        let wanted = if has_threads { THREAD_MULTIPLE } else { 0 };
        let mut provided: c_int = 0;
        let granted = std::ptr::from_mut(&mut provided) as Word;
        call_mpi!(library, c"PMPI_Init_thread"; 0, 0, wanted as Word, granted);
        let comm = library.constants.comm_world;
        let (mut me, mut n_ranks): (c_int, c_int) = (0, 0);
        call_mpi!(library, c"PMPI_Comm_rank"; comm, std::ptr::from_mut(&mut me) as Word);
        call_mpi!(library, c"PMPI_Comm_size"; comm, std::ptr::from_mut(&mut n_ranks) as Word);
        // SAFETY: these are functions and constants of the library, which is initialized, and
        // finalized by `end`.
        let world = unsafe {
            let functions = MpiFunctions::find(|name| library.find(name));
            MpiWorld::new(functions.expect("functions of MPI 2"), library.constants)
        };
        Self {
            world: world.expect("a communicator"),
            allows_threads: provided == THREAD_MULTIPLE,
            library,
            me: me as u32,
            n_ranks: n_ranks as u32,
        }
    }

    fn end(self) {
        self.world.free().expect("the communicator is free");
        call_mpi!(self.library, c"PMPI_Finalize";);
    }

    fn transport(&self, hosts: &[u32]) -> MpiTransport {
        let ranks = (0..self.n_ranks).collect();
        MpiTransport::new(self.world, ranks, hosts, self.me, now)
    }

    fn team(&self, tree: &Wrappers, segment_bytes: usize) -> Team<MpiTransport> {
        let transport = self.transport(tree.hosts());
        // All of the host, whichever this process is bound to.
        // SAFETY: `sysconf` only asks.
        let n_cores = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        let n_cores = usize::try_from(n_cores).unwrap_or(1);
        let policy = WaitPolicy::for_cores(self.n_ranks as usize, n_cores);
        let options = TeamOptions {
            segment_bytes,
            ..TeamOptions::new(policy)
        };
        Team::new(transport, tree, options).expect("shared memory")
    }

    fn check(&self, first: u64, n: u64) {
        for seed in first..first + n {
            let mut random = Random::new(seed);
            let tree = random_tree(&mut random, self.n_ranks as usize);
            let mut team = self.team(&tree, [144, 1000, 8192][random.below(3)]);
            for nth in 0..20 {
                let call = Call::random(&mut random, self.n_ranks as usize);
                let got = call.got(&mut team, self.n_ranks, self.me);
                if let Some(expected) = call.expected(&tree, self.me) {
                    let rank = self.me;
                    assert!(
                        got == expected,
                        "seed {seed}, rank {rank}, call {nth}: {call:?}"
                    );
                }
            }
        }
        println!("rank {}: {n} trees", self.me);
    }

    /// As [`check`](Self::check), with threads of processes as ranks.
    fn check_threads(&self, first: u64, n: u64) {
        const N_THREADS: u32 = 3;
        assert!(self.allows_threads, "MPI_THREAD_MULTIPLE");
        for seed in first..first + n {
            let mut random = Random::new(seed);
            let hosts: Vec<u32> = (0..self.n_ranks).map(|_| random.below(3) as u32).collect();
            let of_threads = hosts.iter().flat_map(|&host| [host; N_THREADS as usize]);
            let tree = random_tree_on(&mut random, of_threads.collect());
            let n_ranks = tree.n_ranks();
            let calls: Vec<Call> = (0..20)
                .map(|_| Call::random(&mut random, n_ranks as usize))
                .collect();
            let transports = ThreadTransport::of_process(N_THREADS, || self.transport(&hosts));
            std::thread::scope(|scope| {
                for transport in transports {
                    let (tree, calls) = (&tree, &calls);
                    scope.spawn(move || {
                        let rank = transport.rank();
                        let options = TeamOptions::new(WaitPolicy::for_cores(2, 1));
                        let mut team = Team::new(transport, tree, options).expect("shared memory");
                        for call in calls {
                            let got = call.got(&mut team, n_ranks, rank);
                            if let Some(expected) = call.expected(tree, rank) {
                                assert!(got == expected, "seed {seed}, rank {rank}: {call:?}");
                            }
                        }
                    });
                }
            });
        }
        println!("rank {}: {n} trees", self.me);
    }

    /// Rank 0 has a large send under way while it waits for rank 1, who receives it first.
    fn outstanding(&self) {
        const BYTES: usize = 4 << 20;
        let Library { constants, .. } = self.library;
        let mut request: Word = 0;
        let request = std::ptr::from_mut(&mut request) as Word;
        for collective in Collective::ALL {
            let tree = exchange(2, Collectors::NONE);
            let mut team = self.team(&tree, 8192);
            let mut bytes = vec![self.me as u8; BYTES];
            let (buffer, comm) = (bytes.as_mut_ptr() as Word, constants.comm_world);
            if self.me == 0 {
                call_mpi!(self.library, c"PMPI_Isend";
                    buffer, BYTES, constants.byte, 1, 5, comm, request);
            } else {
                call_mpi!(self.library, c"PMPI_Recv";
                    buffer, BYTES, constants.byte, 0, 5, comm, constants.status_ignore);
                assert!(bytes.iter().all(|&byte| byte == 0));
            }
            rank_0_waits(&mut team, collective, self.me).expect("equal lengths");
            if self.me == 0 {
                call_mpi!(self.library, c"PMPI_Wait"; request, constants.status_ignore);
            }
        }
        println!("rank {}: no operation hung", self.me);
    }

    /// Times an operation over the library and over trees, in turns.
    fn time(&self, collective: Collective, bytes: usize, n_calls: usize) {
        const N_ROUNDS: usize = 40;
        let flat = exchange(self.n_ranks, Collectors::NONE);
        let joined = gred(self.n_ranks);
        let collected = with_collectors(&joined, || true);
        let mut teams = [flat, joined, collected].map(|tree| self.team(&tree, 8192));
        teams[2].set_collect(Some(Box::new(|pass| {
            std::hint::black_box(pass);
        })));
        let mut timed = Timed {
            process: self,
            collective,
            given: vec![1; bytes],
            result: vec![0; bytes],
            sum: Kernel::new(Reduction::Sum, Elements::Double).expect("MPI defines it"),
        };
        let names = ["library", "exchange", "gred", "gred, all collectors"];
        let mut loops = [(); 4].map(|()| Vec::new());
        let mut spans = [(); 4].map(|()| Vec::new());
        for _ in 0..N_ROUNDS {
            for which in 0..names.len() {
                teams[0].barrier().expect("no lengths");
                let begin = now();
                for _ in 0..n_calls {
                    timed.call(&mut teams, which);
                }
                loops[which].push((now() - begin) / n_calls as u64);
                let mut stamps = Vec::with_capacity(2 * n_calls);
                for _ in 0..n_calls {
                    teams[0].barrier().expect("no lengths");
                    stamps.push(now());
                    timed.call(&mut teams, which);
                    stamps.push(now());
                }
                spans[which].extend(self.first_enter_to_last_leave(&mut teams[0], &stamps));
            }
        }
        if self.me == 0 {
            let loops = loops.map(median);
            let spans = spans.map(median);
            let ratio = |times: &[u64; 4], which| times[which] as f64 / times[0].max(1) as f64;
            for (which, name) in names.into_iter().enumerate() {
                println!(
                    "{name}: in a loop {} ns ({:.2}), from first enter to last leave {} ns ({:.2})",
                    loops[which],
                    ratio(&loops, which),
                    spans[which],
                    ratio(&spans, which)
                );
            }
        }
    }

    /// Of each call, from the stamps of all processes: one at enter, one at leave.
    fn first_enter_to_last_leave(&self, team: &mut Team<MpiTransport>, stamps: &[u64]) -> Vec<u64> {
        let own: Vec<u8> = stamps
            .iter()
            .flat_map(|stamp| stamp.to_ne_bytes())
            .collect();
        let mut all = vec![0; own.len() * self.n_ranks as usize];
        team.allgather(Some(&own), &mut all).expect("equal lengths");
        let all: Vec<u64> = all
            .as_chunks()
            .0
            .iter()
            .map(|word| u64::from_ne_bytes(*word))
            .collect();
        let of_ranks: Vec<&[u64]> = all.chunks(stamps.len()).collect();
        let calls = (0..stamps.len()).step_by(2).map(|enter| {
            let enters = of_ranks.iter().map(|of_rank| of_rank[enter]);
            let leaves = of_ranks.iter().map(|of_rank| of_rank[enter + 1]);
            leaves.max().unwrap_or(0) - enters.min().unwrap_or(0)
        });
        calls.collect()
    }
}

fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times[times.len() / 2]
}

/// An operation to be timed.
struct Timed<'a> {
    process: &'a Process,
    collective: Collective,
    given: Vec<u8>,
    result: Vec<u8>,
    sum: Kernel,
}

impl Timed<'_> {
    /// Calls it over the library (0) or one of the trees.
    fn call(&mut self, teams: &mut [Team<MpiTransport>; 3], which: usize) {
        let Library {
            constants,
            double,
            sum,
            ..
        } = self.process.library;
        let (given, result) = (
            self.given.as_ptr() as Word,
            self.result.as_mut_ptr() as Word,
        );
        let (count, comm) = (self.given.len() / 8, constants.comm_world);
        let Some(team) = which.checked_sub(1).map(|nth| &mut teams[nth]) else {
            let functions = &self.process.library.timed;
            // SAFETY: the buffers have as many bytes as the calls say.
            let code = unsafe {
                match self.collective {
                    Collective::Bcast => (functions.bcast)(result, count, double, 0, comm),
                    Collective::Barrier => (functions.barrier)(comm),
                    _ => (functions.allreduce)(given, result, count, double, sum, comm),
                }
            };
            assert_eq!(code, 0);
            return;
        };
        let done = match self.collective {
            Collective::Bcast => team.bcast(&mut self.result, 0),
            Collective::Barrier => team.barrier(),
            _ => {
                let buffers = Buffers::Two(&self.given, &mut self.result);
                team.allreduce(buffers, &mut self.sum)
            }
        };
        done.expect("equal lengths");
    }
}

/// The clock of the host, ns.
fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: there is room for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn wrapper(
    kind: WrapperKind,
    contributors: Vec<Contributor>,
    parent: Option<u32>,
    collectors: Collectors,
) -> Wrapper {
    Wrapper {
        kind,
        owner: 0,
        contributors,
        parent,
        level: Level::Rank,
        collectors,
    }
}

/// One host on which all read what all have given.
fn exchange(n_ranks: u32, collectors: Collectors) -> Wrappers {
    let ranks = (0..n_ranks).map(Contributor::Rank).collect();
    let wrappers = vec![wrapper(WrapperKind::Exchange, ranks, None, collectors)];
    Wrappers::new(vec![0; n_ranks as usize], wrappers).expect("a whole tree")
}

/// One host where the last that arrives combines.
fn gred(n_ranks: u32) -> Wrappers {
    let ranks = (0..n_ranks).map(Contributor::Rank).collect();
    let joined = vec![Contributor::Wrapper(0)];
    let wrappers = vec![
        wrapper(WrapperKind::Gred, ranks, Some(1), Collectors::NONE),
        wrapper(WrapperKind::Core, joined, None, Collectors::NONE),
    ];
    Wrappers::new(vec![0; n_ranks as usize], wrappers).expect("a whole tree")
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |nth: usize| -> u64 {
        let given = arguments.get(nth).and_then(|number| number.parse().ok());
        given.expect("a number")
    };
    let what = arguments.first().map(String::as_str);
    let process = Process::begin(what == Some("threads"));
    match what {
        Some("check") => process.check(number(1), number(2)),
        Some("threads") => process.check_threads(number(1), number(2)),
        Some("outstanding") => process.outstanding(),
        Some("time") => {
            let named = |operation: &Collective| {
                arguments
                    .get(1)
                    .is_some_and(|name| name == operation.name())
            };
            let operation = [
                Collective::Allreduce,
                Collective::Bcast,
                Collective::Barrier,
            ]
            .into_iter()
            .find(named);
            let operation = operation.expect("allreduce, bcast or barrier");
            process.time(operation, number(2) as usize, number(3) as usize);
        }
        _ => panic!(
            "check FIRST COUNT, threads FIRST COUNT, outstanding, or time OPERATION BYTES CALLS"
        ),
    }
    process.end();
}
