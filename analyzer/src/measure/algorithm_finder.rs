//! What instances are called of which the library has said something: found once for each shape, and what was
//! said.

use std::collections::BTreeMap;
use std::sync::Arc;

use collbench_formats::CommunicatorKind;
use collbench_trees::library_name::{NamedAlgorithm, name_algorithm};
use collbench_trees::shape::Shape;

use crate::instances::complete::CompleteInstance;
use crate::trace::algorithm_names::{AlgorithmNames, NameTable};

/// Shapes of which it is kept what they are called; where there are more it is found anew.
const MAX_KNOWN: usize = 256;

/// What was said, and the shape, at its place in memory.
type Known = (AlgorithmNames, usize);

/// Finds what instances are called: once for each shape, and what was said.
#[derive(Debug, Default)]
pub(crate) struct AlgorithmFinder {
    known: BTreeMap<Known, (Arc<Shape>, NamedAlgorithm)>,
    last: Option<(Known, NamedAlgorithm)>,
}

impl AlgorithmFinder {
    /// What an instance is called of which the library has said something.
    pub(crate) fn called(
        &mut self,
        instance: &CompleteInstance<'_>,
        names: &NameTable,
        reported: AlgorithmNames,
        shape: Option<&Arc<Shape>>,
    ) -> NamedAlgorithm {
        // There it is said of what each group does by itself.
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
                // What is kept stays at its place.
                self.known.insert(key, (Arc::clone(shape), called));
                called
            }
        };
        self.last = Some((key, called));
        called
    }
}
