//! Which messages Open MPI sends at once.

/// The longest messages that Open MPI sends before the receiver asks for them, within a host and between
/// hosts, bytes: `btl_vader_eager_limit` and `btl_tcp_eager_limit` as they are set by default, less the header.
const EAGER: [u64; 2] = [4096 - 64, 65_536 - 64];

/// The longest message that is sent before its receiver asks for it, within a host or between hosts, bytes.
pub(super) fn eager_bytes(is_between: bool) -> u64 {
    EAGER[usize::from(is_between)]
}
