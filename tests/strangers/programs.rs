//! What is recorded: a row for each run of a program.

/// One program as it is run.
pub(crate) struct Program {
    /// How the table has it.
    pub name: &'static str,
    /// The Debian packages that it needs; the version of the first is told.
    pub packages: &'static [&'static str],
    /// Number of processes.
    pub ranks: usize,
    /// What `sh` does in the run's empty folder before, without MPI; `$INPUTS` is our folder of
    /// inputs.
    pub prepare: &'static str,
    /// The program and its arguments. `{inputs}` is our folder of inputs, `{mpi4py}` where mpi4py
    /// is. A line with `<` is for `sh`.
    pub line: &'static str,
    /// What it must say in its output, on some rank: that its result is right, by its own judgement
    /// or by the figure that is known.
    pub says: &'static [&'static str],
    /// Lines of the output that have one of these differ from run to run by themselves: times,
    /// dates, sizes of memory, numbers of processes and folders.
    pub changes: &'static [&'static str],
    /// Files that it writes, to be the same but for such lines.
    pub writes: &'static [&'static str],
    /// Classes of calls whose number differs from run to run by itself.
    pub varies: &'static [&'static str],
    /// Where it says what there is to compare.
    pub output: Output,
}

/// What of the output of a run is compared with that of another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// The lines of each rank, in any order.
    Lines,
    /// The characters of each rank, in any order: lines mix.
    Characters,
    /// The verdicts of Python's unittest of each rank.
    Verdicts,
    /// Nothing: it differs in other ways than by lines.
    Nothing,
}

/// What most programs have in common.
const ANY: Program = Program {
    name: "",
    packages: &["openmpi-bin"],
    ranks: 4,
    prepare: "",
    line: "",
    says: &[],
    changes: &[],
    writes: &[],
    varies: &[],
    output: Output::Lines,
};

/// mpi4py's own tests.
const TESTS: Program = Program {
    output: Output::Verdicts,
    says: &["OK"],
    ..ANY
};

const SCALAPACK: Program = Program {
    packages: &["scalapack-mpi-test"],
    prepare: "cp /usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/*.dat .",
    // With the times of each.
    changes: &["PASSED", "Passed", "WALL", "CPU", " time", "Time"],
    ..ANY
};

const LAMMPS: Program = Program {
    packages: &["lammps"],
    line: "lmp -in {inputs}/in.lj",
    says: &["Total wall time"],
    changes: &[
        "time",
        "CPU",
        "%",
        "Memory",
        "performance",
        "Per MPI rank",
        "|",
    ],
    ..ANY
};

/// A line of QUANTUM ESPRESSO with the time that it took, or the date.
const PWSCF: &[&str] = &[
    "WALL",
    "starts on",
    "terminated on",
    "cpu time",
    "RAM",
    "MB",
];

/// All programs. First those that others wrote and `make test-programs` records with counts that
/// are known; then those of `make test-strangers` alone.
pub(crate) const PROGRAMS: &[Program] = &[
    Program {
        name: "LAMMPS, Lennard-Jones",
        ..LAMMPS
    },
    Program {
        name: "LAMMPS, 6 ranks",
        ranks: 6,
        ..LAMMPS
    },
    Program {
        name: "HPC Challenge",
        packages: &["hpcc"],
        prepare: "cp $INPUTS/hpccinf.txt .",
        line: "hpcc",
        // A part of it runs as long as it has time for; by chance a rank works alone.
        varies: &[
            "MPI_Alltoall",
            "MPI_Barrier",
            "MPI_Allreduce:self",
            "MPI_Barrier:self",
            "MPI_Gather:self",
        ],
        output: Output::Nothing,
        ..ANY
    },
    Program {
        name: "MUMPS, double",
        packages: &["mumps-test"],
        line: "/usr/lib/mumps/dsimpletest < /usr/lib/mumps/input_simpletest_real",
        says: &["INFOG(1)"],
        changes: &["time", "Time", "TIME", "ELAPSED"],
        ..ANY
    },
    Program {
        name: "MPB",
        packages: &["mpb-mpi"],
        line: "mpb-mpi {inputs}/t.ctl",
        varies: &["MPI_Allreduce", "MPI_Barrier"],
        output: Output::Nothing,
        ..ANY
    },
    Program {
        name: "Rmpi",
        packages: &["r-cran-rmpi"],
        line: "Rscript {inputs}/rr.R",
        output: Output::Characters,
        ..ANY
    },
    Program {
        name: "ruby-mpi",
        packages: &["ruby-mpi"],
        line: "ruby {inputs}/rr.rb",
        ..ANY
    },
    Program {
        name: "h5py",
        packages: &["python3-h5py-mpi"],
        line: "/usr/bin/python3 {inputs}/h.py",
        varies: &["MPI_Barrier"],
        ..ANY
    },
    Program {
        name: "mpi4py demo/mandelbrot",
        line: "{mpi4py}/environment/bin/python {mpi4py}/source/demo/mandelbrot/mandelbrot.py",
        changes: &["seconds"],
        ..ANY
    },
    Program {
        name: "mpi4py demo/osu_allgather",
        ranks: 2,
        line: "{mpi4py}/environment/bin/python {mpi4py}/source/demo/osu_allgather.py",
        output: Output::Nothing,
        ..ANY
    },
    Program {
        name: "mpi4py test_cco_buf",
        line: "{mpi4py}/environment/bin/python {mpi4py}/source/test/main.py -i test_cco_buf",
        ..TESTS
    },
    Program {
        name: "mpi4py test_cco_nb_buf",
        line: "{mpi4py}/environment/bin/python {mpi4py}/source/test/main.py -i test_cco_nb_buf",
        ..TESTS
    },
    Program {
        name: "mpi4py test_cco_ngh",
        line: "{mpi4py}/environment/bin/python {mpi4py}/source/test/main.py -i test_cco_ngh|test_util_sync",
        ..TESTS
    },
    Program {
        name: "mpi4py test_cco_vec_inter, test_comm_topo",
        line: "{mpi4py}/environment/bin/python {mpi4py}/source/test/main.py -i test_cco_vec_inter|test_comm_topo",
        ..TESTS
    },
    Program {
        name: "mpi4py test_file, _win, _threads, _request, _grequest",
        line: "{mpi4py}/environment/bin/python {mpi4py}/source/test/main.py -i test_file|test_win|test_threads|test_request|test_grequest",
        ..TESTS
    },
    Program {
        name: "mpi4py test_cco_obj, _obj_inter",
        ranks: 3,
        line: "{mpi4py}/environment/bin/python {mpi4py}/source/test/main.py -i test_cco_obj",
        ..TESTS
    },
    Program {
        name: "mpi4py test_cco_buf_inter",
        ranks: 5,
        line: "{mpi4py}/environment/bin/python {mpi4py}/source/test/main.py -i test_cco_buf_inter",
        ..TESTS
    },
    Program {
        name: "mpi4py test_cco_vec, _nb_vec",
        ranks: 2,
        line: "{mpi4py}/environment/bin/python {mpi4py}/source/test/main.py -i test_cco_vec|test_cco_nb_vec",
        ..TESTS
    },
    Program {
        name: "mpi4py test_comm_inter, _comm_topo, _group",
        ranks: 5,
        line: "{mpi4py}/environment/bin/python {mpi4py}/source/test/main.py -i test_comm_|test_group",
        ..TESTS
    },
    Program {
        name: "mpi4py test_io, _dynproc",
        ranks: 3,
        line: "{mpi4py}/environment/bin/python {mpi4py}/source/test/main.py -i test_io|test_dynproc",
        ..TESTS
    },
    Program {
        name: "mpi4py test_util",
        ranks: 3,
        line: "{mpi4py}/environment/bin/python {mpi4py}/source/test/main.py -i test_util",
        ..TESTS
    },
    Program {
        name: "mpi4py test_attributes, _op",
        ranks: 3,
        line: "{mpi4py}/environment/bin/python {mpi4py}/source/test/main.py -i test_attributes|test_op|test_ctypes",
        ..TESTS
    },
    Program {
        // The others of these tests are for another version than the one that runs.
        name: "mpi4py test_errhandler",
        ranks: 3,
        line: "{mpi4py}/environment/bin/python {mpi4py}/source/test/main.py -i test_errhandler -k Comm.testCreate -k testCall -k testPredefined -k testGetFree",
        ..TESTS
    },
    Program {
        name: "LAMMPS, charges (FFT, balance)",
        line: "lmp -in {inputs}/in.ions",
        writes: &["atoms.40.dump", "rdf.txt"],
        ..LAMMPS
    },
    Program {
        name: "LAMMPS, two partitions",
        line: "lmp -partition 2x2 -in {inputs}/in.lj",
        says: &[],
        writes: &["log.lammps.0", "log.lammps.1"],
        ..LAMMPS
    },
    Program {
        name: "Quantum ESPRESSO, pools",
        packages: &["quantum-espresso", "quantum-espresso-data"],
        line: "pw.x -npool 2 -in {inputs}/silicon.in",
        says: &["convergence has been achieved", "-15.79296", "JOB DONE."],
        changes: PWSCF,
        ..ANY
    },
    Program {
        name: "Quantum ESPRESSO, 3 ranks",
        packages: &["quantum-espresso", "quantum-espresso-data"],
        ranks: 3,
        line: "pw.x -ndiag 1 -in {inputs}/silicon.in",
        says: &["convergence has been achieved", "-15.79296", "JOB DONE."],
        changes: PWSCF,
        ..ANY
    },
    Program {
        name: "GROMACS, water",
        packages: &["gromacs"],
        prepare: "cp $INPUTS/spce.* . && \
                  gmx -quiet solvate -cs spc216 -box 1.9 1.9 1.9 -o water.gro -p spce.top && \
                  gmx -quiet grompp -f spce.mdp -c water.gro -p spce.top -o run.tpr",
        line: "gmx_mpi -quiet mdrun -s run.tpr -ntomp 1 -npme 1 -reprod -notunepme -dlb no",
        writes: &["confout.gro"],
        output: Output::Nothing,
        ..ANY
    },
    Program {
        name: "NWChem, water",
        packages: &["nwchem-openmpi"],
        ranks: 2,
        line: "nwchem.openmpi {inputs}/water.nw",
        says: &["Total SCF energy =", "-75.98399322"],
        // Orbitals of one energy come out turned, by who has done which part.
        output: Output::Nothing,
        ..ANY
    },
    Program {
        name: "CP2K, hydrogen",
        packages: &["cp2k", "cp2k-data"],
        line: "cp2k.popt -i {inputs}/hydrogen.inp",
        says: &["PROGRAM ENDED AT", "-0.94010808"],
        // Every other line has a time.
        output: Output::Nothing,
        ..ANY
    },
    Program {
        name: "ScaLAPACK xdlu",
        line: "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/xdlu",
        says: &["PASSED", "END OF TESTS"],
        ..SCALAPACK
    },
    Program {
        name: "ScaLAPACK xdsvd",
        line: "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/xdsvd",
        ..SCALAPACK
    },
    Program {
        name: "ScaLAPACK xznep",
        line: "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/xznep",
        says: &["PASSED", "END OF TESTS"],
        ..SCALAPACK
    },
    Program {
        name: "PBLAS dpb2tst",
        prepare: "cp /usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/PBLAS/*.dat .",
        line: "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/PBLAS/dpb2tst",
        says: &["End of Tests"],
        ..SCALAPACK
    },
    Program {
        name: "MUMPS, complex",
        packages: &["mumps-test"],
        ranks: 3,
        line: "/usr/lib/mumps/zsimpletest < /usr/lib/mumps/input_simpletest_cmplx",
        says: &["INFOG(1)"],
        changes: &["time", "Time", "TIME", "ELAPSED"],
        ..ANY
    },
    Program {
        name: "ExaML",
        packages: &["examl"],
        ranks: 3,
        prepare: "parse-examl -s $INPUTS/eight.phy -m DNA -n eight",
        line: "/usr/lib/examl/bin/examl-sse3 -s eight.binary -t {inputs}/eight.tree -m GAMMA -n out",
        writes: &["ExaML_result.out"],
        changes: &["ime", "seconds", "sec", "written to", "Memory", "/"],
        ..ANY
    },
    Program {
        name: "PhyML, bootstrap",
        packages: &["phyml"],
        ranks: 2,
        prepare: "cp $INPUTS/eight.phy .",
        line: "phyml-mpi -i eight.phy -b 4 --r_seed 1 --quiet",
        writes: &["eight.phy_phyml_tree.txt"],
        output: Output::Nothing,
        ..ANY
    },
    Program {
        name: "IQ-TREE",
        packages: &["iqtree"],
        ranks: 3,
        prepare: "cp $INPUTS/eight.phy .",
        line: "iqtree2-mpi -s eight.phy -m JC -seed 1 -nt 1",
        says: &["BEST SCORE FOUND"],
        // Ranks hand one another trees as they find them: another tree each time.
        output: Output::Nothing,
        ..ANY
    },
    Program {
        name: "ABySS",
        packages: &["abyss"],
        ranks: 3,
        line: "/usr/lib/abyss/ABYSS-P -k 25 -o contigs.fa {inputs}/reads.fa",
        says: &["Assembled 1148 k-mer in 1 contigs."],
        // Ranks go on until all have nothing left, in as many steps as that takes.
        varies: &["MPI_Barrier", "MPI_Allreduce"],
        output: Output::Nothing,
        ..ANY
    },
    Program {
        name: "PT-Scotch, partition",
        packages: &["ptscotch"],
        prepare: "sh $INPUTS/grid.sh",
        line: "dgpart 4 grid.grf parts.map",
        writes: &["parts.map"],
        output: Output::Nothing,
        ..ANY
    },
    Program {
        name: "PT-Scotch, order",
        packages: &["ptscotch"],
        ranks: 5,
        prepare: "sh $INPUTS/grid.sh",
        line: "dgord grid.grf order.ord",
        output: Output::Nothing,
        ..ANY
    },
    Program {
        name: "Meep",
        packages: &["meep-openmpi"],
        ranks: 3,
        line: "meep {inputs}/waveguide.ctl",
        says: &["field:, 20", "run 0 finished"],
        changes: &["time", "Elapsed", "ime for", "/", "Using MPI version"],
        ..ANY
    },
    Program {
        name: "NetPIPE",
        packages: &["netpipe-openmpi"],
        ranks: 2,
        line: "NPopenmpi -u 1000 -n 20",
        output: Output::Nothing,
        ..ANY
    },
    Program {
        name: "petsc4py",
        packages: &["python3-petsc4py-real"],
        prepare: "ln -s /usr/lib/petscdir/petsc3*/*-real/lib/python3/dist-packages petsc",
        line: "env PYTHONPATH=petsc /usr/bin/python3 {inputs}/cg.py",
        says: &["cg True", "gmres True", "pipecg True"],
        ..ANY
    },
    Program {
        name: "slepc4py",
        packages: &["python3-slepc4py-real"],
        ranks: 3,
        prepare: "ln -s /usr/lib/petscdir/petsc3*/*-real/lib/python3/dist-packages petsc && \
                  ln -s /usr/lib/slepcdir/slepc3*/*-real/lib/python3/dist-packages slepc",
        line: "env PYTHONPATH=petsc:slepc /usr/bin/python3 {inputs}/eigenvalues.py",
        says: &["0.002652 0.010600 0.023824"],
        ..ANY
    },
    Program {
        name: "mpi4py-fft",
        packages: &["python3-mpi4py-fft"],
        line: "/usr/bin/python3 {inputs}/transform.py",
        says: &["as before"],
        ..ANY
    },
    Program {
        name: "snow",
        packages: &["r-cran-snow"],
        ranks: 3,
        line: "sh /usr/lib/R/site-library/snow/RMPISNOW --no-save -f {inputs}/cluster.R",
        says: &["sums: 159.5126569 2870"],
        ..ANY
    },
    Program {
        name: "Boost.MPI",
        packages: &["libboost-mpi-dev"],
        prepare: "mpicxx -O1 -o boosted $INPUTS/boosted.cpp -lboost_mpi -lboost_serialization",
        line: "./boosted",
        says: &["bbbb"],
        ..ANY
    },
    Program {
        name: "p4est",
        packages: &["libp4est-dev"],
        prepare: "mpicc -O1 -o forest $INPUTS/forest.c -lp4est -lsc",
        line: "./forest",
        says: &["quadrants"],
        ..ANY
    },
    Program {
        name: "PnetCDF",
        packages: &["libpnetcdf-dev"],
        prepare: "mpicc -O1 -o variables $INPUTS/variables.c -lpnetcdf",
        line: "./variables",
        says: &["0 wrong"],
        ..ANY
    },
];
