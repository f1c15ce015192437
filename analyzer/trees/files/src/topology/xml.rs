//! The XML of hwloc, of versions 1 and 2.

use std::path::Path;

use collbench_formats::tree::{Cpu, HostTopology};
use roxmltree::{Document, Node, ParsingOptions};

use super::TopologyError;

/// Most elements of a file: some thousand processors have a hundred thousand.
const MAX_NODES: u32 = 4 << 20;

/// The processors in the XML of a host; `path` is for errors.
///
/// The core complex of a processor is the widest cache above it that lies within its socket; without
/// any, the socket.
///
/// # Errors
/// [`TopologyError::NoXml`] and [`TopologyError::NoProcessors`].
pub fn of_xml(text: &str, path: &Path) -> Result<HostTopology, TopologyError> {
    let options = ParsingOptions {
        // hwloc names its document type; entities are limited by the parser.
        allow_dtd: true,
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    let document =
        Document::parse_with_options(text, options).map_err(|error| TopologyError::NoXml {
            path: path.to_owned(),
            what: error.to_string(),
        })?;
    let mut walk = Walk::default();
    // Without recursion: elements may be nested as deep as a file is long.
    let mut open = vec![(document.root_element(), Above::default())];
    while let Some((element, above)) = open.pop() {
        let above = walk.enter(element, above);
        let children: Vec<_> = element.children().filter(Node::is_element).collect();
        open.extend(children.into_iter().rev().map(|child| (child, above)));
    }
    let mut cpus = walk.cpus;
    if cpus.is_empty() {
        return Err(TopologyError::NoProcessors {
            path: path.to_owned(),
            expected: "objects of type PU, as lstopo --of xml writes them",
        });
    }
    cpus.sort_by_key(|cpu| cpu.number);
    cpus.dedup_by_key(|cpu| cpu.number);
    Ok(HostTopology { cpus })
}

/// What a processor is in, by numbers in the order of the file.
#[derive(Debug, Clone, Copy, Default)]
struct Above {
    socket: Option<u32>,
    core_complex: Option<u32>,
    core: Option<u32>,
}

#[derive(Debug, Default)]
struct Walk {
    n_sockets: u32,
    n_core_complexes: u32,
    n_cores: u32,
    cpus: Vec<Cpu>,
}

impl Walk {
    fn enter(&mut self, element: Node<'_, '_>, mut above: Above) -> Above {
        let kind = element.attribute("type").unwrap_or("");
        let next = |n: &mut u32| {
            *n += 1;
            Some(*n - 1)
        };
        match kind {
            _ if !element.has_tag_name("object") => {}
            "Package" | "Socket" => {
                above.socket = next(&mut self.n_sockets);
                above.core_complex = None;
            }
            // The widest one, which comes first on the way down.
            "Cache" | "L1Cache" | "L2Cache" | "L3Cache" | "L4Cache" | "L5Cache"
                if above.core_complex.is_none() && above.core.is_none() =>
            {
                above.core_complex = next(&mut self.n_core_complexes);
            }
            "Core" => above.core = next(&mut self.n_cores),
            "PU" => {
                let number = element.attribute("os_index");
                if let Some(number) = number.and_then(|number| number.parse().ok()) {
                    self.push(number, above);
                }
            }
            _ => {}
        }
        above
    }

    fn push(&mut self, number: u32, above: Above) {
        let socket = above.socket.unwrap_or(0);
        let core = above.core.unwrap_or_else(|| {
            self.n_cores += 1;
            self.n_cores - 1
        });
        self.cpus.push(Cpu {
            number,
            core,
            // Beyond those that are numbered: one for each socket.
            core_complex: above.core_complex.unwrap_or(u32::MAX - socket),
            socket,
        });
    }
}
