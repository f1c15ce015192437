//! Datatypes and operations of the MPI standard, by handle.

use std::ffi::CStr;

use collbench_formats::Abi;
use collbench_paths::{Elements, Kernel, Reduction};

use crate::mpi::{Handle, HandleMap, find_datum};

/// What a predefined datatype is for operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Signed integers of C.
    Signed,
    /// Unsigned integers of C.
    Unsigned,
    /// Integers of Fortran, addresses and offsets: they have no logical operations.
    Integer,
    /// `float` and `double`, and what has their format.
    Real,
    /// Two of these.
    Complex,
    /// `long double`, whose operations only the library knows.
    LongDouble,
    /// Two of these.
    LongComplex,
    Bool,
    Logical,
    Byte,
    /// A value and a position.
    Pair(Elements),
    /// Characters and packed data, which have no operations.
    Text,
}

use Class::{Byte, Complex, Integer, LongComplex, LongDouble, Pair, Real, Signed, Text, Unsigned};

/// Open MPI's data and MPICH's handle of a type; 0 if MPICH 4 and 5 have different ones.
const TYPES: [(&CStr, Handle, Class); 65] = [
    (c"ompi_mpi_char", 0x4c00_0101, Text),
    (c"ompi_mpi_signed_char", 0x4c00_0118, Signed),
    (c"ompi_mpi_unsigned_char", 0x4c00_0102, Unsigned),
    (c"ompi_mpi_byte", 0x4c00_010d, Byte),
    (c"ompi_mpi_short", 0x4c00_0203, Signed),
    (c"ompi_mpi_unsigned_short", 0x4c00_0204, Unsigned),
    (c"ompi_mpi_int", 0x4c00_0405, Signed),
    (c"ompi_mpi_unsigned", 0x4c00_0406, Unsigned),
    (c"ompi_mpi_long", 0x4c00_0807, Signed),
    (c"ompi_mpi_unsigned_long", 0x4c00_0808, Unsigned),
    (c"ompi_mpi_long_long_int", 0x4c00_0809, Signed),
    (c"ompi_mpi_unsigned_long_long", 0x4c00_0819, Unsigned),
    (c"ompi_mpi_float", 0x4c00_040a, Real),
    (c"ompi_mpi_double", 0x4c00_080b, Real),
    (c"ompi_mpi_long_double", 0x4c00_100c, LongDouble),
    (c"ompi_mpi_wchar", 0x4c00_040e, Text),
    (c"ompi_mpi_packed", 0x4c00_010f, Text),
    (c"ompi_mpi_cxx_bool", 0x4c00_0133, Class::Bool),
    (c"ompi_mpi_cxx_cplex", 0x4c00_0834, Complex),
    (c"ompi_mpi_cxx_dblcplex", 0x4c00_1035, Complex),
    (c"ompi_mpi_cxx_ldblcplex", 0x4c00_2036, LongComplex),
    (c"ompi_mpi_logical", 0x4c00_041d, Class::Logical),
    (c"ompi_mpi_character", 0x4c00_011a, Text),
    (c"ompi_mpi_integer", 0x4c00_041b, Integer),
    (c"ompi_mpi_real", 0x4c00_041c, Real),
    (c"ompi_mpi_dblprec", 0x4c00_081f, Real),
    (c"ompi_mpi_cplex", 0x4c00_081e, Complex),
    (c"ompi_mpi_dblcplex", 0x4c00_1022, Complex),
    (c"ompi_mpi_integer1", 0x4c00_012d, Integer),
    (c"ompi_mpi_integer2", 0x4c00_022f, Integer),
    (c"ompi_mpi_integer4", 0x4c00_0430, Integer),
    (c"ompi_mpi_integer8", 0x4c00_0831, Integer),
    (c"ompi_mpi_real4", 0x4c00_0427, Real),
    (c"ompi_mpi_real8", 0x4c00_0829, Real),
    (c"ompi_mpi_complex8", 0x4c00_0828, Complex),
    (c"ompi_mpi_complex16", 0x4c00_102a, Complex),
    (c"ompi_mpi_int8_t", 0x4c00_0137, Signed),
    (c"ompi_mpi_int16_t", 0x4c00_0238, Signed),
    (c"ompi_mpi_int32_t", 0x4c00_0439, Signed),
    (c"ompi_mpi_int64_t", 0x4c00_083a, Signed),
    (c"ompi_mpi_uint8_t", 0x4c00_013b, Unsigned),
    (c"ompi_mpi_uint16_t", 0x4c00_023c, Unsigned),
    (c"ompi_mpi_uint32_t", 0x4c00_043d, Unsigned),
    (c"ompi_mpi_uint64_t", 0x4c00_083e, Unsigned),
    (c"ompi_mpi_aint", 0x4c00_0843, Integer),
    (c"ompi_mpi_offset", 0x4c00_0844, Integer),
    (c"ompi_mpi_count", 0x4c00_0845, Integer),
    (c"ompi_mpi_c_bool", 0x4c00_013f, Class::Bool),
    (c"ompi_mpi_c_complex", 0, Complex),
    (c"ompi_mpi_c_float_complex", 0x4c00_0840, Complex),
    (c"ompi_mpi_c_double_complex", 0x4c00_1041, Complex),
    (c"ompi_mpi_c_long_double_complex", 0x4c00_2042, LongComplex),
    (c"ompi_mpi_2int", 0x4c00_0816, Pair(Elements::TwoInt)),
    (c"ompi_mpi_2integer", 0x4c00_0820, Pair(Elements::TwoInt)),
    (c"ompi_mpi_2real", 0x4c00_0821, Pair(Elements::TwoReal)),
    (c"ompi_mpi_2dblprec", 0x4c00_1023, Pair(Elements::TwoDouble)),
    (c"ompi_mpi_float_int", 0x8c00_0000, Pair(Elements::FloatInt)),
    (
        c"ompi_mpi_double_int",
        0x8c00_0001,
        Pair(Elements::DoubleInt),
    ),
    (c"ompi_mpi_long_int", 0x8c00_0002, Pair(Elements::LongInt)),
    (c"ompi_mpi_short_int", 0x8c00_0003, Pair(Elements::ShortInt)),
    (c"ompi_mpi_logical1", 0, Text),
    (c"ompi_mpi_logical2", 0, Text),
    (c"ompi_mpi_logical4", 0, Class::Logical),
    (c"ompi_mpi_logical8", 0, Text),
    (c"ompi_mpi_real2", 0, Text),
];

/// Open MPI's data and MPICH's handle of an operation; `None` for those that collectives do not
/// take.
const OPERATIONS: [(&CStr, Handle, Option<Reduction>); 15] = [
    (c"ompi_mpi_op_null", 0x1800_0000, None),
    (c"ompi_mpi_op_max", 0x5800_0001, Some(Reduction::Max)),
    (c"ompi_mpi_op_min", 0x5800_0002, Some(Reduction::Min)),
    (c"ompi_mpi_op_sum", 0x5800_0003, Some(Reduction::Sum)),
    (c"ompi_mpi_op_prod", 0x5800_0004, Some(Reduction::Prod)),
    (c"ompi_mpi_op_land", 0x5800_0005, Some(Reduction::Land)),
    (c"ompi_mpi_op_band", 0x5800_0006, Some(Reduction::Band)),
    (c"ompi_mpi_op_lor", 0x5800_0007, Some(Reduction::Lor)),
    (c"ompi_mpi_op_bor", 0x5800_0008, Some(Reduction::Bor)),
    (c"ompi_mpi_op_lxor", 0x5800_0009, Some(Reduction::Lxor)),
    (c"ompi_mpi_op_bxor", 0x5800_000a, Some(Reduction::Bxor)),
    (c"ompi_mpi_op_minloc", 0x5800_000b, Some(Reduction::Minloc)),
    (c"ompi_mpi_op_maxloc", 0x5800_000c, Some(Reduction::Maxloc)),
    (c"ompi_mpi_op_replace", 0x5800_000d, None),
    (c"ompi_mpi_op_no_op", 0x5800_000e, None),
];

/// Constants of an MPI library that only trees need.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeConstants {
    /// `MPI_ANY_SOURCE`.
    pub(super) any_source: i32,
    /// `MPI_TAG_UB`, a key of an attribute.
    pub(super) tag_limit_key: usize,
    /// `MPI_LONG` and `MPI_MAX`.
    pub(super) long: Handle,
    pub(super) max: Handle,
    /// `MPI_ERR_TRUNCATE` and `MPI_ERR_OTHER`.
    pub(super) error_truncate: i32,
    pub(super) error_other: i32,
}

impl TreeConstants {
    /// `None` for an ABI whose handles are not known here.
    pub(super) fn of(abi: Abi) -> Option<Self> {
        match abi {
            Abi::OpenMpi => Some(Self {
                any_source: -1,
                tag_limit_key: 0,
                long: find_datum(c"ompi_mpi_long"),
                max: find_datum(c"ompi_mpi_op_max"),
                error_truncate: 15,
                error_other: 16,
            }),
            Abi::Mpich => Some(Self {
                any_source: -2,
                tag_limit_key: 0x6440_0001,
                long: 0x4c00_0807,
                max: 0x5800_0001,
                error_truncate: 14,
                error_other: 15,
            }),
            Abi::Mpi5 | Abi::Unknown => None,
        }
    }
}

/// A predefined datatype.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamedType {
    class: Class,
    /// Bytes of data in an element.
    pub(super) size: usize,
    /// Bytes from one element to the next.
    pub(super) extent: usize,
}

impl NamedType {
    /// Whether elements have no gaps: they lie in memory as they are packed.
    #[inline]
    pub(super) fn is_dense(&self) -> bool {
        self.size == self.extent
    }

    fn elements(&self) -> Option<Elements> {
        let by_size = |sizes: [(usize, Elements); 4]| {
            let found = sizes.into_iter().find(|(bytes, _)| *bytes == self.size);
            found.map(|(_, elements)| elements)
        };
        let found = match self.class {
            Signed | Integer => by_size([
                (1, Elements::Int8),
                (2, Elements::Int16),
                (4, Elements::Int32),
                (8, Elements::Int64),
            ]),
            Unsigned => by_size([
                (1, Elements::Uint8),
                (2, Elements::Uint16),
                (4, Elements::Uint32),
                (8, Elements::Uint64),
            ]),
            Real if self.size == 4 => Some(Elements::Float),
            Real if self.size == 8 => Some(Elements::Double),
            Complex if self.size == 8 => Some(Elements::FloatComplex),
            Complex if self.size == 16 => Some(Elements::DoubleComplex),
            Class::Bool => Some(Elements::Bool),
            Class::Logical => Some(Elements::Logical),
            Byte => Some(Elements::Byte),
            Pair(elements) => Some(elements),
            Real | Complex | LongDouble | LongComplex | Text => None,
        };
        found.filter(|elements| elements.bytes() == self.extent)
    }
}

/// What executes a predefined operation on a predefined type.
#[derive(Debug, Clone, Copy)]
pub(super) enum Executed {
    /// A function of ours.
    Kernel(Kernel),
    /// `MPI_Reduce_local`.
    Locally,
}

/// The predefined datatypes and operations of the MPI library.
#[derive(Debug, Default)]
pub(super) struct Predefined {
    types: HandleMap<NamedType>,
    operations: HandleMap<Option<Reduction>>,
    /// What is used again and again.
    kernels: HandleMap<HandleMap<Executed>>,
}

impl Predefined {
    /// Those of the library; `extents` asks it for the size and the extent of a type.
    pub(super) fn of(abi: Abi, extents: impl Fn(Handle) -> Option<(usize, usize)>) -> Self {
        let handle = |name, of_mpich| match abi {
            Abi::OpenMpi => find_datum(name),
            _ => of_mpich,
        };
        let mut predefined = Self::default();
        for (name, of_mpich, class) in TYPES {
            let datatype = handle(name, of_mpich);
            // A library may lack some of them, or have types without a size in their place.
            if datatype != 0
                && let Some((size, extent)) = extents(datatype).filter(|(size, _)| *size > 0)
            {
                let named = NamedType {
                    class,
                    size,
                    extent,
                };
                predefined.types.insert(datatype, named);
            }
        }
        for (name, of_mpich, reduction) in OPERATIONS {
            let operation = handle(name, of_mpich);
            if operation != 0 {
                predefined.operations.insert(operation, reduction);
            }
        }
        predefined.find_kernels();
        predefined
    }

    fn find_kernels(&mut self) {
        for (&operation, reduction) in &self.operations {
            let Some(reduction) = *reduction else {
                continue;
            };
            let of_type = |(&datatype, named): (&Handle, &NamedType)| {
                Some((datatype, executed(reduction, named)?))
            };
            let of_operation = self.types.iter().filter_map(of_type).collect();
            self.kernels.insert(operation, of_operation);
        }
    }

    /// The datatype with this handle, if it is predefined.
    #[inline]
    pub(super) fn named_type(&self, datatype: Handle) -> Option<&NamedType> {
        self.types.get(&datatype)
    }

    /// What executes a predefined operation; `None` if the library must say whether it is defined on
    /// the type.
    #[inline]
    pub(super) fn executed(&self, operation: Handle, datatype: Handle) -> Option<Executed> {
        self.kernels.get(&operation)?.get(&datatype).copied()
    }

    /// Whether results of an operation on a type depend on the grouping in which values are combined, or on who
    /// combines them: sums and products that are rounded, those of one byte, at whose overflow libraries do as
    /// they please, and all operations of the program.
    pub(super) fn depends_on_grouping(&self, operation: Handle, datatype: Handle) -> bool {
        let Some(Some(reduction)) = self.operations.get(&operation) else {
            return true;
        };
        let is_exact = |named: &NamedType| match named.class {
            Real | Complex | LongDouble | LongComplex => false,
            _ => named.size > 1,
        };
        let adds = matches!(reduction, Reduction::Sum | Reduction::Prod);
        adds && !self.named_type(datatype).is_some_and(is_exact)
    }

    /// Whether an operation is predefined, or none.
    pub(super) fn is_operation(&self, operation: Handle) -> bool {
        self.operations.contains_key(&operation)
    }
}

fn executed(reduction: Reduction, of: &NamedType) -> Option<Executed> {
    use Reduction::{Land, Lor, Lxor, Max, Min, Prod, Sum};
    match (of.class, reduction) {
        (LongDouble, Sum | Prod | Min | Max) | (LongComplex, Sum | Prod) => Some(Executed::Locally),
        (Integer, Land | Lor | Lxor) => None,
        _ => Kernel::new(reduction, of.elements()?).map(Executed::Kernel),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As if all types of MPICH had the sizes in their handles, and pairs gaps.
    fn predefined() -> Predefined {
        Predefined::of(Abi::Mpich, |datatype| match datatype {
            0x8c00_0000 => Some((8, 8)),
            0x8c00_0001 | 0x8c00_0002 => Some((12, 16)),
            0x8c00_0003 => Some((6, 8)),
            _ => Some((datatype >> 8 & 0xff, datatype >> 8 & 0xff)),
        })
    }

    #[test]
    fn operations_are_executed_where_mpi_defines_them_and_go_to_the_library_elsewhere() {
        let predefined = predefined();
        let is_kernel = |operation, datatype| {
            let executed = predefined.executed(operation, datatype);
            matches!(executed, Some(Executed::Kernel(_)))
        };
        let (sum, land, band, minloc) = (0x5800_0003, 0x5800_0005, 0x5800_0006, 0x5800_000b);
        let (int, double, integer, byte) = (0x4c00_0405, 0x4c00_080b, 0x4c00_041b, 0x4c00_010d);
        assert!(is_kernel(sum, int) && is_kernel(sum, double) && is_kernel(sum, integer));
        assert!(is_kernel(land, int) && !is_kernel(land, integer));
        assert!(is_kernel(band, byte) && !is_kernel(sum, byte) && !is_kernel(band, double));
        assert!(is_kernel(minloc, 0x8c00_0001) && !is_kernel(minloc, int));
        let long_double = 0x4c00_100c;
        let executed = predefined.executed(sum, long_double);
        assert!(matches!(executed, Some(Executed::Locally)));
        assert!(predefined.executed(land, long_double).is_none());
        let (null, replace) = (0x1800_0000, 0x5800_000d);
        assert!(predefined.executed(null, int).is_none() && predefined.is_operation(null));
        assert!(predefined.executed(replace, int).is_none() && predefined.is_operation(replace));
        assert!(!predefined.is_operation(0x9800_0000), "one of the program");
    }

    #[test]
    fn sums_that_are_rounded_or_may_overflow_early_depend_on_their_grouping_and_no_others() {
        let predefined = predefined();
        let (max, sum, prod) = (0x5800_0001, 0x5800_0003, 0x5800_0004);
        let (int, double, char, long_double) = (0x4c00_0405, 0x4c00_080b, 0x4c00_0118, 0x4c00_100c);
        let depends = |operation, datatype| predefined.depends_on_grouping(operation, datatype);
        assert!(depends(sum, double) && depends(prod, double) && depends(sum, long_double));
        assert!(depends(sum, char) && !depends(max, char));
        assert!(!depends(sum, int) && !depends(max, double) && !depends(max, long_double));
        assert!(depends(0x9800_0000, int), "one of the program");
    }

    #[test]
    fn pairs_with_gaps_are_not_dense() {
        let predefined = predefined();
        let is_dense = |datatype| predefined.named_type(datatype).unwrap().is_dense();
        assert!(is_dense(0x4c00_080b) && is_dense(0x8c00_0000));
        assert!(!is_dense(0x8c00_0001) && !is_dense(0x8c00_0003));
        assert!(predefined.named_type(0xcc00_0000).is_none());
    }
}
