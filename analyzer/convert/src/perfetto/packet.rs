//! Packets of a Perfetto trace, in the encoding of protocol buffers.
//!
//! The numbers of fields are those of `perfetto_trace.proto`.

/// Fields of `Trace`, `TracePacket` and what is in it.
pub(super) mod field {
    pub(crate) const TRACE_PACKET: u32 = 1;

    pub(crate) const TIMESTAMP: u32 = 8;
    pub(crate) const SEQUENCE_ID: u32 = 10;
    pub(crate) const TRACK_EVENT: u32 = 11;
    pub(crate) const INTERNED_DATA: u32 = 12;
    pub(crate) const SEQUENCE_FLAGS: u32 = 13;
    pub(crate) const PACKET_DEFAULTS: u32 = 59;
    pub(crate) const TRACK_DESCRIPTOR: u32 = 60;

    pub(crate) const DESCRIPTOR_UUID: u32 = 1;
    pub(crate) const DESCRIPTOR_NAME: u32 = 2;
    pub(crate) const DESCRIPTOR_PROCESS: u32 = 3;
    pub(crate) const DESCRIPTOR_THREAD: u32 = 4;
    pub(crate) const DESCRIPTOR_PARENT: u32 = 5;
    pub(crate) const DESCRIPTOR_COUNTER: u32 = 8;

    pub(crate) const PROCESS_PID: u32 = 1;
    pub(crate) const PROCESS_NAME: u32 = 6;
    pub(crate) const THREAD_PID: u32 = 1;
    pub(crate) const THREAD_TID: u32 = 2;
    pub(crate) const THREAD_NAME: u32 = 5;
    pub(crate) const COUNTER_UNIT: u32 = 3;

    pub(crate) const EVENT_DEBUG_ANNOTATION: u32 = 4;
    pub(crate) const EVENT_TYPE: u32 = 9;
    pub(crate) const EVENT_NAME_IID: u32 = 10;
    pub(crate) const EVENT_TRACK_UUID: u32 = 11;
    pub(crate) const EVENT_NAME: u32 = 23;
    pub(crate) const EVENT_COUNTER_VALUE: u32 = 30;
    pub(crate) const EVENT_FLOW_ID: u32 = 47;
    pub(crate) const EVENT_TERMINATING_FLOW_ID: u32 = 48;

    pub(crate) const ANNOTATION_NAME_IID: u32 = 1;
    pub(crate) const ANNOTATION_UINT: u32 = 3;
    pub(crate) const ANNOTATION_STRING: u32 = 6;
    pub(crate) const ANNOTATION_NAME: u32 = 10;
    pub(crate) const ANNOTATION_STRING_IID: u32 = 17;

    pub(crate) const INTERNED_EVENT_NAME: u32 = 2;
    pub(crate) const INTERNED_ANNOTATION_NAME: u32 = 3;
    pub(crate) const INTERNED_STRING: u32 = 29;
    pub(crate) const IID: u32 = 1;
    pub(crate) const INTERNED_TEXT: u32 = 2;

    pub(crate) const DEFAULTS_TRACK_EVENT: u32 = 11;
}

/// Types of events.
pub(super) const SLICE_BEGIN: u64 = 1;
pub(super) const SLICE_END: u64 = 2;
pub(super) const INSTANT: u64 = 3;
pub(super) const COUNTER: u64 = 4;

/// `SEQ_INCREMENTAL_STATE_CLEARED` and `SEQ_NEEDS_INCREMENTAL_STATE`.
pub(super) const STATE_CLEARED: u64 = 1;
pub(super) const NEEDS_STATE: u64 = 2;

/// `UNIT_COUNT`.
pub(super) const UNIT_COUNT: u64 = 2;

/// A message in the encoding of protocol buffers, while it is written.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) bytes: Vec<u8>,
}

impl Message {
    #[inline]
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// A field with a number of variable length.
    #[inline]
    pub(super) fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }

    /// A field with a signed number (`int64`).
    #[inline]
    pub(super) fn signed(&mut self, field: u32, value: i64) {
        self.number(field, value.cast_unsigned());
    }

    /// A field with a number of eight bytes.
    pub(super) fn fixed(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3 | 1);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// A field with a text.
    pub(super) fn text(&mut self, field: u32, text: &str) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// A field with a message in it.
    #[inline]
    pub(super) fn message(&mut self, field: u32, content: impl FnOnce(&mut Self)) {
        self.varint(u64::from(field) << 3 | 2);
        let at = self.bytes.len();
        // Mostly one byte is enough for the length.
        self.bytes.push(0);
        content(self);
        let n = self.bytes.len() - at - 1;
        if n < 0x80 {
            self.bytes[at] = n as u8;
            return;
        }
        let mut length = Self::default();
        length.varint(n as u64);
        self.bytes.splice(at..=at, length.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_texts_and_messages_are_encoded_as_protocol_buffers_are() {
        let mut message = Message::default();
        message.number(1, 150);
        message.text(2, "testing");
        message.signed(4, -1);
        message.fixed(47, 1);
        let expected = [
            &[0x08, 0x96, 0x01, 0x12, 0x07][..],
            b"testing",
            &[
                0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
            ],
            &[0xf9, 0x02, 1, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(message.bytes, expected.concat());
        for n in [0, 1, 127, 128, 300] {
            let mut message = Message::default();
            message.message(3, |inner| inner.bytes.resize(inner.bytes.len() + n, 7));
            let length = if n < 128 {
                vec![n as u8]
            } else {
                vec![n as u8 | 0x80, (n >> 7) as u8]
            };
            assert_eq!(message.bytes, [&[0x1a][..], &length, &vec![7; n]].concat());
        }
    }
}
