//! Finds the algorithm of an instance for which the library reported names: once for each pair of
//! shape and names.

use std::collections::BTreeMap;
use std::sync::Arc;

use collbench_formats::CommunicatorKind;
use collbench_trees::library_name::{NamedAlgorithm, name_algorithm};
use collbench_trees::shape::Shape;

use crate::instances::complete::CompleteInstance;
use crate::trace::algorithm_names::{AlgorithmNames, NameTable};

/// Most pairs that are retained; beyond, all are discarded.
const MAX_KNOWN: usize = 256;

/// The reported names, and the address of the shape.
type Known = (AlgorithmNames, usize);

/// Finds the algorithms of instances, once for each pair of shape and names.
#[derive(Debug, Default)]
pub(crate) struct AlgorithmFinder {
    known: BTreeMap<Known, (Arc<Shape>, NamedAlgorithm)>,
    last: Option<(Known, NamedAlgorithm)>,
}

impl AlgorithmFinder {
    /// The algorithm of an instance for which the library reported names.
    pub(crate) fn called(
        &mut self,
        instance: &CompleteInstance<'_>,
        names: &NameTable,
        reported: AlgorithmNames,
        shape: Option<&Arc<Shape>>,
    ) -> NamedAlgorithm {
        // There the names describe what each group does internally.
        if instance.communicator.kind == CommunicatorKind::Inter {
            return NamedAlgorithm {
                algorithm: shape.and_then(|shape| shape.algorithm()),
                is_contradicted: false,
            };
        }
        let find = |shape| {
            let known: Vec<_> = names.known(reported).collect();
            name_algorithm(instance.operation, &known, shape)
        };
        let Some(shape) = shape else {
            return find(None);
        };
        let key = (reported, Arc::as_ptr(shape).addr());
        if let Some((_, last)) = self.last.filter(|(last, _)| *last == key) {
            return last;
        }
        let called = match self.known.get(&key) {
            Some((_, called)) => *called,
            None => {
                if self.known.len() >= MAX_KNOWN {
                    self.known.clear();
                }
                let called = find(Some(shape));
                // Holding the shape keeps its address from being reused.
                self.known.insert(key, (Arc::clone(shape), called));
                called
            }
        };
        self.last = Some((key, called));
        called
    }
}
