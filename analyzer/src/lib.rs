//! Reads traces and explains the waiting; the commands collbench-analyze and collbench-generate.
