//! What `collbench-tune` says of rule files of `coll_han`, against what Open MPI 5 does with them on two
//! hosts. More files, and other seeds: `cargo run -p collbench-tests --bin rule-agreement -- --han`.

use collbench_tests::{Cluster, HanAgreed, RuledLibrary, alone, long_or, skip_unless};

use crate::mpis::have_mpis;

#[test]
fn what_is_said_of_files_of_coll_han_is_what_open_mpi_5_does() {
    skip_unless!(have_mpis());
    let library =
        RuledLibrary::five("ruled.c").expect("Open MPI 5, which scripts/mpis.sh installs");
    let links = ["--hosts", "2", "--latency-us", "20"];
    let _alone = alone();
    let Some(cluster) = Cluster::up("han", &links) else {
        return;
    };
    let agreed = HanAgreed::of(&cluster, &library, 1, long_or(30, 12));
    assert!(agreed.differences.is_empty(), "{:#?}", agreed.differences);
    for by in ["rule", "library", "setting", "component"] {
        assert!(agreed.by.get(by).is_some_and(|&n| n > 30), "{agreed:?}");
    }
    assert!(agreed.by.contains_key("failure"), "{agreed:?}");
}
