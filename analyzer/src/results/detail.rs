//! A part of the results that the document of a large run leaves out.

use std::ops::Deref;

use serde::de::IntoDeserializer;
use serde::de::value::UnitDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A part of the results that the document may leave out, as `null`; it may be in memory all the
/// same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(inline, into = "Option<T>")
)]
pub struct Detail<T> {
    value: T,
    is_left_out: bool,
}

impl<T> Detail<T> {
    /// Whether the document leaves it out.
    #[must_use]
    pub fn is_left_out(&self) -> bool {
        self.is_left_out
    }
}

impl<T> Deref for Detail<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> From<T> for Detail<T> {
    fn from(value: T) -> Self {
        Self {
            value,
            is_left_out: false,
        }
    }
}

impl<T> FromIterator<T> for Detail<Vec<T>> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        values.into_iter().collect::<Vec<T>>().into()
    }
}

impl<'a, T> IntoIterator for &'a Detail<T>
where
    &'a T: IntoIterator,
{
    type Item = <&'a T as IntoIterator>::Item;
    type IntoIter = <&'a T as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.value.into_iter()
    }
}

impl<T: Serialize> Serialize for Detail<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_left_out {
            serializer.serialize_none()
        } else {
            self.value.serialize(serializer)
        }
    }
}

impl<T> Detail<T> {
    /// Leaves it out of the document.
    pub(crate) fn leave_out(&mut self) {
        self.is_left_out = true;
    }
}

impl<T: Default> Detail<T> {
    /// Gives back its memory.
    pub(crate) fn forget(&mut self) {
        self.value = T::default();
    }
}

/// `null` is a detail that was left out; of those that may be `None`, it is `None`, and the
/// operation's `left_out` says whether it was left out.
impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Detail<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Option::<T>::deserialize(deserializer)?;
        let nothing: UnitDeserializer<D::Error> = ().into_deserializer();
        Ok(match value {
            Some(value) => value.into(),
            None => Self {
                value: T::default(),
                is_left_out: T::deserialize(nothing).is_err(),
            },
        })
    }
}
