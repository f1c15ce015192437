//! Kernels against the definition of each operation, by another route: integers as `i128`, floats
//! one by one.

use proptest::prelude::*;

use super::super::combine::Combine;
use super::*;

/// What a type is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Signed,
    Unsigned,
    Float,
    Complex,
    Logical,
    Bits,
    /// Where the index begins, and whether value and index are floats.
    Pair(usize, [bool; 2]),
}

fn kind(elements: Elements) -> Kind {
    use Elements::*;
    match elements {
        Int8 | Int16 | Int32 | Int64 => Kind::Signed,
        Uint8 | Uint16 | Uint32 | Uint64 => Kind::Unsigned,
        Float | Double => Kind::Float,
        FloatComplex | DoubleComplex => Kind::Complex,
        Bool | Logical => Kind::Logical,
        Byte => Kind::Bits,
        FloatInt => Kind::Pair(4, [true, false]),
        DoubleInt => Kind::Pair(8, [true, false]),
        LongInt => Kind::Pair(8, [false, false]),
        TwoInt | ShortInt => Kind::Pair(4, [false, false]),
        TwoReal => Kind::Pair(4, [true, true]),
        TwoDouble => Kind::Pair(8, [true, true]),
    }
}

/// Table 6.x of the standard, in words of its sections.
fn is_defined(reduction: Reduction, elements: Elements) -> bool {
    use Reduction::*;
    match kind(elements) {
        Kind::Signed | Kind::Unsigned => !matches!(reduction, Minloc | Maxloc),
        Kind::Float => matches!(reduction, Sum | Prod | Min | Max),
        Kind::Complex => matches!(reduction, Sum | Prod),
        Kind::Logical => matches!(reduction, Land | Lor | Lxor),
        Kind::Bits => matches!(reduction, Band | Bor | Bxor),
        Kind::Pair(..) => matches!(reduction, Minloc | Maxloc),
    }
}

fn integer(bytes: &[u8], is_signed: bool) -> i128 {
    let is_negative = is_signed && bytes[bytes.len() - 1] >= 0x80;
    let mut whole = [if is_negative { 0xff } else { 0 }; 16];
    whole[..bytes.len()].copy_from_slice(bytes);
    i128::from_le_bytes(whole)
}

fn float(bytes: &[u8]) -> f64 {
    match bytes.len() {
        4 => f32::from_le_bytes(bytes.try_into().unwrap()).into(),
        _ => f64::from_le_bytes(bytes.try_into().unwrap()),
    }
}

/// A sum or a product of two of these has one rounding in doubles and one in floats, which is as
/// good as one in floats (IEEE 754: 53 >= 2 * 24 + 2).
fn rounded(value: f64, n_bytes: usize) -> Vec<u8> {
    match n_bytes {
        4 => (value as f32).to_le_bytes().to_vec(),
        _ => value.to_le_bytes().to_vec(),
    }
}

/// `left` op `right`, one element.
fn expected(reduction: Reduction, elements: Elements, left: &[u8], right: &[u8]) -> Vec<u8> {
    use Reduction::*;
    let n = left.len();
    match kind(elements) {
        Kind::Float => {
            let (l, r) = (float(left), float(right));
            match reduction {
                Sum => rounded(l + r, n),
                Prod => rounded(l * r, n),
                Min if r < l => right.to_vec(),
                Max if r > l => right.to_vec(),
                _ => left.to_vec(),
            }
        }
        Kind::Complex => {
            let half = n / 2;
            let [a, b, c, d] =
                [&left[..half], &left[half..], &right[..half], &right[half..]].map(float);
            let round = |value: f64| float(&rounded(value, half));
            let (re, im) = match reduction {
                Sum => (a + c, b + d),
                _ => (round(a * c) - round(b * d), round(a * d) + round(b * c)),
            };
            [rounded(re, half), rounded(im, half)].concat()
        }
        Kind::Pair(begin, [is_float, is_index_float]) => {
            let value_bytes = match elements {
                Elements::ShortInt => 2,
                _ => begin,
            };
            let index_bytes = if is_index_float { begin } else { 4 };
            let value = |pair: &[u8]| {
                let bytes = &pair[..value_bytes];
                if is_float {
                    float(bytes)
                } else {
                    // Exact for those that the test makes.
                    integer(bytes, true) as f64
                }
            };
            let index = |pair: &[u8]| {
                let bytes = &pair[begin..begin + index_bytes];
                if is_index_float {
                    float(bytes)
                } else {
                    integer(bytes, true) as f64
                }
            };
            let is_left = if value(left) == value(right) {
                index(left) <= index(right)
            } else {
                (value(left) < value(right)) == (reduction == Minloc)
            };
            let mut pair = right.to_vec();
            if is_left {
                pair[..value_bytes].copy_from_slice(&left[..value_bytes]);
                pair[begin..begin + index_bytes].copy_from_slice(&left[begin..][..index_bytes]);
            }
            pair
        }
        kind => {
            let is_signed = kind == Kind::Signed;
            let (l, r) = (integer(left, is_signed), integer(right, is_signed));
            let result = match reduction {
                Sum => l + r,
                Prod => l.wrapping_mul(r),
                Min => l.min(r),
                Max => l.max(r),
                Land => i128::from(l != 0 && r != 0),
                Lor => i128::from(l != 0 || r != 0),
                Lxor => i128::from((l != 0) ^ (r != 0)),
                Band => l & r,
                Bor => l | r,
                _ => l ^ r,
            };
            result.to_le_bytes()[..n].to_vec()
        }
    }
}

/// Elements with small values now and then, so that equal ones and zeros come together; no NaN.
fn value(elements: Elements, words: &[(u64, bool)]) -> Vec<u8> {
    let small = |word: u64| (word % 5) as i32 - 2;
    let number = |&(word, is_small): &(u64, bool), bytes: usize, is_float: bool| -> Vec<u8> {
        match (is_float, bytes, is_small) {
            (true, 4, true) => (small(word) as f32).to_le_bytes().to_vec(),
            (true, _, true) => f64::from(small(word)).to_le_bytes().to_vec(),
            (true, 4, false) => ((word as i64 as f32) / 3e9).to_le_bytes().to_vec(),
            (true, _, false) => ((word as i64 as f64) / 3e9).to_le_bytes().to_vec(),
            (false, _, true) => i64::from(small(word)).to_le_bytes()[..bytes].to_vec(),
            (false, _, false) => ((word as i64) >> 12).to_le_bytes()[..bytes].to_vec(),
        }
    };
    let bytes = elements.bytes();
    let of_word = words.iter().flat_map(|word| match kind(elements) {
        Kind::Float => number(word, bytes, true),
        Kind::Complex => {
            let other = (word.0.rotate_left(17), !word.1);
            [
                number(word, bytes / 2, true),
                number(&other, bytes / 2, true),
            ]
            .concat()
        }
        Kind::Pair(begin, [is_float, is_index_float]) => {
            let value_bytes = if elements == Elements::ShortInt {
                2
            } else {
                begin
            };
            let index_bytes = if is_index_float { begin } else { 4 };
            let mut pair = word.0.to_le_bytes().repeat(2);
            pair[..value_bytes].copy_from_slice(&number(word, value_bytes, is_float));
            let index = number(&(word.0 >> 8, true), index_bytes, is_index_float);
            pair[begin..begin + index_bytes].copy_from_slice(&index);
            pair[..bytes].to_vec()
        }
        _ => number(word, bytes, false),
    });
    of_word.collect()
}

proptest! {
    #[test]
    fn kernels_are_what_the_operations_are_by_definition(
        pairs in prop::collection::vec((any::<(u64, bool)>(), any::<(u64, bool)>()), 0..40),
    ) {
        let (left, right): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        for elements in Elements::ALL {
            let (left, right) = (value(elements, &left), value(elements, &right));
            let bytes = elements.bytes();
            for reduction in Reduction::ALL {
                let Some(mut kernel) = Kernel::new(reduction, elements) else {
                    prop_assert!(!is_defined(reduction, elements));
                    continue;
                };
                prop_assert!(is_defined(reduction, elements));
                let mut result = right.clone();
                kernel.combine(&left, &mut result);
                let each = left.chunks(bytes).zip(right.chunks(bytes));
                let expected: Vec<u8> =
                    each.flat_map(|(l, r)| expected(reduction, elements, l, r)).collect();
                prop_assert_eq!(&result, &expected, "{:?} {:?}", reduction, elements);
            }
        }
    }
}

#[test]
fn gaps_of_the_program_stay_as_they_are() {
    for elements in Elements::ALL {
        let Some(reduction) = Reduction::ALL
            .into_iter()
            .find(|&reduction| is_defined(reduction, elements))
        else {
            panic!("{elements:?} can be combined by nothing");
        };
        let kernel = Kernel::new(reduction, elements).expect("it is defined");
        let bytes = elements.bytes();
        let mut to = vec![0xee; 3 * bytes];
        kernel.store(&vec![0x11; 3 * bytes], &mut to);
        let gap = elements.gap().unwrap_or(0..0);
        for (at, &byte) in to.iter().enumerate() {
            let is_gap = gap.contains(&(at % bytes));
            assert_eq!(byte, if is_gap { 0xee } else { 0x11 }, "{elements:?} {at}");
        }
    }
}
