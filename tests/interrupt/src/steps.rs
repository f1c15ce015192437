//! A signal at each instruction, in a copy of the traced process.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use libc::{c_int, c_long, c_void, pid_t, user_regs_struct};

use crate::{HANDLERS, Handler, PATIENCE};

/// Experiments that run beside the traced process.
const AT_ONCE: usize = 2;

/// What has come of a program that was gone through.
#[derive(Debug, Default, Clone)]
pub struct Outcome {
    /// Addresses of instructions that it came to where the recorder, or the C library, is.
    pub n_addresses: u64,
    /// Instructions that were gone through.
    pub n_steps: u64,
    /// Signals that were sent.
    pub n_experiments: u64,
    /// What was not as it should be, a line each.
    pub failures: Vec<String>,
}

/// Whether this process may trace others; else why not.
///
/// # Errors
/// Why not.
pub fn may_trace() -> Result<()> {
    let mut child = traced(&mut Command::new("true"))?;
    child.kill()?;
    child.wait()?;
    Ok(())
}

fn traced(command: &mut Command) -> Result<std::process::Child> {
    // SAFETY: between fork and exec only a system call.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    command.spawn().context("a process that is traced")
}

/// Goes through `program` (that of `tests/stub/interrupted.c`), in the environment of this process.
/// Of the pairs of an address and a handler each `stride`th is an experiment, of which there are at
/// most `most`.
///
/// # Errors
/// Where the program cannot be traced.
pub fn go_through(program: &Path, calls: &str, stride: u64, most: u64) -> Result<Outcome> {
    let mut command = Command::new(program);
    command.arg(calls).env("INTERRUPTED_STEPS", "1");
    let child = traced(&mut command)?;
    let mut walk = Walk {
        pid: child.id() as pid_t,
        gate: 0,
        code: Vec::new(),
        seen: HashSet::new(),
        is_in_recorder: false,
        running: VecDeque::new(),
        outcome: Outcome::default(),
        stride,
        most,
    };
    walk.walk()?;
    while !walk.running.is_empty() {
        walk.end_oldest()?;
    }
    Ok(walk.outcome)
}

/// A part of the memory of the traced process with code.
struct Code {
    begin: u64,
    end: u64,
    /// Address of what its file has at its begin.
    base: u64,
    name: String,
    of: Part,
}

/// Whose code it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Recorder,
    /// The C library and the loader: what they do they do for whoever has called them.
    Below,
    Program,
}

struct Experiment {
    pid: pid_t,
    handler: Handler,
    place: String,
}

struct Walk {
    pid: pid_t,
    /// Where the program has a system call.
    gate: u64,
    code: Vec<Code>,
    seen: HashSet<u64>,
    /// Whether the recorder is at work, or what it has called of the C library.
    is_in_recorder: bool,
    running: VecDeque<Experiment>,
    outcome: Outcome,
    stride: u64,
    most: u64,
}

impl Walk {
    fn walk(&mut self) -> Result<()> {
        let status = wait(self.pid)?;
        ensure!(libc::WIFSTOPPED(status), "the program did not begin");
        let options = libc::PTRACE_O_TRACEFORK | libc::PTRACE_O_EXITKILL;
        request(libc::PTRACE_SETOPTIONS, self.pid, 0, options as usize)?;
        let (mut steps, mut before) = (false, 0);
        let mut signal = 0;
        loop {
            let how = if steps {
                libc::PTRACE_SINGLESTEP
            } else {
                libc::PTRACE_CONT
            };
            request(how, self.pid, 0, signal as usize)?;
            let status = wait(self.pid)?;
            if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
                ensure!(
                    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
                    "the traced program ended with status {status:#x}"
                );
                return Ok(());
            }
            signal = match libc::WSTOPSIG(status) {
                libc::SIGTRAP | libc::SIGSTOP => 0,
                other => other,
            };
            if signal != 0 {
                continue;
            }
            let at = self.instruction()?;
            if !steps {
                // Behind a mark.
                self.gate = registers(self.pid)?.rax;
                self.find_code()?;
                steps = true;
            } else if before + 1 == at && self.part(at) == Part::Program && self.is_mark(before)? {
                steps = false;
            } else {
                self.outcome.n_steps += 1;
                self.visit(at)?;
            }
            before = at;
        }
    }

    /// At the instruction `at`, of which no part is done.
    fn visit(&mut self, at: u64) -> Result<()> {
        let part = self.part(at);
        if part != Part::Below {
            self.is_in_recorder = part == Part::Recorder;
        }
        if !self.is_in_recorder || !self.seen.insert(at) {
            return Ok(());
        }
        let first = self.outcome.n_addresses * HANDLERS.len() as u64;
        self.outcome.n_addresses += 1;
        for (handler, number) in HANDLERS.into_iter().zip(first..) {
            if number % self.stride == 0 && self.outcome.n_experiments < self.most {
                self.outcome.n_experiments += 1;
                self.begin(handler, at)?;
            }
        }
        Ok(())
    }

    fn part(&self, at: u64) -> Part {
        let mut code = self.code.iter();
        let code = code.find(|code| (code.begin..code.end).contains(&at));
        code.map_or(Part::Program, |code| code.of)
    }

    fn place(&self, at: u64) -> String {
        let mut code = self.code.iter();
        match code.find(|code| (code.begin..code.end).contains(&at)) {
            Some(code) => format!("{}+{:#x}", code.name, at - code.base),
            None => format!("{at:#x}"),
        }
    }

    fn find_code(&mut self) -> Result<()> {
        self.code.clear();
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.pid))?;
        let mut bases: Vec<(String, u64)> = Vec::new();
        for line in maps.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [range, rights, _, _, _, path] = words[..] else {
                continue;
            };
            let (begin, end) = range.split_once('-').context("a range")?;
            let (begin, end) = (
                u64::from_str_radix(begin, 16)?,
                u64::from_str_radix(end, 16)?,
            );
            let name = path.rsplit('/').next().unwrap_or(path).to_owned();
            if !bases.iter().any(|(known, _)| *known == name) {
                bases.push((name.clone(), begin));
            }
            let base = bases.iter().find(|(known, _)| *known == name);
            if rights.contains('x') {
                let below = ["libc.so", "libc-", "ld-linux", "libpthread", "libgcc_s"];
                let of = match name.as_str() {
                    name if name.starts_with("libcollbench_preload") => Part::Recorder,
                    name if below.iter().any(|known| name.starts_with(known)) => Part::Below,
                    _ => Part::Program,
                };
                let base = base.map_or(begin, |(_, base)| *base);
                self.code.push(Code {
                    begin,
                    end,
                    base,
                    name,
                    of,
                });
            }
        }
        Ok(())
    }

    /// Whether the instruction is that which marks a path.
    fn is_mark(&self, at: u64) -> Result<bool> {
        const INT3: u8 = 0xcc;
        Ok(peek(libc::PTRACE_PEEKTEXT, self.pid, at as usize)? as u8 == INT3)
    }

    fn instruction(&self) -> Result<u64> {
        let place = std::mem::offset_of!(user_regs_struct, rip);
        Ok(peek(libc::PTRACE_PEEKUSER, self.pid, place)? as u64)
    }

    /// Forks the traced process, and sends the copy the signal.
    fn begin(&mut self, handler: Handler, at: u64) -> Result<()> {
        if self.running.len() >= AT_ONCE {
            self.end_oldest()?;
        }
        let before = registers(self.pid)?;
        let mut call = before;
        call.rip = self.gate;
        call.rax = libc::SYS_clone as u64;
        call.orig_rax = u64::MAX;
        // A child of this process, and not of the traced one.
        call.rdi = (libc::CLONE_PARENT | libc::SIGCHLD) as u64;
        (call.rsi, call.rdx, call.r10, call.r8) = (0, 0, 0, 0);
        set_registers(self.pid, &call)?;
        request(libc::PTRACE_SINGLESTEP, self.pid, 0, 0)?;
        let status = wait(self.pid)?;
        ensure!(
            status >> 8 == libc::SIGTRAP | libc::PTRACE_EVENT_FORK << 8,
            "no fork of the traced process: status {status:#x}"
        );
        let mut copy: libc::c_ulong = 0;
        let to = (&raw mut copy) as usize;
        request(libc::PTRACE_GETEVENTMSG, self.pid, 0, to)?;
        let copy = copy as pid_t;
        request(libc::PTRACE_SINGLESTEP, self.pid, 0, 0)?;
        let status = wait(self.pid)?;
        ensure!(
            libc::WIFSTOPPED(status),
            "the traced process ended in a fork"
        );
        set_registers(self.pid, &before)?;
        let status = wait(copy)?;
        ensure!(libc::WIFSTOPPED(status), "the copy did not begin");
        set_registers(copy, &before)?;
        request(libc::PTRACE_DETACH, copy, 0, handler.signal as usize)?;
        let place = self.place(at);
        self.running.push_back(Experiment {
            pid: copy,
            handler,
            place,
        });
        Ok(())
    }

    fn end_oldest(&mut self) -> Result<()> {
        let Some(Experiment {
            pid,
            handler,
            place,
        }) = self.running.pop_front()
        else {
            return Ok(());
        };
        let ended = ends_in_time(pid)?;
        if !ended {
            // SAFETY: a process that was forked above, and not waited for yet.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        let status = wait(pid)?;
        let is_right = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == handler.status;
        if !ended || !is_right {
            let how = match (ended, libc::WIFSIGNALED(status)) {
                (false, _) => "hangs".to_owned(),
                (_, true) => format!("is killed by signal {}", libc::WTERMSIG(status)),
                _ => format!("ends with {}", libc::WEXITSTATUS(status)),
            };
            let failure = format!("{} at {place}: {how}", handler.does);
            eprintln!("{failure}");
            self.outcome.failures.push(failure);
        }
        Ok(())
    }
}

fn ends_in_time(pid: pid_t) -> Result<bool> {
    // SAFETY: a child that was not waited for; the descriptor is this function's.
    let descriptor = unsafe {
        let descriptor = libc::syscall(libc::SYS_pidfd_open, pid, 0) as c_int;
        if descriptor < 0 {
            bail!("pidfd_open: {}", io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(descriptor)
    };
    let mut poll = libc::pollfd {
        fd: descriptor.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one descriptor, which is open.
    Ok(unsafe { libc::poll(&mut poll, 1, PATIENCE.as_millis() as c_int) } == 1)
}

fn wait(pid: pid_t) -> Result<c_int> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for writing.
        match unsafe { libc::waitpid(pid, &mut status, libc::__WALL) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => bail!("waitpid: {}", io::Error::last_os_error()),
            _ => return Ok(status),
        }
    }
}

fn request(what: libc::c_uint, pid: pid_t, address: usize, data: usize) -> Result<()> {
    // SAFETY: requests that read and write what the callers point to, which is as long as the
    // request wants.
    let code = unsafe { libc::ptrace(what, pid, address as *mut c_void, data as *mut c_void) };
    ensure!(
        code == 0,
        "ptrace request {what}: {}",
        io::Error::last_os_error()
    );
    Ok(())
}

fn peek(what: libc::c_uint, pid: pid_t, address: usize) -> Result<c_long> {
    // SAFETY: reads of the traced process; an error is told apart by errno.
    unsafe {
        *libc::__errno_location() = 0;
        let word = libc::ptrace(
            what,
            pid,
            address as *mut c_void,
            std::ptr::null_mut::<c_void>(),
        );
        ensure!(
            *libc::__errno_location() == 0,
            "reading the traced process: {}",
            io::Error::last_os_error()
        );
        Ok(word)
    }
}

fn registers(pid: pid_t) -> Result<user_regs_struct> {
    // SAFETY: all zeros is a valid set of registers, plain numbers.
    let mut registers: user_regs_struct = unsafe { std::mem::zeroed() };
    request(libc::PTRACE_GETREGS, pid, 0, (&raw mut registers) as usize)?;
    Ok(registers)
}

fn set_registers(pid: pid_t, registers: &user_regs_struct) -> Result<()> {
    request(
        libc::PTRACE_SETREGS,
        pid,
        0,
        std::ptr::from_ref(registers) as usize,
    )
}
