//! Validates documents against their schemas.
//!
//! Schemas that are made from types have few of the words of JSON Schema, and all of these are here: a package that
//! knows all words has fifty others. A schema with another word fails, so nothing is passed over.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

/// The pattern of keys that are numbers.
const NUMBERS: &str = r"^\d+$";

/// Reads a document that was written, and validates it against the schema that it names.
///
/// # Panics
/// If it is not JSON, has no schema, is not valid, or has a field of which its schema says nothing.
pub fn read(written: impl AsRef<[u8]>) -> Value {
    let document = serde_json::from_slice(written.as_ref());
    let document = document.unwrap_or_else(|error| {
        panic!(
            "not JSON: {error}: {}",
            String::from_utf8_lossy(written.as_ref())
        )
    });
    assert_valid(&document);
    document
}

fn assert_valid(document: &Value) {
    let name = document["schema"]
        .as_str()
        .unwrap_or("a document without a name");
    let text = fs::read_to_string(super::file(name));
    let text = text.unwrap_or_else(|error| panic!("{name} has no schema: {error}"));
    let schema = serde_json::from_str(&text).expect("schemas are JSON");
    let problems = problems(&schema, document, name);
    assert!(
        problems.is_empty(),
        "{name} is not valid:\n{}",
        problems.join("\n")
    );
}

/// What is wrong with a document, whose schema is that.
fn problems(root: &Value, document: &Value, name: &str) -> Vec<String> {
    let mut found = Found::default();
    found.add(root, root, document, name);
    found.problems
}

/// What was found of a value.
#[derive(Default)]
struct Found<'v> {
    problems: Vec<String>,
    /// Its keys of which a schema says something.
    known: BTreeSet<&'v str>,
}

impl<'v> Found<'v> {
    /// Adds what is wrong with a value inside this one.
    fn add(&mut self, root: &Value, schema: &Value, value: &'v Value, place: &str) {
        let mut of = Self::of(root, schema, value, place);
        for key in value
            .as_object()
            .into_iter()
            .flat_map(|object| object.keys())
        {
            if !of.known.contains(key.as_str()) {
                of.problems
                    .push(format!("{place}.{key}: the schema says nothing of it"));
            }
        }
        self.problems.append(&mut of.problems);
    }

    /// Adds what another schema says of the same value.
    fn join(&mut self, mut other: Self) {
        self.problems.append(&mut other.problems);
        self.known.append(&mut other.known);
    }

    fn of(root: &Value, schema: &Value, value: &'v Value, place: &str) -> Self {
        let mut found = Self::default();
        let words = schema.as_object().filter(|words| !words.is_empty());
        for (word, says) in
            words.unwrap_or_else(|| panic!("{place}: a schema that allows everything"))
        {
            let holds = match word.as_str() {
                "$schema" | "$defs" | "title" | "description" => true,
                "type" => match says {
                    Value::Array(types) => types.iter().any(|of| has_type(value, of)),
                    one => has_type(value, one),
                },
                "const" => value == says,
                "enum" => list(says).contains(value),
                "minimum" => value.as_f64().is_none_or(|of| Some(of) >= says.as_f64()),
                "maximum" => value.as_f64().is_none_or(|of| Some(of) <= says.as_f64()),
                "minItems" => value
                    .as_array()
                    .is_none_or(|of| Some(of.len() as u64) >= says.as_u64()),
                "maxItems" => value
                    .as_array()
                    .is_none_or(|of| Some(of.len() as u64) <= says.as_u64()),
                "required" => (list(says).iter().filter_map(Value::as_str))
                    .all(|key| !value.is_object() || value.get(key).is_some()),
                "items" | "prefixItems" => {
                    for (idx, inner) in value.as_array().into_iter().flatten().enumerate() {
                        let of = if word == "items" {
                            Some(says)
                        } else {
                            says.get(idx)
                        };
                        if let Some(of) = of {
                            found.add(root, of, inner, &format!("{place}[{idx}]"));
                        }
                    }
                    true
                }
                "properties" | "additionalProperties" | "patternProperties" => {
                    for (key, inner) in value.as_object().into_iter().flatten() {
                        let of = match word.as_str() {
                            "properties" => says.get(key),
                            "patternProperties" => {
                                says.get(NUMBERS).filter(|_| key.parse::<u64>().is_ok())
                            }
                            _ => (schema.get("properties").and_then(|own| own.get(key)))
                                .xor(Some(says)),
                        };
                        if let Some(of) = of {
                            found.known.insert(key);
                            found.add(root, of, inner, &format!("{place}.{key}"));
                        }
                    }
                    true
                }
                "$ref" => {
                    let pointer = says.as_str().and_then(|says| says.strip_prefix('#'));
                    let of = pointer.and_then(|pointer| root.pointer(pointer));
                    found.join(Self::of(
                        root,
                        of.expect("a schema that is there"),
                        value,
                        place,
                    ));
                    true
                }
                "allOf" => {
                    for of in list(says) {
                        found.join(Self::of(root, of, value, place));
                    }
                    true
                }
                "anyOf" | "oneOf" => {
                    let all = list(says).iter().map(|of| Self::of(root, of, value, place));
                    let (fit, not): (Vec<_>, Vec<_>) = all.partition(|of| of.problems.is_empty());
                    let holds = !fit.is_empty() && (word == "anyOf" || fit.len() == 1);
                    for of in if fit.is_empty() { not } else { fit } {
                        found.join(of);
                    }
                    holds
                }
                _ => panic!("{place}: a word that is not known here: {word}"),
            };
            if !holds {
                let value: String = value.to_string().chars().take(200).collect();
                found
                    .problems
                    .push(format!("{place}: not of {word} {says}: {value}"));
            }
        }
        found
    }
}

fn has_type(value: &Value, of: &Value) -> bool {
    match of.as_str().expect("types are text") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type: {other}"),
    }
}

fn list(says: &Value) -> &[Value] {
    says.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_wrong_is_found_at_its_place() {
        let root = json!({
            "$defs": { "Time": { "type": "integer", "minimum": 0 } },
            "type": "object",
            "required": ["time"],
            "properties": {
                "time": { "$ref": "#/$defs/Time" },
                "known": { "anyOf": [{ "$ref": "#/$defs/Time" }, { "type": "null" }] },
                "ends": { "type": "array", "items": { "oneOf": [
                    { "const": "rank" },
                    { "type": "object", "properties": { "host": { "type": "string" } }, "required": ["host"] },
                ] } },
                "pair": { "type": "array", "prefixItems": [{ "type": "number" }, { "enum": [1] }], "minItems": 2, "maxItems": 2 },
                "by_rank": { "type": "object", "patternProperties": { NUMBERS: { "type": ["number", "null"] } } },
                "by_name": { "type": "object", "additionalProperties": { "type": "boolean" } },
            },
        });
        let found = |document: &Value| problems(&root, document, "d").join("\n");
        let right = json!({
            "time": 1, "known": null, "ends": ["rank", { "host": "a" }], "pair": [0.5, 1],
            "by_rank": { "7": null }, "by_name": { "a": true },
        });
        assert_eq!(found(&right), "");
        for (at, wrong) in [
            ("d", json!([])),
            ("d", json!({})),
            ("d.time", json!({ "time": null })),
            ("d.time", json!({ "time": -1 })),
            ("d.time", json!({ "time": 1.5 })),
            ("d.more", json!({ "time": 1, "more": 1 })),
            ("d.known", json!({ "time": 1, "known": "1" })),
            ("d.ends[0]", json!({ "time": 1, "ends": ["host"] })),
            (
                "d.ends[1].more",
                json!({ "time": 1, "ends": ["rank", { "host": "a", "more": 1 }] }),
            ),
            ("d.pair", json!({ "time": 1, "pair": [1] })),
            ("d.pair[1]", json!({ "time": 1, "pair": [1, 2] })),
            ("d.by_rank.a", json!({ "time": 1, "by_rank": { "a": 1 } })),
            ("d.by_name.a", json!({ "time": 1, "by_name": { "a": 1 } })),
        ] {
            assert!(
                found(&wrong).contains(&format!("{at}: ")),
                "{wrong}: {}",
                found(&wrong)
            );
        }
    }
}
