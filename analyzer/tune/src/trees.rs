//! Choices to a file of our own trees.
//!
//! A choice is a tree where it was measured over the trees of a tree file (`collbench-bench collective
//! --trees`), which is copied; and where an algorithm of Open MPI has a shape that a tree can have. Only the
//! shape is the same then: ranks may have other places in it, nothing is sent in segments, and so times differ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use collbench_formats::Operation;
use collbench_formats::tree::{Calls, Collective, Form};
use collbench_tree_files::TreeFile;
use toml::{Table, Value};

use crate::choices::{Choice, Held, held};
use crate::written::{Written, head};

/// The text of a tree file, and the folder in which the files lie that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeText {
    /// TOML.
    pub text: String,
    /// The folder.
    pub folder: PathBuf,
}

/// What measured trees are called, before the name of their file.
const TREES_OF: &str = "trees of ";

/// Names of algorithms of Open MPI, and the shapes of their trees. A chain has 4 chains and k-nomial radix 4
/// unless the library is told otherwise.
const SHAPES: [(Operation, &str, &str); 20] = [
    (Operation::Allreduce, "basic_linear", "linear"),
    (Operation::Barrier, "linear", "linear"),
    (Operation::Barrier, "tree", "binomial"),
    (Operation::Bcast, "basic_linear", "linear"),
    (Operation::Bcast, "chain", "chain 4"),
    (Operation::Bcast, "pipeline", "chain 1"),
    (Operation::Bcast, "binary_tree", "binary"),
    (Operation::Bcast, "binomial", "binomial"),
    (Operation::Bcast, "knomial", "4-nomial"),
    (Operation::Gather, "basic_linear", "linear"),
    (Operation::Gather, "binomial", "binomial"),
    (Operation::Reduce, "linear", "linear"),
    (Operation::Reduce, "chain", "chain 4"),
    (Operation::Reduce, "pipeline", "chain 1"),
    (Operation::Reduce, "binary", "binary"),
    (Operation::Reduce, "binomial", "binomial"),
    (Operation::Reduce, "in-order_binary", "in-order binary"),
    (Operation::Scatter, "basic_linear", "linear"),
    (Operation::Scatter, "binomial", "binomial"),
    (Operation::Scatter, "linear_nb", "linear"),
];

/// A tree file. Calls for which the library's own choice was the fastest, or for which there is no tree, have
/// none, so that they go to the library. `read` finds a tree file by the name that it was measured by.
#[must_use]
pub fn write(
    choices: &[Choice],
    read: &dyn Fn(&str) -> Result<TreeText, String>,
    file_name: &str,
) -> Written {
    let mut writer = Writer {
        read,
        sources: BTreeMap::new(),
        places: None,
        trees: Vec::new(),
        left_out: Vec::new(),
    };
    for of in held(choices) {
        if let Err(why) = writer.add(of) {
            let name = of.choice.operation.name();
            writer.left_out.push(format!("{name}: {why}"));
        }
    }
    writer.left_out.dedup();
    let commands = vec![format!(
        "collbench-record --trees {file_name} --no-trace -- mpirun -n N ./app"
    )];
    Written {
        text: writer.text(&commands),
        commands,
        left_out: writer.left_out,
    }
}

/// A tree file that was measured.
struct Source {
    rules: TreeFile,
    trees: Vec<Table>,
    /// What the file says of hosts, and of waiting.
    places: Table,
}

struct Writer<'r> {
    read: &'r dyn Fn(&str) -> Result<TreeText, String>,
    sources: BTreeMap<String, Result<Source, String>>,
    /// Of the first file of which a tree is taken, with its name.
    places: Option<(String, Table)>,
    trees: Vec<(String, Table)>,
    left_out: Vec<String>,
}

impl Writer<'_> {
    fn add(&mut self, of: Held<'_>) -> Result<(), String> {
        let Some(chosen) = of.choice.algorithm.as_deref() else {
            return Ok(());
        };
        let operation = of.choice.operation;
        let collective = Collective::of(operation).ok_or("no trees are for it")?;
        if let Some(file) = chosen.strip_prefix(TREES_OF) {
            return self.copy(file, collective, of);
        }
        let is_of = |of: &&(Operation, &str, &str)| (of.0, of.1) == (operation, chosen);
        let (_, _, shape) = SHAPES
            .iter()
            .find(is_of)
            .ok_or_else(|| format!("{chosen} has no shape that a tree can have"))?;
        let mut tree = Table::new();
        tree.insert("shape".to_owned(), Value::from(*shape));
        self.push(tree, collective, of, of.bytes);
        Ok(())
    }

    /// Takes the trees over that a file has for these calls, in its order.
    fn copy(&mut self, name: &str, collective: Collective, of: Held<'_>) -> Result<(), String> {
        let read = self.read;
        let source = self
            .sources
            .entry(name.to_owned())
            .or_insert_with(|| source(&read(name)?));
        let source = source.as_ref().map_err(Clone::clone)?;
        let n = of.choice.n_processes;
        let rules = source.rules.rules.rules.iter().zip(&source.trees);
        let mut taken = Vec::new();
        for (rule, tree) in rules {
            let Calls {
                operations,
                ranks,
                bytes,
                across,
            } = &rule.calls;
            let common = (bytes.0.max(of.bytes.0), bytes.1.min(of.bytes.1));
            let is_for = operations.contains(&collective) && (ranks.0..=ranks.1).contains(&n);
            if !is_for || common.0 > common.1 {
                continue;
            }
            taken.push((tree.clone(), common));
            let always_fits = match &rule.form {
                Form::Shaped(shaped) => shaped.root.is_none() && shaped.hosts.is_empty(),
                Form::Nodes(_) => true,
            };
            // No call comes to the ones below.
            if always_fits && across.is_none() && common == of.bytes {
                break;
            }
        }
        if taken.is_empty() {
            return Err(format!("{name} has no tree for {n} processes"));
        }
        match &self.places {
            None => self.places = Some((name.to_owned(), source.places.clone())),
            Some((other, places)) if *places != source.places => {
                return Err(format!(
                    "{name} says other things of hosts, or of waiting, than {other}, whose trees are written"
                ));
            }
            Some(_) => {}
        }
        for (tree, bytes) in taken {
            self.push(tree, collective, of, bytes);
        }
        Ok(())
    }

    fn push(&mut self, mut tree: Table, collective: Collective, of: Held<'_>, bytes: (u64, u64)) {
        let n = of.choice.n_processes;
        let chosen = of.choice.algorithm.as_deref().unwrap_or_default();
        let remark = format!("{} on {n} processes: {chosen}", of.choice.operation.name());
        tree.insert(
            "operations".to_owned(),
            Value::from(vec![collective.name().to_owned()]),
        );
        tree.insert("size".to_owned(), Value::from(i64::from(n)));
        tree.remove("bytes");
        if bytes != (0, u64::MAX) {
            let (from, to) = bytes;
            let to = if to == u64::MAX {
                String::new()
            } else {
                to.to_string()
            };
            tree.insert("bytes".to_owned(), Value::from(format!("{from}-{to}")));
        }
        self.trees.push((remark, tree));
    }

    /// The text; empty without trees.
    fn text(&self, commands: &[String]) -> String {
        if self.trees.is_empty() {
            return String::new();
        }
        let sentences = [
            "Trees of collbench. A call without a tree here goes to the MPI library.".to_owned(),
            "Of an algorithm of the library the tree has the shape, not the time: measure it before you \
             use it."
                .to_owned(),
        ];
        let mut text = head(&sentences, commands);
        text += "version = 1\n";
        if let Some((_, places)) = &self.places {
            text += &places.to_string();
        }
        for (remark, tree) in &self.trees {
            let tables = Value::Array(vec![Value::Table(tree.clone())]);
            let tables = Table::from_iter([("tree".to_owned(), tables)]);
            text += &format!("\n# {remark}\n{tables}");
        }
        text
    }
}

/// What a tree file says.
fn source(file: &TreeText) -> Result<Source, String> {
    let rules = TreeFile::parse(&file.text, &file.folder).map_err(|problems| {
        let first = problems.0.first().map(ToString::to_string);
        format!("its tree file has problems: {}", first.unwrap_or_default())
    })?;
    let mut places: Table = file
        .text
        .parse()
        .map_err(|error: toml::de::Error| error.message().to_owned())?;
    places.remove("version");
    let trees = match places.remove("tree") {
        Some(Value::Array(trees)) => trees.into_iter(),
        _ => Vec::new().into_iter(),
    };
    let trees = trees.filter_map(|tree| match tree {
        Value::Table(tree) => Some(tree),
        _ => None,
    });
    if let Some(Value::Array(hosts)) = places.get_mut("host") {
        for host in hosts {
            name_from_here(host, &file.folder);
        }
    }
    Ok(Source {
        rules,
        trees: trees.collect(),
        places,
    })
}

/// Makes the name of a file relative to where we are.
fn name_from_here(host: &mut Value, folder: &Path) {
    if let Some(Value::String(path)) = host.get_mut("topology") {
        *path = folder.join(&*path).display().to_string();
    }
}

#[cfg(test)]
mod tests {
    use collbench_formats::tree::Waiting;

    use super::*;
    use crate::choices::choice;

    const MINE: &str = "\
wait = \"yield\"
[[site]]
name = \"oslo\"
hosts = [\"a*\"]
[[tree]]
operations = [\"allreduce\", \"bcast\"]
bytes = \"0-99\"
across = \"hosts\"
shape = { ranks = \"linear\", hosts = \"binomial\" }
[[tree]]
operations = [\"allreduce\"]
size = \"2-8\"
shape = \"3-ary\"
[[tree]]
operations = [\"allreduce\"]
[[tree.node]]
owner = 2
contributors = [0, 1, 2, 3]
";

    fn read(name: &str) -> Result<TreeText, String> {
        let text = match name {
            "mine.toml" => MINE.to_owned(),
            "other.toml" => MINE.replace("yield", "spin"),
            _ => return Err(format!("{name}: it is not there")),
        };
        Ok(TreeText {
            text,
            folder: PathBuf::new(),
        })
    }

    #[test]
    fn trees_are_copied_for_the_calls_for_which_they_were_chosen() {
        let choices = [
            choice(Operation::Allreduce, 4, 8, None),
            choice(Operation::Allreduce, 4, 64, Some("trees of mine.toml")),
            choice(Operation::Allreduce, 4, 4096, None),
            choice(Operation::Bcast, 4, 8, Some("trees of mine.toml")),
        ];
        let written = write(&choices, &read, "trees.toml");
        assert_eq!(written.left_out, [""; 0]);
        let file = TreeFile::parse(&written.text, Path::new("")).expect(&written.text);
        assert_eq!(file.remarks, [], "{}", written.text);
        assert_eq!(file.rules.wait, Some(Waiting::Yield));
        assert_eq!(file.rules.groups.len(), 1);
        let of = TreeFile::parse(MINE, Path::new("")).unwrap().rules.rules;
        let calls: Vec<_> = file
            .rules
            .rules
            .iter()
            .map(|rule| {
                let calls = &rule.calls;
                assert_eq!(calls.ranks, (4, 4));
                let source = of.iter().position(|of| of.form == rule.form);
                (
                    calls.operations[0],
                    calls.bytes,
                    calls.across.is_some(),
                    source,
                )
            })
            .collect();
        // The third tree of the file comes to no call.
        assert_eq!(
            calls,
            [
                (Collective::Allreduce, (64, 99), true, Some(0)),
                (Collective::Allreduce, (64, 4095), false, Some(1)),
                (Collective::Bcast, (0, 99), true, Some(0)),
            ]
        );
    }

    #[test]
    fn algorithms_of_a_shape_become_trees_and_others_are_told() {
        let choices = [
            choice(Operation::Allreduce, 4, 8, Some("ring")),
            choice(Operation::Alltoall, 4, 8, Some("pairwise")),
            choice(Operation::Barrier, 4, 0, Some("tree")),
            choice(Operation::Bcast, 4, 8, Some("knomial")),
            choice(Operation::Bcast, 4, 1024, Some("pipeline")),
            choice(Operation::Bcast, 4, 2048, Some("split_binary_tree")),
            choice(Operation::Gather, 4, 8, Some("trees of none.toml")),
            choice(Operation::Scatter, 4, 8, Some("trees of mine.toml")),
        ];
        let written = write(&choices, &read, "trees.toml");
        assert_eq!(
            written.left_out,
            [
                "MPI_Allreduce: ring has no shape that a tree can have",
                "MPI_Alltoall: no trees are for it",
                "MPI_Bcast: split_binary_tree has no shape that a tree can have",
                "MPI_Gather: none.toml: it is not there",
                "MPI_Scatter: mine.toml has no tree for 4 processes",
            ]
        );
        let file = TreeFile::parse(&written.text, Path::new("")).expect(&written.text);
        let bytes: Vec<_> = file
            .rules
            .rules
            .iter()
            .map(|rule| rule.calls.bytes)
            .collect();
        assert_eq!(bytes, [(0, u64::MAX), (0, 1023), (1024, 2047)]);
    }

    #[test]
    fn files_that_say_different_things_of_hosts_are_not_mixed() {
        let choices = [
            choice(Operation::Allreduce, 4, 8, Some("trees of mine.toml")),
            choice(Operation::Bcast, 4, 8, Some("trees of other.toml")),
        ];
        let written = write(&choices, &read, "trees.toml");
        assert_eq!(
            written.left_out,
            [
                "MPI_Bcast: other.toml says other things of hosts, or of waiting, than mine.toml, whose \
                 trees are written"
            ]
        );
    }

    #[test]
    fn each_shape_is_one_of_a_tree_file_for_an_algorithm_of_the_library() {
        use crate::open_mpi::library_of;
        let library = library_of("Open MPI 5.0.11");
        for (operation, name, shape) in SHAPES {
            let table = library.operation(operation).unwrap();
            assert!(table.algorithms.iter().any(|of| of.name == name), "{name}");
            assert!(collbench_tree_files::shape_of(shape).is_some(), "{shape}");
        }
    }
}
