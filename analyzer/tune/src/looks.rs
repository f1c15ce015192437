//! What a file looks like: its format by content, and what it is if it is no rule file.

/// A format of rule files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Open MPI's `coll_tuned`, numbers.
    OpenMpiClassic,
    /// Open MPI's `coll_han`.
    OpenMpiHan,
    /// Open MPI's `coll_tuned` from 6.0 on, JSON.
    OpenMpiJson,
    /// MPICH's selections, JSON.
    Mpich,
}

impl Format {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::OpenMpiClassic => "rules of Open MPI's coll_tuned",
            Self::OpenMpiHan => "rules of Open MPI's coll_han",
            Self::OpenMpiJson => "rules of Open MPI's coll_tuned from 6.0 on (JSON)",
            Self::Mpich => "selections of MPICH (JSON)",
        }
    }
}

/// Words of `coll_han` files, beside those of operations.
const WORDS_OF_HAN: [&str; 6] = [
    "global_communicator",
    "intra_node",
    "inter_node",
    "han",
    "tuned",
    "libnbc",
];

/// The format of a text.
///
/// # Errors
/// What it looks like, if it is no rule file.
pub fn format_of(text: &[u8]) -> Result<Format, String> {
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err("it is empty".to_owned());
    }
    if text.starts_with(b"\x7fELF") {
        return Err("it is a program or a library".to_owned());
    }
    if text.contains(&0) {
        return Err("it is binary".to_owned());
    }
    let text = &*String::from_utf8_lossy(text);
    let lines = text.lines().map(|line| match line.find('#') {
        Some(begin) => &line[..begin],
        None => line,
    });
    let has = |word: &str| text.contains(word);
    let begins_json = text.trim_start().starts_with('{') || {
        let is_comment = |line: &&str| line.trim_start().starts_with("//");
        let mut lines = text.lines().skip_while(is_comment);
        lines
            .find(|line| !line.trim().is_empty())
            .is_some_and(|line| line.trim_start().starts_with('{'))
    };
    if begins_json {
        return if has("\"collective=") {
            Ok(Format::Mpich)
        } else if has("rule_file_version") || has("\"collectives\"") {
            Ok(Format::OpenMpiJson)
        } else {
            Err("it is JSON, but neither of Open MPI nor of MPICH".to_owned())
        };
    }
    let mut has_numbers = false;
    let mut is_han = false;
    let mut n_words = 0;
    for line in lines {
        if line.trim_start().starts_with("[[") || line.contains(" = ") || line.contains("=\"") {
            return Err(if has("[[tree]]") || has("[[trees]]") {
                "it is a tree file; check it with collbench-tree check".to_owned()
            } else {
                "it has settings (NAME = VALUE), not rules".to_owned()
            });
        }
        if line.contains('{') {
            return Err("it has two formats in one: numbers, and JSON".to_owned());
        }
        for word in line.split_whitespace() {
            if word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+')) {
                has_numbers = true;
            } else {
                n_words += 1;
                is_han |= WORDS_OF_HAN.contains(&word);
            }
        }
    }
    if !has_numbers {
        return Err("it is text without numbers".to_owned());
    }
    if is_han {
        return Ok(Format::OpenMpiHan);
    }
    let n_lines = text.lines().count();
    if n_words > 10 && n_words > n_lines {
        return Err("it is text, not a list of numbers".to_owned());
    }
    Ok(Format::OpenMpiClassic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_content() {
        let han = "1\nallreduce\n1\nglobal_communicator\n1\n1\n1\n0 tuned\n";
        let json = "// rules\n{ \"rule_file_version\": 3, \"collectives\": {} }";
        let mpich = "{\"collective=bcast\":{}}";
        assert_eq!(format_of(b"# a { b\n0\n"), Ok(Format::OpenMpiClassic));
        assert_eq!(
            format_of(b"rule-file-version-2\n0\n"),
            Ok(Format::OpenMpiClassic)
        );
        assert_eq!(format_of(b"1 2 1 2 1 0 K 3\n"), Ok(Format::OpenMpiClassic));
        assert_eq!(format_of(han.as_bytes()), Ok(Format::OpenMpiHan));
        assert_eq!(format_of(json.as_bytes()), Ok(Format::OpenMpiJson));
        assert_eq!(format_of(mpich.as_bytes()), Ok(Format::Mpich));
    }

    #[test]
    fn what_is_no_rule_file_is_told_what_it_looks_like() {
        for (text, expected) in [
            (&b" \n"[..], "it is empty"),
            (b"\x7fELF\x02", "it is a program or a library"),
            (b"1\n\0", "it is binary"),
            (
                b"[[tree]]\nshape = \"chain 2\"\n",
                "it is a tree file; check it with collbench-tree check",
            ),
            (
                b"{\"a\": 1}",
                "it is JSON, but neither of Open MPI nor of MPICH",
            ),
            (
                b"1\n{\"collective=bcast\":{}}",
                "it has two formats in one: numbers, and JSON",
            ),
            (b"hello\n", "it is text without numbers"),
        ] {
            assert_eq!(format_of(text), Err(expected.to_owned()));
        }
    }
}
