//! What is asked of a collective.

/// A call of a collective, the same in all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// How many processes the communicator has.
    pub n_processes: usize,
    /// The root, where the operation has one.
    pub root: usize,
    /// Elements of one process: what it contributes, or sends to each other one; of reduce_scatter
    /// what each receives.
    pub elements: u64,
    /// Length of an element, bytes.
    pub element_bytes: u64,
}

impl Call {
    /// One of which the bytes of one process are known, but not in how many elements: these are as long as that number
    /// allows, at most 8 bytes.
    #[must_use]
    pub fn of_bytes(n_processes: usize, root: usize, bytes: u64) -> Self {
        let element_bytes = 1 << bytes.trailing_zeros().min(3);
        Self {
            n_processes,
            root,
            elements: bytes / element_bytes,
            element_bytes,
        }
    }

    /// Another root.
    #[must_use]
    pub fn with_root(self, root: usize) -> Self {
        Self { root, ..self }
    }

    /// The same bytes, in elements of another length, bytes.
    #[must_use]
    pub fn with_elements_of(self, element_bytes: u64) -> Self {
        let elements = self.elements * self.element_bytes / element_bytes;
        Self {
            elements,
            element_bytes,
            ..self
        }
    }

    /// As many elements for one process as this call has for all of them together.
    #[must_use]
    pub fn of_all(self) -> Self {
        let elements = self.elements * self.n_processes as u64;
        Self { elements, ..self }
    }
}

/// Parameters of algorithms, as the library has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Length of a segment, bytes; 0: not divided into segments.
    pub segment_bytes: u64,
    /// Number of chains that begin at the root.
    pub chains: usize,
    /// Radix of k-nomial trees.
    pub radix: usize,
    /// Requests that a process has at once, at most; 0: any number.
    pub requests: usize,
}

impl Default for Parameters {
    /// Those of a library of which nothing is set.
    fn default() -> Self {
        Self {
            segment_bytes: 0,
            chains: 4,
            radix: 4,
            requests: 0,
        }
    }
}
