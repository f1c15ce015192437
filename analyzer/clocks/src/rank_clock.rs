//! Conversion from the ticks of a process to the time of the analysis.

use std::sync::Arc;

use crate::tick_scale::{ShortLine, TickScale};
use crate::timestamp::{Global, Local, Timestamp};

/// Conversion from one process's ticks to the time of the analysis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankClock {
    /// From ticks to ns on the clock of the host.
    scale: TickScale,
    /// From ticks to the time of the group: pieces of a line, each with the tick from which it
    /// holds; the first holds before that too. At least one.
    lines: Arc<[(i64, TickScale)]>,
    start_ns: i64,
    /// Number of the host.
    pub host: usize,
}

impl RankClock {
    /// The clock of a process on a host, by one line.
    #[must_use]
    pub fn new(host: usize, scale: TickScale) -> Self {
        Self {
            scale,
            lines: Arc::new([(i64::MIN, scale)]),
            start_ns: 0,
            host,
        }
    }

    /// Conversion from ticks to ns on the clock of the host.
    #[must_use]
    pub fn scale(&self) -> TickScale {
        self.scale
    }

    /// Instant on the clock of the host, ns.
    #[must_use]
    pub fn host_ns(&self, local: Timestamp<Local>) -> i64 {
        self.scale.ns(local.value)
    }

    /// Instant on the time of the group, ns.
    #[must_use]
    #[inline]
    pub fn group_ns(&self, local: Timestamp<Local>) -> i64 {
        self.line_at(local.value).ns(local.value)
    }

    /// Sets the pieces of the line from ticks to the time of the group, at least one.
    pub fn set_lines(&mut self, lines: Arc<[(i64, TickScale)]>) {
        self.lines = lines;
    }

    /// Start of the run on the time of the group, ns.
    #[must_use]
    pub fn start_ns(&self) -> i64 {
        self.start_ns
    }

    /// Sets the start of the run on the time of the group, ns.
    pub fn set_start_ns(&mut self, start_ns: i64) {
        self.start_ns = start_ns;
    }

    /// Instant on the time of the analysis.
    #[must_use]
    #[inline]
    pub fn global(&self, local: Timestamp<Local>) -> Timestamp<Global> {
        Timestamp::from_ns(self.group_ns(local) - self.start_ns)
    }

    /// This clock, prepared for the conversion of many timestamps.
    #[inline]
    pub fn for_many(&self) -> ManyStamps<'_> {
        let short = match &self.lines[..] {
            [(_, line)] => line.short(self.start_ns),
            _ => None,
        };
        ManyStamps { clock: self, short }
    }

    #[inline]
    fn line_at(&self, ticks: i64) -> &TickScale {
        match &self.lines[..] {
            [(_, only)] => only,
            lines => {
                let behind = lines.partition_point(|(from, _)| *from <= ticks);
                &lines[behind.saturating_sub(1)].1
            }
        }
    }

    /// The clock of a process whose ticks are ns since the start.
    #[must_use]
    pub fn in_ns() -> Self {
        Self::new(0, TickScale::NANOSECONDS)
    }

    /// Length of a span of ticks, ns.
    #[must_use]
    pub fn span_ns(&self, ticks: u64) -> i64 {
        self.scale.span_ns(ticks)
    }

    /// Number of ticks in a span, whose length is in ns.
    #[must_use]
    pub fn span_ticks(&self, ns: u64) -> u64 {
        self.scale.span_ticks(ns)
    }
}

/// A [`RankClock`] prepared for many timestamps of one process.
#[derive(Debug, Clone, Copy)]
pub struct ManyStamps<'c> {
    clock: &'c RankClock,
    short: Option<ShortLine>,
}

/// A [`RankClock`] for timestamps up to some tick, all less than 2^60 ns (36 years) from the start of the run.
#[derive(Debug, Clone, Copy)]
pub struct BoundedStamps {
    line: ShortLine,
    last: u64,
}

impl BoundedStamps {
    /// Whether timestamps up to this one, ticks, are converted.
    #[must_use]
    #[inline]
    pub fn reaches(&self, ticks: u64) -> bool {
        ticks <= self.last
    }

    /// A timestamp, ticks, as [`RankClock::global`] converts it; meaningless beyond that tick.
    #[must_use]
    #[inline]
    pub fn global(&self, ticks: u64) -> Timestamp<Global> {
        Timestamp::from_near_ns(self.line.ns(ticks))
    }
}

impl ManyStamps<'_> {
    /// The conversion for timestamps up to this one, ticks, if none of them is far from the start.
    pub fn up_to(&self, last: u64) -> Option<BoundedStamps> {
        let line = self.short.filter(|_| ShortLine::is_near(last))?;
        let is_bounded = |ticks| Timestamp::from_ns(line.ns(ticks)).ns() == line.ns(ticks);
        (is_bounded(0) && is_bounded(last)).then_some(BoundedStamps { line, last })
    }

    /// Converts two timestamps, ticks, as two calls of [`RankClock::global`] would.
    #[must_use]
    #[inline]
    pub fn both(&self, enter: u64, leave: u64) -> [Timestamp<Global>; 2] {
        if let Some(line) = self.short.filter(|_| ShortLine::is_near(enter | leave)) {
            return [enter, leave].map(|ticks| Timestamp::from_ns(line.ns(ticks)));
        }
        [enter, leave].map(|ticks| self.clock.global(Timestamp::from_ticks(ticks)))
    }
}
