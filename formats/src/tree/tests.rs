//! Trees of few ranks, by hand.

use proptest::prelude::*;

use super::*;
use crate::{Definition, SpanningTree, decode_meta, encode_meta};

use Contributor::{Rank, Wrapper as Below};

fn wrapper(
    kind: WrapperKind,
    owner: u32,
    contributors: &[Contributor],
    parent: Option<u32>,
) -> Wrapper {
    Wrapper {
        kind,
        owner,
        contributors: contributors.to_vec(),
        parent,
        level: Level::Rank,
        collectors: Collectors::NONE,
    }
}

/// Two hosts with two ranks each; that of ranks 2 and 3 comes to rank 0 through a proxy.
fn two_hosts() -> Vec<Wrapper> {
    vec![
        wrapper(WrapperKind::Gred, 2, &[Rank(2), Rank(3)], Some(1)),
        wrapper(WrapperKind::Proxy, 2, &[Below(0)], Some(2)),
        wrapper(WrapperKind::Gred, 0, &[Rank(0), Rank(1), Below(1)], Some(3)),
        wrapper(WrapperKind::Core, 0, &[Below(2)], None),
    ]
}

const HOSTS: [u32; 4] = [7, 7, 9, 9];

fn error(change: impl FnOnce(&mut Vec<Wrapper>)) -> TreeError {
    let mut wrappers = two_hosts();
    change(&mut wrappers);
    Wrappers::new(HOSTS.to_vec(), wrappers).unwrap_err()
}

#[test]
fn a_tree_tells_paths_order_and_height() {
    let tree = Wrappers::new(HOSTS.to_vec(), two_hosts()).unwrap();
    assert_eq!(tree.first_wrappers(), [2, 2, 0, 0]);
    let path: Vec<u32> = tree.path(0).map(|(idx, _)| idx).collect();
    assert_eq!(path, [0, 1, 2, 3]);
    assert_eq!(tree.height(), 2);
    assert!(tree.is_in_rank_order());
    assert_eq!(tree.owner_of(Below(1)), 2);
    assert_eq!(tree.bottommost().kind, WrapperKind::Core);
    let mut wrappers = two_hosts();
    wrappers[2].contributors.swap(0, 2);
    let tree = Wrappers::new(HOSTS.to_vec(), wrappers).unwrap();
    assert_eq!(tree.order(), [2, 3, 1, 0]);
    assert!(!tree.is_in_rank_order());
}

#[test]
fn a_collector_is_after_one_wrapper_and_before_the_next() {
    let mut wrappers = two_hosts();
    wrappers[0].collectors.after = true;
    wrappers[2].collectors.before = true;
    let tree = Wrappers::new(HOSTS.to_vec(), wrappers).unwrap();
    assert!(!tree.collects(Rank(2), 0));
    assert!(tree.collects(Below(0), 1));
    assert!(tree.collects(Rank(1), 2) && tree.collects(Below(1), 2));
    assert!(!tree.collects(Below(2), 3));
}

#[test]
fn what_is_no_whole_tree_is_refused() {
    assert_eq!(
        error(|wrappers| wrappers[2].contributors[1] = Rank(0)),
        TreeError::Twice {
            wrapper: 2,
            contributor: Rank(0)
        }
    );
    assert_eq!(
        error(|wrappers| {
            wrappers[2].contributors.remove(1);
        }),
        TreeError::Missing {
            contributor: Rank(1)
        }
    );
    assert_eq!(
        error(|wrappers| wrappers[0].contributors[0] = Below(2)),
        TreeError::Order {
            wrapper: 0,
            contributor: 2
        }
    );
    assert_eq!(
        error(|wrappers| wrappers[0].parent = Some(2)),
        TreeError::Parent {
            wrapper: 0,
            parent: Some(2),
            found: Some(1)
        }
    );
    assert_eq!(
        error(|wrappers| wrappers[2].owner = 4),
        TreeError::Rank {
            wrapper: 2,
            rank: 4,
            n_ranks: 4
        }
    );
    assert_eq!(
        error(|wrappers| wrappers[1].owner = 3),
        TreeError::Owner {
            wrapper: 1,
            owner: 3,
            expected: 2
        }
    );
    let dropped = error(|wrappers| drop(wrappers.pop()));
    assert!(matches!(
        dropped,
        TreeError::Bottommost {
            wrapper: 2,
            is_last: true,
            ..
        }
    ));
    let single = error(|wrappers| wrappers[3].contributors.push(Rank(3)));
    assert!(
        matches!(
            single,
            TreeError::Twice { .. } | TreeError::Contributors { .. }
        ),
        "{single}"
    );
    assert_eq!(
        Wrappers::new(Vec::new(), two_hosts()),
        Err(TreeError::Empty)
    );
    for hosts in [[7; 4], [7, 9, 7, 9]] {
        let refused = Wrappers::new(hosts.to_vec(), two_hosts()).unwrap_err();
        assert!(matches!(refused, TreeError::Crossing { .. }), "{refused}");
    }
}

#[test]
fn partners_of_an_exchange_belong_to_different_ranks() {
    let mut wrappers = vec![
        wrapper(WrapperKind::Gred, 0, &[Rank(0), Rank(1)], Some(2)),
        wrapper(WrapperKind::Gred, 2, &[Rank(2), Rank(3)], Some(2)),
        wrapper(WrapperKind::Exchange, 0, &[Below(0), Below(1)], None),
    ];
    let hosts = vec![7; 4];
    let tree = Wrappers::new(hosts.clone(), wrappers.clone()).unwrap();
    assert_eq!((tree.height(), tree.is_in_rank_order()), (2, true));
    wrappers[1].owner = 0;
    assert_eq!(
        Wrappers::new(hosts, wrappers),
        Err(TreeError::Partners {
            wrapper: 2,
            owner: 0
        })
    );
}

#[test]
fn calls_are_within_both_ends_of_their_ranges() {
    let calls = Calls {
        operations: vec![Collective::Allreduce, Collective::Barrier],
        ranks: (4, 8),
        bytes: (0, 4096),
        across: None,
    };
    assert!(calls.include(Collective::Allreduce, 4096));
    assert!(!calls.include(Collective::Allreduce, 4097));
    assert!(!calls.include(Collective::Reduce, 0));
    let places = |n| vec![Place::default(); n];
    assert!(calls.are_on(&places(4)) && calls.are_on(&places(8)));
    assert!(!calls.are_on(&places(3)) && !calls.are_on(&places(9)));
    for collective in Collective::ALL {
        let name = collective.operation().name();
        assert_eq!(
            name.to_ascii_lowercase(),
            format!("mpi_{}", collective.name())
        );
    }
}

#[test]
fn calls_may_be_those_of_one_host_or_of_several_hosts_or_sites_alone() {
    let at = |site, host| Place {
        site,
        host,
        ..Place::default()
    };
    for (places, level) in [
        ([at(Some(1), 2), at(Some(1), 2)], Level::Rank),
        ([at(Some(1), 2), at(Some(1), 3)], Level::Host),
        ([at(None, 0), at(None, 1)], Level::Host),
        ([at(Some(0), 0), at(Some(1), 1)], Level::Site),
        ([at(Some(0), 0), at(None, 1)], Level::Site),
    ] {
        for across in [
            None,
            Some(Level::Rank),
            Some(Level::Host),
            Some(Level::Site),
        ] {
            let calls = Calls {
                operations: vec![Collective::Barrier],
                ranks: (2, 2),
                bytes: (0, 0),
                across,
            };
            let is_one = across.is_none_or(|of| of == level);
            assert_eq!(calls.are_on(&places), is_one, "{places:?}, {across:?}");
        }
    }
}

#[test]
fn bytes_of_the_definition_of_a_tree_are_always_the_same() {
    let wrappers = vec![
        wrapper(WrapperKind::Gred, 1, &[Rank(0), Rank(1)], Some(1)),
        wrapper(WrapperKind::Core, 1, &[Below(0)], None),
    ];
    let tree = |wrappers| {
        encode_meta(&Definition::SpanningTree(SpanningTree {
            index: 2,
            communicator: 5,
            threads: 1,
            name: "t:3".into(),
            wrappers,
        }))
        .unwrap()
        .0
    };
    #[rustfmt::skip]
    let begin = [
        9, 0, 0, 0, // the variant
        2, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0,
        3, 0, 0, 0, 0, 0, 0, 0, b't', b':', b'3',
    ];
    assert_eq!(tree(None), [&begin[..], &[0]].concat());
    #[rustfmt::skip]
    let whole = [
        1,
        2, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 7, 0, 0, 0, // hosts
        2, 0, 0, 0, 0, 0, 0, 0,
        // A gred of rank 1 that joins ranks 0 and 1, with the parent 1.
        0, 0, 0, 0, 1, 0, 0, 0,
        2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
        1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        // A core of rank 1 with wrapper 0 before it.
        2, 0, 0, 0, 1, 0, 0, 0,
        1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0,
    ];
    let tree = tree(Some(Wrappers::new(vec![7, 7], wrappers).unwrap()));
    assert_eq!(tree, [&begin[..], &whole].concat());
}

#[test]
fn a_tree_that_is_not_whole_is_not_decoded() {
    let tree = Wrappers::new(HOSTS.to_vec(), two_hosts()).unwrap();
    let (bytes, crc32) = encode_meta(&tree).unwrap();
    assert_eq!(decode_meta::<Wrappers>(&bytes, crc32), Ok(tree));
    let mut wrappers = two_hosts();
    wrappers[2].contributors[1] = Rank(0);
    let (bytes, crc32) = encode_meta(&(HOSTS.to_vec(), wrappers)).unwrap();
    let refused = decode_meta::<Wrappers>(&bytes, crc32).unwrap_err();
    assert!(
        refused.to_string().contains("contributes already"),
        "{refused}"
    );
}

proptest! {
    #[test]
    fn damaged_bytes_are_an_error_or_a_whole_tree(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let tree = Wrappers::new(HOSTS.to_vec(), two_hosts()).unwrap();
        let (mut bytes, _) = encode_meta(&tree).unwrap();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(found) = decode_meta::<Wrappers>(&bytes, crc32fast::hash(&bytes)) {
            let again = Wrappers::new(found.hosts().to_vec(), found.all().to_vec());
            prop_assert_eq!(again.as_ref(), Ok(&found));
            prop_assert_eq!(found.order().len(), found.hosts().len());
        }
    }
}
