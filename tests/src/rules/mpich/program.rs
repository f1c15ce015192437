//! The program of calls, linked so that every algorithm tells when it is entered.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::machine::{source_dir, target_dir};

/// Debian's MPICH, as `scripts/mpis.sh` unpacks it.
pub(super) fn library_folder() -> PathBuf {
    target_dir().join("mpis/debian-mpich/usr")
}

/// MPICH 5, as `scripts/mpis.sh` installs it.
pub(super) fn wheel_folder() -> PathBuf {
    target_dir().join("mpis/mpich")
}

/// Compiles the program for MPICH 5, whose algorithms have no names outside of the library; returns the
/// executable.
///
/// # Panics
///
/// If the compiler is not content.
pub(super) fn build_without_names() -> PathBuf {
    let root = wheel_folder();
    let folder = target_dir().join("tmp/mpich-rules");
    fs::create_dir_all(&folder).expect("a folder for the program");
    let program = folder.join("mpich_rules_5");
    let mut compile = Command::new("gcc");
    compile
        .args(["-O1", "-DWITHOUT_NAMES", "-I"])
        .arg(root.join("include"))
        .arg(source_dir().join("programs/mpich_rules.c"))
        .arg(root.join("lib/libmpi.so.12"))
        .arg(format!("-Wl,-rpath,{}", root.join("lib").display()))
        .arg("-o")
        .arg(&program);
    succeed(compile);
    program
}

fn succeed(mut compile: Command) {
    let output = compile.output().expect("gcc runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// Compiles the program, once: an executable cannot be written while it runs; returns it.
///
/// # Panics
///
/// If a tool is missing or not content.
pub(super) fn build() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(compiled).clone()
}

fn compiled() -> PathBuf {
    let usr = library_folder();
    let libraries = usr.join("lib/x86_64-linux-gnu");
    let archive = libraries.join("libmpich.a");
    let folder = target_dir().join("tmp/mpich-rules");
    fs::create_dir_all(&folder).expect("a folder for the program");
    let algorithms = algorithms(&archive);
    let notes = folder.join("notes.s");
    fs::write(&notes, notes_of(&algorithms)).expect("a file for the notes");
    let program = folder.join("mpich_rules");
    let mut compile = Command::new("gcc");
    compile
        .arg("-O1")
        .arg("-I")
        .arg(usr.join("include/x86_64-linux-gnu/mpich"))
        .arg(source_dir().join("programs/mpich_rules.c"))
        .arg(&notes)
        .args(algorithms.iter().map(|name| format!("-Wl,--wrap={name}")))
        .arg(&archive)
        .args(needed(&libraries.join("libmpich.so.12")))
        .args(["-lpthread", "-lm", "-o"])
        .arg(&program);
    succeed(compile);
    program
}

/// The functions of `archive` that are algorithms.
fn algorithms(archive: &Path) -> Vec<String> {
    let output = Command::new("nm").arg(archive).output().expect("nm runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut names: Vec<String> = text
        .lines()
        .filter_map(|line| line.split_once(" T ").map(|(_, name)| name))
        .filter(|name| name.starts_with("MPIR_") && !name.ends_with("_auto"))
        .filter(|name| {
            ["_intra_", "_inter_", "_allcomm_"]
                .iter()
                .any(|kind| name.contains(kind))
        })
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    assert!(
        names.len() > 100,
        "{} algorithms in {}",
        names.len(),
        archive.display()
    );
    names
}

/// The libraries that MPICH itself needs, by their paths: there are no names to link by.
fn needed(shared: &Path) -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(shared).output().expect("ldd runs");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .filter_map(|line| line.split_once(" => "))
        .filter(|(name, _)| {
            ["libhwloc.", "libucp.", "libucs."]
                .iter()
                .any(|begin| name.trim().starts_with(begin))
        })
        .filter_map(|(_, path)| path.split_whitespace().next().map(PathBuf::from))
        .collect()
}

/// For each algorithm a function that is called in its place: it tells `algorithm_entered`, calls the
/// algorithm with all arguments where they are, those on the stack too, and tells
/// `algorithm_left`, which keeps the address to return to meanwhile.
fn notes_of(algorithms: &[String]) -> String {
    let mut text = String::from("    .text\n");
    for (idx, name) in algorithms.iter().enumerate() {
        let _ = write!(
            text,
            "    .globl __wrap_{name}\n    .type __wrap_{name}, @function\n__wrap_{name}:\n    movl ${idx}, %eax\n    \
             leaq __real_{name}(%rip), %r11\n    jmp note\n"
        );
    }
    text.push_str(NOTE);
    for (idx, _) in algorithms.iter().enumerate() {
        let _ = writeln!(text, "    .quad name_{idx}");
    }
    text.push_str("    .section .rodata\n");
    for (idx, name) in algorithms.iter().enumerate() {
        let _ = writeln!(text, "name_{idx}: .asciz \"{name}\"");
    }
    text.push_str("    .section .note.GNU-stack, \"\", @progbits\n");
    text
}

const NOTE: &str = "\
note:
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    push %r11
    movl %eax, %edi
    movq 56(%rsp), %rsi
    call algorithm_entered
    pop %r11
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    addq $8, %rsp
    call *%r11
    subq $8, %rsp
    push %rax
    subq $8, %rsp
    call algorithm_left
    addq $8, %rsp
    movq %rax, 8(%rsp)
    pop %rax
    ret
    .section .data.rel.ro, \"aw\"
    .globl algorithm_names
    .balign 8
algorithm_names:
";
