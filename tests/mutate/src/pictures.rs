//! What must not be in a picture: anything that no viewer can draw.

use roxmltree::Document;

/// Attributes that are lengths, which are not below 0.
const LENGTHS: [&str; 7] = [
    "width",
    "height",
    "r",
    "rx",
    "ry",
    "stroke-width",
    "font-size",
];
/// Those that hold no numbers.
const WORDS: [&str; 6] = ["id", "class", "href", "style", "font-family", "data-name"];

/// What is wrong with a picture (SVG): it is not well-formed, or a number in it is none, or a
/// length is below 0.
#[must_use]
pub fn impossible_picture(svg: &str) -> Option<String> {
    let document = match Document::parse(svg) {
        Ok(document) => document,
        Err(error) => return Some(format!("not well-formed: {error}")),
    };
    for element in document.descendants().filter(roxmltree::Node::is_element) {
        for attribute in element.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            let is_none = |word: &str| {
                let word = word.trim_start_matches('-').to_ascii_lowercase();
                ["nan", "inf", "infinity"].contains(&word.as_str())
            };
            let mut words = value.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            let is_no_number = !WORDS.contains(&name) && words.any(is_none);
            let is_no_length = LENGTHS.contains(&name) && value.trim().starts_with('-');
            if is_no_number || is_no_length {
                let element = element.tag_name().name();
                return Some(format!("<{element} {name}=\"{value}\">"));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_drawn_is_found() {
        assert_eq!(
            impossible_picture(r#"<svg width="5"><path id="inf" d="M -1 2"/></svg>"#),
            None
        );
        for wrong in [
            r#"<svg width="-5"/>"#,
            r#"<svg><path d="M NaN,3"/></svg>"#,
            r#"<svg><rect x="inf"/></svg>"#,
            r#"<svg><g transform="translate(-inf 3)"/></svg>"#,
            "<svg>",
        ] {
            assert!(impossible_picture(wrong).is_some(), "{wrong}");
        }
    }
}
