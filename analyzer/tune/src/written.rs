//! What is written of choices.

use std::collections::BTreeMap;

/// A text that makes a library follow choices.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// The text; empty if nothing of the choices can be written.
    pub text: String,
    /// Command lines that use it, each enough by itself.
    pub commands: Vec<String>,
    /// What of the choices is not in it: sentences.
    pub left_out: Vec<String>,
}

/// Command lines that give Open MPI these parameters: by an option each, and by the environment.
pub(crate) fn with_parameters(parameters: &[(&str, &str)]) -> Vec<String> {
    let all = |of: fn(&str, &str) -> String| -> String {
        let each = parameters.iter().map(|(name, value)| of(name, value));
        each.collect::<Vec<_>>().join(" ")
    };
    let options = all(|name, value| format!("--mca {name} {value}"));
    let variables = all(|name, value| format!("OMPI_MCA_{name}={value}"));
    vec![
        format!("mpirun {options} ..."),
        format!("{variables} mpirun ..."),
    ]
}

/// Comment lines at the begin of a text: what it is, and what uses it.
pub(crate) fn head(sentences: &[String], commands: &[String]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!("# Written by collbench-tune {version}.\n");
    for sentence in sentences {
        text += &format!("# {sentence}\n");
    }
    let one_of = if commands.len() == 1 {
        "This"
    } else {
        "One of these"
    };
    text += &format!("# {one_of} uses it:\n");
    for command in commands {
        text += &format!("#   {command}\n");
    }
    text
}

/// By number of processes, the sizes from which on something holds.
pub(crate) type BySize<T> = BTreeMap<u32, Vec<(u64, T)>>;

/// The sizes of communicators that a file for rules from a size on has: these, a smaller one, and the one
/// above them, for which it has no rules.
pub(crate) fn with_ends<T>(by_size: &BySize<T>) -> Vec<(u32, &[(u64, T)])> {
    let measured = by_size.iter().map(|(n, rules)| (*n, &rules[..]));
    let above = by_size
        .keys()
        .next_back()
        .map_or(2, |n| n.saturating_add(1));
    let below: (u32, &[(u64, T)]) = (1, &[]);
    let mut all = vec![below];
    all.extend(measured.filter(|(n, _)| *n > 1));
    all.push((above, &[]));
    all
}
