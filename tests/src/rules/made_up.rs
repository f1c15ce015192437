//! Rule files that are made up: valid ones, and ones with faults.

use collbench_stats::random::Random;

/// What the library that the files are for reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    /// Whether it reads a version line and a fifth number.
    pub reads_version_line: bool,
    /// The last algorithms of allgather and allgatherv.
    pub has_sparbit: bool,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Its text.
    pub text: String,
    /// The faults that were put in.
    pub faults: Vec<&'static str>,
    /// Parameters of the run, beside the file.
    pub parameters: Vec<(String, String)>,
}

/// Operations by number with the numbers of their algorithms; those without have no rules.
const ALGORITHMS: [(u64, u64); 17] = [
    (0, 6),
    (1, 5),
    (2, 6),
    (3, 5),
    (4, 2),
    (5, 0),
    (6, 6),
    (7, 9),
    (8, 2),
    (9, 3),
    (10, 0),
    (11, 7),
    (12, 4),
    (13, 4),
    (14, 2),
    (15, 3),
    (16, 0),
];

/// Operations by name with the numbers of their algorithms.
const FORCED: [(&str, u64); 14] = [
    ("allgather", 6),
    ("allgatherv", 5),
    ("allreduce", 6),
    ("alltoall", 5),
    ("alltoallv", 2),
    ("barrier", 6),
    ("bcast", 9),
    ("exscan", 2),
    ("gather", 3),
    ("reduce", 7),
    ("reduce_scatter", 4),
    ("reduce_scatter_block", 4),
    ("scan", 2),
    ("scatter", 3),
];

/// A rule: size, algorithm, fan-out, segment, requests.
#[derive(Debug, Clone)]
struct Rule {
    numbers: Vec<String>,
}

#[derive(Debug, Clone)]
struct Sized {
    processes: String,
    count: String,
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Block {
    id: String,
    count: String,
    sizes: Vec<Sized>,
}

/// A file with this number, for payloads of these sizes; every second one has one or two faults.
#[must_use]
pub fn made_up(seed: u64, number: u64, bytes: &[u64], reader: Reader) -> Made {
    let random = &mut Random::of(&[seed, number]);
    let mut blocks = blocks(random, bytes, reader);
    let mut count = blocks.len().to_string();
    let version = if reader.reads_version_line && random.below(2) == 0 {
        Some("rule-file-version-2".to_owned())
    } else {
        None
    };
    if version.is_some() {
        for rule in blocks.iter_mut().flat_map(|block| &mut block.sizes) {
            for rule in &mut rule.rules {
                if random.below(3) == 0 {
                    rule.numbers.push(random.uniform(0, 40).to_string());
                }
            }
        }
    }
    let mut faults = Vec::new();
    let mut head = version.unwrap_or_default();
    if number % 2 == 1 {
        for _ in 0..=random.below(2) {
            faults.push(fault(random, &mut head, &mut count, &mut blocks));
        }
    }
    let mut text = written(random, &head, &count, &blocks);
    if random.below(12) == 0 && number % 2 == 1 {
        let mut end = random.below(text.len() + 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        faults.push("cut off");
    }
    let parameters = if number % 5 == 4 {
        parameters(random)
    } else {
        Vec::new()
    };
    Made {
        text,
        faults,
        parameters,
    }
}

/// Forced algorithms, or rules that are not used at all.
fn parameters(random: &mut Random) -> Vec<(String, String)> {
    if random.below(8) == 0 {
        return vec![("coll_tuned_use_dynamic_rules".to_owned(), "0".to_owned())];
    }
    let forced = FORCED
        .iter()
        .filter(|_| random.below(3) == 0)
        .collect::<Vec<_>>();
    let parameter = |(name, n_algorithms): &(&str, u64)| {
        let value = random.uniform(0, *n_algorithms).to_string();
        (format!("coll_tuned_{name}_algorithm"), value)
    };
    forced.into_iter().map(parameter).collect()
}

fn blocks(random: &mut Random, bytes: &[u64], reader: Reader) -> Vec<Block> {
    let mut ids: Vec<(u64, u64)> = ALGORITHMS.to_vec();
    for table in ids.iter_mut().filter(|(id, _)| *id < 2) {
        table.1 += u64::from(reader.has_sparbit);
    }
    // Most operations, in any order.
    let mut chosen = Vec::new();
    while !ids.is_empty() {
        let (id, n_algorithms) = ids.remove(random.below(ids.len()));
        let is_wanted = if n_algorithms == 0 {
            random.below(10) == 0
        } else {
            random.below(4) > 0
        };
        if is_wanted {
            chosen.push((id, n_algorithms));
        }
    }
    let block = |(id, n_algorithms): (u64, u64)| {
        let processes: Vec<u64> = (1..=5).filter(|_| random.below(2) == 0).collect();
        let sizes = processes.iter().map(|&processes| {
            let rules = rules(random, bytes, n_algorithms);
            Sized {
                processes: processes.to_string(),
                count: rules.len().to_string(),
                rules,
            }
        });
        let sizes: Vec<Sized> = sizes.collect();
        Block {
            id: id.to_string(),
            count: sizes.len().to_string(),
            sizes,
        }
    };
    chosen.into_iter().map(block).collect()
}

fn rules(random: &mut Random, bytes: &[u64], n_algorithms: u64) -> Vec<Rule> {
    let n = random.below(5);
    let mut sizes: Vec<u64> = (0..n).map(|_| near_a_size(random, bytes)).collect();
    sizes.push(0);
    sizes.sort_unstable();
    sizes.dedup();
    if random.below(20) == 0 {
        sizes.clear();
    }
    let rule = |size: u64| {
        let segments = [0, 0, 1, 3, 8, 64, 1000, 8192];
        let segment = segments[random.below(segments.len())];
        let numbers = [
            size,
            random.uniform(0, n_algorithms),
            random.uniform(0, 4),
            segment,
        ];
        Rule {
            numbers: numbers.map(|number| number.to_string()).into(),
        }
    };
    sizes.into_iter().map(rule).collect()
}

/// One of the sizes as a library may count it, or one beside it.
fn near_a_size(random: &mut Random, bytes: &[u64]) -> u64 {
    let size = bytes[random.below(bytes.len())] * random.uniform(1, 4);
    match random.below(3) {
        0 => size.saturating_sub(1),
        1 => size,
        _ => size + 1,
    }
}

/// Some rule of the blocks, if there is one.
fn any_rule<'b>(random: &mut Random, blocks: &'b mut [Block]) -> Option<&'b mut Rule> {
    let mut rules: Vec<&mut Rule> = blocks
        .iter_mut()
        .flat_map(|block| &mut block.sizes)
        .flat_map(|sized| &mut sized.rules)
        .collect();
    if rules.is_empty() {
        return None;
    }
    let nth = random.below(rules.len());
    Some(rules.swap_remove(nth))
}

/// Some size of communicators of the blocks, if there is one.
fn any_sized<'b>(random: &mut Random, blocks: &'b mut [Block]) -> Option<&'b mut Sized> {
    let mut sizes: Vec<&mut Sized> = blocks
        .iter_mut()
        .flat_map(|block| &mut block.sizes)
        .filter(|sized| !sized.rules.is_empty())
        .collect();
    if sizes.is_empty() {
        return None;
    }
    let nth = random.below(sizes.len());
    Some(sizes.swap_remove(nth))
}

/// One more, or one less.
fn changed(random: &mut Random, count: &str) -> String {
    let count: u64 = count.parse().unwrap_or(1);
    match random.below(2) {
        0 => count + 1,
        _ => count.saturating_sub(1),
    }
    .to_string()
}

/// Puts a fault in.
fn fault(
    random: &mut Random,
    head: &mut String,
    count: &mut String,
    blocks: &mut Vec<Block>,
) -> &'static str {
    const NOTHING: &str = "nothing that could be spoilt";
    let column = random.below(4);
    match random.below(17) {
        0 => {
            let Some(rule) = any_rule(random, blocks) else {
                return NOTHING;
            };
            let written = [
                "64K", "1e3", "1.5", "binomial", "1,0", "0x10", "010", "08", "+3",
            ];
            rule.numbers[column] = written[random.below(written.len())].to_owned();
            "something that is no plain number"
        }
        1 => {
            *count = changed(random, count);
            "the number of operations"
        }
        2 | 3 => {
            let Some(sized) = any_sized(random, blocks) else {
                return NOTHING;
            };
            sized.count = changed(random, &sized.count);
            "the number of message sizes"
        }
        4 if !blocks.is_empty() => {
            let nth = random.below(blocks.len());
            blocks[nth].count = changed(random, &blocks[nth].count);
            "the number of communicator sizes"
        }
        5 => {
            let Some(sized) = any_sized(random, blocks) else {
                return NOTHING;
            };
            sized.rules[0].numbers[0] = random.uniform(1, 100).to_string();
            "a first size that is not 0"
        }
        6 => {
            let Some(sized) = any_sized(random, blocks) else {
                return NOTHING;
            };
            let last = sized.rules.len() - 1;
            if last < 2 {
                return NOTHING;
            }
            sized.rules.swap(1, last);
            "message sizes that do not ascend"
        }
        7 if !blocks.is_empty() => {
            let nth = random.below(blocks.len());
            blocks[nth].sizes.reverse();
            "communicator sizes that do not ascend"
        }
        8 | 9 => {
            let Some(rule) = any_rule(random, blocks) else {
                return NOTHING;
            };
            let numbers = ["7", "8", "10", "99", "4294967297", "2147483648"];
            rule.numbers[1] = numbers[random.below(numbers.len())].to_owned();
            "an algorithm that is perhaps none"
        }
        10 if !blocks.is_empty() => {
            let ids = ["17", "21", "22", "30"];
            let nth = random.below(blocks.len());
            blocks[nth].id = ids[random.below(ids.len())].to_owned();
            "an operation that is none"
        }
        11 => {
            let versions = [
                "rule-file-version-2",
                "rule-file-version-1",
                "# rules\nrule-file-version-2",
                "rule-file-version-x",
                "rule",
            ];
            *head = versions[random.below(versions.len())].to_owned();
            "another version line"
        }
        12 => {
            let Some(rule) = any_rule(random, blocks) else {
                return NOTHING;
            };
            rule.numbers[column] = "-1".to_owned();
            "a negative number"
        }
        13 => {
            let Some(rule) = any_rule(random, blocks) else {
                return NOTHING;
            };
            rule.numbers.push("5".to_owned());
            "a number too many"
        }
        14 => {
            let Some(rule) = any_rule(random, blocks) else {
                return NOTHING;
            };
            rule.numbers.remove(column);
            "a number too few"
        }
        15 if !blocks.is_empty() => {
            let block = blocks[random.below(blocks.len())].clone();
            blocks.push(block);
            *count = blocks.len().to_string();
            "an operation twice"
        }
        _ => {
            let Some(rule) = any_rule(random, blocks) else {
                return NOTHING;
            };
            rule.numbers.insert(1, "@intra".to_owned());
            "a word of coll_han"
        }
    }
}

/// The text, in one of several layouts.
fn written(random: &mut Random, head: &str, count: &str, blocks: &[Block]) -> String {
    let is_one_line = random.below(5) == 0;
    let has_comments = random.below(2) == 0;
    let mut lines: Vec<String> = Vec::new();
    if !head.is_empty() {
        lines.push(head.to_owned());
    }
    let remark = |text: &str| {
        if has_comments {
            format!(" # {text} 12")
        } else {
            String::new()
        }
    };
    lines.push(format!("{count}{}", remark("operations")));
    for block in blocks {
        lines.push(format!("{}{}", block.id, remark("operation")));
        lines.push(format!("{}{}", block.count, remark("communicator sizes")));
        for sized in &block.sizes {
            lines.push(format!("{}{}", sized.processes, remark("processes")));
            lines.push(format!("{}{}", sized.count, remark("message sizes")));
            for rule in &sized.rules {
                lines.push(rule.numbers.join(["  ", " ", "\t"][random.below(3)]));
            }
        }
    }
    if is_one_line && !has_comments && !head.contains('#') {
        return lines.join(" ");
    }
    lines.join("\n") + "\n"
}
