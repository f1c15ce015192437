//! Inputs that several tests share, and properties of all pictures.
// Not every test uses everything here.
#![allow(dead_code)]

use collbench_viz::{Heading, Line, Picture, StageTime, Stages, Timemap};
use roxmltree::{Document, Node};

/// A name with everything that a hostile trace could contain.
pub(crate) const HOSTILE: &str =
    "</title></style></script><script>alert(1)</script>\u{1b}]0;x\u{7}\u{202e}\"'&\r\u{0}\u{fffe}";

/// A number in 0..n that depends on `seed` only.
pub(crate) fn scattered(seed: u64, n: u64) -> u64 {
    let mut x = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^= x >> 31;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ (x >> 29)) % n
}

pub(crate) fn svg(picture: impl Into<Picture>) -> String {
    picture.into().to_svg()
}

/// The nodes with a class, in the order of the document.
pub(crate) fn classed<'a>(document: &'a Document<'a>, class: &'a str) -> Vec<Node<'a, 'a>> {
    let nodes = document.descendants();
    let has_class = |node: &Node<'_, '_>| {
        let classes = node.attribute("class").unwrap_or_default();
        classes.split(' ').any(|of| of == class)
    };
    nodes.filter(has_class).collect()
}

pub(crate) fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

pub(crate) fn hostile_heading() -> Heading {
    Heading {
        finding: HOSTILE.into(),
        operation: HOSTILE.into(),
        n_instances: 1,
    }
}

pub(crate) fn heading(finding: &str) -> Heading {
    Heading {
        finding: finding.into(),
        operation: "MPI_Allreduce, world, 8 to 15 B".into(),
        n_instances: 2_500,
    }
}

pub(crate) fn rank(rank: u64, host: u64) -> Line {
    Line {
        name: format!("rank {rank}").into(),
        host: format!("n{:02}", host + 1).into(),
        class: None,
    }
}

/// Times in ns of an allreduce whose last rank arrives last.
pub(crate) fn times_ns(n_ranks: u64, ranks_per_host: u64, rank: u64) -> [i64; 5] {
    let host = rank / ranks_per_host;
    let is_last_host = host == (n_ranks - 1) / ranks_per_host;
    let is_last_of_host = rank % ranks_per_host == ranks_per_host - 1;
    let inside = if is_last_of_host {
        0
    } else {
        2_000 + scattered(rank, 9_000)
    };
    let across = if is_last_host {
        0
    } else {
        14_000 + scattered(1_000 + host, 12_000)
    };
    let leaving_across = scattered(2_000 + host, 5_000);
    let leaving_inside = 300 + scattered(3_000 + rank, 3_000);
    [inside, across, 6_350, leaving_across, leaving_inside].map(|ns| ns as i64)
}

pub(crate) fn allreduce(n_ranks: u64, ranks_per_host: u64) -> Timemap {
    let finding = format!(
        "Rank {} arrives last: the others wait for it far longer than the operation itself takes",
        n_ranks - 1
    );
    let mut timemap = Timemap::new(heading(&finding), Stages::seen_from_outside());
    for idx in 0..n_ranks {
        let times_ns = times_ns(n_ranks, ranks_per_host, idx);
        timemap.push(rank(idx, idx / ranks_per_host), |stage| {
            StageTime::new(times_ns[stage], 2_500)
        });
    }
    timemap
}

/// Asserts that the picture is well-formed, was drawn, and has nothing outside its frame.
pub(crate) fn assert_well_formed(svg: &str) {
    let document = Document::parse(svg).unwrap();
    assert!(!svg.contains("could not be drawn"), "{svg}");
    let root = document.root_element();
    let (width, height) = (number(root, "width"), number(root, "height"));
    let assert_inside = |x: f64, y: f64| {
        assert!(
            (0.0..=width).contains(&x) && (0.0..=height).contains(&y),
            "{x},{y}"
        );
    };
    for node in document.descendants() {
        let number = |name| number(node, name);
        let or_0 = |name| node.attribute(name).map_or(0.0, |_| number(name));
        for point in node.attribute("points").unwrap_or("").split_whitespace() {
            let (x, y) = point.split_once(',').unwrap();
            assert_inside(x.parse().unwrap(), y.parse().unwrap());
        }
        match node.tag_name().name() {
            "text" => assert_inside(number("x"), number("y")),
            "circle" => assert_inside(number("cx"), number("cy")),
            "rect" => {
                let (x, y) = (or_0("x"), or_0("y"));
                assert_inside(x, y);
                let far = (x + number("width"), y + number("height"));
                assert_inside(far.0 - 1e-6, far.1 - 1e-6);
            }
            _ => {}
        }
    }
}

/// Asserts that the picture contains any hostile text as plain text.
pub(crate) fn assert_inert(svg: &str) {
    assert!(svg.chars().all(|c| c == '\n' || !c.is_control()));
    assert!(!svg.contains(['\u{202e}', '\u{fffe}']));
    let document = Document::parse(svg).unwrap();
    let known = [
        "svg", "title", "desc", "style", "defs", "pattern", "path", "rect", "g", "polyline",
        "polygon", "circle", "text",
    ];
    for node in document.descendants().filter(|node| node.is_element()) {
        assert!(known.contains(&node.tag_name().name()), "{node:?}");
        let mut attributes = node.attributes();
        assert!(attributes.all(|a| !a.name().starts_with("on") && a.name() != "href"));
    }
    let title = document.root_element().first_element_child().unwrap();
    assert!(
        title
            .text()
            .unwrap()
            .contains("<script>alert(1)</script>␛]0;x")
    );
}
