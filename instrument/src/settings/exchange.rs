//! The user's choice of how, and how often, hosts exchange stamps.

use std::time::Duration;

/// How the clocks of a group of H hosts are measured against that of its first host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// In ceil(log2 H) rounds of pairs that exchange at the same time.
    Rounds,
    /// The first host with each of the others, one after the other: H - 1 rounds.
    Linear,
}

/// How hosts exchange stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeSettings {
    /// `None`: not at all.
    pub scheme: Option<Scheme>,
    /// Time between in-run measurements; zero: none. `None`: chosen by the network.
    pub every: Option<Duration>,
}

impl Default for ExchangeSettings {
    fn default() -> Self {
        Self {
            scheme: Some(Scheme::Rounds),
            every: None,
        }
    }
}

impl ExchangeSettings {
    /// Parses `rounds`, `linear` or `off`, optionally followed by `:SECONDS`.
    ///
    /// # Errors
    /// A description of what was expected.
    pub fn of_word(word: &str) -> Result<Self, String> {
        let (name, seconds) = match word.split_once(':') {
            None => (word, None),
            Some((name, seconds)) => (name, Some(seconds)),
        };
        let scheme = match name {
            "rounds" => Some(Scheme::Rounds),
            "linear" => Some(Scheme::Linear),
            "off" if seconds.is_none() => None,
            _ => return Err("expected rounds, linear or off".to_owned()),
        };
        let every = seconds
            .map(|seconds| {
                let number = seconds.parse().ok();
                number
                    .and_then(|number| Duration::try_from_secs_f64(number).ok())
                    .ok_or_else(|| format!("{seconds:?}: expected a number of seconds"))
            })
            .transpose()?;
        Ok(Self { scheme, every })
    }

    /// The word that [`of_word`](Self::of_word) parses.
    #[must_use]
    pub fn word(self) -> String {
        let name = match self.scheme {
            Some(Scheme::Rounds) => "rounds",
            Some(Scheme::Linear) => "linear",
            None => return "off".to_owned(),
        };
        match self.every {
            None => name.to_owned(),
            Some(every) => format!("{name}:{}", every.as_secs_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_parsed_from_their_words() {
        for word in [
            "rounds",
            "linear",
            "off",
            "rounds:5",
            "linear:0.25",
            "rounds:0",
        ] {
            assert_eq!(ExchangeSettings::of_word(word).unwrap().word(), word);
        }
        for word in ["", "off:5", "circles", "rounds:", "rounds:-1", "linear:NaN"] {
            assert!(ExchangeSettings::of_word(word).is_err(), "{word}");
        }
    }
}
