//! The characters of a text of JSON, with their places.

use super::{Irregularity, JsonError};
use crate::problem::Position;

/// A place in a text, and the text behind it.
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    offset: usize,
    at: Position,
    pub(super) irregularities: Vec<(Position, Irregularity)>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            offset: 0,
            at: Position { line: 1, column: 1 },
            irregularities: Vec::new(),
        }
    }

    pub(super) fn at(&self) -> Position {
        self.at
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.offset).copied()
    }

    /// Passes one byte. A character of several bytes counts as one column.
    pub(super) fn advance(&mut self) {
        match self.peek() {
            Some(b'\n') => {
                self.at = Position {
                    line: self.at.line + 1,
                    column: 1,
                }
            }
            Some(0x80..=0xbf) | None => {}
            Some(_) => self.at.column += 1,
        }
        self.offset += 1;
    }

    pub(super) fn note(&mut self, at: Position, what: Irregularity) {
        self.irregularities.push((at, what));
    }

    pub(super) fn error(&self, expected: &str) -> JsonError {
        JsonError {
            at: self.at,
            expected: expected.to_owned(),
            found: self.found(),
        }
    }

    /// What is here, in words.
    fn found(&self) -> String {
        let Some(first) = self.peek() else {
            return "the end of the text".to_owned();
        };
        let end = self.text.len().min(self.offset + 4);
        let text = String::from_utf8_lossy(&self.text[self.offset..end]);
        match text.chars().next() {
            Some(c) if !c.is_control() && c != char::REPLACEMENT_CHARACTER => format!("`{c}`"),
            _ => format!("the byte 0x{first:02x}"),
        }
    }

    /// Passes spaces and comments.
    ///
    /// # Errors
    /// A comment that does not end, or a slash that begins none.
    pub(super) fn skip_space(&mut self) -> Result<(), JsonError> {
        loop {
            match self.peek() {
                // As isspace() has them.
                Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c) => self.advance(),
                Some(b'/') => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self) -> Result<(), JsonError> {
        let begin = self.at;
        self.advance();
        match self.peek() {
            Some(b'/') => {
                while self.peek().is_some_and(|byte| byte != b'\n') {
                    self.advance();
                }
            }
            Some(b'*') => {
                self.advance();
                loop {
                    match (self.peek(), self.text.get(self.offset + 1)) {
                        (Some(b'*'), Some(b'/')) => break,
                        (None, _) => return Err(self.error("the end `*/` of a comment")),
                        _ => self.advance(),
                    }
                }
                self.advance();
                self.advance();
            }
            _ => return Err(self.error("`/` or `*` of a comment")),
        }
        self.note(begin, Irregularity::Comment);
        Ok(())
    }

    /// A string from its quotation mark on, which is here.
    ///
    /// # Errors
    /// A string without an end, or an escape that JSON does not have.
    pub(super) fn string(&mut self) -> Result<String, JsonError> {
        let quote = self.peek().unwrap_or(b'"');
        if quote == b'\'' {
            self.note(self.at, Irregularity::SingleQuotes);
        }
        self.advance();
        let mut bytes = Vec::new();
        loop {
            match self.peek() {
                None | Some(0) => return Err(self.error("the end of a string")),
                Some(byte) if byte == quote => {
                    self.advance();
                    return Ok(String::from_utf8(bytes).unwrap_or_else(|error| {
                        String::from_utf8_lossy(error.as_bytes()).into_owned()
                    }));
                }
                Some(b'\\') => {
                    self.advance();
                    self.escape(&mut bytes)?;
                }
                Some(byte) => {
                    bytes.push(byte);
                    self.advance();
                }
            }
        }
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<(), JsonError> {
        let plain = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                self.advance();
                let character = self.unicode()?;
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(self.error("one of `\"\\/bfnrtu` after `\\`")),
        };
        bytes.push(plain);
        self.advance();
        Ok(())
    }

    /// The character of `\u` and four digits, or of two of these; U+FFFD for half of a pair.
    fn unicode(&mut self) -> Result<char, JsonError> {
        let first = self.four_digits()?;
        let low_follows =
            (0xd800..0xdc00).contains(&first) && self.text[self.offset..].starts_with(b"\\u");
        if !low_follows {
            return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        self.advance();
        self.advance();
        let second = self.four_digits()?;
        let low = second.wrapping_sub(0xdc00);
        let both = if low < 0x400 {
            0x1_0000 + ((first - 0xd800) << 10) + low
        } else {
            u32::MAX
        };
        Ok(char::from_u32(both).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn four_digits(&mut self) -> Result<u32, JsonError> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            value = value * 16
                + digit.ok_or_else(|| self.error("four hexadecimal digits after `\\u`"))?;
            self.advance();
        }
        Ok(value)
    }

    /// The letters, digits and signs from here on: a number or a word.
    pub(super) fn word(&mut self) -> String {
        let begin = self.offset;
        while self
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte))
        {
            self.advance();
        }
        String::from_utf8_lossy(&self.text[begin..self.offset]).into_owned()
    }
}
