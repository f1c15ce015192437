//! Which layers are recorded, and the list by which users choose them.

use collbench_formats::Layer;

/// Layers that are recorded besides calls on communicators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layers {
    /// Collectives on files.
    pub io: bool,
    /// Collectives on windows.
    pub rma: bool,
    /// The messages that the MPI library exchanges inside collectives.
    pub messages: bool,
    /// The names that the MPI library has for the algorithms of collectives.
    pub algorithms: bool,
    /// Whether threads run or are off their core, where much time has passed.
    pub switches: bool,
    /// Time in point-to-point communication between the calls, in sums.
    pub p2p: bool,
    /// From where in the program calls are made.
    pub sites: bool,
    /// From which lines of scripts; only with `sites`.
    pub scripts: bool,
    /// Whether those of [`Layers::BY_DEFAULT`] that are on are so by default. Then it is not
    /// reported if an MPI library does not support one of them.
    pub by_default: bool,
}

/// Why a list names no layers that can be recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayersError {
    /// A word is not one of the list's.
    #[error("{0} is not the name of a layer")]
    Unknown(String),
    /// Calls are left out.
    #[error(
        "calls are always recorded. To record something besides the default: --layers {added}. To \
         record only what the list names: --layers calls,{named}"
    )]
    WithoutCalls {
        /// The names in the list, each after a `+`.
        added: String,
        /// The names in the list.
        named: String,
    },
    /// Calls are excluded.
    #[error("calls are always recorded; -calls cannot be asked for")]
    NoCalls,
}

impl Layers {
    /// The layers that are recorded if the user names none.
    pub const BY_DEFAULT: Self = Self {
        io: false,
        rma: false,
        messages: true,
        algorithms: true,
        switches: false,
        p2p: true,
        sites: true,
        scripts: false,
        by_default: true,
    };

    /// The word for all layers.
    pub const ALL: &str = "all";

    /// The layers in a list, separated by commas: names, of which `calls` must be one; or changes of
    /// the default, `+name` and `-name`, which may also follow names or [`Layers::ALL`].
    ///
    /// # Errors
    /// [`LayersError`] names what is wrong, and what the user may have meant.
    pub fn of_list(list: &str) -> Result<Self, LayersError> {
        let words: Vec<&str> = list.split(',').filter(|word| !word.is_empty()).collect();
        let is_change = |word: &str| word.starts_with(['+', '-']);
        let (mut layers, mut has_calls) = match words.first() {
            Some(first) if is_change(first) => (Self::BY_DEFAULT, true),
            _ => (Self::default(), false),
        };
        for &word in &words {
            if word == Self::ALL {
                for layer in Layer::ALL {
                    layers.set(layer, true);
                }
                has_calls = true;
                continue;
            }
            let name = word.strip_prefix(['+', '-']).unwrap_or(word);
            let is_on = !word.starts_with('-');
            let layer = Layer::from_name(name);
            match layer.ok_or_else(|| LayersError::Unknown(word.to_owned()))? {
                Layer::Calls if is_on => has_calls = true,
                Layer::Calls => return Err(LayersError::NoCalls),
                layer => layers.set(layer, is_on),
            }
        }
        if !has_calls && !words.is_empty() {
            let named: Vec<&str> = words.into_iter().filter(|word| !is_change(word)).collect();
            return Err(LayersError::WithoutCalls {
                added: named
                    .iter()
                    .map(|name| format!("+{name}"))
                    .collect::<Vec<_>>()
                    .join(","),
                named: named.join(","),
            });
        }
        Ok(layers)
    }

    /// The list that [`of_list`](Self::of_list) reads them from.
    #[must_use]
    pub fn list(self) -> String {
        let mut words = Vec::new();
        words.push(if self.by_default { "+calls" } else { "calls" }.to_owned());
        for layer in Layer::ALL {
            let is_default = self.by_default && Self::BY_DEFAULT.has(layer);
            match (self.has(layer), is_default) {
                _ if layer == Layer::Calls => {}
                (true, false) => words.push(format!("+{}", layer.name())),
                (false, true) => words.push(format!("-{}", layer.name())),
                _ => {}
            }
        }
        words.join(",")
    }

    /// Whether a layer is recorded.
    #[must_use]
    pub const fn has(self, layer: Layer) -> bool {
        match layer {
            Layer::Calls => true,
            Layer::Io => self.io,
            Layer::Rma => self.rma,
            Layer::Messages => self.messages,
            Layer::Algorithms => self.algorithms,
            Layer::Switches => self.switches,
            Layer::PointToPoint => self.p2p,
            Layer::Sites => self.sites,
            Layer::Scripts => self.scripts,
        }
    }

    /// Whether a layer is recorded because nobody has named it.
    #[must_use]
    pub const fn has_by_default(self, layer: Layer) -> bool {
        self.by_default && self.has(layer) && Self::BY_DEFAULT.has(layer)
    }

    fn set(&mut self, layer: Layer, is_on: bool) {
        match layer {
            Layer::Calls => {}
            Layer::Io => self.io = is_on,
            Layer::Rma => self.rma = is_on,
            Layer::Messages => self.messages = is_on,
            Layer::Algorithms => self.algorithms = is_on,
            Layer::Switches => self.switches = is_on,
            Layer::PointToPoint => self.p2p = is_on,
            Layer::Sites => self.sites = is_on,
            Layer::Scripts => {
                self.scripts = is_on;
                // They are parts of it.
                self.sites |= is_on;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(list: &str) -> Layers {
        Layers::of_list(list).unwrap()
    }

    #[test]
    fn names_are_the_whole_list_and_signs_change_the_default() {
        assert_eq!(of(""), Layers::default());
        assert_eq!(of("calls"), Layers::default());
        let messages = Layers {
            messages: true,
            ..Layers::default()
        };
        assert_eq!(of("calls,messages"), messages);
        let more = Layers {
            switches: true,
            ..Layers::BY_DEFAULT
        };
        assert_eq!(of("+switches"), more);
        let other = Layers {
            io: true,
            messages: false,
            ..Layers::BY_DEFAULT
        };
        assert_eq!(of("-messages,+io"), other);
        let all = of("all");
        assert!(Layer::ALL.iter().all(|&layer| all.has(layer)) && !all.by_default);
        assert!(of("calls,scripts").sites && !of("calls").sites && !of("all,-sites").sites);
        assert!(of("+scripts").sites && of("-scripts").sites && !of("-sites").sites);
        assert!(!of("all,-rma").rma && of("all,-rma").io);
        assert_eq!(of("calls,messages,+io,-messages").list(), "calls,+io");
    }

    #[test]
    fn a_list_that_leaves_calls_out_is_told_what_to_write() {
        let error = Layers::of_list("switches,io").unwrap_err().to_string();
        assert!(error.contains("--layers +switches,+io."), "{error}");
        assert!(error.contains("--layers calls,switches,io"), "{error}");
        assert_eq!(Layers::of_list("-calls"), Err(LayersError::NoCalls));
        let unknown = LayersError::Unknown("+telepathy".to_owned());
        assert_eq!(Layers::of_list("+telepathy"), Err(unknown));
    }

    #[test]
    fn lists_are_read_as_they_were_written() {
        let lists = [
            "",
            "calls,io",
            "+calls",
            "+io,-p2p",
            "-messages",
            "all",
            "all,-p2p",
            "+scripts",
            "calls,scripts",
        ];
        for list in lists {
            assert_eq!(of(&of(list).list()), of(list), "{list}");
        }
    }
}
