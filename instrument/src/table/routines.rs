//! The table of MPI routines: one line each, from which the wrappers are made.
//!
//! A line has the routine, its operation, the names of its arguments in order, which of them is the
//! communicator (and the root), and how its payload is computed from them (a function of
//! [`payload`](crate::payload)). All arguments are passed as opaque machine words, so that one
//! binary works with every MPI library.

/// Passes the table to the macro `$callback`, section by section.
///
/// - `plain`: collectives without counts.
/// - `unrooted`, `rooted`, `neighborhood`: collectives; each also has a large-count form `_c`. A
///   line of these four sections is for three routines: the blocking one, the nonblocking one with
///   a request as a further argument, and the persistent `MPI_X_init` with an info and a request,
///   which MPI libraries before MPI 4 call `MPIX_X_init`.
/// - `constructors`: create a communicator; `how` is a
///   [`CommunicatorIdentity`](crate::CommunicatorIdentity), and `tag` is the argument that differs
///   between communicators over the same groups.
/// - `group_constructors`: create a communicator over groups only; `tag` is a text, or 0.
/// - `nonblocking_constructors`: create a communicator that exists when a request is complete.
/// - `frees`: free a communicator.
/// - `openings`, `large_openings`: open a file or create a window
///   ([`FileOrWindow`](crate::FileOrWindow)); `closings` close or free it. These and the five
///   sections after them are recorded with the layers of files and windows. `large_openings` and
///   accesses also have a form `_c`.
/// - `settings`: other collectives on a file or window; `fences` are those that need not wait.
/// - `accesses`: read and write collectively; `nonblocking_accesses` return a request,
///   `split_accesses` are begun by one routine and ended by another.
/// - `begun_transfers` start a send or receive, which a call of `requests` completes. Not recorded.
/// - `sends`, `transfers`, `probes`, `polls`, `large_timed`, `timed`: not recorded; their time is added up,
///   and what the MPI library calls inside them is internal. `about` is the rank of the other process, `of`
///   the communicator, `status` the argument that names the source of a receive, or 0, and `flag` the result of a poll. All but
///   `probes`, `polls` and `timed` also have a form `_c`.
/// - `requests`: start and complete operations; `by` is the function that handles them, with its
///   arguments.
/// - `process`: begin and end of MPI, names, phases; their wrappers are written by hand.
#[macro_export]
macro_rules! mpi_routines {
    ($callback:ident) => {
        $callback! {
            plain {
                MPI_Barrier Barrier,
                MPI_Ibarrier Ibarrier,
                MPIX_Barrier_init BarrierInit
                    (comm) on comm payload nothing();
            }
            unrooted {
                MPI_Allgather Allgather,
                MPI_Iallgather Iallgather,
                MPIX_Allgather_init AllgatherInit
                    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
                    on comm payload sent_or_received(sendbuf, sendcount, sendtype, recvcount, recvtype);
                MPI_Allgatherv Allgatherv,
                MPI_Iallgatherv Iallgatherv,
                MPIX_Allgatherv_init AllgathervInit
                    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)
                    on comm payload sent_or_own_part(sendbuf, sendcount, sendtype, recvcounts, recvtype);
                MPI_Alltoall Alltoall,
                MPI_Ialltoall Ialltoall,
                MPIX_Alltoall_init AlltoallInit
                    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
                    on comm payload sent_or_received(sendbuf, sendcount, sendtype, recvcount, recvtype);
                MPI_Alltoallv Alltoallv,
                MPI_Ialltoallv Ialltoallv,
                MPIX_Alltoallv_init AlltoallvInit
                    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)
                    on comm payload sum_sent(sendbuf, sendcounts, sendtype, recvcounts, recvtype);
                MPI_Alltoallw Alltoallw,
                MPI_Ialltoallw Ialltoallw,
                MPIX_Alltoallw_init AlltoallwInit
                    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)
                    on comm payload sum_sent_typed(sendbuf, sendcounts, sendtypes, recvcounts, recvtypes);
                MPI_Allreduce Allreduce,
                MPI_Iallreduce Iallreduce,
                MPIX_Allreduce_init AllreduceInit
                    (sendbuf, recvbuf, count, datatype, op, comm)
                    on comm payload counted(count, datatype);
                MPI_Reduce_scatter ReduceScatter,
                MPI_Ireduce_scatter IreduceScatter,
                MPIX_Reduce_scatter_init ReduceScatterInit
                    (sendbuf, recvbuf, recvcounts, datatype, op, comm)
                    on comm payload sum_counted(recvcounts, datatype);
                MPI_Reduce_scatter_block ReduceScatterBlock,
                MPI_Ireduce_scatter_block IreduceScatterBlock,
                MPIX_Reduce_scatter_block_init ReduceScatterBlockInit
                    (sendbuf, recvbuf, recvcount, datatype, op, comm)
                    on comm payload counted(recvcount, datatype);
                MPI_Scan Scan,
                MPI_Iscan Iscan,
                MPIX_Scan_init ScanInit
                    (sendbuf, recvbuf, count, datatype, op, comm)
                    on comm payload counted(count, datatype);
                MPI_Exscan Exscan,
                MPI_Iexscan Iexscan,
                MPIX_Exscan_init ExscanInit
                    (sendbuf, recvbuf, count, datatype, op, comm)
                    on comm payload counted(count, datatype);
            }
            rooted {
                MPI_Bcast Bcast,
                MPI_Ibcast Ibcast,
                MPIX_Bcast_init BcastInit
                    (buffer, count, datatype, root, comm)
                    on comm from root payload counted(count, datatype);
                MPI_Gather Gather,
                MPI_Igather Igather,
                MPIX_Gather_init GatherInit
                    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)
                    on comm from root
                    payload gathered(sendbuf, sendcount, sendtype, recvcount, recvtype);
                MPI_Gatherv Gatherv,
                MPI_Igatherv Igatherv,
                MPIX_Gatherv_init GathervInit
                    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, root, comm)
                    on comm from root
                    payload gathered_parts(sendbuf, sendcount, sendtype, recvcounts, recvtype);
                MPI_Scatter Scatter,
                MPI_Iscatter Iscatter,
                MPIX_Scatter_init ScatterInit
                    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)
                    on comm from root
                    payload scattered(sendcount, sendtype, recvcount, recvtype);
                MPI_Scatterv Scatterv,
                MPI_Iscatterv Iscatterv,
                MPIX_Scatterv_init ScattervInit
                    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcount, recvtype, root, comm)
                    on comm from root
                    payload scattered_parts(sendcounts, sendtype, recvcount, recvtype);
                MPI_Reduce Reduce,
                MPI_Ireduce Ireduce,
                MPIX_Reduce_init ReduceInit
                    (sendbuf, recvbuf, count, datatype, op, root, comm)
                    on comm from root payload counted(count, datatype);
            }
            neighborhood {
                MPI_Neighbor_allgather NeighborAllgather,
                MPI_Ineighbor_allgather IneighborAllgather,
                MPIX_Neighbor_allgather_init NeighborAllgatherInit
                    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
                    on comm payload counted(sendcount, sendtype);
                MPI_Neighbor_allgatherv NeighborAllgatherv,
                MPI_Ineighbor_allgatherv IneighborAllgatherv,
                MPIX_Neighbor_allgatherv_init NeighborAllgathervInit
                    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)
                    on comm payload counted(sendcount, sendtype);
                MPI_Neighbor_alltoall NeighborAlltoall,
                MPI_Ineighbor_alltoall IneighborAlltoall,
                MPIX_Neighbor_alltoall_init NeighborAlltoallInit
                    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
                    on comm payload counted(sendcount, sendtype);
                MPI_Neighbor_alltoallv NeighborAlltoallv,
                MPI_Ineighbor_alltoallv IneighborAlltoallv,
                MPIX_Neighbor_alltoallv_init NeighborAlltoallvInit
                    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)
                    on comm payload sum_to_neighbours(sendcounts, sendtype);
                MPI_Neighbor_alltoallw NeighborAlltoallw,
                MPI_Ineighbor_alltoallw IneighborAlltoallw,
                MPIX_Neighbor_alltoallw_init NeighborAlltoallwInit
                    (sendbuf, sendcounts, saddresses, sendtypes, recvbuf, recvcounts, raddresses, recvtypes, comm)
                    on comm payload sum_to_neighbours_typed(sendcounts, sendtypes);
            }
            constructors {
                MPI_Comm_dup CommDup (comm, newcomm) on comm makes newcomm how Copy tag 0;
                MPI_Comm_dup_with_info CommDupWithInfo (comm, info, newcomm)
                    on comm makes newcomm how Copy tag 0;
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
                MPI_Comm_spawn CommSpawn
                    (command, argv, maxprocs, info, root, comm, intercomm, array_of_errcodes)
                    on comm makes intercomm how OnParent tag 0;
                MPI_Comm_spawn_multiple CommSpawnMultiple
                    (count, array_of_commands, array_of_argv, array_of_maxprocs, array_of_info,
                     root, comm, intercomm, array_of_errcodes)
                    on comm makes intercomm how OnParent tag 0;
                MPI_Comm_accept CommAccept (port_name, info, root, comm, newcomm)
                    on comm makes newcomm how Connected tag 0;
                MPI_Comm_connect CommConnect (port_name, info, root, comm, newcomm)
                    on comm makes newcomm how Connected tag 0;
            }
            group_constructors {
                MPI_Comm_create_from_group CommCreateFromGroup
                    (group, stringtag, info, errhandler, newcomm) makes newcomm tag stringtag;
                MPI_Intercomm_create_from_groups IntercommCreateFromGroups
                    (local_group, local_leader, remote_group, remote_leader, stringtag, info,
                     errhandler, newcomm) makes newcomm tag stringtag;
                MPI_Comm_join CommJoin (fd, intercomm) makes intercomm tag 0;
            }
            nonblocking_constructors {
                MPI_Comm_idup CommIdup (comm, newcomm, request)
                    on comm makes newcomm with request;
                MPI_Comm_idup_with_info CommIdupWithInfo (comm, info, newcomm, request)
                    on comm makes newcomm with request;
            }
            frees {
                MPI_Comm_free CommFree (comm);
                MPI_Comm_disconnect CommDisconnect (comm);
            }
            openings {
                MPI_File_open FileOpen (comm, filename, amode, info, fh) on comm opens File fh;
                MPI_Win_create_dynamic WinCreateDynamic (info, comm, win) on comm opens Window win;
            }
            large_openings {
                MPI_Win_create WinCreate (base, size, disp_unit, info, comm, win)
                    on comm opens Window win;
                MPI_Win_allocate WinAllocate (size, disp_unit, info, comm, baseptr, win)
                    on comm opens Window win;
                MPI_Win_allocate_shared WinAllocateShared (size, disp_unit, info, comm, baseptr, win)
                    on comm opens Window win;
            }
            closings {
                MPI_File_close FileClose (fh) of File;
                MPI_Win_free WinFree (win) of Window;
            }
            settings {
                MPI_File_set_size FileSetSize (fh, size) of File fh;
                MPI_File_preallocate FilePreallocate (fh, size) of File fh;
                MPI_File_set_info FileSetInfo (fh, info) of File fh;
                MPI_File_set_view FileSetView (fh, disp, etype, filetype, datarep, info) of File fh;
                MPI_File_set_atomicity FileSetAtomicity (fh, flag) of File fh;
                MPI_File_sync FileSync (fh) of File fh;
                MPI_File_seek_shared FileSeekShared (fh, offset, whence) of File fh;
                MPI_Win_set_info WinSetInfo (win, info) of Window win;
            }
            fences {
                MPI_Win_fence WinFence (assertion, win);
            }
            accesses {
                MPI_File_read_all FileReadAll (fh, buf, count, datatype, status)
                    payload counted(count, datatype);
                MPI_File_write_all FileWriteAll (fh, buf, count, datatype, status)
                    payload counted(count, datatype);
                MPI_File_read_at_all FileReadAtAll (fh, offset, buf, count, datatype, status)
                    payload counted(count, datatype);
                MPI_File_write_at_all FileWriteAtAll (fh, offset, buf, count, datatype, status)
                    payload counted(count, datatype);
                MPI_File_read_ordered FileReadOrdered (fh, buf, count, datatype, status)
                    payload counted(count, datatype);
                MPI_File_write_ordered FileWriteOrdered (fh, buf, count, datatype, status)
                    payload counted(count, datatype);
            }
            nonblocking_accesses {
                MPI_File_iread_all FileIreadAll (fh, buf, count, datatype, request)
                    payload counted(count, datatype) leaves request;
                MPI_File_iwrite_all FileIwriteAll (fh, buf, count, datatype, request)
                    payload counted(count, datatype) leaves request;
                MPI_File_iread_at_all FileIreadAtAll (fh, offset, buf, count, datatype, request)
                    payload counted(count, datatype) leaves request;
                MPI_File_iwrite_at_all FileIwriteAtAll (fh, offset, buf, count, datatype, request)
                    payload counted(count, datatype) leaves request;
            }
            split_accesses {
                MPI_File_read_all_begin FileReadAllBegin (fh, buf, count, datatype)
                    payload counted(count, datatype),
                MPI_File_read_all_end FileReadAllEnd (fh, buf, status);
                MPI_File_write_all_begin FileWriteAllBegin (fh, buf, count, datatype)
                    payload counted(count, datatype),
                MPI_File_write_all_end FileWriteAllEnd (fh, buf, status);
                MPI_File_read_at_all_begin FileReadAtAllBegin (fh, offset, buf, count, datatype)
                    payload counted(count, datatype),
                MPI_File_read_at_all_end FileReadAtAllEnd (fh, buf, status);
                MPI_File_write_at_all_begin FileWriteAtAllBegin (fh, offset, buf, count, datatype)
                    payload counted(count, datatype),
                MPI_File_write_at_all_end FileWriteAtAllEnd (fh, buf, status);
                MPI_File_read_ordered_begin FileReadOrderedBegin (fh, buf, count, datatype)
                    payload counted(count, datatype),
                MPI_File_read_ordered_end FileReadOrderedEnd (fh, buf, status);
                MPI_File_write_ordered_begin FileWriteOrderedBegin (fh, buf, count, datatype)
                    payload counted(count, datatype),
                MPI_File_write_ordered_end FileWriteOrderedEnd (fh, buf, status);
            }
            sends {
                MPI_Send (buf, count, datatype, dest, tag, comm) about dest of comm;
                MPI_Bsend (buf, count, datatype, dest, tag, comm) about dest of comm;
                MPI_Rsend (buf, count, datatype, dest, tag, comm) about dest of comm;
            }
            transfers {
                MPI_Ssend (buf, count, datatype, dest, tag, comm) about dest of comm status 0;
                MPI_Recv (buf, count, datatype, source, tag, comm, status)
                    about source of comm status status;
                MPI_Sendrecv (sbuf, sendcount, sendtype, dest, sendtag,
                     recvbuf, recvcount, recvtype, source, recvtag, comm, status)
                    about source of comm status status;
                MPI_Sendrecv_replace (buf, count, datatype, dest, sendtag, source, recvtag, comm, status)
                    about source of comm status status;
            }
            begun_transfers {
                MPI_Isend (buf, count, datatype, dest, tag, comm, request) about dest of comm receives false;
                MPI_Issend (buf, count, datatype, dest, tag, comm, request) about dest of comm receives false;
                MPI_Ibsend (buf, count, datatype, dest, tag, comm, request) about dest of comm receives false;
                MPI_Irsend (buf, count, datatype, dest, tag, comm, request) about dest of comm receives false;
                MPI_Irecv (buf, count, datatype, source, tag, comm, request)
                    about source of comm receives true;
                MPI_Send_init (buf, count, datatype, dest, tag, comm, request)
                    about dest of comm receives false;
                MPI_Ssend_init (buf, count, datatype, dest, tag, comm, request)
                    about dest of comm receives false;
                MPI_Bsend_init (buf, count, datatype, dest, tag, comm, request)
                    about dest of comm receives false;
                MPI_Rsend_init (buf, count, datatype, dest, tag, comm, request)
                    about dest of comm receives false;
                MPI_Recv_init (buf, count, datatype, source, tag, comm, request)
                    about source of comm receives true;
            }
            probes {
                MPI_Probe (source, tag, comm, status) about source of comm status status;
                MPI_Mprobe (source, tag, comm, message, status) about source of comm status status;
            }
            polls {
                MPI_Iprobe (source, tag, comm, flag, status)
                    about source of comm status status flag flag;
                MPI_Improbe (source, tag, comm, flag, message, status)
                    about source of comm status status flag flag;
            }
            large_timed {
                MPI_Mrecv PointToPoint (buf, count, datatype, message, status);
                MPI_File_read Io (fh, buf, count, datatype, status);
                MPI_File_write Io (fh, buf, count, datatype, status);
                MPI_File_read_at Io (fh, offset, buf, count, datatype, status);
                MPI_File_write_at Io (fh, offset, buf, count, datatype, status);
                MPI_File_read_shared Io (fh, buf, count, datatype, status);
                MPI_File_write_shared Io (fh, buf, count, datatype, status);
                MPI_File_iread Io (fh, buf, count, datatype, request);
                MPI_File_iwrite Io (fh, buf, count, datatype, request);
                MPI_File_iread_at Io (fh, offset, buf, count, datatype, request);
                MPI_File_iwrite_at Io (fh, offset, buf, count, datatype, request);
                MPI_File_iread_shared Io (fh, buf, count, datatype, request);
                MPI_File_iwrite_shared Io (fh, buf, count, datatype, request);
            }
            timed {
                MPI_Buffer_detach PointToPoint (buffer, size);
                MPI_File_delete Io (filename, info);
                MPI_Win_start Rma (group, assertion, win);
                MPI_Win_complete Rma (win);
                MPI_Win_post Rma (group, assertion, win);
                MPI_Win_wait Rma (win);
                MPI_Win_test Rma (win, flag);
                MPI_Win_lock Rma (lock_type, rank, assertion, win);
                MPI_Win_unlock Rma (rank, win);
                MPI_Win_lock_all Rma (assertion, win);
                MPI_Win_unlock_all Rma (win);
                MPI_Win_flush Rma (rank, win);
                MPI_Win_flush_all Rma (win);
                MPI_Win_flush_local Rma (rank, win);
                MPI_Win_flush_local_all Rma (win);
            }
            requests {
                MPI_Wait(request, status) by wait_call(request, status);
                MPI_Waitall(count, requests, statuses) by waitall_call(count, requests);
                MPI_Waitany(count, requests, index, status) by waitany_call(count, requests, index);
                MPI_Waitsome(count, requests, outcount, indices, statuses)
                    by some_call(CompletingCall::Waitsome, count, requests, outcount, indices);
                MPI_Test(request, flag, status) by test_call(request, flag);
                MPI_Testall(count, requests, flag, statuses) by testall_call(count, requests, flag);
                MPI_Testany(count, requests, index, flag, status)
                    by testany_call(count, requests, index, flag);
                MPI_Testsome(count, requests, outcount, indices, statuses)
                    by some_call(CompletingCall::Testsome, count, requests, outcount, indices);
                MPI_Request_get_status(request, flag, status) by get_status_call(request, flag);
                MPI_Request_free(request) by request_free_call(request);
                MPI_Start(request) by start_call(request);
                MPI_Startall(count, requests) by startall_call(count, requests);
            }
            process {
                MPI_Init Init (argc, argv);
                MPI_Init_thread InitThread (argc, argv, required, provided);
                MPI_Session_init SessionInit (info, errhandler, session);
                MPI_Finalize Finalize ();
                MPI_Session_finalize SessionFinalize (session);
                MPI_Abort Abort (comm, errorcode);
                MPI_Comm_set_name CommSetName (comm, comm_name);
                MPI_Pcontrol Pcontrol (level, a, b, c, d, e);
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use collbench_formats::Operation;

    macro_rules! text_of {
        ($($table:tt)*) => { stringify!($($table)*) };
    }

    /// The names of routines in the table, sorted.
    fn names() -> Vec<&'static str> {
        let is_between = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        let words = mpi_routines!(text_of).split(is_between);
        let mut names: Vec<_> = words.filter(|word| word.starts_with("MPI")).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn every_routine_is_in_the_table_once() {
        assert!(names().is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn every_counted_operation_of_the_format_has_its_routine() {
        let names = names();
        for operation in Operation::ALL {
            let name = match operation.is_persistent() {
                true => operation.name().replace("MPI_", "MPIX_"),
                false => operation.name().to_owned(),
            };
            assert!(names.contains(&&*name), "{name} is in no line of the table");
        }
    }
}
