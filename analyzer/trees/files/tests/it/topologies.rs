//! Cores of hosts, made up with the structure of real ones.

use std::fs;
use std::path::Path;

use collbench_formats::tree::{Cpu, HostTopology};
use collbench_tree_files::TreeFile;
use collbench_tree_files::topology::{of_xml, read};
use collbench_trees::topology::of_sys;
use collbench_trees::wrappers::place_on;

/// A host of 2 sockets with 2 core complexes of 2 cores each, of 2 threads each: the first threads
/// of all cores are numbered before the second ones, as Linux does on x86.
const SHAPE: (u32, u32, u32, u32) = (2, 2, 2, 2);

/// The processor with a number, from the structure and not from a file.
fn cpu(number: u32) -> Cpu {
    let (sockets, complexes, cores, _) = SHAPE;
    let core = number % (sockets * complexes * cores);
    Cpu {
        number,
        core,
        core_complex: core / cores,
        socket: core / (cores * complexes),
    }
}

fn all_cpus() -> HostTopology {
    let (sockets, complexes, cores, threads) = SHAPE;
    HostTopology {
        cpus: (0..sockets * complexes * cores * threads)
            .map(cpu)
            .collect(),
    }
}

/// The files of /sys for that host. The kernel numbers cores within a socket, with gaps.
fn write_sys(folder: &Path, is_on: impl Fn(u32) -> bool) {
    let n = all_cpus().cpus.len() as u32;
    let list = |is_in: &dyn Fn(&Cpu) -> bool| {
        let numbers = (0..n).map(cpu).filter(|cpu| is_in(cpu));
        numbers
            .map(|cpu| cpu.number.to_string())
            .collect::<Vec<_>>()
            .join(",")
    };
    let on = (0..n)
        .filter(|&number| is_on(number))
        .map(|number| number.to_string());
    fs::write(
        folder.join("online"),
        on.collect::<Vec<_>>().join(",") + "\n",
    )
    .unwrap();
    fs::write(folder.join("present"), format!("0-{}\n", n - 1)).unwrap();
    for cpu in (0..n).map(cpu) {
        let own = folder.join(format!("cpu{}", cpu.number));
        // A processor that is off has no topology.
        fs::create_dir(&own).unwrap();
        if !is_on(cpu.number) {
            continue;
        }
        let write = |file: &str, text: String| {
            let path = own.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text + "\n").unwrap();
        };
        write("topology/physical_package_id", cpu.socket.to_string());
        write("topology/core_id", (cpu.core % 4 * 2).to_string());
        let own_core = list(&|of| of.core == cpu.core);
        for (index, level, shared) in [
            (0, 1, own_core.clone()),
            (1, 1, own_core.clone()),
            (2, 2, own_core),
            (3, 3, list(&|of| of.core_complex == cpu.core_complex)),
        ] {
            write(&format!("cache/index{index}/level"), level.to_string());
            write(&format!("cache/index{index}/shared_cpu_list"), shared);
        }
    }
}

#[test]
fn the_files_of_sys_have_cores_complexes_and_sockets() {
    let folder = tempfile::tempdir().unwrap();
    write_sys(folder.path(), |_| true);
    assert_eq!(of_sys(folder.path()).unwrap(), all_cpus());
    assert_eq!(read(folder.path()).unwrap(), all_cpus());
}

#[test]
fn processors_that_are_off_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    // Second threads are off.
    write_sys(folder.path(), |number| number < 8);
    let found = of_sys(folder.path()).unwrap();
    assert_eq!(found.cpus, all_cpus().cpus[..8]);
}

#[test]
fn the_files_of_this_machine_can_be_read() {
    let folder = Path::new("/sys/devices/system/cpu");
    if !folder.join("cpu0/topology").exists() {
        eprintln!("SKIPPED: this machine does not show its processors in /sys");
        return;
    }
    let found = of_sys(folder).unwrap();
    assert!(
        found
            .cpus
            .windows(2)
            .all(|pair| pair[0].number < pair[1].number)
    );
}

#[test]
fn the_xml_of_hwloc_has_them_too_in_both_its_versions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/topologies");
    for name in ["two-sockets-hwloc2.xml", "two-sockets-hwloc1.xml"] {
        assert_eq!(read(&folder.join(name)).unwrap(), all_cpus(), "{name}");
    }
    // Without a cache that cores share, each core has its own.
    let none = read(&folder.join("no-caches.xml")).unwrap();
    assert_eq!(place_on(&none, &[0, 1]), (Some(u32::MAX), Some(0)));
    assert_eq!(place_on(&none, &[0, 2]), (None, None));
}

#[test]
fn what_has_no_processors_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let said = read(folder.path()).unwrap_err().to_string();
    assert!(
        said.contains("no processors in it; expected the files of /sys"),
        "{said}"
    );
    let at = Path::new("a.xml");
    let said = of_xml("<topology/>", at).unwrap_err().to_string();
    assert_eq!(
        said,
        "a.xml: no processors in it; expected objects of type PU, as lstopo --of xml writes them"
    );
    let said = of_xml("<topology>", at).unwrap_err().to_string();
    assert!(said.starts_with("a.xml: no XML: "), "{said}");
    // As deep as it is long.
    let deep = "<object type=\"L2Cache\">".repeat(20_000) + &"</object>".repeat(20_000);
    assert!(of_xml(&deep, at).is_err());
}

#[test]
fn a_tree_file_names_the_topology_of_its_hosts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/topologies");
    let text = "[[host]]\nhosts = [\"a*\"]\ntopology = \"two-sockets-hwloc2.xml\"\n\
                [[tree]]\noperations = \"barrier\"\nshape = { sockets = \"linear\" }\n";
    let file = TreeFile::parse(text, &folder).unwrap();
    assert_eq!(file.rules.hosts[0].topology, all_cpus());
    assert_eq!(file.rules.hosts[0].hosts, ["a*"]);
}
