//! Text from traces and file systems, made harmless for terminals and readers.

use std::path::Path;

use unicode_width::UnicodeWidthChar;

/// `text` in at most `width` columns, with control characters, terminal escapes and direction marks
/// as visible escapes; if it is cut, it ends with `...`.
#[must_use]
pub fn line(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut length = 0;
    for c in text.chars() {
        let piece: String = if is_active(c) {
            c.escape_default().collect()
        } else {
            c.into()
        };
        let piece_length = columns(&piece);
        if length + piece_length > width {
            while length > 0 && length + 3 > width {
                length -= out.pop().map_or(length, column);
            }
            out.push_str("...");
            return out;
        }
        length += piece_length;
        out.push_str(&piece);
    }
    out
}

/// Largest number of columns that a terminal needs for a text: combining marks count as one each.
#[must_use]
pub fn columns(text: &str) -> usize {
    text.chars().map(column).sum()
}

fn column(c: char) -> usize {
    c.width().unwrap_or(0).max(1)
}

/// The first `width` characters of `text`, followed by `...` if there are more; nothing else is
/// changed.
#[must_use]
pub fn cut(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// The first of several texts, `width` characters in total, followed by `...` if there are more;
/// nothing else is changed.
#[must_use]
pub fn cut_all(texts: &[String], width: usize) -> Vec<String> {
    let mut left = width;
    let mut kept = Vec::new();
    for text in texts {
        if left == 0 {
            kept.push("...".to_owned());
            break;
        }
        kept.push(cut(text, left));
        // An empty text counts as one character.
        left = left.saturating_sub(text.chars().count().max(1));
    }
    kept
}

/// Whether a character does anything but show a glyph: controls, direction marks, and invisible
/// characters.
#[must_use]
pub fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A path, for messages.
#[must_use]
pub fn path(path: &Path) -> String {
    line(&path.to_string_lossy(), MAX_PATH)
}

/// The longest path that Linux allows.
const MAX_PATH: usize = 4096;

/// Ranks as ranges: `0-3, 7`; with more than eight ranges the first ones, and the number of ranks.
/// `ranks` must be ascending.
#[must_use]
pub fn ranks(ranks: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(rank) => *last = rank,
            _ => ranges.push((rank, rank)),
        }
    }
    rank_ranges(&ranges)
}

/// Ranges of ranks as text, each `(first, last)`.
#[must_use]
pub fn rank_ranges(ranges: &[(u32, u32)]) -> String {
    let mut words: Vec<String> = ranges
        .iter()
        .take(8)
        .map(|&(first, last)| match last - first {
            0 => format!("{first}"),
            _ => format!("{first}-{last}"),
        })
        .collect();
    if ranges.len() > 8 {
        let n: u64 = ranges
            .iter()
            .map(|(first, last)| u64::from(last - first) + 1)
            .sum();
        words.push(format!("... ({n} in all)"));
    }
    let many = ranges.len() > 1 || ranges.first().is_some_and(|(first, last)| first != last);
    format!("rank{} {}", if many { "s" } else { "" }, words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_direction_marks_become_visible() {
        assert_eq!(
            line("a\x1b[31mb\u{9b}c\u{202e}d\n", 80),
            "a\\u{1b}[31mb\\u{9b}c\\u{202e}d\\n"
        );
    }

    #[test]
    fn a_long_line_is_cut_to_its_width() {
        assert_eq!(line("0123456789", 10), "0123456789");
        assert_eq!(line("0123456789a", 10), "0123456...");
        assert_eq!(line("ab", 1).chars().count(), 3);
        // Two columns each.
        assert_eq!(
            line("\u{6f22}\u{5b57}\u{6f22}\u{5b57}", 7),
            "\u{6f22}\u{5b57}..."
        );
        assert_eq!(columns("\u{6f22}a"), 3);
    }

    #[test]
    fn several_texts_are_cut_to_their_width_together() {
        let texts = ["ab", "", "cde", "f"].map(str::to_owned);
        assert_eq!(cut_all(&texts, 7), texts);
        assert_eq!(cut_all(&texts, 6), ["ab", "", "cde", "..."]);
        assert_eq!(cut_all(&texts, 4), ["ab", "", "c...", "..."]);
        assert_eq!(cut_all(&texts, 2), ["ab", "..."]);
    }

    #[test]
    fn ranks_are_written_as_ranges() {
        assert_eq!(ranks(&[3]), "rank 3");
        assert_eq!(ranks(&[0, 1, 2, 5, 7, 8]), "ranks 0-2, 5, 7-8");
        let every_third: Vec<u32> = (0..1024).step_by(3).collect();
        let expected = "ranks 0, 3, 6, 9, 12, 15, 18, 21, ... (342 in all)";
        assert_eq!(ranks(&every_third), expected);
    }
}
