//! Words of command lines that people paste into a shell.

use std::fmt::Write;

use crate::inert::is_active;

/// A text as one word of a command line: as it is, in single quotes, or, if it has characters that are not shown, as
/// `$'...'` with these as octal numbers, which bash, zsh and ksh read.
///
/// ```
/// # use collbench_text::shell::word;
/// assert_eq!(word("runs/a"), "runs/a");
/// assert_eq!(word("it's $HOME"), r"'it'\''s $HOME'");
/// assert_eq!(word("a\u{1b}[2J"), r"$'a\033[2J'");
/// ```
#[must_use]
pub fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%^".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    if !text.contains(is_active) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut word = "$'".to_owned();
    for c in text.chars() {
        match c {
            '\'' | '\\' => word.extend(['\\', c]),
            _ if is_active(c) => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    // Writing to a String cannot fail.
                    let _ = write!(word, "\\{byte:03o}");
                }
            }
            _ => word.push(c),
        }
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_reads_a_word_back_as_it_was_and_does_nothing_else() {
        for text in [
            "",
            "~",
            "-x",
            "a b",
            "it's",
            "$(touch x); `touch y` & \"z\" \\ # * ? !",
            "line\nfeed\r\t\u{1b}]0;x\u{7} 'quoted' \\n \\",
            "\u{202e}gpj.exe \u{e9}",
        ] {
            let script = format!("printf %s {}", word(text));
            assert!(!script.contains(is_active), "{script}");
            let said = Command::new("bash").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), text, "{script}");
            assert!(said.stderr.is_empty());
        }
    }
}
