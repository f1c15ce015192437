//! Values of a TOML document with their places.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::problem::{Lines, Problem, one_of, suggestion};

/// A value and its place in the text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) span: Range<usize>,
}

/// The text of a file, and what was found wrong with it so far.
#[derive(Debug)]
pub(crate) struct Reader<'t> {
    pub(crate) text: Lines<'t>,
    pub(crate) problems: Vec<Problem>,
}

impl Reader<'_> {
    /// Notes something wrong; for a caller that has no value then.
    pub(crate) fn wrong<T>(
        &mut self,
        span: Range<usize>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Option<T> {
        let problem = Problem::at(&self.text, span, found, remedy);
        self.problems.push(problem);
        None
    }

    /// The line of a place, from 1.
    pub(crate) fn line(&self, span: &Range<usize>) -> u32 {
        self.text.place(span.start).0
    }

    /// The entries of a table; a key that is not among `keys` is wrong.
    pub(crate) fn table<'v>(
        &mut self,
        value: &'v Spanned<DeValue<'v>>,
        what: &'static str,
        keys: &'static [&'static str],
    ) -> Option<Table<'v>> {
        let span = value.span();
        let DeValue::Table(entries) = value.get_ref() else {
            return self.wrong(span, format!("{} instead of {what}", kind_of(value)), {
                format!("expected a table with {}", one_of(keys.iter().copied()))
            });
        };
        Some(self.entries(entries, span, what, keys))
    }

    /// The entries of a table; a key that is not among `keys` is wrong.
    pub(crate) fn entries<'v>(
        &mut self,
        entries: &'v DeTable<'v>,
        span: Range<usize>,
        what: &'static str,
        keys: &'static [&'static str],
    ) -> Table<'v> {
        for (key, _) in entries.iter() {
            let name = key.get_ref().as_ref();
            if !keys.contains(&name) {
                let found = format!("{what} has no key \"{}\"", shown(name));
                self.wrong::<()>(key.span(), found, suggestion(name, keys.iter().copied()));
            }
        }
        Table { entries, span }
    }

    /// A text.
    pub(crate) fn string(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
    ) -> Option<At<String>> {
        match value.get_ref() {
            DeValue::String(text) => Some(At {
                value: text.as_ref().to_owned(),
                span: value.span(),
            }),
            _ => self.wrong(
                value.span(),
                format!("{} instead of {what}", kind_of(value)),
                "write it in quotes",
            ),
        }
    }

    /// A list of at least one value, or one value without brackets.
    pub(crate) fn list<'v>(
        &mut self,
        value: &'v Spanned<DeValue<'v>>,
        what: &str,
    ) -> Vec<&'v Spanned<DeValue<'v>>> {
        match value.get_ref() {
            DeValue::Array(values) => {
                if values.is_empty() {
                    let found = format!("an empty list of {what}");
                    self.wrong::<()>(value.span(), found, "name at least one, or leave it out");
                }
                values.iter().collect()
            }
            _ => vec![value],
        }
    }

    /// Texts that differ from one another.
    pub(crate) fn strings(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &'static str,
    ) -> Vec<At<String>> {
        let mut strings: Vec<At<String>> = Vec::new();
        let mut known = BTreeSet::new();
        for value in self.list(value, what) {
            let Some(text) = self.string(value, what) else {
                continue;
            };
            if !known.insert(text.value.clone()) {
                let found = format!("\"{}\" a second time", shown(&text.value));
                self.wrong::<()>(text.span, found, "name it once");
                continue;
            }
            strings.push(text);
        }
        strings
    }

    /// A whole number within limits.
    pub(crate) fn number(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
        (least, most): (u64, u64),
    ) -> Option<At<u64>> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        match number.filter(|number| (least..=most).contains(number)) {
            Some(number) => Some(At {
                value: number,
                span: value.span(),
            }),
            None => self.wrong(
                value.span(),
                format!("{} instead of {what}", kind_of(value)),
                format!("expected a whole number from {least} to {most}"),
            ),
        }
    }
}

/// The entries of a table.
#[derive(Debug, Clone)]
pub(crate) struct Table<'v> {
    entries: &'v DeTable<'v>,
    /// Where it begins.
    pub(crate) span: Range<usize>,
}

impl<'v> Table<'v> {
    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&'v Spanned<DeValue<'v>>> {
        self.entries.get(key)
    }

    /// The place of a key.
    pub(crate) fn key(&self, key: &str) -> Range<usize> {
        let found = self.entries.get_key_value(key);
        found.map_or(self.span.clone(), |(key, _)| key.span())
    }

    /// All keys that are there, with their values.
    pub(crate) fn iter(
        &self,
    ) -> impl Iterator<
        Item = (
            &'v Spanned<toml::de::DeString<'v>>,
            &'v Spanned<DeValue<'v>>,
        ),
    > {
        self.entries.iter()
    }
}

/// What a value is, for errors.
pub(crate) fn kind_of(value: &Spanned<DeValue<'_>>) -> String {
    match value.get_ref() {
        DeValue::String(text) => format!("\"{}\"", shown(text)),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(is) => is.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// Text of a file as it is shown in an error: short, and without what a terminal would obey.
pub(crate) fn shown(text: &str) -> String {
    const MAX_WIDTH: usize = 60;
    collbench_text::inert::line(text, MAX_WIDTH)
}
