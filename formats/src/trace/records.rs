//! The records of a chunk, in place or packed.

use std::borrow::Cow;

use crate::compact::PackedRecords;
use crate::record::Record;

/// The records of a chunk, in the order in which their calls were entered; no free slots.
#[derive(Debug, Clone, Copy)]
pub enum Records<'a> {
    /// As they were recorded, contiguous in the file.
    InPlace(&'a [Record]),
    /// Packed, in blocks, in a compact file.
    Packed(PackedRecords<'a>),
}

impl<'a> Records<'a> {
    /// Number of records.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::InPlace(records) => records.len(),
            Self::Packed(packed) => packed.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The record at `index`, from 0. For packed records this takes the time to unpack a block.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Record> {
        match self {
            Self::InPlace(records) => records.get(index).copied(),
            Self::Packed(packed) => {
                let (block, at) = packed.block_of(index);
                (index < packed.len()).then(|| packed.unpack(block)[at])
            }
        }
    }

    /// The first of them.
    #[must_use]
    pub fn first(&self) -> Option<Record> {
        self.get(0)
    }

    /// The last of them.
    #[must_use]
    pub fn last(&self) -> Option<Record> {
        self.get(self.len().checked_sub(1)?)
    }

    /// All of them; one block at a time is in memory.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Record> + use<'a> {
        let this = *self;
        let n_blocks = match this {
            Self::InPlace(_) => 1,
            Self::Packed(packed) => packed.n_blocks(),
        };
        let block = move |block| match this {
            Self::InPlace(records) => Cow::Borrowed(records),
            Self::Packed(packed) => Cow::Owned(packed.unpack(block)),
        };
        (0..n_blocks)
            .map(block)
            .flat_map(|block| (0..block.len()).map(move |at| block[at]))
    }

    /// All of them, contiguous: in the file, or unpacked in memory.
    #[must_use]
    pub fn contiguous(&self) -> Cow<'a, [Record]> {
        match *self {
            Self::InPlace(records) => Cow::Borrowed(records),
            Self::Packed(_) => Cow::Owned(self.to_vec()),
        }
    }

    /// All of them, in memory.
    #[must_use]
    pub fn to_vec(&self) -> Vec<Record> {
        self.iter().collect()
    }
}
