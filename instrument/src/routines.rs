//! The table of MPI entry points: one line each, from which wrappers, the list of exported
//! symbols and the documentation follow.
//!
//! A line gives the routine, its operation, its arguments by name in order, which of them is
//! the communicator (and the root), and how its payload is found from them (a function of
//! [`payload`](crate::payload)). All arguments travel as opaque machine words, so that one
//! binary serves every MPI.

/// Hands the table to the macro `$callback`, section by section.
///
/// - `plain`: collectives without counts.
/// - `unrooted`, `rooted`: collectives; each also has a form `_c` with large counts.
/// - `constructors`: make a communicator; `how` is a [`HowMade`](crate::HowMade), `tag` the
///   argument that tells those over the same groups apart.
/// - `frees`: give a communicator back.
/// - `guards`: not recorded; collectives that the MPI library calls below them are its own.
/// - `process`: begin and end of MPI, and naming; written by hand.
#[macro_export]
macro_rules! mpi_routines {
    ($callback:ident) => {
        $callback! {
            plain {
                MPI_Barrier Barrier (comm) on comm payload nothing();
            }
            unrooted {
                MPI_Allgather Allgather
                    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
                    on comm payload sent_or_received(sendbuf, sendcount, sendtype, recvcount, recvtype);
                MPI_Allgatherv Allgatherv
                    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)
                    on comm payload sent_or_own_part(sendbuf, sendcount, sendtype, recvcounts, recvtype);
                MPI_Alltoall Alltoall
                    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
                    on comm payload sent_or_received(sendbuf, sendcount, sendtype, recvcount, recvtype);
                MPI_Alltoallv Alltoallv
                    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)
                    on comm payload sum_sent(sendbuf, sendcounts, sendtype, recvcounts, recvtype);
                MPI_Alltoallw Alltoallw
                    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)
                    on comm payload sum_sent_typed(sendbuf, sendcounts, sendtypes, recvcounts, recvtypes);
                MPI_Allreduce Allreduce (sendbuf, recvbuf, count, datatype, op, comm)
                    on comm payload counted(count, datatype);
                MPI_Reduce_scatter ReduceScatter (sendbuf, recvbuf, recvcounts, datatype, op, comm)
                    on comm payload sum_counted(recvcounts, datatype);
                MPI_Reduce_scatter_block ReduceScatterBlock
                    (sendbuf, recvbuf, recvcount, datatype, op, comm)
                    on comm payload counted(recvcount, datatype);
                MPI_Scan Scan (sendbuf, recvbuf, count, datatype, op, comm)
                    on comm payload counted(count, datatype);
                MPI_Exscan Exscan (sendbuf, recvbuf, count, datatype, op, comm)
                    on comm payload counted(count, datatype);
            }
            rooted {
                MPI_Bcast Bcast (buffer, count, datatype, root, comm)
                    on comm from root payload counted(count, datatype);
                MPI_Gather Gather
                    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)
                    on comm from root
                    payload gathered(sendbuf, sendcount, sendtype, recvcount, recvtype);
                MPI_Gatherv Gatherv
                    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, root, comm)
                    on comm from root
                    payload gathered_parts(sendbuf, sendcount, sendtype, recvcounts, recvtype);
                MPI_Scatter Scatter
                    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)
                    on comm from root
                    payload scattered(sendcount, sendtype, recvcount, recvtype);
                MPI_Scatterv Scatterv
                    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcount, recvtype, root, comm)
                    on comm from root
                    payload scattered_parts(sendcounts, sendtype, recvcount, recvtype);
                MPI_Reduce Reduce (sendbuf, recvbuf, count, datatype, op, root, comm)
                    on comm from root payload counted(count, datatype);
            }
            constructors {
                MPI_Comm_dup CommDup (comm, newcomm) on comm makes newcomm how OnParent tag 0;
                MPI_Comm_dup_with_info CommDupWithInfo (comm, info, newcomm)
                    on comm makes newcomm how OnParent tag 0;
                MPI_Comm_idup CommIdup (comm, newcomm, request)
                    on comm makes newcomm how LaterOnParent tag 0;
                MPI_Comm_split CommSplit (comm, color, key, newcomm)
                    on comm makes newcomm how OnParent tag 0;
                MPI_Comm_split_type CommSplitType (comm, split_type, key, info, newcomm)
                    on comm makes newcomm how OnParent tag 0;
                MPI_Comm_create CommCreate (comm, group, newcomm)
                    on comm makes newcomm how OnParent tag 0;
                MPI_Comm_create_group CommCreateGroup (comm, group, tag, newcomm)
                    on comm makes newcomm how OverGroups tag tag;
                MPI_Cart_create CartCreate (comm, ndims, dims, periods, reorder, newcomm)
                    on comm makes newcomm how OnParent tag 0;
                MPI_Cart_sub CartSub (comm, remain_dims, newcomm)
                    on comm makes newcomm how OnParent tag 0;
                MPI_Graph_create GraphCreate (comm, nnodes, index, edges, reorder, newcomm)
                    on comm makes newcomm how OnParent tag 0;
                MPI_Dist_graph_create DistGraphCreate
                    (comm, n, sources, degrees, destinations, weights, info, reorder, newcomm)
                    on comm makes newcomm how OnParent tag 0;
                MPI_Dist_graph_create_adjacent DistGraphCreateAdjacent
                    (comm, indegree, sources, sourceweights, outdegree, destinations,
                     destweights, info, reorder, newcomm)
                    on comm makes newcomm how OnParent tag 0;
                MPI_Intercomm_create IntercommCreate
                    (comm, local_leader, peer_comm, remote_leader, tag, newcomm)
                    on comm makes newcomm how OverGroups tag tag;
                MPI_Intercomm_merge IntercommMerge (comm, high, newcomm)
                    on comm makes newcomm how OnParent tag 0;
            }
            frees {
                MPI_Comm_free CommFree (comm);
                MPI_Comm_disconnect CommDisconnect (comm);
            }
            guards {
                MPI_File_open(comm, filename, amode, info, fh);
                MPI_File_close(fh);
                MPI_File_delete(filename, info);
                MPI_File_set_size(fh, size);
                MPI_File_preallocate(fh, size);
                MPI_File_set_info(fh, info);
                MPI_File_set_view(fh, disp, etype, filetype, datarep, info);
                MPI_File_set_atomicity(fh, flag);
                MPI_File_sync(fh);
                MPI_File_seek_shared(fh, offset, whence);
                MPI_File_read_at_all(fh, offset, buf, count, datatype, status);
                MPI_File_write_at_all(fh, offset, buf, count, datatype, status);
                MPI_File_read_all(fh, buf, count, datatype, status);
                MPI_File_write_all(fh, buf, count, datatype, status);
                MPI_File_read_ordered(fh, buf, count, datatype, status);
                MPI_File_write_ordered(fh, buf, count, datatype, status);
                MPI_File_read_shared(fh, buf, count, datatype, status);
                MPI_File_write_shared(fh, buf, count, datatype, status);
                MPI_File_read_at_all_begin(fh, offset, buf, count, datatype);
                MPI_File_read_at_all_end(fh, buf, status);
                MPI_File_write_at_all_begin(fh, offset, buf, count, datatype);
                MPI_File_write_at_all_end(fh, buf, status);
                MPI_File_read_all_begin(fh, buf, count, datatype);
                MPI_File_read_all_end(fh, buf, status);
                MPI_File_write_all_begin(fh, buf, count, datatype);
                MPI_File_write_all_end(fh, buf, status);
                MPI_File_read_ordered_begin(fh, buf, count, datatype);
                MPI_File_read_ordered_end(fh, buf, status);
                MPI_File_write_ordered_begin(fh, buf, count, datatype);
                MPI_File_write_ordered_end(fh, buf, status);
                MPI_File_iread_all(fh, buf, count, datatype, request);
                MPI_File_iwrite_all(fh, buf, count, datatype, request);
                MPI_File_iread_at_all(fh, offset, buf, count, datatype, request);
                MPI_File_iwrite_at_all(fh, offset, buf, count, datatype, request);
                MPI_Win_create(base, size, disp_unit, info, comm, win);
                MPI_Win_allocate(size, disp_unit, info, comm, baseptr, win);
                MPI_Win_allocate_shared(size, disp_unit, info, comm, baseptr, win);
                MPI_Win_create_dynamic(info, comm, win);
                MPI_Win_free(win);
                MPI_Win_fence(assertion, win);
                MPI_Comm_spawn
                    (command, argv, maxprocs, info, root, comm, intercomm, array_of_errcodes);
                MPI_Comm_accept(port_name, info, root, comm, newcomm);
                MPI_Comm_connect(port_name, info, root, comm, newcomm);
            }
            process {
                MPI_Init Init (argc, argv);
                MPI_Init_thread InitThread (argc, argv, required, provided);
                MPI_Finalize Finalize ();
                MPI_Abort Abort (comm, errorcode);
                MPI_Comm_set_name CommSetName (comm, comm_name);
            }
        }
    };
}

/// What a wrapper of a routine does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutineClass {
    /// Records a call of a collective operation.
    Collective,
    /// Records a call and what it made.
    Constructor,
    /// Records a call and forgets the communicator.
    Free,
    /// Marks what the MPI library calls below it as internal.
    Guard,
    /// Begins or ends recording, or notes a name.
    Process,
}

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Routine {
    /// Name in C, without the leading `P` and without `_c`.
    pub name: &'static str,
    /// What its wrapper does.
    pub class: RoutineClass,
    /// Its arguments in order.
    pub arguments: &'static [&'static str],
    /// Whether there is a form `_c` with large counts.
    pub has_large_count: bool,
}

macro_rules! list_routines {
    (
        plain { $($p:ident $po:ident ($($pa:ident),*) on $pc:ident payload $pp:ident($($px:ident),*);)* }
        unrooted { $($u:ident $uo:ident ($($ua:ident),*) on $uc:ident payload $up:ident($($ux:ident),*);)* }
        rooted { $($r:ident $ro:ident ($($ra:ident),*) on $rc:ident from $rr:ident payload $rp:ident($($rx:ident),*);)* }
        constructors { $($c:ident $co:ident ($($ca:ident),*) on $cc:ident makes $cn:ident how $ch:ident tag $ct:tt;)* }
        frees { $($f:ident $fo:ident ($fa:ident);)* }
        guards { $($g:ident ($($ga:ident),*);)* }
        process { $($o:ident $oo:ident ($($oa:ident),*);)* }
    ) => {
        /// Every routine that the preloaded library wraps.
        pub const ROUTINES: &[Routine] = &[
            $(list_routines!(@line $p Collective false $($pa)*),)*
            $(list_routines!(@line $u Collective true $($ua)*),)*
            $(list_routines!(@line $r Collective true $($ra)*),)*
            $(list_routines!(@line $c Constructor false $($ca)*),)*
            $(list_routines!(@line $f Free false $fa),)*
            $(list_routines!(@line $g Guard false $($ga)*),)*
            $(list_routines!(@line $o Process false $($oa)*),)*
        ];
    };
    (@line $name:ident $class:ident $large:literal $($argument:ident)*) => {
        Routine {
            name: stringify!($name),
            class: RoutineClass::$class,
            arguments: &[$(stringify!($argument)),*],
            has_large_count: $large,
        }
    };
}

mpi_routines!(list_routines);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_routine_stands_in_the_table_once() {
        let mut names: Vec<_> = ROUTINES.iter().map(|routine| routine.name).collect();
        names.sort_unstable();
        let n = names.len();
        names.dedup();
        assert_eq!(names.len(), n);
    }

    #[test]
    fn every_counted_operation_of_the_format_has_its_routine() {
        for operation in collbench_formats::Operation::ALL {
            if operation.code() > 17 && operation.code() < 128 || operation.code() == 142 {
                continue;
            }
            assert!(
                ROUTINES
                    .iter()
                    .any(|routine| routine.name == operation.name()),
                "{} is in no line of the table",
                operation.name()
            );
        }
    }
}
