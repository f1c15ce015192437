# Untested: only its syntax is checked. Put it into a repository of your own, or into one that
# "spack repo create" makes, with the source archive (git archive, see docs/install.md) in the current folder.

import os

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Collbench(Package):
    """Shows where the time of the collective operations of an MPI program goes."""

    manual_download = True
    url = f"file://{os.getcwd()}/collbench-0.1.0.tar.gz"

    license("MIT OR Apache-2.0")

    version("0.1.0")

    # The recorder finds the MPI library of the program at run time: no dependency on one.
    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        cargo("build", "--release", "--locked")
        Executable("scripts/install.sh")(prefix)
