//! Numbers of processes and payloads, from one number to another.

use toml::Spanned;
use toml::de::DeValue;

use crate::document::{Reader, kind_of};

/// Units of bytes, by the end of a number.
const UNITS: [(&str, u64); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("k", 1 << 10),
    ("B", 1),
    ("", 1),
];

impl Reader<'_> {
    /// The numbers of processes of a communicator: 8, "8", "4-64", "4-" or "-64".
    pub(crate) fn sizes(&mut self, value: &Spanned<DeValue<'_>>) -> Option<(u32, u32)> {
        let parse = |number: &str| number.parse().ok().filter(|&n: &u64| n >= 1);
        let most = u64::from(u32::MAX);
        let found = range_of(value, 1, most, parse)
            .and_then(|(least, most)| Some((least.try_into().ok()?, most.try_into().ok()?)));
        found.or_else(|| {
            self.wrong(
                value.span(),
                format!("{} instead of numbers of processes", kind_of(value)),
                "expected a number such as 8, or a range such as \"4-64\" or \"4-\"",
            )
        })
    }

    /// Payloads in bytes: 8, "4KiB", "0-4KiB" or "4097-".
    pub(crate) fn bytes(&mut self, value: &Spanned<DeValue<'_>>) -> Option<(u64, u64)> {
        range_of(value, 0, u64::MAX, bytes_of).or_else(|| {
            self.wrong(
                value.span(),
                format!("{} instead of a payload", kind_of(value)),
                "expected bytes such as 8, or a range such as \"0-4KiB\" or \"4097-\"",
            )
        })
    }
}

/// The first and the last number of a range; an end that is left out is `least` or `most`.
fn range_of(
    value: &Spanned<DeValue<'_>>,
    least: u64,
    most: u64,
    parse: impl Fn(&str) -> Option<u64>,
) -> Option<(u64, u64)> {
    let (from, to) = match value.get_ref() {
        DeValue::Integer(number) => {
            let number = u64::from_str_radix(number.as_str(), number.radix()).ok()?;
            (number, number)
        }
        DeValue::String(text) => match text.trim().split_once('-') {
            None => {
                let number = parse(text.trim())?;
                (number, number)
            }
            Some((from, to)) => {
                let end = |text: &str, open: u64| match text.trim() {
                    "" => Some(open),
                    text => parse(text),
                };
                (end(from, least)?, end(to, most)?)
            }
        },
        _ => return None,
    };
    (from >= least && from <= to).then_some((from, to))
}

fn bytes_of(text: &str) -> Option<u64> {
    let mut units = UNITS.into_iter();
    units.find_map(|(unit, bytes)| {
        let number = text.strip_suffix(unit)?.trim_end();
        number.parse::<u64>().ok()?.checked_mul(bytes)
    })
}
