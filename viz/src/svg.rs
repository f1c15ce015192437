//! SVG from plotters, by our own backend.
//!
//! plotters provides scales, ticks, axes and layout; its own SVG backend has whole pixels only, no
//! classes or titles, and fixed colours. [`Backend`] draws in logical units of 1/10 px and leaves
//! colour, width and font to the style sheet. A [`Sheet`] is shared between the backend and its
//! user: the group that is open on the sheet while plotters draws determines class, data attributes
//! and title. Note: sizes that plotters takes in pixels (tick marks) must be given in tenths as
//! well.

use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::rc::Rc;

use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};

use crate::Text;
use crate::style::{self, Style};
use crate::text::{cut, escape};

/// Logical units per px.
pub(crate) const UNIT: i32 = 10;

/// Which end of a text is at its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn attribute(self) -> &'static str {
        match self {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        }
    }
}

/// The SVG document under construction. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Sheet {
    body: Rc<RefCell<String>>,
    width: u32,
    height: u32,
}

impl Sheet {
    /// An empty sheet of `width` x `height` px.
    pub(crate) fn new(width: u32, height: u32) -> Sheet {
        Sheet {
            body: Rc::default(),
            width,
            height,
        }
    }

    /// A plotters backend that draws into the open group of this sheet.
    pub(crate) fn backend(&self) -> Backend {
        Backend {
            sheet: self.clone(),
        }
    }

    fn write(&self, markup: &str) {
        self.body.borrow_mut().push_str(markup);
    }

    /// Runs `draw` inside a group: everything drawn meanwhile has `class`, the attributes
    /// `data-{name}`, and `title` as its tooltip (none if empty).
    pub(crate) fn group<T>(
        &self,
        class: &str,
        data: &[(&str, &str)],
        title: &str,
        draw: impl FnOnce() -> T,
    ) -> T {
        let mut tag = format!("<g class=\"{}\"", escape(class));
        for (name, value) in data {
            let _ = write!(tag, " data-{name}=\"{}\"", escape(value));
        }
        tag.push('>');
        if !title.is_empty() {
            let _ = write!(tag, "<title>{}</title>", escape(title));
        }
        self.write(&tag);
        let drawn = draw();
        self.write("</g>\n");
        drawn
    }

    /// One line of text with its baseline at `y`; logical units.
    pub(crate) fn text(&self, (x, y): BackendCoord, anchor: Anchor, class: &str, text: &str) {
        self.write(&format!(
            "<text class=\"{}\" x=\"{}\" y=\"{}\"{}>{}</text>\n",
            escape(class),
            tenths(x),
            tenths(y),
            anchor.attribute(),
            escape(text),
        ));
    }

    /// A rectangle between two corners; logical units.
    pub(crate) fn rectangle(&self, class: &str, from: BackendCoord, to: BackendCoord) {
        self.write(&format!(
            "<rect class=\"{}\"{}/>\n",
            escape(class),
            corners(from, to)
        ));
    }

    /// Rectangles given by two corners each, as one shape; logical units.
    pub(crate) fn rectangles(&self, class: &str, corners: &[(BackendCoord, BackendCoord)]) {
        self.write(&format!(
            "<path class=\"{}\" d=\"{}\"/>\n",
            escape(class),
            shape(corners)
        ));
    }

    /// Rectangles with the hatching of the picture `id`, as one shape.
    pub(crate) fn hatched_all(&self, id: &str, corners: &[(BackendCoord, BackendCoord)]) {
        let shape = shape(corners);
        self.write(&format!(
            "<path fill=\"url(#{id}-hatch)\" d=\"{shape}\"/>\n"
        ));
    }

    /// A rectangle with the hatching of the picture `id`.
    pub(crate) fn hatched(&self, id: &str, from: BackendCoord, to: BackendCoord) {
        self.write(&format!(
            "<rect fill=\"url(#{id}-hatch)\"{}/>\n",
            corners(from, to)
        ));
    }

    /// A circle, filled or not according to its class; logical units.
    pub(crate) fn ring(&self, class: &str, middle: BackendCoord, radius: i32) {
        self.write(&format!(
            "<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n",
            escape(class),
            tenths(middle.0),
            tenths(middle.1),
            tenths(radius)
        ));
    }

    /// An area between `corners`, in the style of its group; logical units.
    pub(crate) fn polygon(&self, corners: &[BackendCoord]) {
        let points = point_list(corners.iter().copied());
        self.write(&format!("<polygon points=\"{points}\"/>\n"));
    }

    /// An open line through `points`; logical units. Without a class it has the style of its group.
    pub(crate) fn polyline(&self, class: &str, points: &[BackendCoord]) {
        let class = match class {
            "" => String::new(),
            class => format!(" class=\"{}\"", escape(class)),
        };
        self.write(&format!(
            "<polyline{class} points=\"{}\"/>\n",
            point_list(points.iter().copied())
        ));
    }

    /// The whole document, an `svg` element whose ids and style rules are all below `id`.
    ///
    /// Its rules are those of all pictures, and those that it adds.
    pub(crate) fn finish(&self, id: &str, title: &Text, desc: &str, adds: &[Style<'_>]) -> String {
        let rules = rules_below(&format!("#{id}"), adds);
        let style = format!("<style>\n{rules}</style>\n");
        self.document((id, "picture"), title.as_str(), desc, &style)
    }

    /// The whole document, an `svg` element of some classes without style rules: the page has those of all of
    /// them, by [`rules_below`] one of the classes.
    pub(crate) fn finish_without_style(
        &self,
        (id, classes): (&str, &str),
        title: &str,
        desc: &str,
    ) -> String {
        self.document((id, classes), title, desc, "")
    }

    fn document(
        &self,
        (id, classes): (&str, &str),
        title: &str,
        desc: &str,
        style: &str,
    ) -> String {
        let (width, height) = (self.width, self.height);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"{id}\" class=\"{classes}\" \
             width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" aria-labelledby=\"{id}-title {id}-desc\">\n\
             <title id=\"{id}-title\">{title}</title>\n\
             <desc id=\"{id}-desc\">{desc}</desc>\n\
             {style}<defs><pattern id=\"{id}-hatch\" width=\"8\" height=\"8\" \
             patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
             <path class=\"hatch\" d=\"M0,0V8\"/></pattern></defs>\n\
             <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n\
             {body}</svg>\n",
            title = escape(title),
            desc = escape(desc),
            body = self.body.borrow(),
        )
    }
}

/// The rules of all pictures and those that are added, with every selector below another.
pub(crate) fn rules_below(selector: &str, adds: &[Style<'_>]) -> String {
    let rules = |of: for<'s> fn(&'s Style<'_>) -> &'s str| {
        let styles = [&style::ALL].into_iter().chain(adds);
        scoped(selector, styles.flat_map(|style| of(style).lines()))
    };
    format!(
        "{}@media screen and (prefers-color-scheme:dark){{\n{}}}\n",
        rules(|style| style.light),
        rules(|style| style.dark)
    )
}

/// The rules with every selector below another.
fn scoped<'r>(below: &str, rules: impl Iterator<Item = &'r str>) -> String {
    let mut all_below = String::new();
    for (selectors, body) in rules.filter_map(|rule| rule.split_once('{')) {
        let selectors: Vec<String> = selectors
            .split(',')
            .map(|s| format!("{below} {s}"))
            .collect();
        let _ = writeln!(all_below, "{}{{{body}", selectors.join(","));
    }
    all_below
}

/// px in logical units.
pub(crate) fn at(x: f64, y: f64) -> BackendCoord {
    let unit = f64::from(UNIT);
    ((x * unit).round() as i32, (y * unit).round() as i32)
}

/// Logical units in px with at most one decimal.
fn tenths(v: i32) -> String {
    let sign = if v < 0 { "-" } else { "" };
    let (whole, tenth) = (
        v.unsigned_abs() / UNIT as u32,
        v.unsigned_abs() % UNIT as u32,
    );
    if tenth == 0 {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{tenth}")
    }
}

fn corners(from: BackendCoord, to: BackendCoord) -> String {
    let (x, y) = (from.0.min(to.0), from.1.min(to.1));
    let (width, height) = (from.0.max(to.0) - x, from.1.max(to.1) - y);
    format!(
        " x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
        tenths(x),
        tenths(y),
        tenths(width),
        tenths(height)
    )
}

fn point_list(points: impl IntoIterator<Item = BackendCoord>) -> String {
    let mut list = String::new();
    for (x, y) in points {
        if !list.is_empty() {
            list.push(' ');
        }
        let _ = write!(list, "{},{}", tenths(x), tenths(y));
    }
    list
}

/// The path of rectangles given by two corners each.
fn shape(corners: &[(BackendCoord, BackendCoord)]) -> String {
    let mut path = String::new();
    for &(from, to) in corners {
        let (x, y) = (from.0.min(to.0), from.1.min(to.1));
        let (width, height) = (from.0.max(to.0) - x, from.1.max(to.1) - y);
        let _ = write!(
            path,
            "M{},{}h{}v{}h{}z",
            tenths(x),
            tenths(y),
            tenths(width),
            tenths(height),
            tenths(-width)
        );
    }
    path
}

/// Width of `text` in px in a sans-serif font of `size` px: an upper estimate, since the font is
/// the viewer's.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' => 0.3,
            ' ' | 'f' | 't' | 'r' | '(' | ')' | '-' | '/' => 0.39,
            'm' | 'w' | 'M' | 'W' | '%' => 0.92,
            'A'..='Z' | '_' => 0.7,
            _ if c.is_ascii() => 0.6,
            _ => 1.0,
        })
        .sum();
    ems * size
}

/// `text` of `size` px cut to `width` px.
pub(crate) fn fit(text: &str, width: f64, size: f64) -> String {
    let n_chars = (1..=text.chars().count()).rev();
    let mut fitting = n_chars.map(|n| cut(text, n));
    fitting
        .find(|text| text_width(text, size) <= width)
        .unwrap_or_default()
}

/// Draws for plotters into the open group of a [`Sheet`]; see the module documentation.
#[derive(Debug)]
pub(crate) struct Backend {
    sheet: Sheet,
}

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

fn paint(fill: bool) -> &'static str {
    if fill {
        " stroke=\"none\""
    } else {
        " fill=\"none\""
    }
}

impl DrawingBackend for Backend {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (
            self.sheet.width * UNIT as u32,
            self.sheet.height * UNIT as u32,
        )
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, at: BackendCoord, _color: BackendColor) -> Drawn {
        self.sheet
            .write(&format!("<rect{}/>\n", corners(at, (at.0 + 1, at.1 + 1))));
        Ok(())
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        _style: &S,
        fill: bool,
    ) -> Drawn {
        self.sheet
            .write(&format!("<rect{}{}/>\n", corners(from, to), paint(fill)));
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        _style: &S,
    ) -> Drawn {
        self.sheet
            .write(&format!("<polyline points=\"{}\"/>\n", point_list(path)));
        Ok(())
    }

    // The default of this method and of the next one draws single pixels.
    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        _style: &S,
        fill: bool,
    ) -> Drawn {
        self.sheet.write(&format!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{}/>\n",
            tenths(center.0),
            tenths(center.1),
            tenths(radius as i32),
            paint(fill)
        ));
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        _style: &S,
    ) -> Drawn {
        self.sheet
            .write(&format!("<polygon points=\"{}\"/>\n", point_list(corners)));
        Ok(())
    }

    fn draw_text<T: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &T,
        (x, y): BackendCoord,
    ) -> Drawn {
        let anchor = match style.anchor().h_pos {
            HPos::Left => Anchor::Start,
            HPos::Center => Anchor::Middle,
            HPos::Right => Anchor::End,
        };
        // Not every viewer supports dominant-baseline.
        let drop = match style.anchor().v_pos {
            VPos::Top => 0.76,
            VPos::Center => 0.35,
            VPos::Bottom => -0.24,
        };
        self.sheet
            .text((x, y + (drop * style.size()) as i32), anchor, "tick", text);
        Ok(())
    }

    fn estimate_text_size<T: BackendTextStyle>(
        &self,
        text: &str,
        style: &T,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        Ok((
            text_width(text, style.size()).ceil() as u32,
            style.size().ceil() as u32,
        ))
    }
}
