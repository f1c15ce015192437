//! From text to values.

use std::collections::HashMap;

use super::scan::Scanner;
use super::{Data, Document, Irregularity, JsonError, Member, Value};
use crate::problem::Position;

/// An array or object whose closing bracket has not come yet.
enum Open {
    Array {
        at: Position,
        items: Vec<Value>,
    },
    Object {
        at: Position,
        members: Vec<Member>,
        key: (String, Position),
        keys: HashMap<String, Position>,
    },
}

/// What may come next.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Value,
    /// After an opening bracket, a comma, or a value inside brackets.
    FirstItem,
    ItemAfterComma,
    CommaOrEnd,
}

/// Reads `text`, in which brackets may lie `max_depth` deep.
///
/// # Errors
/// The first place that no reader of JSON takes.
pub fn parse(text: &[u8], max_depth: usize) -> Result<Document, JsonError> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut scanner = Scanner::new(text);
    let mut open: Vec<Open> = Vec::new();
    let mut next = Next::Value;
    loop {
        scanner.skip_space()?;
        let complete = match next {
            Next::Value => {
                let at = scanner.at();
                match scanner.peek() {
                    Some(bracket @ (b'{' | b'[')) => {
                        if open.len() == max_depth {
                            return Err(scanner
                                .error(&format!("at most {max_depth} brackets in one another")));
                        }
                        scanner.advance();
                        open.push(opened(bracket, at));
                        next = Next::FirstItem;
                        continue;
                    }
                    _ => scalar(&mut scanner)?,
                }
            }
            Next::FirstItem | Next::ItemAfterComma => match open.last_mut() {
                Some(Open::Array { .. }) => {
                    if scanner.peek() != Some(b']') {
                        next = Next::Value;
                        continue;
                    }
                    close(&mut scanner, &mut open, next)
                }
                Some(Open::Object { key, keys, .. }) => match scanner.peek() {
                    Some(b'}') => close(&mut scanner, &mut open, next),
                    Some(b'"' | b'\'') => {
                        *key = self::key(&mut scanner, keys)?;
                        next = Next::Value;
                        continue;
                    }
                    _ => return Err(scanner.error("a key in quotation marks, or `}`")),
                },
                None => return Err(scanner.error("a value")),
            },
            Next::CommaOrEnd => {
                let end = if matches!(open.last(), Some(Open::Array { .. })) {
                    b']'
                } else {
                    b'}'
                };
                match scanner.peek() {
                    Some(b',') => {
                        scanner.advance();
                        next = Next::ItemAfterComma;
                        continue;
                    }
                    Some(byte) if byte == end => close(&mut scanner, &mut open, next),
                    _ => return Err(scanner.error(&format!("`,` or `{}`", char::from(end)))),
                }
            }
        };
        match open.last_mut() {
            None => return finished(scanner, complete),
            Some(Open::Array { items, .. }) => items.push(complete),
            Some(Open::Object { members, key, .. }) => {
                let (key, at) = std::mem::replace(key, (String::new(), complete.at));
                members.push(Member {
                    key,
                    at,
                    value: complete,
                });
            }
        }
        next = Next::CommaOrEnd;
    }
}

fn opened(bracket: u8, at: Position) -> Open {
    match bracket {
        b'[' => Open::Array {
            at,
            items: Vec::new(),
        },
        _ => Open::Object {
            at,
            members: Vec::new(),
            key: (String::new(), at),
            keys: HashMap::new(),
        },
    }
}

/// The innermost open array or object, whose closing bracket is here.
fn close(scanner: &mut Scanner<'_>, open: &mut Vec<Open>, next: Next) -> Value {
    if next == Next::ItemAfterComma {
        scanner.note(scanner.at(), Irregularity::TrailingComma);
    }
    scanner.advance();
    match open.pop() {
        Some(Open::Array { at, items }) => Value {
            at,
            data: Data::Array(items),
        },
        Some(Open::Object { at, members, .. }) => Value {
            at,
            data: Data::Object(members),
        },
        None => Value {
            at: scanner.at(),
            data: Data::Null,
        },
    }
}

/// A key and the colon behind it.
fn key(
    scanner: &mut Scanner<'_>,
    keys: &mut HashMap<String, Position>,
) -> Result<(String, Position), JsonError> {
    let at = scanner.at();
    let key = scanner.string()?;
    match keys.get(&key) {
        Some(&first) => scanner.note(at, Irregularity::DuplicateKey(first)),
        None => {
            keys.insert(key.clone(), at);
        }
    }
    scanner.skip_space()?;
    if scanner.peek() != Some(b':') {
        return Err(scanner.error("`:` after a key"));
    }
    scanner.advance();
    Ok((key, at))
}

fn scalar(scanner: &mut Scanner<'_>) -> Result<Value, JsonError> {
    let at = scanner.at();
    let data = match scanner.peek() {
        Some(b'"' | b'\'') => Data::String(scanner.string()?),
        Some(byte) if byte.is_ascii_alphanumeric() || byte == b'-' => {
            let mistake = scanner.error("a value");
            let word = scanner.word();
            let (data, strict) = literal(&word).or_else(|| number(&word)).ok_or(mistake)?;
            if !strict {
                let number = matches!(data, Data::Number(_))
                    && word.bytes().any(|byte| byte.is_ascii_digit());
                let what = if number {
                    Irregularity::LooseNumber
                } else {
                    Irregularity::LooseLiteral
                };
                scanner.note(at, what);
            }
            data
        }
        _ => return Err(scanner.error("a value")),
    };
    Ok(Value { at, data })
}

/// The value of a word, and whether it is written as JSON has it.
fn literal(word: &str) -> Option<(Data, bool)> {
    let data = match word.to_ascii_lowercase().as_str() {
        "null" => Data::Null,
        "true" => Data::Bool(true),
        "false" => Data::Bool(false),
        "nan" | "infinity" | "-infinity" => return Some((Data::Number(word.to_owned()), false)),
        _ => return None,
    };
    Some((data, matches!(word, "null" | "true" | "false")))
}

fn number(word: &str) -> Option<(Data, bool)> {
    word.parse::<f64>().ok()?;
    let digits = word.strip_prefix('-').unwrap_or(word);
    let first = digits.bytes().next()?;
    if !first.is_ascii_digit() {
        return None;
    }
    let leading_zero = first == b'0'
        && digits
            .as_bytes()
            .get(1)
            .is_some_and(|byte| byte.is_ascii_digit());
    let bare_point = digits.ends_with('.') || digits.contains(".e") || digits.contains(".E");
    Some((Data::Number(word.to_owned()), !leading_zero && !bare_point))
}

fn finished(mut scanner: Scanner<'_>, root: Value) -> Result<Document, JsonError> {
    // Readers stop at the end of the value: what follows need not even be a comment that ends.
    if scanner.skip_space().is_err() || scanner.peek().is_some() {
        scanner.note(scanner.at(), Irregularity::TextAfter);
    }
    Ok(Document {
        root,
        irregularities: scanner.irregularities,
    })
}
