//! What must not be in what people and programs are shown, by a route of its own.

/// The first character of a text that does something other than stand there: a control character
/// but for line feeds, or a mark that turns the direction of text or cannot be seen.
#[must_use]
pub fn active_text(text: &str) -> Option<(usize, char)> {
    text.char_indices().find(|&(_, c)| match c {
        '\n' => false,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{feff}' => true,
        _ => c.is_control(),
    })
}

/// What is wrong with markup (SVG, HTML): text of a mutation that became markup, or characters
/// that XML does not allow.
#[must_use]
pub fn broken_markup(markup: &str) -> Option<String> {
    if let Some((at, c)) = active_text(markup) {
        return Some(format!("{c:?} at {at}"));
    }
    if let Some((at, c)) = markup
        .char_indices()
        .find(|(_, c)| matches!(c, '\u{fffe}' | '\u{ffff}'))
    {
        return Some(format!("{c:?} at {at}"));
    }
    // The texts of mutations are made so that these are there only where they got through.
    let smuggled = ["<hostile", "&hostile;", "' hostile='"];
    smuggled
        .iter()
        .find(|text| markup.contains(**text))
        .map(|text| format!("{text} got through"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_something_is_found() {
        assert_eq!(active_text("a line\nanother, with ä and 𝄞"), None);
        for active in ["\u{1b}[2J", "\r", "\u{9b}", "\u{202e}", "\u{feff}", "\t"] {
            assert!(active_text(active).is_some(), "{active:?}");
        }
        assert_eq!(broken_markup("<p>&lt;hostile&gt;</p>"), None);
        assert!(broken_markup("<p><hostile></p>").is_some());
        assert!(broken_markup("<p>\u{ffff}</p>").is_some());
    }
}
