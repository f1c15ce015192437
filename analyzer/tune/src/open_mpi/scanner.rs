//! Numbers of a text, as the library's reader finds them.
//!
//! Follows `ompi_coll_base_file_getnext_long` of `coll_base_util.c`, which calls `fscanf` with `%li`,
//! drops one byte where that fails, and the rest of the line where the byte is `#`. So `64K` is 64,
//! `1e6` are 1 and 6, `010` is 8, and `1,5` are 1 and 5, without a word.

use std::cell::Cell;
use std::ops::Range;

use crate::problem::Position;

/// A number that the library reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Number {
    /// Its value; the nearest one that there is, if it is too large.
    pub value: i64,
    /// Where it is, in bytes.
    pub at: Range<usize>,
}

/// Text that is no number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Where it is.
    pub at: Position,
    /// The text.
    pub text: String,
    /// Digits directly before it, which the library takes for a number; empty without any.
    pub digits: String,
}

impl Skipped {
    /// What the library makes of it.
    pub(super) fn effect(&self) -> String {
        match &*self.digits {
            "" => "the library skips it".to_owned(),
            digits => format!("the library reads {digits}, and skips it"),
        }
    }

    /// As it is shown.
    pub(super) fn shown(&self) -> String {
        self.text.chars().take(40).collect()
    }
}

/// Reads numbers one after the other.
#[derive(Debug)]
pub(super) struct Scanner<'t> {
    text: &'t [u8],
    /// The next byte.
    at: usize,
    /// What was dropped outside of comments, in bytes: neighbouring bytes as one.
    dropped: Vec<Range<usize>>,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self {
            text,
            at: 0,
            dropped: Vec::new(),
        }
    }

    /// What was dropped so far outside of comments.
    pub(super) fn take_skipped(&mut self, places: &Places<'_>) -> Vec<Skipped> {
        let text = self.text;
        let dropped = std::mem::take(&mut self.dropped).into_iter();
        let skipped = dropped.map(|range| {
            let before = text[..range.start].iter().rev();
            let n_digits = before.take_while(|byte| byte.is_ascii_digit()).count();
            let digits = &text[range.start - n_digits..range.start];
            Skipped {
                at: places.place(range.start),
                digits: String::from_utf8_lossy(digits).into_owned(),
                text: String::from_utf8_lossy(&text[range]).into_owned(),
            }
        });
        skipped.collect()
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn drop_bytes(&mut self, from: usize) {
        match self.dropped.last_mut() {
            Some(last) if last.end == from => last.end = self.at,
            _ => self.dropped.push(from..self.at),
        }
    }

    /// The next number; `None` at the end of the text.
    pub(super) fn next_number(&mut self) -> Option<Number> {
        let (value, at) = self.next(Self::number)?;
        Some(Number { value, at })
    }

    /// The next decimal number without a sign, and where it is: `ompi_coll_base_file_getnext_size_t`.
    /// A negative one is taken modulo 2^64, as `fscanf` does with `%zu`.
    pub(super) fn next_size(&mut self) -> Option<(u64, Range<usize>)> {
        self.next(Self::size)
    }

    /// The next word, at most 32 bytes of it, and where it is: `ompi_coll_base_file_getnext_string`. A
    /// word that begins with `#` is a comment.
    pub(super) fn next_word(&mut self) -> Option<(&'t [u8], Range<usize>)> {
        const MOST: usize = 32;
        loop {
            self.skip_spaces();
            self.peek()?;
            if self.peek() == Some(b'#') {
                self.skip_line();
                continue;
            }
            let begin = self.at;
            while self.at < begin + MOST && self.peek().is_some_and(|byte| !is_space(byte)) {
                self.at += 1;
            }
            return Some((&self.text[begin..self.at], begin..self.at));
        }
    }

    /// Whether this byte follows, behind spaces and comments, which are dropped; it is dropped, too. `None`
    /// at the end of the text. `ompi_coll_base_file_peek_next_char_is`.
    pub(super) fn take(&mut self, expected: u8) -> Option<bool> {
        loop {
            match self.peek()? {
                b'#' => self.skip_line(),
                b'\n' | b' ' | b'\t' => self.at += 1,
                byte => {
                    if byte == expected {
                        self.at += 1;
                    }
                    return Some(byte == expected);
                }
            }
        }
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// The next value that a function reads, and where it is.
    fn next<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<(T, Range<usize>)> {
        loop {
            self.skip_spaces();
            self.peek()?;
            let begin = self.at;
            if let Some(value) = read(self) {
                return Some((value, begin..self.at));
            }
            // A sign without digits is gone already, and with it the byte behind.
            let Some(byte) = self.peek() else {
                self.drop_bytes(begin);
                return None;
            };
            if byte == b'#' {
                if self.at > begin {
                    self.drop_bytes(begin);
                }
                self.skip_line();
                continue;
            }
            self.at += 1;
            self.drop_bytes(begin);
        }
    }

    /// `%li` of `fscanf`; `None`, past a sign that was there, if no digit follows.
    fn number(&mut self) -> Option<i64> {
        let is_negative = self.peek() == Some(b'-');
        if matches!(self.peek(), Some(b'-' | b'+')) {
            self.at += 1;
        }
        let mut radix = 10;
        let mut has_digits = false;
        if self.peek() == Some(b'0') {
            self.at += 1;
            has_digits = true;
            radix = 8;
            if matches!(self.peek(), Some(b'x' | b'X')) {
                self.at += 1;
                radix = 16;
            }
        }
        let mut value: i64 = 0;
        while let Some(digit) = self
            .peek()
            .and_then(|byte| char::from(byte).to_digit(radix))
        {
            self.at += 1;
            has_digits = true;
            value = value
                .saturating_mul(i64::from(radix))
                .saturating_add(i64::from(digit));
        }
        has_digits.then(|| if is_negative { -value } else { value })
    }

    /// `%zu` of `fscanf`; `None`, past a sign that was there, if no digit follows.
    fn size(&mut self) -> Option<u64> {
        let is_negative = self.peek() == Some(b'-');
        if matches!(self.peek(), Some(b'-' | b'+')) {
            self.at += 1;
        }
        let begin = self.at;
        let mut value = Some(0_u64);
        while let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(10)) {
            self.at += 1;
            value = value
                .and_then(|value| value.checked_mul(10))
                .and_then(|value| value.checked_add(u64::from(digit)));
        }
        if self.at == begin {
            return None;
        }
        Some(match value {
            Some(value) if is_negative => value.wrapping_neg(),
            Some(value) => value,
            None => u64::MAX,
        })
    }

    /// Whether a digit follows on this line, behind spaces and tabs, which are dropped:
    /// `ompi_coll_base_file_peek_next_char_isdigit`.
    pub(super) fn is_digit_next(&mut self) -> bool {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        self.peek().is_some_and(|byte| byte.is_ascii_digit())
    }

    /// `fscanf` of `rule-file-version-%u` at the begin of the text: as much of it as is there is gone
    /// afterwards.
    pub(super) fn version_line(&mut self) -> Option<Number> {
        const BEFORE: &[u8] = b"rule-file-version-";
        for &expected in BEFORE {
            if self.peek() != Some(expected) {
                return None;
            }
            self.at += 1;
        }
        self.skip_spaces();
        let begin = self.at;
        if matches!(self.peek(), Some(b'-' | b'+')) {
            self.at += 1;
        }
        let mut value: i64 = 0;
        let mut has_digits = false;
        while let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(10)) {
            self.at += 1;
            has_digits = true;
            value = value.saturating_mul(10).saturating_add(i64::from(digit));
        }
        has_digits.then_some(Number {
            value,
            at: begin..self.at,
        })
    }

    /// Where it is.
    pub(super) fn here(&self) -> usize {
        self.at
    }
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// Lines and columns of a text.
#[derive(Debug)]
pub(super) struct Places<'t> {
    text: &'t [u8],
    /// Where each line begins, in bytes.
    starts: Vec<usize>,
    /// A byte that was asked for, and its place: the next one is mostly near.
    last: Cell<(usize, Position)>,
}

impl<'t> Places<'t> {
    pub(super) fn of(text: &'t [u8]) -> Self {
        let ends = text.iter().enumerate();
        let ends = ends.filter_map(|(at, &byte)| (byte == b'\n').then_some(at + 1));
        Self {
            text,
            starts: std::iter::once(0).chain(ends).collect(),
            last: Cell::new((0, Position { line: 1, column: 1 })),
        }
    }

    /// Place of a byte; the column counts characters.
    pub(super) fn place(&self, byte: usize) -> Position {
        let line = self.starts.partition_point(|&start| start <= byte);
        let (last, of_last) = self.last.get();
        let (from, column) = if of_last.line == line && last <= byte {
            (last, of_last.column)
        } else {
            (self.starts[line - 1], 1)
        };
        let between = &self.text[from..byte.min(self.text.len())];
        // Bytes that continue a character of UTF-8 do not count.
        let n = between.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
        let place = Position {
            line,
            column: column + n,
        };
        self.last.set((byte, place));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<i64> {
        let mut scanner = Scanner::new(text.as_bytes());
        std::iter::from_fn(|| Some(scanner.next_number()?.value)).collect()
    }

    #[test]
    fn numbers_are_those_that_fscanf_finds() {
        assert_eq!(numbers("1 2\n3\t4"), [1, 2, 3, 4]);
        assert_eq!(numbers("64K 1e6 1,5 1.5"), [64, 1, 6, 1, 5, 1, 5]);
        assert_eq!(numbers("010 08 0x10 0xg 7"), [8, 0, 8, 16, 0, 7]);
        assert_eq!(numbers("5# a 6\n7 #8\n#9\n10"), [5, 7, 10]);
        assert_eq!(numbers("-3 - 4 +5 -a6 --7"), [-3, 4, 5, 6, 7]);
        assert_eq!(numbers("rule-file-version-2"), [-2]);
        assert_eq!(numbers("99999999999999999999"), [i64::MAX]);
        assert_eq!(numbers(""), [0_i64; 0]);
        assert_eq!(numbers("-"), [0_i64; 0]);
    }

    #[test]
    fn what_is_dropped_is_told() {
        let mut scanner = Scanner::new(b"64K # K\nabc 2");
        while scanner.next_number().is_some() {}
        assert_eq!(scanner.dropped, [2..3, 8..11]);
    }
}
