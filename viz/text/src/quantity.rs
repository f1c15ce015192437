//! Quantities in readable form: durations with a unit, counts, shares in percent.
//!
//! Pictures and their captions group the digits of large counts ([`grouped`], [`counted_grouped`]);
//! lines of text do not ([`counted`]).

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeUnit {
    /// Its symbol.
    pub name: &'static str,
    /// Length in ns.
    pub ns: f64,
}

const UNITS: [TimeUnit; 4] = [
    TimeUnit {
        name: "ns",
        ns: 1.0,
    },
    TimeUnit {
        name: "us",
        ns: 1e3,
    },
    TimeUnit {
        name: "ms",
        ns: 1e6,
    },
    TimeUnit { name: "s", ns: 1e9 },
];

impl TimeUnit {
    /// The largest unit that fits at least twice into `extent_ns`, so that an axis has whole
    /// numbers.
    #[must_use]
    pub fn for_axis(extent_ns: f64) -> TimeUnit {
        let fits = UNITS
            .into_iter()
            .rev()
            .find(|unit| extent_ns.abs() >= 2.0 * unit.ns);
        fits.unwrap_or(UNITS[0])
    }
}

/// A duration with three significant digits, whole below 1 us: `812 ns`, `8.81 us`, `1,234 s`.
#[must_use]
pub fn duration(ns: i64) -> String {
    let magnitude = ns.unsigned_abs();
    let sign = if ns < 0 { "-" } else { "" };
    if magnitude < 1_000 {
        return format!("{sign}{magnitude} ns");
    }
    for unit in &UNITS[1..] {
        let value = magnitude as f64 / unit.ns;
        if value < 999.5 {
            return format!("{sign}{} {}", three_digits(value), unit.name);
        }
    }
    format!(
        "{sign}{} s",
        grouped((magnitude as f64 / 1e9).round() as u64)
    )
}

/// A value with three significant digits, whole from 100 on.
fn three_digits(value: f64) -> String {
    // The bounds are those at which rounding would add a digit.
    let n_decimals = if value < 9.995 {
        2
    } else {
        usize::from(value < 99.95)
    };
    format!("{value:.n_decimals$}")
}

/// A time since the start of the run. Times are negative before the first rank left `MPI_Init`:
/// `MPI_Init` itself began earlier.
#[must_use]
pub fn instant(ns: i64) -> String {
    match ns {
        ..0 => format!("{} before the start", duration(ns.saturating_neg())),
        _ => duration(ns),
    }
}

/// When something begins that takes so long, ns since the start of the run: never later than it does, and earlier by
/// at most a tenth of that, so that it begins within that time after what is said.
#[must_use]
pub fn begin(ns: i64, duration_ns: i64) -> String {
    let Ok(at) = u64::try_from(ns) else {
        return instant(ns);
    };
    let mut units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000)].into_iter();
    let fits = units.find(|(_, unit_ns)| at < 1_000 * unit_ns);
    let (unit, unit_ns) = fits.unwrap_or(("s", 1_000_000_000));
    // Three significant digits at least.
    let mut n_decimals =
        2_usize.saturating_sub((at / unit_ns).checked_ilog10().unwrap_or(0) as usize);
    let mut step_ns = unit_ns / 10_u64.pow(n_decimals as u32);
    while step_ns > 1 && 10 * step_ns > duration_ns.unsigned_abs() {
        (step_ns, n_decimals) = (step_ns / 10, n_decimals + 1);
    }
    let (whole, rest) = (at / unit_ns, at % unit_ns);
    match step_ns {
        0 => format!("{whole} {unit}"),
        _ if n_decimals == 0 => format!("{whole} {unit}"),
        _ => format!("{whole}.{:0n_decimals$} {unit}", rest / step_ns),
    }
}

/// A duration that may be a small part of a ns, as a slope is: `0.42 ns`; otherwise like
/// [`duration`].
#[must_use]
pub fn fine_duration(ns: f64) -> String {
    if ns == 0.0 || ns.abs() >= 99.95 {
        return duration(ns.round() as i64);
    }
    let n_decimals = 2 - (ns.abs().log10().floor() as i32).clamp(0, 2);
    format!("{ns:.*} ns", n_decimals as usize)
}

/// A round number of ns in the unit in which it is shortest, for ticks: `200 ns`, `1 us`, `0.5 s`.
#[must_use]
pub fn round_duration(ns: f64) -> String {
    let fits = UNITS.into_iter().rev().find(|unit| ns >= 0.999 * unit.ns);
    let unit = fits.unwrap_or(UNITS[0]);
    format!("{} {}", tick(ns / unit.ns), unit.name)
}

/// A count with commas between groups of three digits: `1,024`.
#[must_use]
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count with its noun, with a plural s unless it is one: `1 rank`, `1,024 ranks`.
#[must_use]
pub fn counted_grouped(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// A count with its noun, with a plural s unless it is one: `1 call`, `1024 calls`.
#[must_use]
pub fn counted(n: impl TryInto<u64>, noun: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// A count: exact up to six digits, three significant digits beyond: `12.3M`.
#[must_use]
pub fn short_count(n: u64) -> String {
    if n < 1_000_000 {
        return n.to_string();
    }
    let mut value = n as f64 / 1e6;
    let mut units = ["M", "G", "T", "P", "E"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    for larger in units {
        if value < 999.5 {
            break;
        }
        (value, unit) = (value / 1e3, larger);
    }
    format!("{}{unit}", three_digits(value))
}

/// A file size in whole units of powers of 1000, at least 10 of them: `9999 B`, `89 MB`.
#[must_use]
pub fn file_size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        10_000_000..10_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}

/// A size in bytes as people write it, in powers of 1024: `65536`, `64k`, `1MB`, `3MiB`; `least` is the least that is
/// accepted, and how that is written.
///
/// # Errors
/// What was expected.
pub fn parse_size(text: &str, (least, least_text): (u64, &str)) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..]
        .to_ascii_lowercase()
        .trim_end_matches('b')
        .trim_end_matches('i')
    {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        unit => return Err(format!("unit {unit:?}: expected k, M, G or T")),
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| format!("{digits:?}: expected a whole number"))?;
    match number.checked_mul(1 << shift) {
        Some(bytes) if bytes >= least => Ok(bytes),
        _ => Err(format!("expected {least_text} or more")),
    }
}

/// A size in a column of bytes: `4096`, `64 KiB`, `2 MiB`, `65535`. In a unit of powers of 1024 from 10,000 bytes on, if
/// that gives a whole number below 10,000; otherwise exact below 10,000,000 bytes, and beyond with three significant
/// digits: `11.9 MiB`.
#[must_use]
pub fn short_bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [
        ("TiB", 1 << 40),
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
    ];
    if bytes < 10_000 {
        return bytes.to_string();
    }
    let is_whole = |unit: u64| bytes.is_multiple_of(unit) && bytes / unit < 10_000;
    if let Some((name, unit)) = UNITS.iter().find(|(_, unit)| is_whole(*unit)) {
        return format!("{} {name}", bytes / unit);
    }
    let larger = UNITS.iter().find(|(_, unit)| bytes >= *unit);
    let Some((name, unit)) = larger.filter(|_| bytes >= 10_000_000) else {
        return bytes.to_string();
    };
    format!("{} {name}", three_digits(bytes as f64 / *unit as f64))
}

/// A size: `1 byte`, `4096 bytes`, `64 KiB`; see [`short_bytes`].
#[must_use]
pub fn size(bytes: u64) -> String {
    size_range(bytes, bytes)
}

/// From one size to another: `8 bytes`, `8 to 15 bytes`, `64 KiB to 100000 bytes`; see [`short_bytes`].
#[must_use]
pub fn size_range(least: u64, most: u64) -> String {
    let with_unit = |short: &str| match short {
        "1" => "1 byte".to_owned(),
        _ if short.ends_with('B') => short.to_owned(),
        _ => format!("{short} bytes"),
    };
    let (least, most) = (short_bytes(least), short_bytes(most));
    if least == most {
        with_unit(&most)
    } else if least.ends_with('B') || most.ends_with('B') {
        format!("{} to {}", with_unit(&least), with_unit(&most))
    } else {
        format!("{least} to {most} bytes")
    }
}

/// A part in whole percent; `-` if the whole is 0.
#[must_use]
pub fn percent(part: i64, whole: i64) -> String {
    if whole <= 0 {
        return "-".to_owned();
    }
    share(part as f64 / whole as f64)
}

/// A share in whole percent, with "<1" and ">99" where rounding would give 0 or 100.
#[must_use]
pub fn share(share: f64) -> String {
    let percent = share * 100.0;
    if share > 0.0 && percent < 0.5 {
        "<1 %".to_owned()
    } else if share < 1.0 && percent >= 99.5 {
        ">99 %".to_owned()
    } else {
        format!("{percent:.0} %")
    }
}

/// A part that is at least so much, in percent: never more than it is, with two digits behind the point below 1.
#[must_use]
pub fn least_percent(part: i64, whole: i64) -> String {
    if whole <= 0 {
        return "-".to_owned();
    }
    // In units that are whole, so that nothing is rounded up.
    let hundredths = i128::from(part.max(0)) * 10_000 / i128::from(whole);
    match hundredths {
        1..100 => format!("0.{hundredths:02} %"),
        _ => format!("{} %", hundredths / 100),
    }
}

/// The value of a tick without floating-point noise, whole numbers in groups of three digits.
#[must_use]
pub fn tick(value: f64) -> String {
    let rounded = (value * 1e3).round() / 1e3;
    if rounded.fract() == 0.0 && rounded.abs() >= 1e3 && rounded.abs() < 1e18 {
        let sign = if rounded < 0.0 { "-" } else { "" };
        return format!("{sign}{}", grouped(rounded.abs() as u64));
    }
    // Also turns -0 into 0.
    format!("{}", rounded + 0.0)
}

/// A part in whole percent, rounded; 0 if the whole is 0.
#[must_use]
pub fn whole_percent(part: u64, whole: u64) -> u64 {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    // The product is at most 100 times a u64, and the divisor at least 1.
    u64::try_from((part * 200 + whole) / (whole * 2)).unwrap_or(u64::MAX)
}

/// A part in whole percent, with "<1" and ">99" where rounding would give 0 or 100.
#[must_use]
pub fn part_percent(part: u64, whole: u64) -> String {
    match whole_percent(part, whole) {
        0 if part > 0 => "<1 %".to_owned(),
        100 if part < whole => ">99 %".to_owned(),
        percent => format!("{percent} %"),
    }
}

/// A part of a whole in percent with two significant digits: `45 %`, `1.6 %`, `0.24 %`; never
/// rounded to 0 or 100; `-` if the whole is 0.
#[must_use]
pub fn fine_percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let percent = part as f64 / whole as f64 * 100.0;
    if part > 0 && percent < 0.01 {
        "<0.01 %".to_owned()
    } else if part > 0 && percent < 0.995 {
        format!("{percent:.2} %")
    } else if part < whole && percent >= 99.5 {
        ">99 %".to_owned()
    } else if part > 0 && percent < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("65536", 65536),
            ("64k", 65536),
            ("1MB", 1 << 20),
            ("3MiB", 3 << 20),
            ("2G", 2 << 30),
        ] {
            assert_eq!(parse_size(text, (64 << 10, "64k")), Ok(bytes), "{text}");
        }
        for text in ["", "k", "12", "1 MB", "-1M", "1X", "99999999999T"] {
            assert!(parse_size(text, (64 << 10, "64k")).is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_has_one_spelling() {
        let cases = [
            (0, "0 bytes"),
            (1, "1 byte"),
            (4096, "4096 bytes"),
            (10_240, "10 KiB"),
            (65_535, "65535 bytes"),
            (65_536, "64 KiB"),
            (1_572_864, "1536 KiB"),
            (2 << 20, "2 MiB"),
            ((2 << 20) + 8, "2097160 bytes"),
            (12_500_000, "11.9 MiB"),
            (3 << 30, "3 GiB"),
            (u64::MAX, "16777216 TiB"),
        ];
        for (bytes, shown) in cases {
            assert_eq!(size(bytes), shown);
            let short = shown.trim_end_matches(" bytes").trim_end_matches(" byte");
            assert_eq!(short_bytes(bytes), short);
        }
        assert_eq!(size_range(8, 15), "8 to 15 bytes");
        assert_eq!(size_range(8, 65_536), "8 bytes to 64 KiB");
        assert_eq!(size_range(65_536, 100_000), "64 KiB to 100000 bytes");
    }

    #[test]
    fn a_lower_bound_is_never_more_than_the_part() {
        let of_all = |part| least_percent(part, 100_000);
        assert_eq!(of_all(0), "0 %");
        assert_eq!(of_all(9), "0 %");
        assert_eq!(of_all(70), "0.07 %");
        assert_eq!(of_all(999), "0.99 %");
        assert_eq!(of_all(33_900), "33 %");
        assert_eq!(of_all(99_999), "99 %");
        assert_eq!(of_all(100_000), "100 %");
        assert_eq!(least_percent(i64::MAX, i64::MAX), "100 %");
        assert_eq!(least_percent(1, 0), "-");
    }

    #[test]
    fn durations_have_three_significant_digits_and_the_fitting_unit() {
        let cases = [
            (0, "0 ns"),
            (-7, "-7 ns"),
            (999, "999 ns"),
            (1_000, "1.00 us"),
            (9_994, "9.99 us"),
            (9_996, "10.0 us"),
            (45_670, "45.7 us"),
            (99_960, "100 us"),
            (999_600, "1.00 ms"),
            (-12_345_678, "-12.3 ms"),
            (1_234_000_000_000, "1,234 s"),
            (i64::MIN, "-9,223,372,037 s"),
        ];
        for (ns, shown) in cases {
            assert_eq!(duration(ns), shown, "{ns} ns");
        }
    }

    #[test]
    fn slopes_below_a_nanosecond_keep_their_digits() {
        let cases = [
            (0.0, "0 ns"),
            (0.42, "0.42 ns"),
            (-3.456, "-3.46 ns"),
            (42.04, "42.0 ns"),
            (99.96, "100 ns"),
            (1_234.0, "1.23 us"),
        ];
        for (ns, shown) in cases {
            assert_eq!(fine_duration(ns), shown, "{ns} ns");
        }
    }

    #[test]
    fn percents_say_neither_none_nor_all_by_rounding() {
        let cases = [
            (0, 5, "0 %"),
            (1, 1_000, "<1 %"),
            (1, 3, "33 %"),
            (1, 200, "1 %"),
            (999, 1_000, ">99 %"),
            (7, 7, "100 %"),
            (0, 0, "0 %"),
        ];
        for (part, whole, shown) in cases {
            assert_eq!(part_percent(part, whole), shown, "{part} of {whole}");
        }
    }

    #[test]
    fn ticks_are_as_short_as_they_can_be() {
        let cases = [
            (0.5, "0.5 ns"),
            (200.0, "200 ns"),
            (1e3, "1 us"),
            (2.5e9, "2.5 s"),
            (1e13, "10,000 s"),
        ];
        for (ns, shown) in cases {
            assert_eq!(round_duration(ns), shown, "{ns} ns");
        }
        assert_eq!(tick(-0.0), "0");
        assert_eq!(tick(0.1 + 0.2), "0.3");
        assert_eq!(tick(-12_500.0), "-12,500");
    }

    #[test]
    fn small_shares_keep_two_digits_and_are_never_nothing() {
        let cases = [
            (0, 7, "0 %"),
            (1, 99_999, "<0.01 %"),
            (1, 1_024, "0.10 %"),
            (1, 64, "1.6 %"),
            (45, 100, "45 %"),
            (9_999, 10_000, ">99 %"),
            (7, 7, "100 %"),
            (0, 0, "-"),
        ];
        for (part, whole, shown) in cases {
            assert_eq!(fine_percent(part, whole), shown, "{part} of {whole}");
        }
    }

    #[test]
    fn counts_are_grouped_and_nouns_agree() {
        assert_eq!(grouped(1_024), "1,024");
        assert_eq!(grouped(123_456_789), "123,456,789");
        assert_eq!(counted_grouped(1, "rank"), "1 rank");
        assert_eq!(counted_grouped(0, "rank"), "0 ranks");
    }

    #[test]
    fn the_unit_of_an_axis_follows_its_extent() {
        assert_eq!(TimeUnit::for_axis(0.0).name, "ns");
        assert_eq!(TimeUnit::for_axis(1_999.0).name, "ns");
        assert_eq!(TimeUnit::for_axis(2_000.0).name, "us");
        assert_eq!(TimeUnit::for_axis(-3e6).name, "ms");
        assert_eq!(TimeUnit::for_axis(9e18).name, "s");
    }

    #[test]
    fn an_instant_before_the_start_is_marked() {
        assert_eq!(instant(12_400_000), "12.4 ms");
        assert_eq!(instant(-247_013_868), "247 ms before the start");
    }

    #[test]
    fn counts_of_more_than_six_digits_have_three() {
        for (n, words) in [
            (999_999, "999999"),
            (1_000_000, "1.00M"),
            (12_345_678, "12.3M"),
            (999_500_000, "1.00G"),
            (u64::MAX, "18.4E"),
        ] {
            assert_eq!(short_count(n), words);
        }
    }

    #[test]
    fn shares_say_neither_none_nor_all_by_rounding() {
        assert_eq!(share(0.0), "0 %");
        assert_eq!(share(0.001), "<1 %");
        assert_eq!(share(0.999), ">99 %");
        assert_eq!(share(1.0), "100 %");
        assert_eq!(percent(1, 0), "-");
    }

    #[test]
    fn a_begin_is_said_so_exactly_that_it_is_less_than_the_duration_later() {
        assert_eq!(begin(4_518_900_000, 3_500_000_000), "4.51 s");
        assert_eq!(begin(1_234_567_890_123, 3_200_000), "1234.5678 s");
        assert_eq!(begin(803_129_000, 200_000), "803.12 ms");
        assert_eq!(begin(999_999_999, 1_000_000_000), "999 ms");
        assert_eq!(begin(0, 5), "0 ns");
        assert_eq!(begin(7_009, 0), "7.009 us");
    }
}
