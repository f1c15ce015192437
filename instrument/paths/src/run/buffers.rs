//! Where the data of an operation lie.

/// Where the data of an operation lie that gives as many bytes as it takes.
#[derive(Debug)]
pub enum Buffers<'a> {
    /// What is given, and where the result goes.
    Two(&'a [u8], &'a mut [u8]),
    /// The result goes where the data are (`MPI_IN_PLACE`).
    InPlace(&'a mut [u8]),
}

impl Buffers<'_> {
    pub(crate) fn given(&self) -> &[u8] {
        match self {
            Self::Two(given, _) => given,
            Self::InPlace(both) => both,
        }
    }

    pub(crate) fn result(&mut self) -> &mut [u8] {
        match self {
            Self::Two(_, result) | Self::InPlace(result) => result,
        }
    }
}
