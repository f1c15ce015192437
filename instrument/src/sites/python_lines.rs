//! The line of an instruction of Python, from the table that the interpreter has with each function.

/// How a version of Python stores lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineTable {
    /// Pairs of increments, of the address and of the line (`co_lnotab`, up to 3.9).
    Increments,
    /// Pairs of a length and an increment of the line (`co_linetable` of 3.10, PEP 626).
    Ranges,
    /// Entries with columns, too (`co_linetable` from 3.11 on, PEP 657).
    Locations,
}

/// The line of the instruction at an offset, bytes; `first` is the line where the function begins.
/// `None` where the table says that there is none, or is damaged.
pub(super) fn line_at(kind: LineTable, table: &[u8], first: u32, offset: usize) -> Option<u32> {
    let line = match kind {
        LineTable::Increments => by_increments(table, first, offset),
        LineTable::Ranges => by_ranges(table, first, offset)?,
        LineTable::Locations => by_locations(table, first, offset)?,
    };
    u32::try_from(line).ok().filter(|&line| line > 0)
}

fn by_increments(table: &[u8], first: u32, offset: usize) -> i64 {
    let (mut at, mut line) = (0, i64::from(first));
    for pair in table.chunks_exact(2) {
        at += usize::from(pair[0]);
        if at > offset {
            break;
        }
        line += i64::from(pair[1].cast_signed());
    }
    line
}

fn by_ranges(table: &[u8], first: u32, offset: usize) -> Option<i64> {
    /// The increment of a range that has no line.
    const NO_LINE: i8 = -128;
    let (mut at, mut line) = (0, i64::from(first));
    for pair in table.chunks_exact(2) {
        let increment = pair[1].cast_signed();
        if increment != NO_LINE {
            line += i64::from(increment);
        }
        at += usize::from(pair[0]);
        if at > offset {
            return (increment != NO_LINE).then_some(line);
        }
    }
    None
}

fn by_locations(table: &[u8], first: u32, offset: usize) -> Option<i64> {
    /// Bytes of an instruction.
    const UNIT: usize = 2;
    let (mut at, mut line) = (0, i64::from(first));
    let mut rest = table;
    while let [head, behind @ ..] = rest {
        // Only the first byte of an entry has the upper bit.
        if head & 0x80 == 0 {
            return None;
        }
        let code = head >> 3 & 15;
        let increment = match code {
            10..=12 => i64::from(code) - 10,
            13 | 14 => signed(behind)?,
            _ => 0,
        };
        line += increment;
        at += (usize::from(head & 7) + 1) * UNIT;
        if at > offset {
            return (code != 15).then_some(line);
        }
        let next = behind.iter().position(|byte| byte & 0x80 != 0);
        rest = &behind[next.unwrap_or(behind.len())..];
    }
    None
}

/// A number of six bits a byte, the lowest first, of which the lowest bit is the sign.
fn signed(bytes: &[u8]) -> Option<i64> {
    let mut number = 0u64;
    for (i, byte) in bytes.iter().take(8).enumerate() {
        number |= u64::from(byte & 0x3f) << (6 * i);
        if byte & 0x40 == 0 {
            let magnitude = (number >> 1).cast_signed();
            return Some(if number & 1 == 0 {
                magnitude
            } else {
                -magnitude
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    // Tables that CPython 3.9, 3.10 and 3.12 made of this function, whose first line is 1:
    //   def f(x):
    //       y = g(
    //           x)
    //       for i in range(3):
    //           y += g(i)
    //       return y
    #[test]
    fn lines_are_those_that_python_says() {
        let of = |kind, table: &[u8], offsets: &[usize]| -> Vec<Option<u32>> {
            let offsets = offsets.iter();
            offsets.map(|&at| line_at(kind, table, 1, at)).collect()
        };
        let old = [0, 1, 2, 1, 2, 255, 4, 2, 12, 1, 14, 1];
        assert_eq!(
            of(LineTable::Increments, &old, &[0, 2, 4, 8, 20, 34, 400]),
            [2, 3, 2, 4, 5, 6, 6].map(Some)
        );
        // And a last range without a line.
        let ranges = [2, 1, 2, 1, 4, 255, 12, 2, 14, 1, 4, 1, 2, 128];
        assert_eq!(
            of(LineTable::Ranges, &ranges, &[0, 2, 4, 8, 20, 34]),
            [2, 3, 2, 4, 5, 6].map(Some)
        );
        assert_eq!(of(LineTable::Ranges, &ranges, &[38, 400]), [None, None]);
    }

    #[test]
    fn lines_are_those_that_later_versions_say() {
        let table = [
            128, 0, 220, 8, 9, 216, 8, 9, 243, 3, 1, 9, 11, 128, 65, 228, 13, 18, 144, 49, 139, 88,
            242, 0, 1, 5, 18, 136, 1, 216, 8, 9, 140, 81, 136, 113, 139, 84, 137, 9, 137, 1, 240,
            3, 1, 5, 18, 224, 11, 12, 128, 72,
        ];
        let at = |offset| line_at(LineTable::Locations, &table, 1, offset);
        let offsets = [0, 2, 10, 12, 14, 24, 50, 52, 80, 82, 84, 86];
        assert_eq!(
            offsets.map(at),
            [1, 2, 2, 3, 2, 4, 4, 5, 5, 4, 6, 6].map(Some)
        );
        assert_eq!(at(88), None);
    }

    #[test]
    fn tables_with_columns_are_read() {
        // A prologue without columns on line 1; two units one line further; three units with a long
        // entry four lines further; two without a line; one a line back.
        let table = [
            0x80 | 13 << 3,
            0, // 1 unit, line + 0
            0x80 | 11 << 3 | 1,
            4,
            9, // 2 units, line + 1
            0x80 | 14 << 3 | 2,
            8,
            0,
            3,
            4,                  // 3 units, line + 4
            0x80 | 15 << 3 | 1, // 2 units, none
            0x80 | 3 << 3,
            0x21, // 1 unit, same line
            0x80 | 13 << 3,
            3, // 1 unit, line - 1
        ];
        let at = |unit: usize| line_at(LineTable::Locations, &table, 7, 2 * unit);
        assert_eq!(
            (0..11).map(at).collect::<Vec<_>>(),
            [
                Some(7),
                Some(8),
                Some(8),
                Some(12),
                Some(12),
                Some(12),
                None,
                None,
                Some(12),
                Some(11),
                None
            ]
        );
        assert_eq!(signed(&[0x7f, 0x3f]), Some(-2047));
    }

    #[test]
    fn damaged_tables_are_no_lines() {
        for table in [
            &[0u8; 7][..],
            &[0xff; 9],
            &[0x80 | 13 << 3, 0x7f, 0x7f],
            &[],
        ] {
            for kind in [
                LineTable::Increments,
                LineTable::Ranges,
                LineTable::Locations,
            ] {
                for offset in [0, 1, 500, usize::MAX] {
                    // Anything but a panic.
                    let _ = line_at(kind, table, u32::MAX, offset);
                }
            }
            assert_eq!(line_at(LineTable::Locations, table, 1, 500), None);
        }
        assert_eq!(
            line_at(LineTable::Increments, &[0, 0x80], 1, 0),
            None,
            "a line below 1"
        );
    }
}
