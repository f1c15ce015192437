//! The preloaded library: `MPI_X` and `PMPI_X` for every line of the table of routines.
//!
//! It exports both names. (They are `C-unwind`, since an exception that an error handler of the
//! program throws through MPI also passes through the wrappers.) C programs and most languages call
//! `MPI_X`; the Fortran bindings of Open MPI call `PMPI_X` internally, and get to the same wrapper.
//! Arguments are forwarded as opaque machine words (the upper half of a register with an `int` is
//! undefined, and is forwarded unchanged), so the library links no MPI and works with every one.
//!
//! It is loaded into every process below a recorded command, and does nothing at all until
//! `MPI_Init`.

use std::ffi::c_int;

use collbench_formats::{Activity, CompletingCall, Operation, decode_meta};
use collbench_instrument::{
    Algorithm, ArgumentRole, CalledAs, CommunicatorIdentity, FileOrWindow, InitAnchor, Initiated,
    Peer, Peers, RealFunction, RequestCall, ReservedMemory, abort_call, access_begin_call,
    access_end_call, algorithm_call, begin_call, begin_own_call, begin_transfer_call,
    call_narrowed, closing_call, constructor_call, creation_call, creation_request, creation_start,
    creation_step, define_tree, end_call, end_own_call, endpoint_call, fence_call,
    file_or_window_call, free_call, get_status_call, group_constructor_call, guarded_call,
    is_inside_a_call, library_algorithms, mpi_routines, name_communicator, nonblocking_access_call,
    nonblocking_call, opening_call, own_address_call, payload, persistent_call, phase_call,
    poll_call, record_pass, recorded_call, request_free_call, rooted_call, send_call, some_call,
    start_call, start_recording, startall_call, tagged_receive, tagged_send, test_call,
    testall_call, testany_call, timed_call, wait_call, waitall_call, waitany_call,
};
use collbench_paths::Pass;
use collbench_version::{LIBRARY_NOTE, LibraryNote};

#[global_allocator]
static MEMORY: ReservedMemory = ReservedMemory;

/// The version of this library, which collbench-record compares with its own.
// SAFETY: the section holds notes only, and this is one.
#[used]
#[unsafe(link_section = ".note.collbench")]
static VERSION: LibraryNote = LIBRARY_NOTE;

/// The result of a wrapper if the MPI library lacks the function. Only a program that looks up
/// functions itself, and finds those of this library, can get here: mpi4py does, and this value
/// means "not available" to it, as without recording. For others it is an error code like any
/// other.
const NO_SUCH_FUNCTION: c_int = 0xaaaa_aaaa_u32 as c_int;

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

/// Calls the function at an address in the MPI library, with unchanged arguments.
macro_rules! call {
    ($address:ident; $($argument:ident),*) => {{
        // SAFETY: the MPI library's function of this name takes these arguments, each of which fits
        // a machine word; they are passed on as words, unchanged. The address was checked not to be
        // null before the call was recorded.
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

/// Looks up the MPI library's own function `$symbol`; returns a closure that calls it.
macro_rules! real {
    ($symbol:expr; $($argument:ident),*) => {
        {
            static REAL: RealFunction = RealFunction::wrapped(symbol!($symbol), CALLED_AS);
            // Looked up here, and not between the enter stamp and the call. If the library lacks
            // the function, the wrapper returns, and records nothing.
            let address = REAL.address();
            if address.is_null() {
                return NO_SUCH_FUNCTION;
            }
            move || call!(address; $($argument),*).into()
        }
    };
}

/// The role of an argument of a large-count form, by its name in the table.
macro_rules! role {
    (sendbuf) => {
        ArgumentRole::SendBuffer
    };
    (count) => {
        ArgumentRole::Count
    };
    (disp_unit) => {
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

/// Looks up `PMPI_X_c`; returns a closure that calls it, or, if the MPI library has no such
/// function, its `PMPI_X` with narrowed counts.
macro_rules! real_large {
    ($name:ident, $handle:ident; $($argument:ident),*) => {
        real_large!(stringify!($name), $handle, Peers::NoArrays; $($argument),*)
    };
    ($name:expr, $comm:ident, $peers:expr; $($argument:ident),*) => {
        {
            static LARGE: RealFunction = RealFunction::wrapped(symbol!(concat!("P", $name, "_c")), CALLED_AS);
            static CLASSIC: RealFunction = RealFunction::wrapped(symbol!(concat!("P", $name)), CALLED_AS);
            let large = LARGE.address();
            let classic = if large.is_null() { CLASSIC.address() } else { large };
            if classic.is_null() {
                return NO_SUCH_FUNCTION;
            }
            move || -> Initiated {
                if !large.is_null() {
                    return call!(large; $($argument),*).into();
                }
                let arguments = [$((role!($argument), $argument)),*];
                // SAFETY: the arguments are those of a large-count collective.
                unsafe {
                    call_narrowed(&arguments, $comm, $peers, |words| {
                        let [$($argument),*] = *words else { return NO_SUCH_FUNCTION };
                        call!(classic; $($argument),*)
                    })
                }
            }
        }
    };
}

/// Exports a wrapper under the two names of a routine.
///
/// Under `MPI_X` it is called before a tool's function, if there is one: the program's call is
/// recorded once, and the tool's own call of `PMPI_X` is passed on.
macro_rules! export {
    ($name:expr; ($($argument:ident),*) $body:expr) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            extern "C-unwind" fn mpi($($argument: usize),*) -> c_int {
                const CALLED_AS: CalledAs = CalledAs::Mpi;
                $body
            }
            #[unsafe(export_name = concat!("P", $name))]
            extern "C-unwind" fn pmpi($($argument: usize),*) -> c_int {
                const CALLED_AS: CalledAs = CalledAs::Pmpi;
                static PAST_TOOL: RealFunction =
                    RealFunction::past_tool(symbol!(concat!("P", $name)));
                let past_tool = PAST_TOOL.address_if_any();
                if !past_tool.is_null() && is_inside_a_call() {
                    return call!(past_tool; $($argument),*);
                }
                $body
            }
        };
    };
}

/// Exports the nonblocking and persistent wrappers of a collective, without large-count forms.
macro_rules! export_initiating {
    (
        $name:ident, $nonblocking:ident $n_op:ident, $extension:ident $p_op:ident
        ($($argument:ident),*) on $comm:ident from $root:expr,
        payload $payload:ident($($of:ident),*)
    ) => {
        export!(stringify!($nonblocking); ($($argument,)* request) nonblocking_call(
            RequestCall {
                operation: Operation::$n_op, on: $comm, root: $root, large: false, request,
            },
            |call| payload::$payload(call, $($of),*),
            real!(concat!("P", stringify!($nonblocking)); $($argument,)* request),
        ));
        export!(concat!(stringify!($name), "_init"); ($($argument,)* info, request) persistent_call(
            RequestCall {
                operation: Operation::$p_op, on: $comm, root: $root, large: false, request,
            },
            |call| payload::$payload(call, $($of),*),
            real!(concat!("P", stringify!($name), "_init"); $($argument,)* info, request),
        ));
        export!(stringify!($extension); ($($argument,)* info, request) persistent_call(
            RequestCall {
                operation: Operation::$p_op, on: $comm, root: $root, large: false, request,
            },
            |call| payload::$payload(call, $($of),*),
            real!(concat!("P", stringify!($extension)); $($argument,)* info, request),
        ));
    };
}

/// Exports the large-count forms of the nonblocking and persistent wrappers of a collective.
macro_rules! export_initiating_large {
    (
        $name:ident, $nonblocking:ident $n_op:ident, $extension:ident $p_op:ident
        ($($argument:ident),*) on $comm:ident from $root:expr, among $peers:expr,
        payload $payload:ident($($of:ident),*)
    ) => {
        export!(concat!(stringify!($nonblocking), "_c"); ($($argument,)* request) nonblocking_call(
            RequestCall {
                operation: Operation::$n_op, on: $comm, root: $root, large: true, request,
            },
            |call| payload::$payload(call, $($of),*),
            real_large!(
                stringify!($nonblocking), $comm, $peers;
                $($argument,)* request
            ),
        ));
        export!(concat!(stringify!($name), "_init_c"); ($($argument,)* info, request) persistent_call(
            RequestCall {
                operation: Operation::$p_op, on: $comm, root: $root, large: true, request,
            },
            |call| payload::$payload(call, $($of),*),
            real_large!(
                concat!(stringify!($name), "_init"), $comm, $peers;
                $($argument,)* info, request
            ),
        ));
    };
}

/// Exports all wrappers of a collective without a root.
macro_rules! export_unrooted {
    (
        $name:ident $op:ident, $nonblocking:ident $n_op:ident, $extension:ident $p_op:ident
        ($($argument:ident),*) on $comm:ident among $peers:expr,
        payload $payload:ident($($of:ident),*)
    ) => {
        export!(stringify!($name); ($($argument),*) recorded_call(
            Operation::$op, $comm, false,
            |call| payload::$payload(call, $($of),*),
            real!(concat!("P", stringify!($name)); $($argument),*),
        ));
        export!(concat!(stringify!($name), "_c"); ($($argument),*) {
            let real = real_large!(
                stringify!($name), $comm, $peers; $($argument),*
            );
            recorded_call(
                Operation::$op, $comm, true,
                |call| payload::$payload(call, $($of),*),
                move || real().code(),
            )
        });
        export_initiating!(
            $name, $nonblocking $n_op, $extension $p_op ($($argument),*) on $comm from None,
            payload $payload($($of),*)
        );
        export_initiating_large!(
            $name, $nonblocking $n_op, $extension $p_op
            ($($argument),*) on $comm from None, among $peers, payload $payload($($of),*)
        );
    };
}

macro_rules! wrap {
    (
        plain { $($p:ident $po:ident, $pi:ident $pio:ident, $px:ident $pxo:ident ($($pa:ident),*) on $pc:ident payload $pp:ident($($py:ident),*);)* }
        unrooted { $($u:ident $uo:ident, $ui:ident $uio:ident, $ux:ident $uxo:ident ($($ua:ident),*) on $uc:ident payload $up:ident($($uy:ident),*);)* }
        rooted { $($r:ident $ro:ident, $ri:ident $rio:ident, $rx:ident $rxo:ident ($($ra:ident),*) on $rc:ident from $rr:ident payload $rp:ident($($ry:ident),*);)* }
        neighborhood { $($n:ident $no:ident, $ni:ident $nio:ident, $nx:ident $nxo:ident ($($na:ident),*) on $nc:ident payload $np:ident($($ny:ident),*);)* }
        constructors { $($c:ident $co:ident ($($ca:ident),*) on $cc:ident makes $cn:ident how $ch:ident tag $ct:tt;)* }
        group_constructors { $($x:ident $xo:ident ($($xa:ident),*) makes $xn:ident tag $xt:tt;)* }
        nonblocking_constructors { $($d:ident $do:ident ($($da:ident),*) on $dc:ident makes $dn:ident with $dr:ident;)* }
        frees { $($f:ident $fo:ident ($fa:ident);)* }
        openings { $($b:ident $bo:ident ($($ba:ident),*) on $bc:ident opens $bk:ident $bh:ident;)* }
        large_openings { $($l:ident $lo:ident ($($la:ident),*) on $lc:ident opens $lk:ident $lh:ident;)* }
        closings { $($e:ident $eo:ident ($ea:ident) of $ek:ident;)* }
        settings { $($s:ident $so:ident ($($sa:ident),*) of $sk:ident $sh:ident;)* }
        fences { $($m:ident $mo:ident ($ma:ident, $mw:ident);)* }
        accesses { $($a:ident $ao:ident ($af:ident, $($aa:ident),*) payload $ap:ident($($ay:ident),*);)* }
        nonblocking_accesses { $($j:ident $jo:ident ($jf:ident, $($ja:ident),*) payload $jp:ident($($jy:ident),*) leaves $jr:ident;)* }
        split_accesses { $($k:ident $ko:ident ($kf:ident, $($ka:ident),*) payload $kp:ident($($ky:ident),*), $z:ident $zo:ident ($zf:ident, $($za:ident),*);)* }
        sends { $($y:ident ($yb:ident, $yn:ident, $yt:ident, $($ya:ident),*) about $yp:ident of $yc:ident;)* }
        transfers { $($t:ident ($($ta:ident),*) about $tp:ident of $tc:ident status $ts:tt;)* }
        begun_transfers { $($i:ident ($($ia:ident),*) about $ip:ident of $ic:ident receives $is:ident;)* }
        probes { $($v:ident ($($va:ident),*) about $vp:ident of $vc:ident status $vs:ident;)* }
        polls { $($w:ident ($($wa:ident),*) about $wp:ident of $wc:ident status $ws:ident flag $wf:ident;)* }
        large_timed { $($h:ident $ho:ident ($hf:ident, $($ha:ident),*);)* }
        timed { $($g:ident $go:ident ($($ga:ident),*);)* }
        requests { $($q:ident ($($qa:ident),*) by $qf:ident($($qx:expr),*);)* }
        process { $($o:ident $oo:ident ($($oa:ident),*);)* }
    ) => {
        $(
            export!(stringify!($p); ($($pa),*) recorded_call(
                Operation::$po, $pc, false,
                |call| payload::$pp(call, $($py),*),
                real!(concat!("P", stringify!($p)); $($pa),*),
            ));
            export_initiating!(
                $p, $pi $pio, $px $pxo ($($pa),*) on $pc from None, payload $pp($($py),*)
            );
        )*
        $(export_unrooted!(
            $u $uo, $ui $uio, $ux $uxo ($($ua),*) on $uc among Peers::All, payload $up($($uy),*)
        );)*
        $(
            export!(stringify!($r); ($($ra),*) rooted_call(
                Operation::$ro, $rc, $rr, false,
                |call| payload::$rp(call, $($ry),*),
                real!(concat!("P", stringify!($r)); $($ra),*),
            ));
            export!(concat!(stringify!($r), "_c"); ($($ra),*) {
                let real = real_large!(
                    stringify!($r), $rc, Peers::AllAtRoot($rr); $($ra),*
                );
                rooted_call(
                    Operation::$ro, $rc, $rr, true,
                    |call| payload::$rp(call, $($ry),*),
                    move || real().code(),
                )
            });
            export_initiating!(
                $r, $ri $rio, $rx $rxo ($($ra),*) on $rc from Some($rr), payload $rp($($ry),*)
            );
            export_initiating_large!(
                $r, $ri $rio, $rx $rxo ($($ra),*) on $rc from Some($rr),
                among Peers::AllAtRoot($rr), payload $rp($($ry),*)
            );
        )*
        $(export_unrooted!(
            $n $no, $ni $nio, $nx $nxo ($($na),*) on $nc among Peers::Neighbours,
            payload $np($($ny),*)
        );)*
        $(export!(stringify!($c); ($($ca),*) constructor_call(
            Operation::$co, CommunicatorIdentity::$ch, $cc, $ct as i32, $cn, None,
            real!(concat!("P", stringify!($c)); $($ca),*),
        ));)*
        $(export!(stringify!($x); ($($xa),*) {
            let real = real!(concat!("P", stringify!($x)); $($xa),*);
            // SAFETY: MPI requires a C string as the tag.
            unsafe { group_constructor_call(Operation::$xo, $xt, $xn, real) }
        });)*
        $(wrap!(@nonblocking_constructor $do stringify!($d); ($($da),*) $dc $dn $dr);)*
        $(export!(stringify!($f); ($fa) free_call(
            Operation::$fo, $fa, real!(concat!("P", stringify!($f)); $fa),
        ));)*
        $(export!(stringify!($b); ($($ba),*) opening_call(
            FileOrWindow::$bk, Operation::$bo, $bc, $bh, real!(concat!("P", stringify!($b)); $($ba),*),
        ));)*
        $(
            export!(stringify!($l); ($($la),*) opening_call(
                FileOrWindow::$lk, Operation::$lo, $lc, $lh,
                real!(concat!("P", stringify!($l)); $($la),*),
            ));
            export!(concat!(stringify!($l), "_c"); ($($la),*) {
                let real = real_large!($l, $lc; $($la),*);
                opening_call(FileOrWindow::$lk, Operation::$lo, $lc, $lh, move || real().code())
            });
        )*
        $(export!(stringify!($e); ($ea) closing_call(
            FileOrWindow::$ek, Operation::$eo, $ea, real!(concat!("P", stringify!($e)); $ea),
        ));)*
        $(export!(stringify!($s); ($($sa),*) file_or_window_call(
            FileOrWindow::$sk, Operation::$so, $sh, false, payload::nothing,
            real!(concat!("P", stringify!($s)); $($sa),*),
        ));)*
        $(export!(stringify!($m); ($ma, $mw) fence_call(
            $ma, $mw, real!(concat!("P", stringify!($m)); $ma, $mw),
        ));)*
        $(
            export!(stringify!($a); ($af, $($aa),*) file_or_window_call(
                FileOrWindow::File, Operation::$ao, $af, false, |call| payload::$ap(call, $($ay),*),
                real!(concat!("P", stringify!($a)); $af, $($aa),*),
            ));
            export!(concat!(stringify!($a), "_c"); ($af, $($aa),*) {
                let real = real_large!($a, $af; $af, $($aa),*);
                file_or_window_call(
                    FileOrWindow::File, Operation::$ao, $af, true, |call| payload::$ap(call, $($ay),*),
                    move || real().code(),
                )
            });
        )*
        $(
            export!(stringify!($j); ($jf, $($ja),*) nonblocking_access_call(
                RequestCall {
                    operation: Operation::$jo, on: $jf, root: None, large: false, request: $jr,
                },
                |call| payload::$jp(call, $($jy),*),
                real!(concat!("P", stringify!($j)); $jf, $($ja),*),
            ));
            export!(concat!(stringify!($j), "_c"); ($jf, $($ja),*) {
                let real = real_large!($j, $jf; $jf, $($ja),*);
                nonblocking_access_call(
                    RequestCall {
                        operation: Operation::$jo, on: $jf, root: None, large: true, request: $jr,
                    },
                    |call| payload::$jp(call, $($jy),*),
                    move || real().code(),
                )
            });
        )*
        $(
            export!(stringify!($k); ($kf, $($ka),*) access_begin_call(
                Operation::$ko, $kf, false, |call| payload::$kp(call, $($ky),*),
                real!(concat!("P", stringify!($k)); $kf, $($ka),*),
            ));
            export!(concat!(stringify!($k), "_c"); ($kf, $($ka),*) {
                let real = real_large!($k, $kf; $kf, $($ka),*);
                access_begin_call(
                    Operation::$ko, $kf, true, |call| payload::$kp(call, $($ky),*),
                    move || real().code(),
                )
            });
            export!(stringify!($z); ($zf, $($za),*) access_end_call(
                CompletingCall::$zo, $zf, real!(concat!("P", stringify!($z)); $zf, $($za),*),
            ));
        )*
        $(
            export!(stringify!($y); ($yb, $yn, $yt, $($ya),*) send_call(
                $yn, $yt, Peer { comm: $yc, rank: $yp as i32, status: 0 },
                real!(concat!("P", stringify!($y)); $yb, $yn, $yt, $($ya),*),
            ));
            export!(concat!(stringify!($y), "_c"); ($yb, $yn, $yt, $($ya),*) {
                let real = real_large!($y, $yc; $yb, $yn, $yt, $($ya),*);
                timed_call(
                    Activity::PointToPoint, Peer { comm: $yc, rank: $yp as i32, status: 0 },
                    move || real().code(),
                )
            });
        )*
        $(wrap!(@begun_transfer stringify!($i); $i; ($($ia),*) $ip $ic $is);)*
        $(
            export!(stringify!($t); ($($ta),*) timed_call(
                Activity::PointToPoint, Peer { comm: $tc, rank: $tp as i32, status: $ts },
                real!(concat!("P", stringify!($t)); $($ta),*),
            ));
            export!(concat!(stringify!($t), "_c"); ($($ta),*) {
                let real = real_large!($t, $tc; $($ta),*);
                timed_call(
                    Activity::PointToPoint, Peer { comm: $tc, rank: $tp as i32, status: $ts },
                    move || real().code(),
                )
            });
        )*
        $(export!(stringify!($v); ($($va),*) timed_call(
            Activity::PointToPoint, Peer { comm: $vc, rank: $vp as i32, status: $vs },
            real!(concat!("P", stringify!($v)); $($va),*),
        ));)*
        $(export!(stringify!($w); ($($wa),*) poll_call(
            Peer { comm: $wc, rank: $wp as i32, status: $ws }, $wf,
            real!(concat!("P", stringify!($w)); $($wa),*),
        ));)*
        $(
            export!(stringify!($h); ($hf, $($ha),*) timed_call(
                Activity::$ho, Peer::UNKNOWN, real!(concat!("P", stringify!($h)); $hf, $($ha),*),
            ));
            export!(concat!(stringify!($h), "_c"); ($hf, $($ha),*) {
                let real = real_large!($h, $hf; $hf, $($ha),*);
                timed_call(Activity::$ho, Peer::UNKNOWN, move || real().code())
            });
        )*
        $(export!(stringify!($g); ($($ga),*) timed_call(
            Activity::$go, Peer::UNKNOWN, real!(concat!("P", stringify!($g)); $($ga),*),
        ));)*
        $(export!(stringify!($q); ($($qa),*) $qf(
            $($qx,)* real!(concat!("P", stringify!($q)); $($qa),*),
        ));)*
        $(wrap!(@process $oo stringify!($o); $($oa),*);)*
    };
    (@begun_transfer $name:expr; $i:ident; ($b:ident, $n:ident, $t:ident, $p:ident, $g:ident, $c:ident, $request:ident) $peer:ident $comm:ident $receives:ident) => {
        export!($name; ($b, $n, $t, $p, $g, $c, $request) begin_transfer_call(
            $request, $receives, Peer { comm: $comm, rank: $peer as i32, status: 0 },
            real!(concat!("P", $name); $b, $n, $t, $p, $g, $c, $request),
        ));
        export!(concat!($name, "_c"); ($b, $n, $t, $p, $g, $c, $request) {
            let real = real_large!($i, $comm; $b, $n, $t, $p, $g, $c, $request);
            begin_transfer_call(
                $request, $receives, Peer { comm: $comm, rank: $peer as i32, status: 0 },
                move || real().code(),
            )
        });
    };
    (@nonblocking_constructor CommIdup $name:expr; ($($a:ident),*) $comm:ident $made:ident $request:ident) => {
        export!($name; ($($a),*) constructor_call(
            Operation::CommIdup, CommunicatorIdentity::Copy, $comm, 0, $made, Some($request),
            real!(concat!("P", $name); $($a),*),
        ));
    };
    // MPI libraries before MPI 4 lack this function. Programs that look for it find it here, which
    // works, since an info is only a hint.
    (@nonblocking_constructor CommIdupWithInfo $name:expr; ($($a:ident),*) $comm:ident $made:ident $request:ident) => {
        export!($name; ($($a),*) {
            static WITH_INFO: RealFunction = RealFunction::wrapped(symbol!(concat!("P", $name)), CALLED_AS);
            static WITHOUT: RealFunction = RealFunction::wrapped(c"PMPI_Comm_idup", CALLED_AS);
            let (with_info, without) = (WITH_INFO.address(), WITHOUT.address());
            if with_info.is_null() && without.is_null() {
                return NO_SUCH_FUNCTION;
            }
            // The operation that is recorded is the one that is called.
            let operation = if with_info.is_null() { Operation::CommIdup } else { Operation::CommIdupWithInfo };
            constructor_call(
                operation, CommunicatorIdentity::Copy, $comm, 0, $made, Some($request),
                move || if with_info.is_null() { call!(without; $comm, $made, $request) } else { call!(with_info; $($a),*) },
            )
        });
    };
    // The standard gives it any number of arguments, which implementations do not read. Those in
    // integer registers are passed on.
    (@process Pcontrol $name:expr; $level:ident, $($a:ident),*) => {
        export!($name; ($level, $($a),*) {
            static REAL: RealFunction = RealFunction::wrapped(symbol!(concat!("P", $name)), CALLED_AS);
            let address = REAL.address();
            if address.is_null() {
                return NO_SUCH_FUNCTION;
            }
            phase_call($level, move || {
                // SAFETY: the MPI library's function takes an int and further arguments.
                unsafe {
                    let function = std::mem::transmute::<
                        *mut std::ffi::c_void,
                        unsafe extern "C-unwind" fn(c_int, ...) -> c_int,
                    >(address);
                    function($level as c_int, $($a),*)
                }
            })
        });
    };
    (@process Init $name:expr; $($a:ident),*) => { wrap!(@begin Init $name; $($a),*); };
    (@process InitThread $name:expr; $($a:ident),*) => { wrap!(@begin InitThread $name; $($a),*); };
    (@process SessionInit $name:expr; $($a:ident),*) => {
        wrap!(@begin SessionInit $name; $($a),*);
    };
    (@begin $op:ident $name:expr; $($a:ident),*) => {
        export!($name; ($($a),*) begin_call(
            InitAnchor::take,
            real!(concat!("P", $name); $($a),*),
            |before| start_recording(Operation::$op, before),
        ));
    };
    (@process Abort $name:expr; $($a:ident),*) => {
        export!($name; ($($a),*) abort_call(real!(concat!("P", $name); $($a),*)));
    };
    (@process CommSetName $name:expr; $comm:ident, $text:ident) => {
        export!($name; ($comm, $text) {
            let code = guarded_call(real!(concat!("P", $name); $comm, $text));
            if code == 0 {
                // SAFETY: MPI requires a C string here, and has just read it.
                unsafe { name_communicator($comm, $text) };
            }
            code
        });
    };
    (@process $op:ident $name:expr; $($a:ident),*) => {
        export!($name; ($($a),*) end_call(
            Operation::$op, real!(concat!("P", $name); $($a),*),
        ));
    };
}

mpi_routines!(wrap);

/// Exports a function for each algorithm of Open MPI, called before the library's own.
///
/// They take up to twelve arguments, most in registers and the rest on the stack. For a function
/// that takes fewer, the remaining ones are undefined; they are passed on and not read.
macro_rules! export_algorithms {
    ($($name:ident;)*) => {
        $(const _: () = {
            #[unsafe(export_name = stringify!($name))]
            #[allow(clippy::too_many_arguments, reason = "those of the library's function")]
            extern "C-unwind" fn algorithm(
                a: usize, b: usize, c: usize, d: usize, e: usize, f: usize,
                g: usize, h: usize, i: usize, j: usize, k: usize, l: usize,
            ) -> c_int {
                static ALGORITHM: Algorithm = Algorithm::new(stringify!($name));
                static REAL: RealFunction = RealFunction::new(symbol!(stringify!($name)));
                let address = REAL.address();
                if address.is_null() {
                    return NO_SUCH_FUNCTION;
                }
                algorithm_call(
                    &ALGORITHM,
                    move || call!(address; a, b, c, d, e, f, g, h, i, j, k, l),
                )
            }
        };)*
    };
}

library_algorithms!(export_algorithms);

/// Exports a function of Open MPI that creates communicators, called before the library's own, in
/// the same way as those of algorithms; `$real` is a closure that calls the library's.
macro_rules! export_creation {
    ($($name:ident |$a:ident, $c:ident, $d:ident, $real:ident| $body:expr;)*) => {
        $(const _: () = {
            #[unsafe(export_name = stringify!($name))]
            #[allow(clippy::too_many_arguments, reason = "those of the library's function")]
            extern "C-unwind" fn creation(
                $a: usize, b: usize, $c: usize, $d: usize, e: usize, f: usize,
                g: usize, h: usize, i: usize, j: usize, k: usize, l: usize,
            ) -> c_int {
                static REAL: RealFunction = RealFunction::new(symbol!(stringify!($name)));
                let address = REAL.address();
                if address.is_null() {
                    return NO_SUCH_FUNCTION;
                }
                let $real = move || call!(address; $a, b, $c, $d, e, f, g, h, i, j, k, l);
                $body
            }
        };)*
    };
}

export_creation! {
    ompi_comm_set |a, c, d, real| creation_call(real);
    ompi_comm_idup |a, c, d, real| creation_call(real);
    ompi_comm_idup_with_info |a, c, d, real| creation_call(real);
    ompi_comm_nextcid |a, c, d, real| creation_call(real);
    ompi_comm_activate |a, c, d, real| creation_call(real);
    ompi_comm_activate_nb |a, c, d, real| creation_start(real);
    // SAFETY: the arguments are an address and a number of requests, unchanged.
    ompi_comm_request_schedule_append |a, c, d, real| unsafe { creation_step(a, c, d, real) };
}

const _: () = {
    #[unsafe(export_name = "ompi_comm_request_get")]
    extern "C-unwind" fn creation_request_wrapper() -> usize {
        static REAL: RealFunction = RealFunction::new(c"ompi_comm_request_get");
        let address = REAL.address();
        if address.is_null() {
            return 0;
        }
        creation_request(move || {
            // SAFETY: the library's function of this name takes no arguments and returns an
            // address.
            unsafe {
                let function = std::mem::transmute::<
                    *mut std::ffi::c_void,
                    unsafe extern "C-unwind" fn() -> usize,
                >(address);
                function()
            }
        })
    }
};

/// Calls a function of UCX at an address, with unchanged arguments.
macro_rules! call_ucx {
    ($address:ident -> $result:ty; $($argument:ident),*) => {{
        // SAFETY: UCX's function of this name takes these arguments, each of which fits a machine
        // word. They are passed on as words, unchanged, but for a structure that a copy may
        // replace.
        #[allow(unused_unsafe, reason = "also used where the block around it is unsafe")]
        unsafe {
            let function = std::mem::transmute::<
                *mut std::ffi::c_void,
                unsafe extern "C-unwind" fn($(word!($argument)),*) -> $result,
            >($address);
            function($($argument),*)
        }
    }};
}

/// `UCS_ERR_UNSUPPORTED`: returned where there is no UCX, so that nobody calls this.
const UNSUPPORTED: c_int = -22;

/// Exports a function of UCX; `$real` is a closure that calls UCX's own.
macro_rules! export_ucx {
    ($name:ident ($($argument:ident),*) -> $result:ty; |$address:ident| $body:expr) => {
        const _: () = {
            #[unsafe(export_name = stringify!($name))]
            extern "C-unwind" fn ucx($($argument: usize),*) -> $result {
                static REAL: RealFunction = RealFunction::below_mpi(symbol!(stringify!($name)));
                let $address = REAL.address();
                if $address.is_null() {
                    return UNSUPPORTED as $result;
                }
                $body
            }
        };
    };
}

export_ucx!(ucp_ep_create(worker, parameters, place) -> c_int; |address| {
    // SAFETY: these are the arguments of the function, unchanged.
    unsafe {
        endpoint_call(
            worker, parameters, place,
            || call_ucx!(address -> c_int; worker, parameters, place),
        )
    }
});
export_ucx!(ucp_worker_get_address(worker, place, length) -> c_int; |address| {
    // SAFETY: these are the arguments of the function, unchanged.
    unsafe {
        own_address_call(
            place, length,
            || call_ucx!(address -> c_int; worker, place, length),
        )
    }
});
export_ucx!(ucp_tag_send_nbx(endpoint, buffer, count, tag, parameters) -> usize; |address| {
    // SAFETY: these are the arguments of the function, unchanged.
    unsafe {
        tagged_send(
            endpoint, count, tag as u64, parameters,
            || call_ucx!(address -> usize; endpoint, buffer, count, tag, parameters),
        )
    }
});
export_ucx!(ucp_tag_send_sync_nbx(endpoint, buffer, count, tag, parameters) -> usize; |address| {
    // SAFETY: these are the arguments of the function, unchanged.
    unsafe {
        tagged_send(
            endpoint, count, tag as u64, parameters,
            || call_ucx!(address -> usize; endpoint, buffer, count, tag, parameters),
        )
    }
});
export_ucx!(ucp_tag_recv_nbx(worker, buffer, count, tag, mask, parameters) -> usize; |address| {
    // SAFETY: these are the arguments of the function, unchanged.
    unsafe {
        tagged_receive(
            worker, count, tag as u64, mask as u64, parameters,
            |parameters| call_ucx!(
                address -> usize; worker, buffer, count, tag, mask, parameters
            ),
        )
    }
});

/// For programs that execute operations over trees themselves: takes the record of a call in this
/// thread, on a communicator of the MPI library. `operation` is its number in records, `root` is
/// negative if there is none. Returns 0 if the call is recorded.
#[unsafe(no_mangle)]
extern "C" fn collbench_call_begin(comm: usize, operation: u32, root: i64, bytes: u64) -> c_int {
    let operation = u16::try_from(operation).ok().and_then(Operation::from_code);
    let root = i32::try_from(root).unwrap_or(-1);
    let is_recorded =
        operation.is_some_and(|operation| begin_own_call(comm, operation, root, bytes));
    c_int::from(!is_recorded)
}

/// Stores the leave of the call that this thread has begun.
#[unsafe(no_mangle)]
extern "C" fn collbench_call_end() {
    end_own_call();
}

/// Defines a spanning tree of a communicator, with `threads` ranks in each process. `encoded` is
/// null, or the address of `n` bytes, the encoded tree, at the process with rank 0 in the
/// communicator. Returns the index of the definition; `u32::MAX` if nothing is recorded.
///
/// # Safety
/// `name` is a C string, and there are `n` bytes at `encoded` unless that is null.
#[unsafe(no_mangle)]
unsafe extern "C" fn collbench_tree_define(
    comm: usize,
    threads: u32,
    name: *const std::ffi::c_char,
    encoded: *const u8,
    n: usize,
) -> u32 {
    // SAFETY: the caller promises a C string, and as many bytes as it says.
    let (name, encoded) = unsafe {
        let encoded = (!encoded.is_null()).then(|| std::slice::from_raw_parts(encoded, n));
        (std::ffi::CStr::from_ptr(name).to_string_lossy(), encoded)
    };
    let decoded = encoded.map(|bytes| decode_meta(bytes, crc32fast::hash(bytes)));
    let Ok(wrappers) = decoded.transpose() else {
        return u32::MAX;
    };
    define_tree(comm, threads, name.into_owned(), wrappers).unwrap_or(u32::MAX)
}

/// Records a pass through an event collector of the tree with this index.
///
/// # Safety
/// `pass` is the address of a pass.
#[unsafe(no_mangle)]
unsafe extern "C" fn collbench_pass(tree: u32, pass: *const Pass) {
    // SAFETY: the caller promises a pass.
    record_pass(tree, unsafe { &*pass });
}
