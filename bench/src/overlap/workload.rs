//! The computation: each thread multiplies square matrices of its own, on a core of its own.
//!
//! # Source
//! Denis et al. 2022, section 5.1: one thread per core, each with a sequential multiplication. The
//! calling thread is one of them; the others wait in the kernel, not on a core, until they compute.

use std::hint::black_box;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use anyhow::Context;

/// Bytes of the matrices of a thread, for this many rows.
fn matrix_bytes(rows: u64) -> u64 {
    3 * rows * rows * size_of::<f64>() as u64
}

/// Largest number of rows with which the matrices of `threads` threads take at most `bytes`; at
/// least 1.
pub(super) fn most_rows(bytes: u64, threads: usize) -> u64 {
    let of_thread = bytes / (threads.max(1) as u64 * matrix_bytes(1));
    of_thread.isqrt().max(1)
}

/// Two factors and their product.
#[derive(Debug, Default)]
struct Matrices {
    rows: usize,
    a: Vec<f64>,
    b: Vec<f64>,
    product: Vec<f64>,
}

impl Matrices {
    fn resize(&mut self, rows: usize) {
        if rows == self.rows {
            return;
        }
        // Not both sizes at once.
        *self = Self::default();
        let n = rows * rows;
        *self = Self {
            rows,
            a: (0..n).map(|i| 1.0 + (i % 7) as f64).collect(),
            b: (0..n).map(|i| 1.0 - (i % 5) as f64).collect(),
            product: vec![1.0; n],
        };
    }

    fn multiply(&mut self) {
        let (n, stride) = (self.rows, self.rows as isize);
        let (a, b) = (black_box(&self.a).as_ptr(), black_box(&self.b).as_ptr());
        // SAFETY: the three matrices have n x n elements, by rows without gaps, and the product is
        // no part of a factor.
        unsafe {
            matrixmultiply::dgemm(
                n,
                n,
                n,
                1.0,
                a,
                stride,
                1,
                b,
                stride,
                1,
                0.0,
                self.product.as_mut_ptr(),
                stride,
                1,
            );
        }
        black_box(&mut self.product);
    }
}

enum Task {
    Resize(usize),
    Multiply,
}

/// A thread that computes on request.
struct Helper {
    tasks: Option<Sender<Task>>,
    done: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

/// The computation of a process.
pub(super) struct Workload {
    own: Matrices,
    helpers: Vec<Helper>,
}

impl Workload {
    /// One thread on each of these cores: the calling one on the first.
    ///
    /// # Errors
    /// If the kernel refuses a thread or a core.
    pub(super) fn on(cores: &[usize]) -> anyhow::Result<Self> {
        let Some((first, others)) = cores.split_first() else {
            anyhow::bail!("a computation needs a core");
        };
        let helpers = others.iter().map(|&core| Helper::on(core));
        let helpers = helpers.collect::<anyhow::Result<_>>()?;
        bind_to(*first)?;
        Ok(Self {
            own: Matrices::default(),
            helpers,
        })
    }

    /// Gives all threads matrices with this number of rows; 0 frees them.
    pub(super) fn resize(&mut self, rows: u64) {
        self.with_helpers(
            || Task::Resize(rows as usize),
            |own| own.resize(rows as usize),
        );
    }

    /// One multiplication by each thread at once; returns when all have finished.
    pub(super) fn compute(&mut self) {
        self.with_helpers(|| Task::Multiply, Matrices::multiply);
    }

    fn with_helpers(&mut self, task: impl Fn() -> Task, own: impl FnOnce(&mut Matrices)) {
        for helper in &self.helpers {
            if let Some(tasks) = &helper.tasks {
                // A thread that has panicked is noticed when it does not answer.
                let _ = tasks.send(task());
            }
        }
        own(&mut self.own);
        for helper in &self.helpers {
            let answer = helper.done.recv();
            assert!(answer.is_ok(), "a thread that computes has panicked");
        }
    }
}

impl Helper {
    fn on(core: usize) -> anyhow::Result<Self> {
        let (tasks, requests) = channel();
        let (answers, done) = channel();
        let (ready, is_bound) = channel();
        let thread = std::thread::Builder::new()
            .name(format!("core {core}"))
            .spawn(move || {
                let _ = ready.send(bind_to(core));
                let mut matrices = Matrices::default();
                while let Ok(task) = requests.recv() {
                    match task {
                        Task::Resize(rows) => matrices.resize(rows),
                        Task::Multiply => matrices.multiply(),
                    }
                    if answers.send(()).is_err() {
                        return;
                    }
                }
            })
            .context("a thread that computes")?;
        is_bound.recv().context("a thread that computes")??;
        Ok(Self {
            tasks: Some(tasks),
            done,
            thread: Some(thread),
        })
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Cores on which this thread may run, ascending.
pub(super) fn allowed_cores() -> Vec<usize> {
    // SAFETY: all zeros is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: a set that is valid for writing, with its size; 0 is the calling thread.
    let code = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    let is_in = |core: &usize| {
        // SAFETY: a set, and a number below its size.
        code == 0 && unsafe { libc::CPU_ISSET(*core, &set) }
    };
    (0..libc::CPU_SETSIZE as usize).filter(is_in).collect()
}

/// Binds the calling thread to a core.
fn bind_to(core: usize) -> anyhow::Result<()> {
    // SAFETY: all zeros is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    anyhow::ensure!(
        core < libc::CPU_SETSIZE as usize,
        "core {core} is beyond what can be bound to"
    );
    // SAFETY: a set, and a number below its size.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: a set with its size; 0 is the calling thread.
    let code = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
    if code != 0 {
        return Err(std::io::Error::last_os_error())
            .with_context(|| format!("binding a thread to core {core}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_multiplies_its_matrices() {
        let core = allowed_cores()[0];
        // In a thread of its own, which is bound to a core.
        let product = std::thread::spawn(move || {
            let mut workload = Workload::on(&[core, core]).unwrap();
            workload.resize(9);
            workload.compute();
            let Matrices { a, b, product, .. } = &workload.own;
            let dot = |row: usize, column: usize| -> f64 {
                (0..9).map(|i| a[9 * row + i] * b[9 * i + column]).sum()
            };
            for row in 0..9 {
                for column in 0..9 {
                    assert!((product[9 * row + column] - dot(row, column)).abs() < 1e-9);
                }
            }
            workload.resize(0);
            workload.compute();
            workload.own.product.len()
        });
        assert_eq!(product.join().unwrap(), 0);
    }

    #[test]
    fn matrices_of_all_threads_fit_into_the_memory() {
        for (bytes, threads) in [(1 << 30, 1), (1 << 30, 64), (100, 1), (0, 4)] {
            let rows = most_rows(bytes, threads);
            assert!(rows == 1 || matrix_bytes(rows) * threads as u64 <= bytes);
            assert!(matrix_bytes(rows + 1) * threads as u64 > bytes);
        }
    }

    #[test]
    fn a_core_that_does_not_exist_is_named() {
        let error = std::thread::spawn(|| bind_to(1 << 20).unwrap_err().to_string());
        assert!(error.join().unwrap().contains("core 1048576"));
    }
}
