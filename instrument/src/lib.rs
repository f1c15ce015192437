//! Clocks, mapped trace files, the table of MPI entry points, and the command collbench-record.
