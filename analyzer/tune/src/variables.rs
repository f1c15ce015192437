//! Choices to environment variables of libraries whose algorithms cannot be seen: UCC and Intel MPI.
//!
//! Choices are algorithms of Open MPI. For each of them that another library has, by what its manual says, there
//! is an [`Equivalent`]; what has none is left out. Nothing of this could be tested: no library shows which
//! algorithm ran.

mod intel;
mod ucc;

use collbench_formats::Operation;

use crate::choices::{Choice, held};
use crate::open_mpi::CountedSize;
use crate::written::{Written, head};

pub use intel::write as write_intel;
pub use ucc::write as write_ucc;

/// An algorithm of Open MPI, and the same one of another library.
#[derive(Debug)]
struct Equivalent {
    operation: Operation,
    /// Its name in Open MPI.
    name: &'static str,
    /// Its name or number in the other library.
    is: &'static str,
    /// A variable that it needs for all calls, with its value.
    with: Option<(&'static str, u32)>,
}

const fn same(operation: Operation, name: &'static str, is: &'static str) -> Equivalent {
    Equivalent {
        operation,
        name,
        is,
        with: None,
    }
}

/// A rule: for these sizes, as the other library counts them, this algorithm.
#[derive(Debug, Clone, Copy)]
struct Rule {
    equivalent: &'static Equivalent,
    n_processes: u32,
    /// The smallest and the largest size.
    sizes: (u64, u64),
}

/// The rules that another library can follow, and of the others why not.
fn rules_of(
    choices: &[Choice],
    equivalents: &'static [Equivalent],
    size: fn(Operation) -> CountedSize,
    library: &str,
) -> (Vec<Rule>, Vec<String>) {
    let mut rules: Vec<Rule> = Vec::new();
    let mut left_out = Vec::new();
    for of in held(choices) {
        let Choice {
            operation,
            n_processes,
            ..
        } = *of.choice;
        let name = operation.name();
        let Some(chosen) = of.choice.algorithm.as_deref() else {
            continue;
        };
        let is_it = |of: &&Equivalent| (of.operation, of.name) == (operation, chosen);
        let Some(equivalent) = equivalents.iter().find(is_it) else {
            left_out.push(format!("{name}: {library} has nothing that is {chosen}"));
            continue;
        };
        let other = rules.iter().find_map(|rule| {
            let (variable, value) = rule.equivalent.with?;
            let (same, other) = equivalent.with?;
            (variable == same && value != other).then_some((variable, value))
        });
        if let Some((variable, value)) = other {
            left_out.push(format!(
                "{name}: {chosen} needs another {variable} than {value}, which holds for all calls"
            ));
            continue;
        }
        let size = size(operation);
        let (from, to) = of.bytes;
        let sizes = if size == CountedSize::Nothing {
            (0, u64::MAX)
        } else {
            let of = |bytes| size.of(bytes, n_processes, 1);
            (of(from), of(to.saturating_add(1)).saturating_sub(1))
        };
        let is_same_call = |rule: &Rule| {
            (rule.equivalent.operation, rule.n_processes, rule.sizes)
                == (operation, n_processes, sizes)
        };
        if rules.iter().any(is_same_call) {
            left_out.push(format!(
                "{name} on {n_processes} processes: {chosen} was chosen by length, which {library} does not \
                 look at"
            ));
            continue;
        }
        rules.push(Rule {
            equivalent,
            n_processes,
            sizes,
        });
    }
    left_out.dedup();
    (rules, left_out)
}

/// The command of a shell that takes variables from a file.
fn sourced(file_name: &str) -> String {
    let folder = if file_name.contains('/') { "" } else { "./" };
    format!(". {folder}{file_name}")
}

/// Lines of a shell that set variables by rules; empty without rules.
fn exports(
    rules: &[Rule],
    variables: &[(String, String)],
    sentences: &[String],
    commands: Vec<String>,
    left_out: Vec<String>,
) -> Written {
    let lines = variables
        .iter()
        .map(|(name, value)| format!("export {name}='{value}'\n"));
    let text = if rules.is_empty() {
        String::new()
    } else {
        head(sentences, &commands) + &lines.collect::<String>()
    };
    Written {
        text,
        commands,
        left_out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::choice;
    use crate::open_mpi::library_of;

    #[test]
    fn each_name_is_one_of_open_mpi_and_has_one_equivalent() {
        let library = library_of("Open MPI 5.0.11");
        for equivalents in [ucc::EQUIVALENTS, intel::EQUIVALENTS] {
            for (nth, one) in equivalents.iter().enumerate() {
                let table = library.operation(one.operation).unwrap();
                assert!(
                    table.algorithms.iter().any(|of| of.name == one.name),
                    "{one:?}"
                );
                let is_same =
                    |of: &Equivalent| (of.operation, of.name) == (one.operation, one.name);
                assert!(!equivalents[..nth].iter().any(is_same), "{one:?}");
            }
        }
    }

    fn exported(written: &Written) -> Vec<&str> {
        let lines = written.text.lines();
        lines.filter(|line| !line.starts_with('#')).collect()
    }

    fn choices() -> Vec<Choice> {
        vec![
            choice(Operation::Allgather, 4, 8, Some("bruck")),
            choice(Operation::Allgather, 4, 1024, Some("ring")),
            choice(Operation::Allreduce, 4, 8, None),
            choice(Operation::Allreduce, 4, 4096, Some("rabenseifner")),
            choice(Operation::Alltoallv, 4, 8, Some("pairwise")),
            choice(Operation::Barrier, 4, 0, Some("double_ring")),
            choice(Operation::Bcast, 4, 8, Some("binomial")),
            choice(Operation::Bcast, 4, 1024, Some("knomial")),
        ]
    }

    #[test]
    fn ucc_is_told_in_its_sizes_and_one_radix() {
        let written = write_ucc(&choices(), "ucc.sh");
        assert_eq!(
            exported(&written),
            [
                "export UCC_TL_UCP_TUNE='allgather:0-4095:[4-4]:@bruck#allgather:4096-inf:[4-4]:@ring#\
                 allreduce:4096-inf:[4-4]:@sra_knomial#alltoallv:0-inf:[4-4]:@pairwise#\
                 bcast:0-1023:[4-4]:@knomial'",
                "export UCC_TL_UCP_ALLREDUCE_SRA_KN_RADIX='2'",
                "export UCC_TL_UCP_BCAST_KN_RADIX='2'",
            ]
        );
        assert_eq!(
            written.left_out,
            [
                "MPI_Barrier: UCC has nothing that is double_ring",
                "MPI_Bcast: knomial needs another UCC_TL_UCP_BCAST_KN_RADIX than 2, which holds for all calls",
            ]
        );
    }

    #[test]
    fn intel_mpi_is_told_by_numbers() {
        let written = write_intel(&choices(), "intel.sh");
        assert_eq!(
            exported(&written),
            [
                "export I_MPI_ADJUST_ALLGATHER='2:0-1023@4-4;3:1024-2147483647@4-4'",
                "export I_MPI_ADJUST_ALLREDUCE='2:4096-2147483647@4-4'",
                "export I_MPI_ADJUST_BCAST='1:0-1023@4-4;8:1024-2147483647@4-4'",
            ]
        );
        assert_eq!(
            written.left_out,
            [
                "MPI_Alltoallv: Intel MPI has nothing that is pairwise",
                "MPI_Barrier: Intel MPI has nothing that is double_ring",
            ]
        );
    }

    #[test]
    fn without_an_equivalent_nothing_is_written() {
        let none = [choice(Operation::Barrier, 4, 0, Some("double_ring"))];
        assert_eq!(write_ucc(&none, "ucc.sh").text, "");
        assert_eq!(write_intel(&none, "intel.sh").text, "");
    }
}
