//! The preloaded library: `MPI_X` and `PMPI_X` for every line of the table of routines.
//!
//! Both names are exported. (`C-unwind`: an exception that an error handler of the program throws
//! through MPI passes through the wrappers too.) C programs and most languages call `MPI_X`; the Fortran bindings of
//! Open MPI call `PMPI_X` from inside, and meet the same wrapper there. Arguments are forwarded
//! as opaque machine words (the upper half of a register that carries an `int` is undefined, and
//! is forwarded as it came), so the library links no MPI and serves every one.
//!
//! Loaded into every process below a recorded command, it does nothing at all until `MPI_Init`.

use std::ffi::c_int;

use collbench_formats::Operation;
use collbench_instrument::{
    ArgumentRole, HowMade, InitAnchor, RealFunction, call_narrowed, constructor_call,
    finalize_call, free_call, guarded_call, mpi_routines, name_communicator, payload,
    recorded_call, rooted_call, start_recording,
};

/// What a wrapper returns when the MPI library lacks the function: `MPI_ERR_OTHER`.
const NO_SUCH_FUNCTION: c_int = 16;

macro_rules! word {
    ($argument:ident) => {
        usize
    };
}

/// The name of a symbol as a C string.
macro_rules! symbol {
    ($name:expr) => {
        match std::ffi::CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!("a name without zeros"),
        }
    };
}

/// Calls the function at an address in the MPI library, with the arguments as they came.
macro_rules! call {
    ($address:ident; $($argument:ident),*) => {{
        if $address.is_null() {
            return NO_SUCH_FUNCTION;
        }
        // SAFETY: the MPI library's function of this name takes these arguments, each of which
        // fits a machine word; words are passed on as the caller passed them.
        #[allow(unused_unsafe, reason = "also used where the block around it is unsafe")]
        unsafe {
            let function = std::mem::transmute::<
                *mut std::ffi::c_void,
                unsafe extern "C-unwind" fn($(word!($argument)),*) -> c_int,
            >($address);
            function($($argument),*)
        }
    }};
}

/// Looks up the MPI library's own function `$symbol`; gives a closure that calls it.
macro_rules! real {
    ($symbol:expr; $($argument:ident),*) => {
        {
            static REAL: RealFunction = RealFunction::new(symbol!($symbol));
            // Looked up here, and not between the enter stamp and the call.
            let address = REAL.address();
            move || call!(address; $($argument),*)
        }
    };
}

/// What an argument of a large-count form is, by its name in the table.
macro_rules! role {
    (sendbuf) => {
        ArgumentRole::SendBuffer
    };
    (count) => {
        ArgumentRole::Count
    };
    (sendcount) => {
        ArgumentRole::Count
    };
    (recvcount) => {
        ArgumentRole::Count
    };
    (sendcounts) => {
        ArgumentRole::SendArray
    };
    (sdispls) => {
        ArgumentRole::SendArray
    };
    (recvcounts) => {
        ArgumentRole::ReceiveArray
    };
    (rdispls) => {
        ArgumentRole::ReceiveArray
    };
    ($other:ident) => {
        ArgumentRole::Word
    };
}

/// As `real!`, for `PMPI_X_c`; where the MPI library has none, its `PMPI_X` with narrowed counts.
macro_rules! real_large {
    ($name:ident, $comm:ident, $root:expr; $($argument:ident),*) => {
        {
            static LARGE: RealFunction =
                RealFunction::new(symbol!(concat!("P", stringify!($name), "_c")));
            static CLASSIC: RealFunction =
                RealFunction::new(symbol!(concat!("P", stringify!($name))));
            let large = LARGE.address();
            let classic = if large.is_null() { CLASSIC.address() } else { large };
            move || {
                if !large.is_null() {
                    return call!(large; $($argument),*);
                }
                let arguments = [$((role!($argument), $argument)),*];
                // SAFETY: the arguments are those of a large-count collective. Of the MPI
                // libraries without such forms only Open MPI is recorded.
                unsafe {
                    call_narrowed(&arguments, $comm, $root, |words| {
                        let [$($argument),*] = *words else { return NO_SUCH_FUNCTION };
                        call!(classic; $($argument),*)
                    })
                }
            }
        }
    };
}

/// Exports a wrapper under the two names of a routine.
macro_rules! export {
    ($name:expr; ($($argument:ident),*) $body:expr) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            extern "C-unwind" fn mpi($($argument: usize),*) -> c_int {
                $body
            }
            #[unsafe(export_name = concat!("P", $name))]
            extern "C-unwind" fn pmpi($($argument: usize),*) -> c_int {
                $body
            }
        };
    };
}

macro_rules! wrap {
    (
        plain { $($p:ident $po:ident ($($pa:ident),*) on $pc:ident payload $pp:ident($($px:ident),*);)* }
        unrooted { $($u:ident $uo:ident ($($ua:ident),*) on $uc:ident payload $up:ident($($ux:ident),*);)* }
        rooted { $($r:ident $ro:ident ($($ra:ident),*) on $rc:ident from $rr:ident payload $rp:ident($($rx:ident),*);)* }
        constructors { $($c:ident $co:ident ($($ca:ident),*) on $cc:ident makes $cn:ident how $ch:ident tag $ct:tt;)* }
        frees { $($f:ident $fo:ident ($fa:ident);)* }
        guards { $($g:ident ($($ga:ident),*);)* }
        process { $($o:ident $oo:ident ($($oa:ident),*);)* }
    ) => {
        $(export!(stringify!($p); ($($pa),*) recorded_call(
            Operation::$po, $pc, false,
            |call| payload::$pp(call, $($px),*),
            real!(concat!("P", stringify!($p)); $($pa),*),
        ));)*
        $(
            export!(stringify!($u); ($($ua),*) recorded_call(
                Operation::$uo, $uc, false,
                |call| payload::$up(call, $($ux),*),
                real!(concat!("P", stringify!($u)); $($ua),*),
            ));
            export!(concat!(stringify!($u), "_c"); ($($ua),*) recorded_call(
                Operation::$uo, $uc, true,
                |call| payload::$up(call, $($ux),*),
                real_large!($u, $uc, None; $($ua),*),
            ));
        )*
        $(
            export!(stringify!($r); ($($ra),*) rooted_call(
                Operation::$ro, $rc, $rr, false,
                |call| payload::$rp(call, $($rx),*),
                real!(concat!("P", stringify!($r)); $($ra),*),
            ));
            export!(concat!(stringify!($r), "_c"); ($($ra),*) rooted_call(
                Operation::$ro, $rc, $rr, true,
                |call| payload::$rp(call, $($rx),*),
                real_large!($r, $rc, Some($rr); $($ra),*),
            ));
        )*
        $(export!(stringify!($c); ($($ca),*) constructor_call(
            Operation::$co, HowMade::$ch, $cc, $ct as i32, $cn,
            real!(concat!("P", stringify!($c)); $($ca),*),
        ));)*
        $(export!(stringify!($f); ($fa) free_call(
            Operation::$fo, $fa, real!(concat!("P", stringify!($f)); $fa),
        ));)*
        $(export!(stringify!($g); ($($ga),*) guarded_call(
            real!(concat!("P", stringify!($g)); $($ga),*),
        ));)*
        $(wrap!(@process $oo stringify!($o); $($oa),*);)*
    };
    (@process Init $name:expr; $($a:ident),*) => {
        export!($name; ($($a),*) init(Operation::Init, real!(concat!("P", $name); $($a),*)));
    };
    (@process InitThread $name:expr; $($a:ident),*) => {
        export!($name; ($($a),*) init(Operation::InitThread, real!(concat!("P", $name); $($a),*)));
    };
    (@process CommSetName $name:expr; $comm:ident, $text:ident) => {
        export!($name; ($comm, $text) {
            let code = guarded_call(real!(concat!("P", $name); $comm, $text));
            if code == 0 {
                // SAFETY: MPI wants a C string here, and has just read it.
                unsafe { name_communicator($comm, $text) };
            }
            code
        });
    };
    (@process $op:ident $name:expr; $($a:ident),*) => {
        export!($name; ($($a),*) finalize_call(
            Operation::$op, real!(concat!("P", $name); $($a),*),
        ));
    };
}

mpi_routines!(wrap);

fn init(operation: Operation, real: impl FnOnce() -> c_int) -> c_int {
    let before = InitAnchor::take();
    let code = guarded_call(real);
    if code == 0 {
        start_recording(operation, before);
    }
    code
}
