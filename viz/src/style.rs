//! The look of all pictures: one style sheet, so that a colour has the same meaning in each.
//!
//! Series differ in colour and in dash pattern, never in colour alone: Okabe and Ito's colours, the
//! strongest against white first, and no dash pattern twice. Some SVG viewers do not support custom
//! properties, so the colours are written out. One rule per line: each is put below the picture's
//! id.

const N_COLORS: usize = 7;
/// Number of dash patterns; up to this many series have different ones.
pub(crate) const N_DASHES: usize = 8;

/// The classes of series `idx`. Colours and dashes repeat with different periods, so no pair
/// repeats below 56.
pub(crate) fn series(idx: usize) -> String {
    format!("{} d{}", color(idx), idx % N_DASHES)
}

/// The class of colour `idx` alone.
pub(crate) fn color(idx: usize) -> String {
    format!("k{}", idx % N_COLORS)
}

/// The class of dash pattern `idx` alone.
pub(crate) fn dash(idx: usize) -> String {
    format!("d{}", idx % N_DASHES)
}

/// Rules of a style sheet, one a line.
#[derive(Clone, Copy)]
pub(crate) struct Style<'a> {
    /// For light paper, and for print.
    pub(crate) light: &'a str,
    /// Differences on a dark screen.
    pub(crate) dark: &'a str,
}

/// Those of all pictures.
pub(crate) const ALL: Style<'static> = Style {
    light: "\
text{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;font-size:12px;fill:#1a1a1a}
.paper{fill:#fff}
.heading{font-size:18px;font-weight:600}
.name{font-weight:600}
.minor,.tick{fill:#4d4d4d;font-size:11px}
.label,.length{font-size:11px;stroke:#fff;stroke-width:3px;paint-order:stroke}
.row{fill:#f4f4f4}
.core{fill:#e6e6e6}
.core-bar{fill:#c2c2c2;stroke:#767676;stroke-width:1px}
.error{fill:#8c8c8c;fill-opacity:.25}
.hatch{stroke:#a6a6a6;stroke-width:2px;fill:none}
.grid polyline{stroke:#dcdcdc;stroke-width:1px;fill:none}
.axis polyline{stroke:#4d4d4d;stroke-width:1px;fill:none}
.zero{stroke:#1a1a1a;stroke-width:1px;fill:none}
.leader{stroke:#8c8c8c;stroke-width:.7px;fill:none}
polyline.line,.line polyline{stroke-width:1.8px;stroke-linejoin:round;fill:none}
.line:hover polyline{stroke-width:4px}
.thin polyline,polyline.thin{stroke:#4d4d4d;stroke-width:.7px;stroke-opacity:.55;fill:none}
.k0{stroke:#0072b2;fill:#0072b2}
.k1{stroke:#d55e00;fill:#d55e00}
.k2{stroke:#009e73;fill:#009e73}
.k3{stroke:#cc79a7;fill:#cc79a7}
.k4{stroke:#000;fill:#000}
.k5{stroke:#e69f00;fill:#e69f00}
.k6{stroke:#56b4e9;fill:#56b4e9}
.extreme{stroke:#000;fill:#000}
.d1{stroke-dasharray:7 3}
.d2{stroke-dasharray:2 2}
.d3{stroke-dasharray:9 3 2 3}
.d4{stroke-dasharray:14 4}
.d5{stroke-dasharray:12 3 2 3 2 3}
.d6{stroke-dasharray:20 3 5 3}
.d7{stroke-dasharray:4 6}
circle{stroke-dasharray:none}
.outer{fill-opacity:.16;stroke:none}
.inner{fill-opacity:.32;stroke:none}
",
    dark: "\
text{fill:#e6e6e6}
.paper{fill:#161616}
.minor,.tick{fill:#b8b8b8}
.label,.length{stroke:#161616}
.row{fill:#212121}
.core{fill:#303030}
.core-bar{fill:#4a4a4a;stroke:#8c8c8c}
.hatch{stroke:#666}
.grid polyline{stroke:#383838}
.axis polyline{stroke:#b8b8b8}
.zero{stroke:#e6e6e6}
.thin polyline,polyline.thin{stroke:#b8b8b8}
.k0{stroke:#3d9bd6;fill:#3d9bd6}
.k1{stroke:#f07d22;fill:#f07d22}
.k2{stroke:#1fbf92;fill:#1fbf92}
.k4,.extreme{stroke:#fff;fill:#fff}
",
};

/// Rules that charts of one quantity over another add to [`ALL`].
pub(crate) const CHART: Style<'static> = Style {
    light: "\
.point{stroke:none}
.fit polyline,polyline.fit-line{stroke:#4d4d4d;stroke-width:1px;stroke-dasharray:5 4;fill:none}
.slow{fill:#d55e00;stroke:#d55e00;stroke-width:1px}
.ring{fill:none;stroke:#1a1a1a;stroke-width:1.2px}
.mark{fill:none;stroke:#1a1a1a;stroke-width:1.4px;pointer-events:none}
.bar:hover rect{fill-opacity:.6}
",
    dark: "\
.fit polyline,polyline.fit-line{stroke:#b8b8b8}
.slow{fill:#f07d22;stroke:#f07d22}
.ring,.mark{stroke:#e6e6e6}
",
};

/// Rules of heat maps. The shades differ in lightness.
pub(crate) const HEAT: Style<'static> = Style {
    light: "\
.blank{fill:none;pointer-events:all}
.step0{fill:#deebf7}
.step1{fill:#c6dbef}
.step2{fill:#9ecae1}
.step3{fill:#6baed6}
.step4{fill:#4292c6}
.step5{fill:#2171b5}
.step6{fill:#084594}
.number{font-size:11px}
.ranks rect,.ranks path{shape-rendering:crispEdges}
.on5,.on6{fill:#fff}
.outline{fill:none;stroke:#767676;stroke-width:1px}
.frame{fill:none;stroke:#a6a6a6;stroke-width:1px}
.cell:hover rect,.ranks:hover path{stroke:#1a1a1a;stroke-width:1px}
.bar-room{fill:#f4f4f4}
.bar{fill:#767676}
",
    dark: "\
.step0{fill:#1d2b3a}
.step1{fill:#1e3c58}
.step2{fill:#205078}
.step3{fill:#2a6aa0}
.step4{fill:#4a8fcb}
.step5{fill:#86b9e8}
.step6{fill:#d4e8fb}
.on4,.on5,.on6{fill:#111}
.cell:hover rect,.ranks:hover path{stroke:#e6e6e6}
.frame{stroke:#666}
.bar-room{fill:#212121}
.bar{fill:#8c8c8c}
",
};

/// Rules that trees and message matrices add to [`HEAT`]: usual hops are pale, and those that take far longer than
/// the median of their kind differ from all others in hue.
pub(crate) const TREE: Style<'static> = Style {
    light: "\
.way{fill:none;stroke-linejoin:round}
.hop0 polyline{stroke:#9ecae1;stroke-width:1.4px}
.hop1 polyline{stroke:#4292c6;stroke-width:2.4px}
.hop2 polyline{stroke:#084594;stroke-width:3.2px}
.hop3 polyline{stroke:#d55e00;stroke-width:4px}
.field0{fill:#9ecae1}
.field1{fill:#4292c6}
.field2{fill:#084594}
.field3{fill:#d55e00}
.hop-unknown polyline{stroke:#8c8c8c;stroke-width:1.2px;stroke-dasharray:2 2}
.node{stroke:#4d4d4d;stroke-width:1px}
.unknown{fill:#fff;stroke:#8c8c8c;stroke-width:1px}
.border{stroke:#8c8c8c;stroke-width:1px;fill:none}
",
    dark: "\
.hop0 polyline{stroke:#205078}
.hop1 polyline{stroke:#4a8fcb}
.hop2 polyline{stroke:#d4e8fb}
.hop3 polyline{stroke:#f07d22}
.field0{fill:#205078}
.field1{fill:#4a8fcb}
.field2{fill:#d4e8fb}
.field3{fill:#f07d22}
.node{stroke:#b8b8b8}
.unknown{fill:#161616}
",
};

/// Rules that timelines of instances add to [`ALL`]: what is waiting is pale.
pub(crate) const TIMELINE: Style<'static> = Style {
    light: "\
.wait{fill:#f2b880}
.work{fill:#0072b2}
.pending{fill:#8c8c8c}
.call:hover .work{fill:#004c78}
.call:hover .wait{fill:#e08a3c}
.beside{opacity:.35}
.late{fill:#d55e00}
.frame{fill:none;stroke:#a6a6a6;stroke-width:1px}
.arrival{stroke:#d55e00;stroke-width:1.6px;stroke-dasharray:5 3;fill:none;vector-effect:non-scaling-stroke}
.message polyline{stroke:#1a1a1a;stroke-width:1px;stroke-opacity:.6;fill:none;vector-effect:non-scaling-stroke}
.message:hover polyline{stroke:#d55e00;stroke-width:3px;stroke-opacity:1}
.head{fill:#1a1a1a}
.slow polyline{stroke:#d55e00;stroke-width:2px;stroke-opacity:1}
.slow .head{fill:#d55e00}
.label{font-weight:600}
",
    dark: "\
.wait{fill:#8a5a24}
.work{fill:#56b4e9}
.call:hover .work{fill:#a8dcff}
.call:hover .wait{fill:#c98a4a}
.frame{stroke:#666}
.arrival{stroke:#f07d22}
.late{fill:#f07d22}
.message polyline{stroke:#e6e6e6}
.message:hover polyline{stroke:#f07d22}
.head{fill:#e6e6e6}
.slow polyline{stroke:#f07d22}
.slow .head{fill:#f07d22}
",
};

/// Rules that graphs add to [`ALL`].
pub(crate) const GRAPH: Style<'static> = Style {
    light: "\
.node{fill:#f4f4f4;stroke:#767676;stroke-width:1px}
.culprit{stroke:#1a1a1a;stroke-width:3px}
.edge{fill:#8fb8d8;stroke:none}
.edge:hover{fill-opacity:.7}
.heavy{fill:#d55e00;stroke:#1a1a1a;stroke-width:1.2px}
.heavy-middle{fill:none;stroke:#1a1a1a;stroke-width:1.4px;stroke-dasharray:7 4}
.never{fill:none;stroke:#a6a6a6;stroke-width:1px;stroke-dasharray:1.5 4}
",
    dark: "\
.node{fill:#212121;stroke:#8c8c8c}
.culprit{stroke:#e6e6e6}
.edge{fill:#3b6a8f}
.heavy{fill:#c25a10;stroke:#e6e6e6}
.heavy-middle{stroke:#fff}
.never{fill:none;stroke:#666}
",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heat_map::N_STEPS;

    #[test]
    fn no_two_dashes_are_the_same() {
        let dash_of = |idx: usize| {
            let rule = ALL
                .light
                .lines()
                .find_map(|line| line.strip_prefix(&format!(".{}{{", dash(idx))));
            rule.unwrap_or("solid")
        };
        let mut dashes: Vec<&str> = (0..N_DASHES).map(dash_of).collect();
        dashes.sort_unstable();
        dashes.dedup();
        assert_eq!(dashes.len(), N_DASHES);
    }

    /// Relative luminance of the shades of a heat map, by WCAG.
    fn step_luminances(rules: &str) -> Vec<f64> {
        let steps = (0..N_STEPS).map(|step| {
            let rule = rules.split(&format!(".step{step}{{fill:#")).nth(1).unwrap();
            let channel = |at: usize| {
                let value = u8::from_str_radix(&rule[at..at + 2], 16).unwrap();
                let value = f64::from(value) / 255.0;
                if value <= 0.04045 {
                    value / 12.92
                } else {
                    ((value + 0.055) / 1.055).powf(2.4)
                }
            };
            0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4)
        });
        steps.collect()
    }

    #[test]
    fn steps_differ_in_lightness_alone() {
        for (rules, is_dark) in [(HEAT.light, false), (HEAT.dark, true)] {
            let luminances = step_luminances(rules);
            for pair in luminances.windows(2) {
                let (low, high) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
                assert_eq!(pair[0] < pair[1], is_dark);
                assert!((high + 0.05) / (low + 0.05) > 1.15, "{pair:?}");
            }
        }
    }

    #[test]
    fn no_two_of_56_series_look_the_same() {
        let mut looks: Vec<String> = (0..56).map(series).collect();
        looks.sort_unstable();
        looks.dedup();
        assert_eq!(looks.len(), 56);
        for idx in 0..N_COLORS {
            assert!(ALL.light.contains(&format!("\n.k{idx}{{")), "colour {idx}");
        }
    }
}
