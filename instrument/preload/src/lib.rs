//! The preloaded library: `MPI_X` and `PMPI_X` for every line of the table of routines.
//!
//! Both names are exported. C programs and most languages call `MPI_X`; the Fortran bindings of
//! Open MPI call `PMPI_X` from inside, and meet the same wrapper there. Arguments are forwarded
//! as opaque machine words (the upper half of a register that carries an `int` is undefined, and
//! is forwarded as it came), so the library links no MPI and serves every one.
//!
//! Loaded into every process below a recorded command, it does nothing at all until `MPI_Init`.

use std::ffi::c_int;

use collbench_formats::Operation;
use collbench_instrument::{
    HowMade, InitAnchor, RealFunction, constructor_call, finalize_call, free_call, guarded_call,
    mpi_routines, name_communicator, payload, recorded_call, rooted_call, start_recording,
};

/// What a wrapper returns when the MPI library lacks the function: `MPI_ERR_OTHER`.
const NO_SUCH_FUNCTION: c_int = 16;

macro_rules! word {
    ($argument:ident) => {
        usize
    };
}

/// Calls the MPI library's own function `$symbol` with the arguments as they came.
macro_rules! real {
    ($symbol:expr; $($argument:ident),*) => {
        || {
            static REAL: RealFunction = RealFunction::new(
                match std::ffi::CStr::from_bytes_with_nul(concat!($symbol, "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a symbol's name"),
                },
            );
            let address = REAL.address();
            if address.is_null() {
                return NO_SUCH_FUNCTION;
            }
            // SAFETY: the MPI library's function of this name takes these arguments, each of
            // which fits a machine word; words are passed on as the caller passed them.
            unsafe {
                let function = std::mem::transmute::<
                    *mut std::ffi::c_void,
                    unsafe extern "C" fn($(word!($argument)),*) -> c_int,
                >(address);
                function($($argument),*)
            }
        }
    };
}

/// Exports a wrapper under the two names of a routine.
macro_rules! export {
    ($name:expr; ($($argument:ident),*) $body:expr) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            extern "C" fn mpi($($argument: usize),*) -> c_int {
                $body
            }
            #[unsafe(export_name = concat!("P", $name))]
            extern "C" fn pmpi($($argument: usize),*) -> c_int {
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
        $(wrap!(@unrooted stringify!($p), false, $po ($($pa),*) $pc $pp($($px),*));)*
        $(
            wrap!(@unrooted stringify!($u), false, $uo ($($ua),*) $uc $up($($ux),*));
            wrap!(@unrooted concat!(stringify!($u), "_c"), true, $uo ($($ua),*) $uc $up($($ux),*));
        )*
        $(
            wrap!(@rooted stringify!($r), false, $ro ($($ra),*) $rc $rr $rp($($rx),*));
            wrap!(@rooted concat!(stringify!($r), "_c"), true, $ro ($($ra),*) $rc $rr $rp($($rx),*));
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
    (@unrooted $name:expr, $large:literal, $op:ident ($($a:ident),*) $comm:ident $payload:ident($($x:ident),*)) => {
        export!($name; ($($a),*) recorded_call(
            Operation::$op, $comm, $large,
            |call| payload::$payload(call, $($x),*),
            real!(concat!("P", $name); $($a),*),
        ));
    };
    (@rooted $name:expr, $large:literal, $op:ident ($($a:ident),*) $comm:ident $root:ident $payload:ident($($x:ident),*)) => {
        export!($name; ($($a),*) rooted_call(
            Operation::$op, $comm, $root, $large,
            |call| payload::$payload(call, $($x),*),
            real!(concat!("P", $name); $($a),*),
        ));
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
