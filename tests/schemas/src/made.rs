//! From a type to its schema.

use std::{env, fs};

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// Set by `make schemas`: schemas are written, not compared.
const WRITE: &str = "COLLBENCH_WRITE_SCHEMAS";

/// Compares the schema of a document with the type that is written.
///
/// # Panics
/// If they differ; the message says how to make the schema anew.
pub fn check<T: JsonSchema + ?Sized>(document: &str) {
    let file = super::file(document);
    let made = made::<T>(document);
    if env::var_os(WRITE).is_some() {
        fs::create_dir_all(file.parent().expect("it is in a folder"))
            .expect("a folder that can be made");
        fs::write(&file, made).expect("a file that can be written");
    } else {
        let kept = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            kept == made,
            "{} is not what the types say: run `make schemas`, and look at what has changed: fields may be added, but not renamed",
            file.display()
        );
    }
}

fn made<T: JsonSchema + ?Sized>(document: &str) -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("title".into(), document.into());
    let properties = schema
        .ensure_object()
        .entry("properties")
        .or_insert_with(|| json!({}));
    properties["schema"] =
        json!({ "const": document, "description": "Name and version of the document." });
    RecursiveTransform(as_shown).transform(&mut schema);
    format!("{:#}\n", schema.to_value())
}

/// Descriptions for those who read JSON, and no object that newer versions must not add fields to.
fn as_shown(schema: &mut Schema) {
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        schema.remove("additionalProperties");
    }
    // Everything is written, and sizes of integers are not of JSON Schema.
    schema.remove("default");
    schema.remove("format");
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace("`None`", "`null`").replace('\n', " ");
        // Links of Rust.
        *text = text.replace("[`", "`").replace("`]", "`");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is needed")]
    struct Document {
        schema: &'static str,
        /// `None` where it is
        /// unknown, as in [`Document`].
        #[serde(skip_serializing_if = "Option::is_none")]
        left_out: Option<u32>,
        end: Option<End>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is needed")]
    enum End {
        Rank(u32),
        Host(String),
    }

    #[test]
    fn a_schema_says_what_is_written_and_allows_more() {
        let made = made::<Document>("collbench.end/1");
        let schema: Value = made.parse().unwrap();
        assert_eq!(schema["required"], json!(["schema", "end"]));
        let properties = &schema["properties"];
        assert_eq!(properties["schema"]["const"], "collbench.end/1");
        let text = "`null` where it is unknown, as in `Document`.";
        assert_eq!(properties["left_out"]["description"], text);
        assert!(!made.contains("additionalProperties"), "{made}");
    }
}
