//! Text from outside, made harmless once, where it enters.
//!
//! Names in a trace (hosts, communicators, commands) come from other people. Each output format
//! escapes markup itself; characters that no format can represent are replaced here, by the type.

use std::fmt;

use collbench_text::inert::is_active;

/// Text without control characters: these are replaced by visible ones.
///
/// C0 controls and DEL become their control pictures (ESC becomes `␛`), so that a terminal escape
/// is harmless also when the output is printed with `cat`. Other controls, direction marks,
/// invisible characters, and characters that XML 1.0 does not allow become U+FFFD. Line feeds are
/// kept. Markup is not changed: each output format escapes it. Text longer than [`Text::MAX_CHARS`]
/// is cut, with an ellipsis at its end, so that a page of it still opens.
///
/// ```
/// # use collbench_viz::Text;
/// assert_eq!(Text::from("a\u{1b}[2Jb").as_str(), "a␛[2Jb");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(String);

impl Text {
    /// The largest number of characters.
    pub const MAX_CHARS: usize = 4_000;

    /// The text without control characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The rank that it names, for scripts: of `rank 5` 5.
    pub(crate) fn rank(&self) -> Option<&str> {
        let rank = self.0.strip_prefix("rank ")?;
        rank.parse::<u32>().ok().map(|_| rank)
    }

    /// The text cut to `n_chars` characters; if cut, an ellipsis replaces the last one.
    pub(crate) fn cut(&self, n_chars: usize) -> String {
        cut(&self.0, n_chars)
    }
}

impl From<&str> for Text {
    fn from(raw: &str) -> Self {
        let mut text = String::with_capacity(raw.len().min(Self::MAX_CHARS));
        let mut chars = raw.chars().map(harmless);
        text.extend(chars.by_ref().take(Self::MAX_CHARS));
        if chars.next().is_some() {
            text.pop();
            text.push('…');
        }
        Text(text)
    }
}

impl From<String> for Text {
    fn from(raw: String) -> Self {
        Text::from(raw.as_str())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn harmless(c: char) -> char {
    match c {
        '\n' => c,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        // XML 1.0 does not allow the last two.
        _ if is_active(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => '\u{fffd}',
        _ => c,
    }
}

pub(crate) fn cut(text: &str, n_chars: usize) -> String {
    if text.chars().count() <= n_chars {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(n_chars.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// `text` broken at spaces, but not between a number and its unit, into at most `n_lines` lines of
/// at most `n_chars` characters; the rest is cut with an ellipsis.
pub(crate) fn wrap(text: &str, n_chars: usize, n_lines: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in words_with_units(text) {
        let longer = line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && longer > n_chars {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    if lines.len() > n_lines {
        let rest = lines.split_off(n_lines).join(" ");
        if let Some(last) = lines.last_mut() {
            *last = format!("{last} {rest}");
        }
    }
    lines.iter().map(|line| cut(line, n_chars)).collect()
}

/// The words of `text`; a number and its unit are one word.
fn words_with_units(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = word.trim_end_matches([',', ';', ':', '.']);
        let is_unit = ["ns", "us", "ms", "s", "%", "B"].contains(&unit);
        match words.last_mut() {
            Some(number) if is_unit && number.ends_with(|c: char| c.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// `text` with the five markup characters escaped, for element content and attribute values of XML.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_control_character_survives(raw in any::<String>()) {
            let text = Text::from(raw);
            prop_assert!(text.as_str().chars().all(|c| c == '\n' || !c.is_control()));
        }

        #[test]
        fn escaped_text_reads_back_as_it_was(raw in any::<String>()) {
            let text = Text::from(raw.replace('\n', " "));
            let xml = format!("<t a=\"{0}\">{0}</t>", escape(text.as_str()));
            let document = roxmltree::Document::parse(&xml).unwrap();
            let root = document.root_element();
            prop_assert_eq!(root.attribute("a"), Some(text.as_str()));
            prop_assert_eq!(root.text().unwrap_or(""), text.as_str());
        }

        #[test]
        fn wrapped_lines_keep_to_their_width_and_number(raw in "[a-z ]{0,80}", n_chars in 1usize..20) {
            let lines = wrap(&raw, n_chars, 2);
            prop_assert!(lines.len() <= 2);
            prop_assert!(lines.iter().all(|line| line.chars().count() <= n_chars));
        }
    }

    #[test]
    fn text_that_is_too_long_is_cut() {
        let fits = "é".repeat(Text::MAX_CHARS);
        assert_eq!(Text::from(fits.as_str()).as_str(), fits);
        let text = Text::from("é".repeat(10_000_000));
        assert_eq!(text.as_str().chars().count(), Text::MAX_CHARS);
        assert!(text.as_str().ends_with("éé…"));
    }

    #[test]
    fn marks_that_reverse_the_direction_or_are_not_seen_are_replaced() {
        assert_eq!(
            Text::from("a\u{202e}b\u{2066}\u{feff}\t").as_str(),
            "a\u{fffd}b\u{fffd}\u{fffd}\u{2409}"
        );
    }

    #[test]
    fn wrapping_breaks_at_spaces_and_cuts_what_is_left() {
        assert_eq!(wrap("one two three", 7, 2), ["one two", "three"]);
        assert_eq!(wrap("one two three four", 7, 2), ["one two", "three …"]);
        assert_eq!(wrap("takes 131 us, or so", 9, 2), ["takes", "131 us, …"]);
    }
}
