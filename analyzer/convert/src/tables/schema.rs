//! The tables: their columns, and what each says.
//!
//! Numbers of instances, operations, causes, sites and communicators are keys: the same in all tables of an export. Ranks are world
//! ranks. Times are ns since the start of the run, on the common time of all hosts.

/// A table.
#[derive(Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// Its name: of the file, or of the table in a database.
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
}

/// A column.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name; those of times, lengths and rates end with the unit.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// Whether cells may have no value: where it is not known, or there is none.
    pub is_nullable: bool,
    /// Whether neighbouring values are close to each other, like times.
    pub is_smooth: bool,
    /// What it says.
    pub about: &'static str,
}

/// Kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers of 64 bits.
    Int,
    /// Floating-point numbers of 64 bits.
    Real,
    /// Yes or no.
    Bool,
    /// Text.
    Text,
}

const fn column(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column {
        name,
        kind,
        is_nullable: false,
        is_smooth: false,
        about,
    }
}

const fn int(name: &'static str, about: &'static str) -> Column {
    column(name, Kind::Int, about)
}

const fn truth(name: &'static str, about: &'static str) -> Column {
    column(name, Kind::Bool, about)
}

const fn text(name: &'static str, about: &'static str) -> Column {
    column(name, Kind::Text, about)
}

const fn maybe(column: Column) -> Column {
    Column {
        is_nullable: true,
        ..column
    }
}

const fn smooth(column: Column) -> Column {
    Column {
        is_smooth: true,
        ..column
    }
}

/// All tables, in the order of the documentation.
pub const TABLES: [&TableSchema; 13] = [
    &CALLS,
    &INSTANCES,
    &MESSAGES,
    &PASSES,
    &OPERATIONS,
    &CAUSES,
    &COMMUNICATORS,
    &MEMBERS,
    &RANKS,
    &HOSTS,
    &SITES,
    &FRAMES,
    &ABOUT,
];

/// Calls.
pub const CALLS: TableSchema = TableSchema {
    name: "calls",
    about: "one call of one rank in one collective instance",
    columns: &[
        smooth(int("instance", "the instance: `instances.instance`")),
        int("rank", "world rank"),
        int(
            "thread",
            "the thread that made the call, or initiated the operation, among those of the rank, from 0",
        ),
        text("operation", "name of the operation in the MPI standard"),
        int(
            "operation_id",
            "the operation as analysis.json distinguishes it: `operations.operation_id`",
        ),
        maybe(int(
            "communicator",
            "where it was called: `communicators.communicator`",
        )),
        maybe(int(
            "root",
            "world rank of the root, of operations that have one",
        )),
        maybe(int("bytes", "payload of the call, as in analysis.json")),
        smooth(int(
            "enter_ns",
            "when the call was entered; of a nonblocking operation the initiating call",
        )),
        maybe(smooth(int(
            "leave_ns",
            "when the call returned; of a nonblocking operation the call that completed it; null: never, or not known",
        ))),
        maybe(smooth(int(
            "initiated_ns",
            "of nonblocking operations: when the initiating call returned",
        ))),
        maybe(smooth(int(
            "completing_ns",
            "of nonblocking operations: when the completing call was entered",
        ))),
        maybe(smooth(int(
            "time_ns",
            "time in the call; of a nonblocking operation its shares of the initiating and the completing call; null for blocking calls that never returned, and in instances whose state is `failed` or `cut`",
        ))),
        maybe(smooth(int(
            "wait_ns",
            "wait for other ranks within the call; null where it is not known, or where the operation does not make ranks wait",
        ))),
        maybe(int("waited_for", "world rank whose arrival ended the wait")),
        maybe(int(
            "cause_id",
            "what the largest part of the wait is charged to: `causes.cause_id`",
        )),
        maybe(text("cause", "kind of that cause: `causes.cause`")),
        maybe(int(
            "site",
            "the place in the program from which it was called: `sites.site`",
        )),
        maybe(text(
            "algorithm",
            "the algorithm that ran, as in analysis.json",
        )),
        truth(
            "complete",
            "whether the instance is complete: all its ranks entered and left it without an error",
        ),
    ],
};

/// Instances.
pub const INSTANCES: TableSchema = TableSchema {
    name: "instances",
    about: "one collective operation across all ranks of its communicator, in the order in which they began",
    columns: &[
        smooth(int("instance", "its number, from 0")),
        text("operation", "name of the operation in the MPI standard"),
        int("operation_id", "`operations.operation_id`"),
        maybe(int(
            "communicator",
            "where it was called: `communicators.communicator`",
        )),
        maybe(smooth(int(
            "position",
            "position among the calls on its communicator, or among the starts of its persistent operation, from 0",
        ))),
        maybe(int(
            "root",
            "world rank of the root, of operations that have one",
        )),
        text(
            "state",
            "`complete`; `failed`: some call returned an error; `incomplete`: some rank never entered or left it, or the calls are not one collective; `cut`: a ring has overwritten some of the calls; `unmatched`: one call whose communicator is not known",
        ),
        maybe(int(
            "phase",
            "level of the phase (MPI_Pcontrol) in which all calls were made",
        )),
        smooth(int("first_enter_ns", "first enter of any rank")),
        smooth(int("last_enter_ns", "last enter of any rank")),
        maybe(smooth(int(
            "last_leave_ns",
            "last leave of any rank; null if some call never returned",
        ))),
        maybe(smooth(int(
            "duration_ns",
            "last leave minus first enter; of ranks on hosts without a common time the longest of any group",
        ))),
        maybe(smooth(int(
            "core_ns",
            "first leave minus last enter, of operations in which all ranks wait for all",
        ))),
        maybe(int(
            "last_rank",
            "world rank that arrived last; null where the clocks do not resolve it",
        )),
        int("calls", "calls in this export"),
    ],
};

/// Messages.
pub const MESSAGES: TableSchema = TableSchema {
    name: "messages",
    about: "one message that the MPI library sent inside an instance, as far as both ends were recorded",
    columns: &[
        smooth(int("instance", "the instance: `instances.instance`")),
        int("sender", "world rank of the sender"),
        int("receiver", "world rank of the receiver"),
        int("bytes", "payload of the message"),
        smooth(int("send_begin_ns", "when the library began to send")),
        smooth(int("send_end_ns", "when its call to send returned")),
        smooth(int(
            "receive_begin_ns",
            "when the library posted the receive",
        )),
        maybe(smooth(int(
            "receive_end_ns",
            "when the library saw that the message had arrived; null where it checked without a call that is recorded",
        ))),
        maybe(truth(
            "resolved",
            "whether it was received later than sent by more than the error of the clocks; null where that cannot be said",
        )),
    ],
};

/// Passes.
pub const PASSES: TableSchema = TableSchema {
    name: "passes",
    about: "one pass of values through an event collector of a spanning tree of collbench",
    columns: &[
        smooth(int("instance", "the instance: `instances.instance`")),
        int("rank", "world rank that recorded it"),
        int("tree", "number of the tree in the trace"),
        int("collector", "number of the event collector in the tree"),
        int("segment", "segment of the payload, from 0"),
        maybe(smooth(int(
            "down_ns",
            "when the values passed towards the bottommost wrapper",
        ))),
        maybe(smooth(int("up_ns", "when they passed on their way back"))),
    ],
};

/// Operations.
pub const OPERATIONS: TableSchema = TableSchema {
    name: "operations",
    about: "one operation, as distinguished by communicator, root, class of sizes and algorithm",
    columns: &[
        int(
            "operation_id",
            "its number, from 0, in the order in which they are first called",
        ),
        maybe(int(
            "analysis_index",
            "its index in `operations` of analysis.json; null where none of its calls is counted there",
        )),
        text("operation", "name of the operation in the MPI standard"),
        maybe(int("communicator", "`communicators.communicator`")),
        maybe(int(
            "root",
            "world rank of the root, of operations that have one",
        )),
        maybe(text(
            "algorithm",
            "the algorithm: as the library reported it, else as recognized from messages",
        )),
        maybe(text(
            "library_name",
            "the library's names of the algorithms that it started",
        )),
    ],
};

/// Causes.
pub const CAUSES: TableSchema = TableSchema {
    name: "causes",
    about: "what waits are charged to",
    columns: &[
        int(
            "cause_id",
            "its number, from 0, in the order in which they are first met",
        ),
        text(
            "cause",
            "`late_rank`: the rank does more of something than the median of its communicator; `late_at_start`: likewise before its first collective; `imbalance`: ranks have different amounts of work, none more than the median; `operation_time`: a rank left another operation later; `startup`: ranks began at different times; `unresolved`: below the error of the clocks; `unexplained`: before what was recorded",
        ),
        maybe(int("rank", "world rank that is late")),
        maybe(text(
            "part",
            "what that rank does more: `own_work`, `operation`, `point_to_point`, `io`, `rma`, `recorder` or `launch`",
        )),
        maybe(int(
            "operation_id",
            "the operation that takes longer: `operations.operation_id`; null for others, and where the operation is not in this export",
        )),
        maybe(int(
            "communicator",
            "of imbalance, the communicator: `communicators.communicator`",
        )),
    ],
};

/// Communicators.
pub const COMMUNICATORS: TableSchema = TableSchema {
    name: "communicators",
    about: "one communicator, or several that were made alike",
    columns: &[
        int("communicator", "its number, as `id` in analysis.json"),
        text("name", "as the program named it, else how it was made"),
        text("kind", "`intra` or `inter`"),
        int("size", "ranks, of both groups together"),
        int(
            "count",
            "how many communicators that were made alike it stands for",
        ),
        maybe(int(
            "site",
            "the place in the program where it was made: `sites.site`",
        )),
    ],
};

/// Members of communicators.
pub const MEMBERS: TableSchema = TableSchema {
    name: "members",
    about: "one rank of one communicator",
    columns: &[
        int("communicator", "`communicators.communicator`"),
        int(
            "position",
            "rank in the communicator; on an intercommunicator both groups one after the other",
        ),
        maybe(int("rank", "world rank; null where there is no file of it")),
    ],
};

/// Ranks.
pub const RANKS: TableSchema = TableSchema {
    name: "ranks",
    about: "one rank, with its sums as in analysis.json",
    columns: &[
        int("rank", "world rank"),
        text("host", "its host: `hosts.host`"),
        int("calls", "calls begun"),
        int("time_ns", "time in calls"),
        maybe(int("wait_ns", "sum of its waits; null where none is known")),
        maybe(int("finalize_ns", "time in MPI_Finalize")),
        maybe(int(
            "finalize_wait_ns",
            "how long it waited there for the last rank",
        )),
        int("last", "resolved instances in which it arrived last"),
        int("first", "resolved instances in which it arrived first"),
        int("recorder_pause_ns", "time for which the recorder paused it"),
        maybe(int(
            "point_to_point_ns",
            "time in point-to-point communication between its collectives",
        )),
        maybe(int("io_ns", "time in calls of MPI-IO")),
        maybe(int(
            "rma_ns",
            "time in calls that synchronize accesses to windows",
        )),
    ],
};

/// Hosts.
pub const HOSTS: TableSchema = TableSchema {
    name: "hosts",
    about: "one host clock, with the error of its times",
    columns: &[
        text("host", "name of the host"),
        int(
            "group",
            "hosts with the same number have a common time; times of others cannot be compared",
        ),
        maybe(int("site", "number of the site it belongs to")),
        maybe(int(
            "offset_ns",
            "its clock minus that of the reference host, at the start",
        )),
        maybe(column(
            "drift_ppm",
            Kind::Real,
            "how much faster its clock runs",
        )),
        maybe(int(
            "uncertainty_ns",
            "two standard deviations of the offset: an error of the times of this host against the reference host",
        )),
        maybe(int("bound_ns", "what that error cannot exceed")),
        int(
            "granularity_ns",
            "smallest difference of two of its times that means something",
        ),
    ],
};

/// Call sites.
pub const SITES: TableSchema = TableSchema {
    name: "sites",
    about: "one place in the program from which collectives are called",
    columns: &[
        int("site", "its number, as `id` in analysis.json"),
        text("place", "file and line, or what is known instead"),
        maybe(text("function", "the function that makes the call")),
        maybe(text("file", "its source file")),
        maybe(int("line", "the line")),
        truth(
            "whole",
            "whether the stack could be followed out of all libraries that only wrap MPI",
        ),
    ],
};

/// Frames of call sites.
pub const FRAMES: TableSchema = TableSchema {
    name: "frames",
    about: "one function on the stack of a call site",
    columns: &[
        int("site", "`sites.site`"),
        int("depth", "0 for the innermost function"),
        maybe(text("function", "its name")),
        maybe(text("file", "its source file")),
        maybe(int("line", "the line")),
        maybe(text("module", "path of the executable or library")),
        int("offset", "return address in that file"),
        truth("inlined", "whether it was inlined into the next one"),
    ],
};

/// The export itself.
pub const ABOUT: TableSchema = TableSchema {
    name: "about",
    about: "what was exported: one property in each row",
    columns: &[text("key", "the property"), text("value", "its value")],
};

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    /// The tables as docs/export.md has them.
    fn documented() -> String {
        let mut text = String::new();
        for table in TABLES {
            let TableSchema {
                name,
                about,
                columns,
            } = table;
            _ = write!(
                text,
                "\n### {name}\n\nA row is {about}.\n\n| column | |\n| --- | --- |\n"
            );
            for column in *columns {
                let mark = if column.is_nullable { "?" } else { "" };
                _ = writeln!(text, "| `{}`{mark} | {} |", column.name, column.about);
            }
        }
        text + "\n"
    }

    /// With `UPDATE_DOCS` set the page is written anew.
    #[test]
    fn the_documentation_has_all_columns_and_what_they_say() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/export.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (before, rest) = page.split_once("<!-- tables -->\n").unwrap();
        let (found, after) = rest.split_once("<!-- end of tables -->").unwrap();
        let expected = documented();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            let page = format!("{before}<!-- tables -->\n{expected}<!-- end of tables -->{after}");
            std::fs::write(path, page).unwrap();
            return;
        }
        assert_eq!(
            found, expected,
            "UPDATE_DOCS=1 cargo test writes docs/export.md anew"
        );
    }
}
