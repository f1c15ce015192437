//! Predefined datatypes, as far as arithmetic is concerned.

use std::ops::Range;

/// Elements of predefined datatypes with the same format in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Elements {
    /// Signed integers of 8 bits.
    Int8,
    /// Signed integers of 16 bits.
    Int16,
    /// Signed integers of 32 bits.
    Int32,
    /// Signed integers of 64 bits.
    Int64,
    /// Unsigned integers of 8 bits.
    Uint8,
    /// Unsigned integers of 16 bits.
    Uint16,
    /// Unsigned integers of 32 bits.
    Uint32,
    /// Unsigned integers of 64 bits.
    Uint64,
    /// `float`, `REAL`.
    Float,
    /// `double`, `DOUBLE PRECISION`.
    Double,
    /// Complex numbers of two floats.
    FloatComplex,
    /// Complex numbers of two doubles.
    DoubleComplex,
    /// C's `_Bool`.
    Bool,
    /// Fortran's `LOGICAL` of 32 bits.
    Logical,
    /// `MPI_BYTE`.
    Byte,
    /// `MPI_FLOAT_INT`.
    FloatInt,
    /// `MPI_DOUBLE_INT`, with a gap at the end.
    DoubleInt,
    /// `MPI_LONG_INT`, with a gap at the end.
    LongInt,
    /// `MPI_2INT`, `MPI_2INTEGER`.
    TwoInt,
    /// `MPI_SHORT_INT`, with a gap in the middle.
    ShortInt,
    /// `MPI_2REAL`.
    TwoReal,
    /// `MPI_2DOUBLE_PRECISION`.
    TwoDouble,
}

impl Elements {
    /// All of them.
    pub const ALL: [Self; 22] = [
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Uint8,
        Self::Uint16,
        Self::Uint32,
        Self::Uint64,
        Self::Float,
        Self::Double,
        Self::FloatComplex,
        Self::DoubleComplex,
        Self::Bool,
        Self::Logical,
        Self::Byte,
        Self::FloatInt,
        Self::DoubleInt,
        Self::LongInt,
        Self::TwoInt,
        Self::ShortInt,
        Self::TwoReal,
        Self::TwoDouble,
    ];

    /// The extent of an element, bytes: with its gap.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Int8 | Self::Uint8 | Self::Bool | Self::Byte => 1,
            Self::Int16 | Self::Uint16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float | Self::Logical => 4,
            Self::Int64 | Self::Uint64 | Self::Double | Self::FloatComplex => 8,
            Self::FloatInt | Self::TwoInt | Self::ShortInt | Self::TwoReal => 8,
            Self::DoubleComplex | Self::DoubleInt | Self::LongInt | Self::TwoDouble => 16,
        }
    }

    /// Bytes of an element that belong to nobody.
    #[must_use]
    pub const fn gap(self) -> Option<Range<usize>> {
        match self {
            Self::DoubleInt | Self::LongInt => Some(12..16),
            Self::ShortInt => Some(2..4),
            _ => None,
        }
    }
}
