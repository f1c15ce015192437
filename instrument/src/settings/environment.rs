//! The settings that collbench-record passes to the preloaded library in environment variables.

use std::path::PathBuf;

use collbench_formats::ClockSource;

use super::ExchangeSettings;
use super::layers::Layers;

const OUTPUT: &str = "COLLBENCH_OUTPUT";
const FORM: &str = "COLLBENCH_FORM";
const CLOCK: &str = "COLLBENCH_CLOCK";
const MAX_SIZE: &str = "COLLBENCH_MAX_SIZE";
const LAYERS: &str = "COLLBENCH_LAYERS";
/// Libraries that only wrap MPI.
const WRAPPERS: &str = "COLLBENCH_WRAPPERS";
const KEEP: &str = "COLLBENCH_KEEP";
const EXCHANGE: &str = "COLLBENCH_EXCHANGE";
const TREES: &str = "COLLBENCH_TREES";
const RECORD: &str = "COLLBENCH_RECORD";

/// Which process creates the trace directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// collbench-record runs the launcher, and has created the directory.
    Outer,
    /// collbench-record runs each rank; world rank 0 creates the directory, inside `MPI_Init`.
    Inner,
}

/// How to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The trace directory, absolute.
    pub output: PathBuf,
    /// Which process creates it.
    pub form: Form,
    /// The clock that was asked for; `None`: the default of the machine.
    pub clock: Option<ClockSource>,
    /// Upper limit of the size of a rank file, bytes; then recording stops.
    pub max_bytes: Option<u64>,
    /// Size of the ring per rank in which the newest records are retained, bytes; not together with
    /// `max_bytes`.
    pub keep_bytes: Option<u64>,
    /// What is recorded besides calls on communicators.
    pub layers: Layers,
    /// Libraries that only wrap MPI, besides those that are known: begins of their file names,
    /// separated by commas. The call site of a call is outside of them.
    pub wrappers: String,
    /// How hosts exchange stamps.
    pub exchange: ExchangeSettings,
    /// The file with the encoded [`TreeRules`](collbench_formats::tree::TreeRules) by which
    /// collectives are replaced, absolute and the same for all processes; `None`: all are the MPI
    /// library's. Only the process with world rank 0 reads it.
    pub trees: Option<PathBuf>,
    /// Whether calls are recorded.
    pub records: bool,
}

/// A variable with an invalid value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value}: expected {expected}; start programs with collbench-record")]
pub struct SettingsError {
    variable: &'static str,
    value: String,
    expected: &'static str,
}

impl Settings {
    /// The settings in this process's environment; `None` if there are none, so that nothing is
    /// recorded.
    ///
    /// # Errors
    /// [`SettingsError`] names the variable whose value is invalid.
    pub fn from_environment() -> Result<Option<Self>, SettingsError> {
        Self::from_variables(|name| {
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        })
        .map(|settings| {
            // A path need not be UTF-8.
            settings.map(|settings| Self {
                output: std::env::var_os(OUTPUT).map_or(settings.output, PathBuf::from),
                trees: settings
                    .trees
                    .and(std::env::var_os(TREES))
                    .map(PathBuf::from),
                ..settings
            })
        })
    }

    fn from_variables(
        get: impl Fn(&'static str) -> Option<String>,
    ) -> Result<Option<Self>, SettingsError> {
        let Some(output) = get(OUTPUT).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let wrong = |variable, value: String, expected| SettingsError {
            variable,
            value,
            expected,
        };
        let form = match get(FORM).as_deref() {
            Some("outer") => Form::Outer,
            Some("inner") | None => Form::Inner,
            Some(other) => return Err(wrong(FORM, other.into(), "outer or inner")),
        };
        let clock = match get(CLOCK) {
            None => None,
            Some(name) => match clock_of_name(&name) {
                Some(clock) => Some(clock),
                None => return Err(wrong(CLOCK, name, "tsc, raw or monotonic")),
            },
        };
        let bytes_in = |variable| match get(variable) {
            None => Ok(None),
            Some(text) => match text.parse() {
                Ok(bytes) => Ok(Some(bytes)),
                Err(_) => Err(wrong(variable, text, "a number of bytes")),
            },
        };
        let layers = match get(LAYERS) {
            None => Layers::default(),
            Some(list) => match Layers::of_list(&list) {
                Ok(layers) => layers,
                Err(_) => return Err(wrong(LAYERS, list, "names of layers, separated by commas")),
            },
        };
        let exchange = match get(EXCHANGE) {
            None => ExchangeSettings::default(),
            Some(word) => match ExchangeSettings::of_word(&word) {
                Ok(exchange) => exchange,
                Err(_) => return Err(wrong(EXCHANGE, word, "rounds, linear or off")),
            },
        };
        let records = match get(RECORD).as_deref() {
            Some("off") => false,
            Some("on") | None => true,
            Some(other) => return Err(wrong(RECORD, other.into(), "on or off")),
        };
        Ok(Some(Self {
            output: output.into(),
            form,
            clock,
            max_bytes: bytes_in(MAX_SIZE)?,
            keep_bytes: bytes_in(KEEP)?,
            layers,
            wrappers: get(WRAPPERS).unwrap_or_default(),
            exchange,
            trees: get(TREES)
                .filter(|path| !path.is_empty())
                .map(PathBuf::from),
            records,
        }))
    }
}

/// The clock with this name on the command line.
#[must_use]
pub fn clock_of_name(name: &str) -> Option<ClockSource> {
    match name {
        "tsc" => Some(ClockSource::Tsc),
        "raw" => Some(ClockSource::MonotonicRaw),
        "monotonic" => Some(ClockSource::Monotonic),
        _ => None,
    }
}

/// The name of this clock on the command line.
#[must_use]
pub fn name_of_clock(clock: ClockSource) -> &'static str {
    match clock {
        ClockSource::Tsc => "tsc",
        ClockSource::MonotonicRaw => "raw",
        ClockSource::Monotonic => "monotonic",
    }
}

/// The variables that hold `settings`; those with `None` must not be set.
#[must_use]
pub fn environment_of(settings: &Settings) -> [(&'static str, Option<std::ffi::OsString>); 10] {
    let form = match settings.form {
        Form::Outer => "outer",
        Form::Inner => "inner",
    };
    [
        (OUTPUT, Some(settings.output.clone().into_os_string())),
        (FORM, Some(form.into())),
        (
            CLOCK,
            settings.clock.map(|clock| name_of_clock(clock).into()),
        ),
        (
            MAX_SIZE,
            settings.max_bytes.map(|bytes| bytes.to_string().into()),
        ),
        (LAYERS, Some(settings.layers.list().into())),
        (
            WRAPPERS,
            (!settings.wrappers.is_empty()).then(|| settings.wrappers.clone().into()),
        ),
        (
            KEEP,
            settings.keep_bytes.map(|bytes| bytes.to_string().into()),
        ),
        (EXCHANGE, Some(settings.exchange.word().into())),
        (TREES, settings.trees.clone().map(PathBuf::into_os_string)),
        (RECORD, (!settings.records).then(|| "off".into())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_parsed_from_their_variables() {
        let settings = Settings {
            output: "/tmp/x y".into(),
            form: Form::Outer,
            clock: Some(ClockSource::MonotonicRaw),
            max_bytes: Some(1 << 20),
            layers: Layers {
                io: true,
                rma: true,
                messages: true,
                algorithms: true,
                switches: true,
                p2p: true,
                sites: true,
                scripts: false,
                by_default: false,
            },
            wrappers: "libcomm,libhal.".into(),
            keep_bytes: Some(1 << 21),
            exchange: ExchangeSettings::of_word("linear:2.5").unwrap(),
            trees: Some("/tmp/x.trees".into()),
            records: false,
        };
        let variables = environment_of(&settings);
        let get = |name| {
            let (_, value) = variables.iter().find(|(key, _)| *key == name)?;
            value
                .as_ref()
                .map(|value| value.to_string_lossy().into_owned())
        };
        assert_eq!(Settings::from_variables(get), Ok(Some(settings)));
    }

    #[test]
    fn nothing_is_recorded_without_a_directory_and_nonsense_is_named() {
        assert_eq!(Settings::from_variables(|_| None), Ok(None));
        let get = |name| match name {
            OUTPUT => Some("/tmp/x".to_owned()),
            CLOCK => Some("sundial".to_owned()),
            _ => None,
        };
        let error = Settings::from_variables(get).unwrap_err().to_string();
        assert!(error.contains("COLLBENCH_CLOCK=sundial"), "{error}");
    }
}
