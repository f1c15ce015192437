//! Operations over trees on the processes of an MPI library, compared with their definitions, and
//! timed beside the library's own.
//!
//! The library is loaded, not linked: whichever the launcher belongs to. Hosts are pretended: ranks
//! on different ones exchange messages.
//!
//!     mpirun -n N trees-under-mpi check FIRST COUNT    COUNT random trees from seed FIRST on
//!     mpirun -n 2 trees-under-mpi outstanding          a large send is under way in each operation
//!     mpirun -n N trees-under-mpi time BYTES CALLS     medians per call, ns, in interleaved rounds

// What the tests of the engine on threads use.
#[path = "../../../instrument/paths/tests/it/call.rs"]
mod call;
#[path = "../../../instrument/paths/tests/it/random.rs"]
mod random;
#[path = "../../../instrument/paths/tests/it/reference.rs"]
mod reference;

use std::ffi::{CStr, c_int, c_void};
use std::time::{Duration, Instant};

use collbench_formats::tree::{
    Collective, Collectors, Contributor, Level, Wrapper, WrapperKind, Wrappers,
};
use collbench_paths::{
    Buffers, Elements, Kernel, MpiConstants, MpiFunctions, MpiTransport, MpiWorld, Reduction, Team,
    TeamOptions, WaitPolicy, Word,
};

use call::{Call, rank_0_waits};
use random::{Random, random_tree, with_collectors};

/// The MPI library of this process.
struct Library {
    loaded: *mut c_void,
    constants: MpiConstants,
    /// `MPI_DOUBLE` and `MPI_SUM`.
    double: Word,
    sum: Word,
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
        }
    }

    fn find(&self, name: &CStr) -> *mut c_void {
        // SAFETY: the library is loaded, and the name is a C string.
        unsafe { libc::dlsym(self.loaded, name.as_ptr()) }
    }
}

/// One process of the run.
struct Process {
    library: Library,
    world: MpiWorld,
    me: u32,
    n_ranks: u32,
}

impl Process {
    fn begin() -> Self {
        let library = Library::load();
        call_mpi!(library, c"PMPI_Init"; 0, 0);
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
            library,
            me: me as u32,
            n_ranks: n_ranks as u32,
        }
    }

    fn end(self) {
        self.world.free().expect("the communicator is free");
        call_mpi!(self.library, c"PMPI_Finalize";);
    }

    fn team(&self, tree: &Wrappers, segment_bytes: usize) -> Team<MpiTransport> {
        let ranks = (0..self.n_ranks).collect();
        let transport = MpiTransport::new(self.world, ranks, tree.hosts(), self.me, now);
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

    /// Times sums of doubles over the library and over trees, in turns.
    fn time(&self, bytes: usize, n_calls: u32) {
        const N_ROUNDS: usize = 60;
        let flat = exchange(self.n_ranks, Collectors::NONE);
        let joined = gred(self.n_ranks);
        let collected = with_collectors(&joined, || true);
        let mut teams = [flat, joined, collected].map(|tree| self.team(&tree, 8192));
        teams[2].set_collect(Some(Box::new(|pass| {
            std::hint::black_box(pass);
        })));
        let mut sum = Kernel::new(Reduction::Sum, Elements::Double).expect("MPI defines it");
        let given = vec![1_u8; bytes];
        let mut result = vec![0_u8; bytes];
        let Library {
            double,
            sum: op,
            constants,
            ..
        } = self.library;
        // SAFETY: the function takes these six arguments.
        let allreduce = unsafe {
            std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(Word, Word, Word, Word, Word, Word) -> c_int,
            >(self.library.find(c"MPI_Allreduce"))
        };
        let names = ["library", "exchange", "gred", "gred, all collectors"];
        let mut times = [(); 4].map(|()| Vec::with_capacity(N_ROUNDS));
        for _ in 0..N_ROUNDS {
            for (which, times) in times.iter_mut().enumerate() {
                call_mpi!(self.library, c"PMPI_Barrier"; constants.comm_world);
                let begin = Instant::now();
                for _ in 0..n_calls {
                    if which == 0 {
                        let (from, to) = (given.as_ptr(), result.as_mut_ptr());
                        let comm = constants.comm_world;
                        // SAFETY: both buffers have as many bytes as the call says.
                        let code = unsafe {
                            allreduce(from as Word, to as Word, bytes / 8, double, op, comm)
                        };
                        assert_eq!(code, 0);
                    } else {
                        let buffers = Buffers::Two(&given, &mut result);
                        let team = &mut teams[which - 1];
                        team.allreduce(buffers, &mut sum).expect("equal lengths");
                    }
                }
                times.push(begin.elapsed() / n_calls);
            }
        }
        if self.me == 0 {
            let mut medians = times.map(|mut times| {
                times.sort_unstable();
                times[N_ROUNDS / 2]
            });
            let library = medians[0].max(Duration::from_nanos(1));
            for (name, median) in names.into_iter().zip(&mut medians) {
                let ratio = median.as_secs_f64() / library.as_secs_f64();
                println!(
                    "{name}: {} ns, {ratio:.2} of the library",
                    median.as_nanos()
                );
            }
        }
    }
}

/// The clock of event collectors here: ns since the first reading.
fn now() -> u64 {
    static BEGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
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
    let process = Process::begin();
    match arguments.first().map(String::as_str) {
        Some("check") => process.check(number(1), number(2)),
        Some("outstanding") => process.outstanding(),
        Some("time") => process.time(number(1) as usize, number(2) as u32),
        _ => panic!("check FIRST COUNT, outstanding, or time BYTES CALLS"),
    }
    process.end();
}
