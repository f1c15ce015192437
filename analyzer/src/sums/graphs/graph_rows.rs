//! Instances that are still to be added to the figures of the graphs of one operation.

use std::sync::Arc;

use collbench_trees::shape::Shape;

use crate::sums::graphs::rows::Rows;

/// Shapes of a graph whose instances are kept in rows at a time.
const MAX_SHAPES: usize = 4;

/// Instances by shape; those of one graph have shapes with its edges.
#[derive(Debug, Default)]
pub(crate) struct GraphRows {
    list: Vec<(Arc<Shape>, Rows)>,
}

impl GraphRows {
    /// The rows of a shape, if there are some.
    #[inline]
    pub(crate) fn of(&mut self, shape: &Arc<Shape>) -> Option<&mut Rows> {
        let mut known = self.list.iter_mut();
        let found = known.find(|(known, _)| Arc::ptr_eq(known, shape));
        found.map(|(_, rows)| rows)
    }

    /// Adds rows for a shape, unless it has some; returns the rows of another shape of the graph
    /// that were removed for it.
    pub(crate) fn begin(&mut self, shape: &Arc<Shape>, rows: Rows) -> Option<(Arc<Shape>, Rows)> {
        // An instance whose samples are too long for a row has come here too.
        if self.of(shape).is_some() {
            return None;
        }
        let of_graph = |(known, _): &(Arc<Shape>, Rows)| known.edges == shape.edges;
        let n_shapes = self.list.iter().filter(|known| of_graph(known)).count();
        let oldest = self.list.iter().position(of_graph);
        let oldest = oldest.filter(|_| n_shapes >= MAX_SHAPES);
        let oldest = oldest.map(|at| self.list.remove(at));
        self.list.push((Arc::clone(shape), rows));
        oldest
    }

    /// Forgets the instances of a graph, known by its edges.
    pub(crate) fn forget(&mut self, edges: &[(u32, u32)]) {
        self.list.retain(|(shape, _)| *shape.edges != *edges);
    }

    /// All of them.
    pub(crate) fn into_shapes(self) -> impl Iterator<Item = (Arc<Shape>, Rows)> {
        self.list.into_iter()
    }
}
