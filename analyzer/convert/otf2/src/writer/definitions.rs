//! Definitions to the files of definitions.

use crate::abi;
use crate::definitions::{
    CommDefinition, Definitions, GroupDefinition, Headline, Paradigm, UNDEFINED,
};
use crate::error::Error;
use crate::library::Library;
use crate::spool::Spool;

use super::session::{Session, c_string};

/// Numbers of texts that every archive has.
pub(super) struct Constant {
    empty: u32,
    machine_name: u32,
    machine_class: u32,
    node_class: u32,
    mpi: u32,
}

impl Constant {
    pub(super) fn new(definitions: &mut Definitions, headline: &Headline) -> Self {
        Self {
            empty: definitions.string("").0,
            machine_name: definitions.string(&headline.machine).0,
            machine_class: definitions.string("machine").0,
            node_class: definitions.string("node").0,
            mpi: definitions.string("MPI").0,
        }
    }
}

/// The time that events take up.
pub(super) struct Clock {
    first_ns: u64,
    length_ns: u64,
    realtime_at_first_ns: u64,
}

impl Clock {
    pub(super) fn of(spool: &Spool, headline: &Headline) -> Self {
        let used = || spool.streams.iter().filter(|stream| stream.n_events > 0);
        let first_ns = used().map(|stream| stream.first_ns).min().unwrap_or(0);
        let last_ns = used().map(|stream| stream.last_ns).max().unwrap_or(0);
        Self {
            first_ns,
            length_ns: last_ns - first_ns,
            realtime_at_first_ns: headline
                .realtime_at_zero_ns
                .and_then(|ns| ns.checked_add(first_ns))
                .unwrap_or(abi::UNDEFINED_TIMESTAMP),
        }
    }
}

impl Session<'_> {
    /// Writes a file of definitions for each location. They are empty, since events use the global
    /// numbers, but readers complain of each that is missing.
    pub(super) fn write_local_definitions(&self, n_locations: usize) -> Result<(), Error> {
        const ACTION: &str = "write the definitions of a location";
        self.check(ACTION, |f, archive| {
            // SAFETY: `archive` is open.
            unsafe { (f.open_def_files)(archive) }
        })?;
        for location in 0..n_locations {
            let f = self.library.functions();
            // SAFETY: `archive` is open and has flush callbacks.
            let writer = unsafe { (f.get_def_writer)(self.archive, location as u64) };
            let writer = self.check_pointer(ACTION, writer)?;
            self.check(ACTION, |f, archive| {
                // SAFETY: the writer is of this archive, and not used after this.
                unsafe { (f.close_def_writer)(archive, writer) }
            })?;
        }
        self.check(ACTION, |f, archive| {
            // SAFETY: `archive` is open.
            unsafe { (f.close_def_files)(archive) }
        })
    }

    pub(super) fn write_definitions(
        &self,
        definitions: &Definitions,
        constant: &Constant,
        clock: &Clock,
        n_events: &[u64],
    ) -> Result<(), Error> {
        const ACTION: &str = "write definitions";
        // SAFETY: `archive` is open and has flush callbacks.
        let writer = unsafe { (self.library.functions().get_global_def_writer)(self.archive) };
        let writer = self.check_pointer(ACTION, writer)?;
        DefinitionWriter {
            library: self.library,
            writer,
        }
        .write(definitions, constant, clock, n_events)?;
        self.check(ACTION, |f, archive| {
            // SAFETY: the writer is of this archive, and not used after this.
            unsafe { (f.close_global_def_writer)(archive, writer) }
        })
    }
}

/// Number of a host among the nodes of the tree, of which the machine is the first.
pub(super) fn node_of(host: u32) -> u32 {
    host + 1
}

/// Number of a group among those of the archive. The first is that of all processes: members of the
/// others are positions in it.
fn group_of(group: u32) -> u32 {
    group + 1
}

/// Writes the definitions of the archive.
struct DefinitionWriter<'l> {
    library: &'l Library,
    writer: *mut abi::GlobalDefWriter,
}

impl DefinitionWriter<'_> {
    /// Writes all of them, in the order in which they refer to each other.
    fn write(
        &self,
        definitions: &Definitions,
        constant: &Constant,
        clock: &Clock,
        n_events: &[u64],
    ) -> Result<(), Error> {
        self.strings(definitions)?;
        self.run(constant, clock)?;
        self.places(definitions, constant, n_events)?;
        self.kinds(definitions, constant)?;
        self.groups(definitions, constant)?;
        self.comms(definitions)
    }

    fn check(&self, code: abi::Code) -> Result<(), Error> {
        self.library.check("write definitions", code)
    }

    fn strings(&self, definitions: &Definitions) -> Result<(), Error> {
        let f = self.library.functions();
        for (number, text) in (0..).zip(&definitions.strings) {
            let text = c_string(text);
            // SAFETY: the writer is open, and the library copies the text.
            self.check(unsafe { (f.write_string)(self.writer, number, text.as_ptr()) })?;
        }
        Ok(())
    }

    fn run(&self, constant: &Constant, clock: &Clock) -> Result<(), Error> {
        let f = self.library.functions();
        // SAFETY: the writer is open.
        self.check(unsafe {
            (f.write_clock_properties)(
                self.writer,
                1_000_000_000,
                clock.first_ns,
                clock.length_ns,
                clock.realtime_at_first_ns,
            )
        })?;
        // SAFETY: the writer is open.
        self.check(unsafe {
            (f.write_paradigm)(
                self.writer,
                Paradigm::Mpi as u8,
                constant.mpi,
                abi::PARADIGM_CLASS_PROCESS,
            )
        })
    }

    /// Machine, hosts, processes and locations.
    fn places(
        &self,
        definitions: &Definitions,
        constant: &Constant,
        n_events: &[u64],
    ) -> Result<(), Error> {
        self.node(0, constant.machine_name, constant.machine_class, UNDEFINED)?;
        self.domain(0, abi::DOMAIN_MACHINE)?;
        for (number, host) in (0..).zip(&definitions.hosts) {
            self.node(node_of(number), host.0, constant.node_class, 0)?;
            self.domain(node_of(number), abi::DOMAIN_SHARED_MEMORY)?;
        }
        let f = self.library.functions();
        for (number, process) in (0..).zip(&definitions.processes) {
            // SAFETY: the writer is open.
            self.check(unsafe {
                (f.write_location_group)(
                    self.writer,
                    number,
                    process.name.0,
                    abi::LOCATION_GROUP_PROCESS,
                    node_of(process.host.0),
                    UNDEFINED,
                )
            })?;
        }
        for ((number, location), n_events) in (0..).zip(&definitions.locations).zip(n_events) {
            // SAFETY: the writer is open.
            self.check(unsafe {
                (f.write_location)(
                    self.writer,
                    number,
                    location.name.0,
                    abi::LOCATION_CPU_THREAD,
                    *n_events,
                    location.process.0,
                )
            })?;
        }
        Ok(())
    }

    fn node(&self, number: u32, name: u32, class: u32, parent: u32) -> Result<(), Error> {
        let f = self.library.functions();
        // SAFETY: the writer is open.
        self.check(unsafe { (f.write_system_tree_node)(self.writer, number, name, class, parent) })
    }

    fn domain(&self, node: u32, domain: u8) -> Result<(), Error> {
        let f = self.library.functions();
        // SAFETY: the writer is open.
        self.check(unsafe { (f.write_system_tree_node_domain)(self.writer, node, domain) })
    }

    /// Attributes, regions, lines of source files, metrics.
    fn kinds(&self, definitions: &Definitions, constant: &Constant) -> Result<(), Error> {
        let f = self.library.functions();
        for (number, attribute) in (0..).zip(&definitions.attributes) {
            // SAFETY: the writer is open.
            self.check(unsafe {
                (f.write_attribute)(
                    self.writer,
                    number,
                    attribute.name.0,
                    attribute.description.0,
                    attribute.value_type as u8,
                )
            })?;
        }
        for (number, region) in (0..).zip(&definitions.regions) {
            // SAFETY: the writer is open.
            self.check(unsafe {
                (f.write_region)(
                    self.writer,
                    number,
                    region.name.0,
                    region.name.0,
                    constant.empty,
                    region.role,
                    region.paradigm,
                    0,
                    region.source_file,
                    region.begin_line,
                    0,
                )
            })?;
        }
        for (number, (file, line)) in (0..).zip(&definitions.source_code) {
            // SAFETY: the writer is open.
            self.check(unsafe {
                (f.write_source_code_location)(self.writer, number, file.0, *line)
            })?;
        }
        for (number, metric) in (0..).zip(&definitions.metrics) {
            // SAFETY: the writer is open.
            self.check(unsafe {
                (f.write_metric_member)(
                    self.writer,
                    number,
                    metric.name.0,
                    metric.description.0,
                    abi::METRIC_OTHER,
                    metric.mode as u8,
                    metric.value_type as u8,
                    abi::BASE_DECIMAL,
                    metric.exponent,
                    metric.unit.0,
                )
            })?;
            // SAFETY: the writer is open, and one member is passed.
            self.check(unsafe {
                (f.write_metric_class)(
                    self.writer,
                    number,
                    1,
                    &raw const number,
                    abi::METRIC_ASYNCHRONOUS,
                    abi::RECORDER_CPU,
                )
            })?;
        }
        Ok(())
    }

    /// The groups of processes of communicators.
    fn groups(&self, definitions: &Definitions, constant: &Constant) -> Result<(), Error> {
        let first_locations: Vec<_> = definitions.first_locations().collect();
        self.group(0, constant, abi::GROUP_COMM_LOCATIONS, &first_locations)?;
        for (number, group) in (0..).zip(&definitions.groups) {
            let number = group_of(number);
            match group {
                GroupDefinition::Processes(numbers) => {
                    let members: Vec<u64> = numbers.iter().copied().map(u64::from).collect();
                    self.group(number, constant, abi::GROUP_COMM_GROUP, &members)?;
                }
                GroupDefinition::Itself => {
                    self.group(number, constant, abi::GROUP_COMM_SELF, &[])?;
                }
            }
        }
        Ok(())
    }

    fn group(
        &self,
        number: u32,
        constant: &Constant,
        group_type: u8,
        members: &[u64],
    ) -> Result<(), Error> {
        let f = self.library.functions();
        // SAFETY: the writer is open, and there are as many members as is said.
        self.check(unsafe {
            (f.write_group)(
                self.writer,
                number,
                constant.empty,
                group_type,
                Paradigm::Mpi as u8,
                0,
                members.len() as u32,
                members.as_ptr(),
            )
        })
    }

    /// Communicators and windows.
    fn comms(&self, definitions: &Definitions) -> Result<(), Error> {
        let f = self.library.functions();
        for (number, comm) in (0..).zip(&definitions.comms) {
            // SAFETY: the writer is open.
            self.check(unsafe {
                match *comm {
                    CommDefinition::Intra {
                        name,
                        group,
                        parent,
                    } => (f.write_comm)(self.writer, number, name.0, group_of(group), parent, 0),
                    CommDefinition::Inter {
                        name,
                        groups: [a, b],
                        common,
                    } => (f.write_inter_comm)(
                        self.writer,
                        number,
                        name.0,
                        group_of(a),
                        group_of(b),
                        common,
                        0,
                    ),
                }
            })?;
        }
        for (number, window) in (0..).zip(&definitions.windows) {
            // SAFETY: the writer is open.
            self.check(unsafe {
                (f.write_rma_win)(self.writer, number, window.name.0, window.comm.0, 0)
            })?;
        }
        Ok(())
    }
}
