//! Events to bytes and back: a byte for the kind, the attributes if there are any, the time since the
//! event before, and the fields. Integers take a byte for every seven bits.

use crate::definitions::{
    AttributeRef, CommRef, MetricRef, RegionRef, SourceCodeRef, StringRef, WindowRef,
};
use crate::event::{AttributeValue, Collective, CollectiveOp, Event, MetricValue, Root, Transfer};

/// Set in the byte of the kind if the event has attributes.
const HAS_ATTRIBUTES: u8 = 0x80;

fn put(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

/// Small numbers of either sign to small numbers.
fn put_signed(into: &mut Vec<u8>, value: i64) {
    put(into, ((value << 1) ^ (value >> 63)) as u64);
}

fn take(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn take_signed(from: &mut &[u8]) -> Option<i64> {
    let value = take(from)?;
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

fn take_u32(from: &mut &[u8]) -> Option<u32> {
    take(from)?.try_into().ok()
}

fn take_float(from: &mut &[u8]) -> Option<f64> {
    let (bytes, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(f64::from_le_bytes(*bytes))
}

/// Adds an event to `into`.
pub(super) fn encode(
    into: &mut Vec<u8>,
    since_ns: u64,
    event: &Event,
    attributes: &[(AttributeRef, AttributeValue)],
) {
    let kind = match event {
        Event::Enter(_) => 0,
        Event::Leave(_) => 1,
        Event::MpiCollectiveBegin => 2,
        Event::MpiCollectiveEnd(_) => 3,
        Event::NonBlockingCollectiveRequest { .. } => 4,
        Event::NonBlockingCollectiveComplete { .. } => 5,
        Event::Metric(_, MetricValue::Unsigned(_)) => 6,
        Event::Metric(_, MetricValue::Signed(_)) => 7,
        Event::Metric(_, MetricValue::Float(_)) => 8,
        Event::RmaPut(_) => 9,
        Event::RmaGet(_) => 10,
        Event::RmaOpCompleteBlocking { .. } => 11,
        Event::RmaOpCompleteNonBlocking { .. } => 12,
    };
    if attributes.is_empty() {
        into.push(kind);
    } else {
        into.push(kind | HAS_ATTRIBUTES);
        put(into, attributes.len() as u64);
        for (attribute, value) in attributes {
            put(into, attribute.0.into());
            encode_attribute(into, *value);
        }
    }
    put(into, since_ns);
    match *event {
        Event::Enter(region) | Event::Leave(region) => put(into, region.0.into()),
        Event::MpiCollectiveBegin => {}
        Event::MpiCollectiveEnd(collective) => encode_collective(into, &collective),
        Event::NonBlockingCollectiveRequest { request } => put(into, request),
        Event::NonBlockingCollectiveComplete {
            collective,
            request,
        } => {
            encode_collective(into, &collective);
            put(into, request);
        }
        Event::Metric(metric, value) => {
            put(into, metric.0.into());
            match value {
                MetricValue::Unsigned(value) => put(into, value),
                MetricValue::Signed(value) => put_signed(into, value),
                MetricValue::Float(value) => into.extend(value.to_le_bytes()),
            }
        }
        Event::RmaPut(transfer) | Event::RmaGet(transfer) => {
            put(into, transfer.window.0.into());
            put(into, transfer.remote.into());
            put(into, transfer.bytes);
            put(into, transfer.matching_id);
        }
        Event::RmaOpCompleteBlocking {
            window,
            matching_id,
        }
        | Event::RmaOpCompleteNonBlocking {
            window,
            matching_id,
        } => {
            put(into, window.0.into());
            put(into, matching_id);
        }
    }
}

fn encode_attribute(into: &mut Vec<u8>, value: AttributeValue) {
    match value {
        AttributeValue::Unsigned(value) => {
            into.push(0);
            put(into, value);
        }
        AttributeValue::Signed(value) => {
            into.push(1);
            put_signed(into, value);
        }
        AttributeValue::Float(value) => {
            into.push(2);
            into.extend(value.to_le_bytes());
        }
        AttributeValue::String(text) => {
            into.push(3);
            put(into, text.0.into());
        }
        AttributeValue::SourceCode(line) => {
            into.push(4);
            put(into, line.0.into());
        }
    }
}

fn encode_collective(into: &mut Vec<u8>, collective: &Collective) {
    into.push(collective.op as u8);
    put(into, collective.comm.0.into());
    match collective.root {
        Root::None => put(into, 0),
        Root::This => put(into, 1),
        Root::ThisGroup => put(into, 2),
        Root::Rank(rank) => put(into, 3 + u64::from(rank)),
    }
    put(into, collective.bytes_sent);
    put(into, collective.bytes_received);
}

/// The next event with the time since the one before it; its attributes replace those in
/// `attributes`. `None` if there is no event at the begin of `from`.
pub(super) fn decode(
    from: &mut &[u8],
    attributes: &mut Vec<(AttributeRef, AttributeValue)>,
) -> Option<(u64, Event)> {
    attributes.clear();
    let (&kind, rest) = from.split_first()?;
    *from = rest;
    if kind & HAS_ATTRIBUTES != 0 {
        for _ in 0..take(from)? {
            let attribute = AttributeRef(take_u32(from)?);
            attributes.push((attribute, decode_attribute(from)?));
        }
    }
    let since_ns = take(from)?;
    let event = match kind & !HAS_ATTRIBUTES {
        0 => Event::Enter(RegionRef(take_u32(from)?)),
        1 => Event::Leave(RegionRef(take_u32(from)?)),
        2 => Event::MpiCollectiveBegin,
        3 => Event::MpiCollectiveEnd(decode_collective(from)?),
        4 => Event::NonBlockingCollectiveRequest {
            request: take(from)?,
        },
        5 => Event::NonBlockingCollectiveComplete {
            collective: decode_collective(from)?,
            request: take(from)?,
        },
        kind @ 6..=8 => {
            let metric = MetricRef(take_u32(from)?);
            let value = match kind {
                6 => MetricValue::Unsigned(take(from)?),
                7 => MetricValue::Signed(take_signed(from)?),
                _ => MetricValue::Float(take_float(from)?),
            };
            Event::Metric(metric, value)
        }
        9 => Event::RmaPut(decode_transfer(from)?),
        10 => Event::RmaGet(decode_transfer(from)?),
        11 => Event::RmaOpCompleteBlocking {
            window: WindowRef(take_u32(from)?),
            matching_id: take(from)?,
        },
        12 => Event::RmaOpCompleteNonBlocking {
            window: WindowRef(take_u32(from)?),
            matching_id: take(from)?,
        },
        _ => return None,
    };
    Some((since_ns, event))
}

fn decode_attribute(from: &mut &[u8]) -> Option<AttributeValue> {
    let (&kind, rest) = from.split_first()?;
    *from = rest;
    Some(match kind {
        0 => AttributeValue::Unsigned(take(from)?),
        1 => AttributeValue::Signed(take_signed(from)?),
        2 => AttributeValue::Float(take_float(from)?),
        3 => AttributeValue::String(StringRef(take_u32(from)?)),
        4 => AttributeValue::SourceCode(SourceCodeRef(take_u32(from)?)),
        _ => return None,
    })
}

fn decode_collective(from: &mut &[u8]) -> Option<Collective> {
    let (&op, rest) = from.split_first()?;
    *from = rest;
    Some(Collective {
        op: *CollectiveOp::ALL.get(usize::from(op))?,
        comm: CommRef(take_u32(from)?),
        root: match take(from)? {
            0 => Root::None,
            1 => Root::This,
            2 => Root::ThisGroup,
            rank => Root::Rank((rank - 3).try_into().ok()?),
        },
        bytes_sent: take(from)?,
        bytes_received: take(from)?,
    })
}

fn decode_transfer(from: &mut &[u8]) -> Option<Transfer> {
    Some(Transfer {
        window: WindowRef(take_u32(from)?),
        remote: take_u32(from)?,
        bytes: take(from)?,
        matching_id: take(from)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = AttributeValue> {
        prop_oneof![
            any::<u64>().prop_map(AttributeValue::Unsigned),
            any::<i64>().prop_map(AttributeValue::Signed),
            (-1e300..1e300).prop_map(AttributeValue::Float),
            any::<u32>().prop_map(|number| AttributeValue::String(StringRef(number))),
            any::<u32>().prop_map(|number| AttributeValue::SourceCode(SourceCodeRef(number))),
        ]
    }

    fn collective() -> impl Strategy<Value = Collective> {
        let root = prop_oneof![
            Just(Root::None),
            Just(Root::This),
            Just(Root::ThisGroup),
            any::<u32>().prop_map(Root::Rank)
        ];
        (0..23_usize, any::<u32>(), root, any::<u64>(), any::<u64>()).prop_map(
            |(op, comm, root, bytes_sent, bytes_received)| Collective {
                op: CollectiveOp::ALL[op],
                comm: CommRef(comm),
                root,
                bytes_sent,
                bytes_received,
            },
        )
    }

    fn event() -> impl Strategy<Value = Event> {
        let transfer = (any::<u32>(), any::<u32>(), any::<u64>(), any::<u64>()).prop_map(
            |(window, remote, bytes, matching_id)| Transfer {
                window: WindowRef(window),
                remote,
                bytes,
                matching_id,
            },
        );
        let metric = prop_oneof![
            any::<u64>().prop_map(MetricValue::Unsigned),
            any::<i64>().prop_map(MetricValue::Signed),
            (-1e300..1e300).prop_map(MetricValue::Float),
        ];
        prop_oneof![
            any::<u32>().prop_map(|region| Event::Enter(RegionRef(region))),
            any::<u32>().prop_map(|region| Event::Leave(RegionRef(region))),
            Just(Event::MpiCollectiveBegin),
            collective().prop_map(Event::MpiCollectiveEnd),
            any::<u64>().prop_map(|request| Event::NonBlockingCollectiveRequest { request }),
            (collective(), any::<u64>()).prop_map(|(collective, request)| {
                Event::NonBlockingCollectiveComplete {
                    collective,
                    request,
                }
            }),
            (any::<u32>(), metric)
                .prop_map(|(number, value)| Event::Metric(MetricRef(number), value)),
            transfer.clone().prop_map(Event::RmaPut),
            transfer.prop_map(Event::RmaGet),
            (any::<u32>(), any::<u64>()).prop_map(|(window, matching_id)| {
                Event::RmaOpCompleteBlocking {
                    window: WindowRef(window),
                    matching_id,
                }
            }),
            (any::<u32>(), any::<u64>()).prop_map(|(window, matching_id)| {
                Event::RmaOpCompleteNonBlocking {
                    window: WindowRef(window),
                    matching_id,
                }
            }),
        ]
    }

    proptest! {
        #[test]
        fn an_event_is_decoded_as_it_was_encoded(
            since in any::<u64>(),
            event in event(),
            attributes in prop::collection::vec((any::<u32>().prop_map(AttributeRef), value()), 0..4),
        ) {
            let mut encoded = Vec::new();
            encode(&mut encoded, since, &event, &attributes);
            let mut from = &encoded[..];
            let mut read = Vec::new();
            prop_assert_eq!(decode(&mut from, &mut read), Some((since, event)));
            prop_assert_eq!(read, attributes);
            prop_assert!(from.is_empty());
        }

        #[test]
        fn no_bytes_make_decoding_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut from = &bytes[..];
            while decode(&mut from, &mut Vec::new()).is_some() {}
        }
    }
}
