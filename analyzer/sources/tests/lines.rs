//! Lines of programs that are compiled here.

use std::path::{Path, PathBuf};
use std::process::Command;

use collbench_sources::{Lines, Trouble, lines_of};

const SOURCE: &str = r#"
int called(int);

static inline __attribute__((always_inline)) int inlined(int x) {
  return called(x) + 1; /* line 5 */
}

int outer(int x) {
  return inlined(x) * 3; /* line 9 */
}

__attribute__((noipa)) int called(int x) { return x ^ 5; }
int main(int argc, char **argv) { (void)argv; return outer(argc); }
"#;

/// Compiles the source in a folder; `None`, said aloud, where there is no compiler.
fn compile(folder: &Path, options: &[&str]) -> Option<PathBuf> {
    let (source, program) = (folder.join("way.c"), folder.join("way"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut command = Command::new("cc");
    command.args(options).arg("-o").arg(&program).arg(&source);
    command.arg("-fno-ipa-icf").arg("-fno-inline-functions");
    match command.status() {
        Ok(status) => {
            assert!(status.success(), "{command:?}");
            Some(program)
        }
        Err(error) => {
            eprintln!("skipped: no C compiler ({error})");
            None
        }
    }
}

/// Runs a tool of binutils on a program.
fn tool(name: &str, arguments: &[&str], program: &Path) {
    let status = Command::new(name).args(arguments).arg(program).status();
    assert!(status.unwrap().success(), "{name} {arguments:?}");
}

/// The return address of the call in `outer`, as objdump shows it, and the build id.
fn call_in_outer(program: &Path) -> (u64, Vec<u8>) {
    let shown = Command::new("objdump")
        .args(["-d", "--no-show-raw-insn", "--disassemble=outer"])
        .arg(program)
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let mut lines = shown.lines().skip_while(|line| !line.contains("call"));
    lines.next().unwrap();
    let behind = lines.next().unwrap().trim().split(':').next().unwrap();
    let behind = u64::from_str_radix(behind, 16).unwrap();
    let notes = Command::new("readelf").arg("-n").arg(program).output();
    let notes = String::from_utf8(notes.unwrap().stdout).unwrap();
    let id = notes.split("Build ID: ").nth(1);
    let id = id.map_or("", |id| id.split_whitespace().next().unwrap());
    let digits = id.as_bytes().chunks(2);
    let id = digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap());
    (behind, id.collect())
}

fn frames(lines: &Lines) -> Vec<(&str, Option<u32>, bool)> {
    let frames = lines.frames[0].iter();
    frames
        .map(|frame| {
            (
                frame.function.as_deref().unwrap_or("?"),
                frame.line,
                frame.is_inlined,
            )
        })
        .collect()
}

const BOTH: [(&str, Option<u32>, bool); 2] =
    [("inlined", Some(5), true), ("outer", Some(9), false)];

#[test]
fn functions_inlined_at_a_call_are_found_with_their_lines() {
    for options in [
        &["-O2", "-g", "-fno-optimize-sibling-calls"][..],
        &["-O2", "-g1", "-no-pie"],
        &["-O1", "-g", "-gz", "-fomit-frame-pointer"],
        &["-O0", "-gdwarf-4"],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let options = [options, &["-Wl,--build-id"]].concat();
        let Some(program) = compile(folder.path(), &options) else {
            return;
        };
        let (behind, id) = call_in_outer(&program);
        let lines = lines_of(&program, &id, &[behind, 1]);
        assert_eq!(frames(&lines), BOTH, "{options:?}");
        assert_eq!(lines.trouble, None);
        let file = lines.frames[0][0].file.as_deref().unwrap();
        assert!(file.ends_with("/way.c"), "{file}");
        assert_eq!(lines.frames[1], [], "no function is there");
    }
}

#[test]
fn debug_information_beside_a_stripped_program_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["-O2", "-g", "-Wl,--build-id"];
    let Some(program) = compile(folder.path(), &options) else {
        return;
    };
    let (behind, id) = call_in_outer(&program);
    let debug = folder.path().join(".debug");
    std::fs::create_dir(&debug).unwrap();
    let beside = debug.join("way.debug");
    let beside = beside.to_str().unwrap();
    tool(
        "objcopy",
        &["--only-keep-debug", program.to_str().unwrap()],
        Path::new(beside),
    );
    tool("strip", &["--strip-debug"], &program);
    tool(
        "objcopy",
        &[&format!("--add-gnu-debuglink={beside}")],
        &program,
    );
    for id in [&id[..], &[]] {
        assert_eq!(frames(&lines_of(&program, id, &[behind])), BOTH);
    }
    // Without it the function is known, not the line.
    std::fs::remove_file(beside).unwrap();
    let lines = lines_of(&program, &id, &[behind]);
    assert_eq!(frames(&lines), [("outer", None, false)]);
    assert_eq!(lines.trouble, Some(Trouble::NoDebugInformation));
    tool("strip", &[], &program);
    let lines = lines_of(&program, &id, &[behind]);
    assert_eq!(
        (frames(&lines), lines.trouble),
        (vec![], Some(Trouble::NoDebugInformation))
    );
}

#[test]
fn a_program_that_was_built_anew_or_moved_has_no_lines() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compile(folder.path(), &["-O2", "-g", "-Wl,--build-id"]) else {
        return;
    };
    let (behind, id) = call_in_outer(&program);
    compile(folder.path(), &["-O1", "-g", "-Wl,--build-id"]);
    let lines = lines_of(&program, &id, &[behind]);
    assert_eq!(lines.trouble, Some(Trouble::Rebuilt));
    assert_eq!(lines.frames, [[]; 1]);
    let moved = folder.path().join("moved");
    std::fs::rename(&program, &moved).unwrap();
    for path in [&program, Path::new("way"), Path::new("/"), Path::new("")] {
        let lines = lines_of(path, &id, &[behind]);
        assert_eq!(lines.trouble, Some(Trouble::Missing), "{path:?}");
    }
}

#[test]
fn damaged_files_give_what_is_left_of_them_and_never_more() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compile(folder.path(), &["-O2", "-g", "-Wl,--build-id"]) else {
        return;
    };
    let (behind, id) = call_in_outer(&program);
    let whole = std::fs::read(&program).unwrap();
    let damaged = folder.path().join("damaged");
    let mut seed = 1u64;
    for round in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..1 + round % 40 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 33) as usize % bytes.len();
            bytes[at] = (seed >> 20) as u8;
        }
        bytes.truncate(if round % 3 == 0 {
            (seed >> 30) as usize % whole.len()
        } else {
            whole.len()
        });
        std::fs::write(&damaged, &bytes).unwrap();
        let lines = lines_of(
            &damaged,
            if round % 2 == 0 { &id } else { &[] },
            &[behind, 0, u64::MAX],
        );
        assert_eq!(lines.frames.len(), 3);
    }
    std::fs::write(&damaged, b"#!/bin/sh\n").unwrap();
    assert_eq!(
        lines_of(&damaged, &[], &[1]).trouble,
        Some(Trouble::Damaged)
    );
}

/// A program with other contents of a section with debug information.
fn with_section(program: &Path, name: &str, content: &[u8]) {
    let file = program.with_file_name("content");
    std::fs::write(&file, content).unwrap();
    let new = format!("{name}={}", file.display());
    tool("objcopy", &["--remove-section", name], program);
    tool("objcopy", &["--add-section", &new], program);
}

#[test]
fn debug_information_that_is_huge_is_not_read_and_functions_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["-O2", "-g", "-Wl,--build-id"];
    let Some(program) = compile(folder.path(), &options) else {
        return;
    };
    let (behind, id) = call_in_outer(&program);
    let whole = std::fs::read(&program).unwrap();
    // Units of version 4, each with one entry.
    let unit = [8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1];
    let of_length = |n_bytes: u32| {
        let mut all = n_bytes.to_le_bytes().to_vec();
        all.extend(&unit[4..]);
        all.resize(n_bytes as usize + 4, 0);
        all
    };
    for (section, content) in [
        (".debug_info", unit.repeat(300_000)),
        (".debug_info", of_length(300 << 20)),
        (".debug_line", of_length(20 << 20)),
    ] {
        std::fs::write(&program, &whole).unwrap();
        with_section(&program, section, &content);
        let lines = lines_of(&program, &id, &[behind]);
        assert_eq!(lines.trouble, Some(Trouble::TooLarge), "{section}");
        assert_eq!(frames(&lines), [("outer", None, false)], "{section}");
    }
    // Lengths that lie.
    std::fs::write(&program, &whole).unwrap();
    with_section(&program, ".debug_line", &[0xf0, 0xff, 0xff, 0x0f, 5, 0]);
    let lines = lines_of(&program, &id, &[behind]);
    assert!(lines.trouble.is_some() && lines.frames[0].len() <= 64);
}
