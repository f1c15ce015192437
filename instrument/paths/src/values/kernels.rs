//! The predefined operations of MPI on its predefined types (MPI 4.0, section 6.9.2).
//!
//! `long double` and what consists of it are not here: `MPI_Reduce_local` knows their format.

mod elements;
mod functions;

#[cfg(test)]
mod tests;

use super::combine::Combine;

pub use elements::Elements;
use functions::Function;

/// A predefined operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of the MPI standard")]
pub enum Reduction {
    Sum,
    Prod,
    Min,
    Max,
    Land,
    Lor,
    Lxor,
    Band,
    Bor,
    Bxor,
    Minloc,
    Maxloc,
}

impl Reduction {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Sum,
        Self::Prod,
        Self::Min,
        Self::Max,
        Self::Land,
        Self::Lor,
        Self::Lxor,
        Self::Band,
        Self::Bor,
        Self::Bxor,
        Self::Minloc,
        Self::Maxloc,
    ];
}

/// A predefined operation on elements of a predefined type.
///
/// Integers overflow by wrapping. Results are those of Open MPI's functions to the bit, but for
/// products of complex numbers that are not finite.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    elements: Elements,
    function: Function,
}

impl Kernel {
    /// The kernel of an operation on elements; `None` if MPI does not define that operation on them.
    #[must_use]
    pub fn new(reduction: Reduction, elements: Elements) -> Option<Self> {
        let function = functions::of(reduction, elements)?;
        Some(Self { elements, function })
    }
}

impl Combine for Kernel {
    fn element_bytes(&self) -> usize {
        self.elements.bytes()
    }

    fn keeps_rank_order(&self) -> bool {
        false
    }

    fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        (self.function)(left, right);
    }

    fn store(&self, result: &[u8], to: &mut [u8]) {
        let Some(gap) = self.elements.gap() else {
            // Most results are one number.
            match (<&mut [u8; 8]>::try_from(&mut *to), result.try_into()) {
                (Ok(to), Ok(result)) => *to = result,
                _ => to.copy_from_slice(result),
            }
            return;
        };
        let bytes = self.elements.bytes();
        for (to, from) in to.chunks_exact_mut(bytes).zip(result.chunks_exact(bytes)) {
            to[..gap.start].copy_from_slice(&from[..gap.start]);
            to[gap.end..].copy_from_slice(&from[gap.end..]);
        }
    }

    fn stores_all_bytes(&self) -> bool {
        self.elements.gap().is_none()
    }
}
