//! The frame of every picture: the width of the sheet, the title, the lines below it, and what
//! happens if drawing fails.

use std::convert::Infallible;

use plotters::prelude::DrawingAreaErrorKind;

use crate::Text;
use crate::svg::{Anchor, Sheet, UNIT};
use crate::text::wrap;

/// Width of every picture, in px.
pub(crate) const WIDTH: u32 = 960;
/// Margin at the left and the right edge, in px.
pub(crate) const MARGIN: u32 = 16;

/// Characters per line of the title: with 18 px bold in the widest of the usual fonts (DejaVu Sans,
/// 0.7 em per character) they still fit the sheet.
const HEADING_CHARS: usize = 76;
const SUBTITLE_CHARS: usize = 140;
// In px.
const TOP: u32 = 10;
const TITLE_LINE: u32 = 24;
const SUBTITLE_LINE: u32 = 16;

/// The error of plotters when it refuses a layout, which is possible in theory only.
pub(crate) type Refusal = DrawingAreaErrorKind<Infallible>;
/// Result of drawing.
pub(crate) type Drawn = Result<(), Refusal>;

/// The text at the top: the finding, and what the picture is of.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    title: Vec<String>,
    subtitle: Vec<String>,
}

impl Head {
    /// The finding as a title of up to six lines, `subtitle` below it in up to two.
    pub(crate) fn new(finding: &Text, subtitle: &str) -> Head {
        Head {
            title: wrap(finding.as_str(), HEADING_CHARS, 6),
            subtitle: wrap(subtitle, SUBTITLE_CHARS, 2),
        }
    }

    /// Lower end of the text, in px from the top.
    pub(crate) fn bottom(&self) -> u32 {
        TOP + TITLE_LINE * self.title.len() as u32 + SUBTITLE_LINE * self.subtitle.len() as u32
    }

    /// A sheet of this height, px, with the text.
    pub(crate) fn sheet(&self, height: u32) -> Sheet {
        let sheet = Sheet::new(WIDTH, height);
        self.draw(&sheet);
        sheet
    }

    pub(crate) fn draw(&self, sheet: &Sheet) {
        let x = MARGIN as i32 * UNIT;
        let mut y = TOP as i32;
        for line in &self.title {
            y += TITLE_LINE as i32;
            sheet.text((x, (y - 4) * UNIT), Anchor::Start, "heading", line);
        }
        for line in &self.subtitle {
            y += SUBTITLE_LINE as i32;
            sheet.text((x, y * UNIT), Anchor::Start, "minor", line);
        }
    }
}

/// Writes on the picture that plotters refused to draw; its texts remain readable.
pub(crate) fn report_refusal(drawn: Drawn, sheet: &Sheet, (x, y): (u32, u32)) {
    if let Err(error) = drawn {
        let at = (x as i32 * UNIT, y as i32 * UNIT);
        let words = format!("could not be drawn: {error}");
        sheet.text(at, Anchor::Start, "name", &words);
    }
}
