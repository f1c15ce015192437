//! Predefined operations over trees.

use collbench_paths::{Buffers, Combine, Elements, Kernel, Reduction, SimulatedCosts};

use crate::random::{Random, random_tree};
use crate::run::on_all_ranks;

const COUNT: usize = 50;

/// The bytes of a rank: small integers at each place where an element may have a number, so that
/// values are equal now and then and sums are exact.
fn values(elements: Elements, rank: u32) -> Vec<u8> {
    let mut random = Random::new(u64::from(rank) + 77);
    let mut number = || (random.below(9)) as i32 - 4;
    let of_element = |_| match elements {
        Elements::Double | Elements::DoubleComplex | Elements::TwoDouble => {
            let words = elements.bytes() / 8;
            (0..words)
                .flat_map(|_| f64::from(number()).to_ne_bytes())
                .collect()
        }
        Elements::Float | Elements::FloatComplex | Elements::TwoReal => {
            let words = elements.bytes() / 4;
            (0..words)
                .flat_map(|_| (number() as f32).to_ne_bytes())
                .collect()
        }
        Elements::FloatInt => [(number() as f32).to_ne_bytes(), number().to_ne_bytes()].concat(),
        Elements::DoubleInt => {
            let value = f64::from(number()).to_ne_bytes();
            [&value[..], &number().to_ne_bytes(), &[0xab; 4]].concat()
        }
        _ => (0..elements.bytes())
            .map(|_| number() as u8)
            .collect::<Vec<u8>>(),
    };
    (0..COUNT).flat_map(of_element).collect()
}

#[test]
fn predefined_operations_over_any_tree_give_what_they_give_in_any_order_and_leave_gaps() {
    for (seed, elements) in (0..).zip(Elements::ALL) {
        for reduction in Reduction::ALL {
            let Some(kernel) = Kernel::new(reduction, elements) else {
                continue;
            };
            let is_inexact = matches!(
                elements,
                Elements::Float
                    | Elements::Double
                    | Elements::FloatComplex
                    | Elements::DoubleComplex
            );
            if is_inexact && reduction == Reduction::Prod {
                // Zeros have signs, which depend on the order.
                continue;
            }
            let mut random = Random::new(seed + 30_000 + reduction as u64 * 1000);
            let n_ranks = 2 + random.below(6);
            let tree = random_tree(&mut random, n_ranks);
            let results = on_all_ranks(&tree, 144, SimulatedCosts::default(), move |team, me| {
                let mut kernel = kernel;
                let mut result = vec![0xee; COUNT * elements.bytes()];
                let given = values(elements, me);
                let buffers = Buffers::Two(&given, &mut result);
                team.allreduce(buffers, &mut kernel).unwrap();
                result
            });
            let mut expected = values(elements, 0);
            for rank in 1..n_ranks as u32 {
                let mut kernel = kernel;
                kernel.combine(&values(elements, rank), &mut expected);
            }
            let gap = elements.gap().unwrap_or(0..0);
            for (at, byte) in expected.iter_mut().enumerate() {
                if gap.contains(&(at % elements.bytes())) {
                    *byte = 0xee;
                }
            }
            for result in results {
                assert!(result == expected, "{reduction:?} {elements:?}\n{tree:#?}");
            }
        }
    }
}
