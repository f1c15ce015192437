//! How Open MPI divides data.

use crate::call::{Call, Parameters};

/// Elements of a segment; not more than there are.
pub(crate) fn elements_of_segment(call: &Call, parameters: &Parameters) -> u64 {
    let Call {
        elements,
        element_bytes,
        ..
    } = *call;
    let segment_bytes = parameters.segment_bytes;
    if segment_bytes < element_bytes || segment_bytes >= element_bytes * elements {
        return elements;
    }
    // Rounded to the nearest number.
    let rest = segment_bytes % element_bytes;
    segment_bytes / element_bytes + u64::from(rest > element_bytes / 2)
}

/// The elements of each segment.
pub(crate) fn segments(elements: u64, of_segment: u64) -> Vec<u64> {
    let n = elements.div_ceil(of_segment.max(1)).max(1);
    let mut segments = vec![of_segment; n as usize];
    segments[n as usize - 1] = elements - (n - 1) * of_segment;
    segments
}

/// Elements divided into blocks of which the first ones may be longer by one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocks {
    length: u64,
    n_longer: u64,
}

impl Blocks {
    pub(crate) fn of(elements: u64, n: u64) -> Self {
        Self {
            length: elements / n,
            n_longer: elements % n,
        }
    }

    /// The elements of a block.
    pub(crate) fn length(self, block: u64) -> u64 {
        self.length + u64::from(block < self.n_longer)
    }
}
