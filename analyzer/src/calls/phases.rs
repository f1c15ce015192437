//! The phases that the program marks with `MPI_Pcontrol`, each at its own process.
//!
//! A phase of level L goes from a call of `MPI_Pcontrol(L)` to the next such call of the process,
//! of any level, or to its end; before the first there is none. A call belongs to the phase in
//! which it was entered (a nonblocking one: begun). An instance is in a phase if all its
//! processes entered it in one of that level.

use collbench_stats::integers::add_ns;

/// Most levels of a process; calls in phases of further levels count as outside of phases.
const MAX_LEVELS: usize = 1 << 12;

/// The phases of one process so far.
#[derive(Debug, Default)]
pub(crate) struct PhaseClock {
    /// Number of the current phase; 0: none.
    now: u16,
    /// When that began.
    since_ns: i64,
    /// By number, from 1.
    levels: Vec<LevelTime>,
}

/// The phases of one level of one process. Times in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelTime {
    /// What was given to `MPI_Pcontrol`.
    pub level: i32,
    /// How often it was begun.
    pub n_begun: u64,
    /// When it was begun first.
    pub from_ns: i64,
    /// When it ended last.
    pub to_ns: i64,
    /// Time in it.
    pub time_ns: i64,
}

impl PhaseClock {
    /// Number of the current phase; 0: none.
    #[inline]
    pub(crate) fn number(&self) -> u16 {
        self.now
    }

    /// The level of a phase by its number.
    #[inline]
    pub(crate) fn level(&self, number: u16) -> Option<i32> {
        let at = usize::from(number).checked_sub(1)?;
        self.levels.get(at).map(|level| level.level)
    }

    /// Whether the process has marked any.
    #[inline]
    pub(crate) fn has_any(&self) -> bool {
        !self.levels.is_empty()
    }

    pub(crate) fn begin(&mut self, level: i32, at_ns: i64) {
        self.end(at_ns);
        let known = self.levels.iter().position(|known| known.level == level);
        if known.is_none() && self.levels.len() == MAX_LEVELS {
            self.now = 0;
            return;
        }
        let at = known.unwrap_or_else(|| {
            self.levels.push(LevelTime {
                level,
                n_begun: 0,
                from_ns: at_ns,
                to_ns: at_ns,
                time_ns: 0,
            });
            self.levels.len() - 1
        });
        self.levels[at].n_begun += 1;
        self.now = at as u16 + 1;
        self.since_ns = at_ns;
    }

    /// Ends the current phase.
    fn end(&mut self, at_ns: i64) {
        let Some(at) = usize::from(self.now).checked_sub(1) else {
            return;
        };
        let level = &mut self.levels[at];
        level.to_ns = level.to_ns.max(at_ns);
        add_ns(&mut level.time_ns, (at_ns - self.since_ns).max(0));
    }

    /// The phases of a process that ended at this time.
    pub(crate) fn finish(mut self, at_ns: i64) -> Vec<LevelTime> {
        self.end(at_ns);
        self.levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_goes_on_until_the_next_one_of_any_level() {
        let mut clock = PhaseClock::default();
        assert_eq!(clock.level(clock.number()), None);
        clock.begin(7, 100);
        clock.begin(-1, 150);
        assert_eq!(clock.level(clock.number()), Some(-1));
        clock.begin(7, 170);
        let found: Vec<_> = clock.finish(200).into_iter().collect();
        let level = |level, n_begun, from_ns, to_ns, time_ns| LevelTime {
            level,
            n_begun,
            from_ns,
            to_ns,
            time_ns,
        };
        assert_eq!(
            found,
            [level(7, 2, 100, 200, 80), level(-1, 1, 150, 170, 20)]
        );
    }
}
