//! Names of shapes.

use collbench_formats::tree::{Level, Shape};

/// The names of shapes in tree files, K being a number.
pub const SHAPES: [&str; 8] = [
    "linear",
    "chain K",
    "K-ary",
    "K-nomial",
    "binomial",
    "binary",
    "in-order binary",
    "exchange",
];

/// Largest number of chains, or of children.
const MAX_K: u32 = 1 << 16;

/// The shape with a name; `None` if there is none. `3-ary` and `k-ary 3` are the same.
#[must_use]
pub fn shape_of(name: &str) -> Option<Shape> {
    let name = name.trim().to_lowercase().replace('_', "-");
    let within = |number: &str, least: u32| {
        let number: u32 = number.trim().parse().ok()?;
        (least..=MAX_K).contains(&number).then_some(number)
    };
    Some(match name.as_str() {
        "linear" | "flat" => Shape::Linear,
        "chain" | "pipeline" => Shape::Chain(1),
        "binary" => Shape::Kary(2),
        "binomial" => Shape::Binomial,
        "in-order binary" | "in-order-binary" => Shape::InOrderBinary,
        "exchange" => Shape::Exchange,
        other => {
            if let Some(k) = other.strip_prefix("chain ") {
                Shape::Chain(within(k, 1)?)
            } else if let Some(k) = other.strip_suffix("-ary").or(other.strip_prefix("k-ary ")) {
                Shape::Kary(within(k, 1)?)
            } else {
                let k = other
                    .strip_suffix("-nomial")
                    .or(other.strip_prefix("k-nomial "))?;
                Shape::Knomial(within(k, 2)?)
            }
        }
    })
}

/// The name of a shape in tree files.
#[must_use]
pub fn shape_name(shape: Shape) -> String {
    match shape {
        Shape::Linear => "linear".to_owned(),
        Shape::Chain(k) => format!("chain {k}"),
        Shape::Kary(k) => format!("{k}-ary"),
        Shape::Knomial(k) => format!("{k}-nomial"),
        Shape::Binomial => "binomial".to_owned(),
        Shape::InOrderBinary => "in-order binary".to_owned(),
        Shape::Exchange => "exchange".to_owned(),
    }
}

/// The keys of a table of shapes by level, from the narrowest to the widest.
pub(crate) const LEVELS: [&str; 6] = [
    Level::Rank.plural(),
    Level::CoreComplex.plural(),
    Level::Socket.plural(),
    Level::Host.plural(),
    Level::Switch.plural(),
    Level::Site.plural(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shape_has_a_name_that_is_read_again() {
        for shape in [
            Shape::Linear,
            Shape::Chain(3),
            Shape::Kary(4),
            Shape::Knomial(8),
            Shape::Binomial,
            Shape::InOrderBinary,
            Shape::Exchange,
        ] {
            assert_eq!(shape_of(&shape_name(shape)), Some(shape));
        }
        assert_eq!(shape_of("k-nomial 4"), Some(Shape::Knomial(4)));
        assert_eq!(shape_of("Binary"), Some(Shape::Kary(2)));
        for none in [
            "",
            "0-ary",
            "1-nomial",
            "chain 0",
            "chain x",
            "99999999-ary",
            "tree",
        ] {
            assert_eq!(shape_of(none), None, "{none}");
        }
    }
}
