//! The functions of kernels: `right` becomes `left` op `right`.

use super::{Elements, Reduction};

/// Combines elements as far as both sides have whole ones.
pub(super) type Function = fn(&[u8], &mut [u8]);

/// The function of an operation on elements; `None` if it is not defined.
pub(super) fn of(reduction: Reduction, elements: Elements) -> Option<Function> {
    match elements {
        Elements::Int8 => integer_i8(reduction),
        Elements::Int16 => integer_i16(reduction),
        Elements::Int32 => integer_i32(reduction),
        Elements::Int64 => integer_i64(reduction),
        Elements::Uint8 => integer_u8(reduction),
        Elements::Uint16 => integer_u16(reduction),
        Elements::Uint32 => integer_u32(reduction),
        Elements::Uint64 => integer_u64(reduction),
        Elements::Float => float_f32(reduction),
        Elements::Double => float_f64(reduction),
        Elements::FloatComplex => complex_f32(reduction),
        Elements::DoubleComplex => complex_f64(reduction),
        Elements::Bool => logical(reduction, integer_u8),
        Elements::Logical => logical(reduction, integer_i32),
        Elements::Byte => bitwise(reduction, integer_u8),
        Elements::FloatInt => pair_f32_i32(reduction),
        Elements::DoubleInt => pair_f64_i32(reduction),
        Elements::LongInt => pair_i64_i32(reduction),
        Elements::TwoInt => pair_i32_i32(reduction),
        Elements::ShortInt => pair_i16_i32(reduction),
        Elements::TwoReal => pair_f32_f32(reduction),
        Elements::TwoDouble => pair_f64_f64(reduction),
    }
}

/// Only logical operations.
fn logical(reduction: Reduction, all: fn(Reduction) -> Option<Function>) -> Option<Function> {
    use Reduction::{Land, Lor, Lxor};
    let is_defined = matches!(reduction, Land | Lor | Lxor);
    is_defined.then(|| all(reduction)).flatten()
}

/// Only operations on bits.
fn bitwise(reduction: Reduction, all: fn(Reduction) -> Option<Function>) -> Option<Function> {
    use Reduction::{Band, Bor, Bxor};
    let is_defined = matches!(reduction, Band | Bor | Bxor);
    is_defined.then(|| all(reduction)).flatten()
}

/// From so many bytes on, wider vector instructions are used where the processor has them.
#[cfg(target_arch = "x86_64")]
const WIDE_FROM: usize = 256;

/// Combines elements of `N` bytes.
#[inline(always)]
#[cfg_attr(
    target_arch = "x86_64",
    allow(unsafe_code, reason = "not all processors have the instructions")
)]
fn each<const N: usize>(
    left: &[u8],
    right: &mut [u8],
    combine: impl Fn([u8; N], [u8; N]) -> [u8; N],
) {
    #[cfg(target_arch = "x86_64")]
    if right.len() >= WIDE_FROM && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has these instructions.
        return unsafe { each_wide(left, right, combine) };
    }
    each_narrow(left, right, combine);
}

/// As [`each`], with vectors of 32 bytes; results are the same to the bit, but for which
/// of two numbers that are none is kept.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn each_wide<const N: usize>(
    left: &[u8],
    right: &mut [u8],
    combine: impl Fn([u8; N], [u8; N]) -> [u8; N],
) {
    each_narrow(left, right, combine);
}

#[inline(always)]
fn each_narrow<const N: usize>(
    left: &[u8],
    right: &mut [u8],
    combine: impl Fn([u8; N], [u8; N]) -> [u8; N],
) {
    let both = right.as_chunks_mut().0.iter_mut().zip(left.as_chunks().0);
    for (right, left) in both {
        *right = combine(*left, *right);
    }
}

/// The function that combines numbers of this type by an expression of both.
macro_rules! function {
    ($number:ty, |$left:ident, $right:ident| $result:expr) => {{
        fn combine(left: &[u8], right: &mut [u8]) {
            each(left, right, |left, right| {
                let ($left, $right) = (
                    <$number>::from_ne_bytes(left),
                    <$number>::from_ne_bytes(right),
                );
                let result: $number = $result;
                result.to_ne_bytes()
            });
        }
        combine as Function
    }};
}

macro_rules! integers {
    ($($name:ident: $number:ty),*) => {$(
        fn $name(reduction: Reduction) -> Option<Function> {
            Some(match reduction {
                Reduction::Sum => function!($number, |l, r| l.wrapping_add(r)),
                Reduction::Prod => function!($number, |l, r| l.wrapping_mul(r)),
                Reduction::Min => function!($number, |l, r| l.min(r)),
                Reduction::Max => function!($number, |l, r| l.max(r)),
                Reduction::Land => function!($number, |l, r| (l != 0 && r != 0).into()),
                Reduction::Lor => function!($number, |l, r| (l != 0 || r != 0).into()),
                Reduction::Lxor => function!($number, |l, r| ((l != 0) != (r != 0)).into()),
                Reduction::Band => function!($number, |l, r| l & r),
                Reduction::Bor => function!($number, |l, r| l | r),
                Reduction::Bxor => function!($number, |l, r| l ^ r),
                Reduction::Minloc | Reduction::Maxloc => return None,
            })
        }
    )*};
}

integers!(
    integer_i8: i8,
    integer_i16: i16,
    integer_i32: i32,
    integer_i64: i64,
    integer_u8: u8,
    integer_u16: u16,
    integer_u32: u32,
    integer_u64: u64
);

macro_rules! floats {
    ($($name:ident: $number:ty),*) => {$(
        fn $name(reduction: Reduction) -> Option<Function> {
            Some(match reduction {
                Reduction::Sum => function!($number, |l, r| l + r),
                Reduction::Prod => function!($number, |l, r| l * r),
                // Of equal numbers, and where one is none, the left one: as in C.
                Reduction::Min => function!($number, |l, r| if r < l { r } else { l }),
                Reduction::Max => function!($number, |l, r| if r > l { r } else { l }),
                _ => return None,
            })
        }
    )*};
}

floats!(float_f32: f32, float_f64: f64);

/// Combines complex numbers, each as its real and its imaginary part.
macro_rules! complex {
    ($($name:ident: $number:ty),*) => {$(
        fn $name(reduction: Reduction) -> Option<Function> {
            /// Two numbers, from the bytes of both.
            fn parts(bytes: [u8; 2 * size_of::<$number>()]) -> [$number; 2] {
                let (re, im) = bytes.split_at(size_of::<$number>());
                [re, im].map(|part| {
                    <$number>::from_ne_bytes(part.try_into().expect("half of the bytes"))
                })
            }

            fn bytes(parts: [$number; 2]) -> [u8; 2 * size_of::<$number>()] {
                let mut bytes = [0; 2 * size_of::<$number>()];
                let (re, im) = bytes.split_at_mut(size_of::<$number>());
                re.copy_from_slice(&parts[0].to_ne_bytes());
                im.copy_from_slice(&parts[1].to_ne_bytes());
                bytes
            }

            fn sum(left: &[u8], right: &mut [u8]) {
                each(left, right, |left, right| {
                    let ([a, b], [c, d]) = (parts(left), parts(right));
                    bytes([a + c, b + d])
                });
            }

            fn product(left: &[u8], right: &mut [u8]) {
                each(left, right, |left, right| {
                    let ([a, b], [c, d]) = (parts(left), parts(right));
                    bytes([a * c - b * d, a * d + b * c])
                });
            }

            match reduction {
                Reduction::Sum => Some(sum),
                Reduction::Prod => Some(product),
                _ => None,
            }
        }
    )*};
}

complex!(complex_f32: f32, complex_f64: f64);

/// Combines pairs of a value and an index, which begins at a multiple of its size. Of equal values
/// the lower index. The gap on the right stays as it is.
macro_rules! pairs {
    ($($name:ident: $value:ty, $index:ty);*) => {$(
        fn $name(reduction: Reduction) -> Option<Function> {
            const VALUE: usize = size_of::<$value>();
            const INDEX: usize = size_of::<$index>();
            const BEGIN: usize = VALUE.next_multiple_of(INDEX);
            const EXTENT: usize = (BEGIN + INDEX)
                .next_multiple_of(if VALUE > INDEX { VALUE } else { INDEX });

            fn select(
                left: &[u8],
                right: &mut [u8],
                is_before: impl Fn($value, $value) -> bool,
            ) {
                each(left, right, |left: [u8; EXTENT], mut right: [u8; EXTENT]| {
                    let [of_left, of_right] = [&left, &right].map(|pair| {
                        let (value, index) = (&pair[..VALUE], &pair[BEGIN..BEGIN + INDEX]);
                        (
                            <$value>::from_ne_bytes(value.try_into().expect("its size")),
                            <$index>::from_ne_bytes(index.try_into().expect("its size")),
                        )
                    });
                    let takes_value = is_before(of_left.0, of_right.0);
                    let takes_index = takes_value
                        || (of_left.0 == of_right.0 && of_left.1 <= of_right.1);
                    if takes_value {
                        right[..VALUE].copy_from_slice(&left[..VALUE]);
                    }
                    if takes_index {
                        right[BEGIN..BEGIN + INDEX]
                            .copy_from_slice(&left[BEGIN..BEGIN + INDEX]);
                    }
                    right
                });
            }

            fn lowest(left: &[u8], right: &mut [u8]) {
                select(left, right, |left, right| left < right);
            }

            fn highest(left: &[u8], right: &mut [u8]) {
                select(left, right, |left, right| left > right);
            }

            match reduction {
                Reduction::Minloc => Some(lowest),
                Reduction::Maxloc => Some(highest),
                _ => None,
            }
        }
    )*};
}

pairs!(
    pair_f32_i32: f32, i32;
    pair_f64_i32: f64, i32;
    pair_i64_i32: i64, i32;
    pair_i32_i32: i32, i32;
    pair_i16_i32: i16, i32;
    pair_f32_f32: f32, f32;
    pair_f64_f64: f64, f64
);
