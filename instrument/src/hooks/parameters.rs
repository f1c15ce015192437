//! The parameters of UCX's operations.

use super::ucx::Word;

/// The parameters of an operation (`ucp_request_param_t`), those that all versions have.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Parameters {
    fields: u32,
    flags: u32,
    request: Word,
    callback: Word,
    datatype: Word,
    user_data: Word,
    reply_buffer: Word,
    memory_type: Word,
    receive_info: Word,
}

const _: () = assert!(size_of::<Parameters>() == 64);

const HAS_CALLBACK: u32 = 1 << 1;
const HAS_DATATYPE: u32 = 1 << 3;
/// Fields beyond those that are known here.
const HAS_MORE: u32 = 0xff00;
/// Class of a datatype: contiguous elements of some size.
const IS_CONTIGUOUS: Word = 0;

impl Parameters {
    /// A copy of the parameters of an operation.
    ///
    /// # Safety
    /// `address` is the address of the parameters of an operation.
    #[inline]
    pub(super) unsafe fn at(address: Word) -> Self {
        // SAFETY: the caller promises that the address is that of such parameters.
        unsafe { (address as *const Self).read() }
    }

    /// Size of `count` elements in bytes; `None` where only a function of the library knows it.
    #[inline]
    pub(super) fn bytes(&self, count: usize) -> Option<u64> {
        if self.fields & HAS_DATATYPE == 0 {
            return Some(count as u64);
        }
        let (sort, element) = (self.datatype & 7, self.datatype >> 3);
        (sort == IS_CONTIGUOUS).then(|| (count as u64).saturating_mul(element as u64))
    }

    /// The function that is called at the end; `None` if there is none, or if the parameters have
    /// fields that are not known here, so that they cannot be copied.
    #[inline]
    pub(super) fn callback(&self) -> Option<Word> {
        let is_known = self.fields & (HAS_MORE | HAS_CALLBACK) == HAS_CALLBACK;
        (is_known && self.callback != 0).then_some(self.callback)
    }

    /// The parameters with another function that is called at the end.
    #[inline]
    pub(super) fn with_callback(self, callback: Word) -> Self {
        Self { callback, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_contiguous_types_is_known() {
        let parameters = |fields, datatype| Parameters {
            fields,
            flags: 0,
            request: 0,
            callback: 5,
            datatype,
            user_data: 0,
            reply_buffer: 0,
            memory_type: 0,
            receive_info: 0,
        };
        assert_eq!(parameters(2, 0xffff).bytes(12), Some(12));
        assert_eq!(parameters(10, 4 << 3).bytes(12), Some(48));
        assert_eq!(parameters(10, 7).bytes(1), None);
        assert_eq!(parameters(2, 0).callback(), Some(5));
        assert_eq!(parameters(0, 0).callback(), None);
        assert_eq!(parameters(2 | 1 << 8, 0).callback(), None);
    }
}
