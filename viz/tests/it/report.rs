//! An example of the report, as a snapshot that opens in a browser, and properties of all.

use crate::examples::{HOSTILE, allreduce};
use base64::prelude::{BASE64_STANDARD, Engine};
use collbench_viz::{
    Align, Cell, Column, Fact, Figure, FigureGroup, Findings, Remark, Report, Table, Text,
};
use roxmltree::{Document, Node, ParsingOptions};
use sha2::{Digest, Sha256};

fn column(name: &str, align: Align) -> Column {
    Column {
        name: name.into(),
        align,
    }
}

fn report() -> Report {
    let fact = |name: &str, value: &str| Fact {
        name: name.into(),
        value: value.into(),
    };
    let figure = |n_ranks, ranks_per_host| Figure {
        heading: "Timemap".into(),
        caption: "Each line is a rank; how far it moves to the right in a row is the time it \
                  spends there."
            .into(),
        export: "collbench-export 'a b' --to parquet -o 1-MPI_Allreduce".into(),
        on_demand: n_ranks == 64,
        picture: allreduce(n_ranks, ranks_per_host).into(),
    };
    let group = |n_ranks, ranks_per_host| FigureGroup {
        heading: format!("MPI_Allreduce on {n_ranks} ranks").into(),
        row: (n_ranks == 64).then_some(0),
        finding: format!("Rank {} arrives last", n_ranks - 1).into(),
        facts: vec![fact("calls", "2,500")],
        figures: vec![figure(n_ranks, ranks_per_host)],
    };
    let operations = Table::new(
        [
            column("operation", Align::Left),
            column("instances", Align::Right),
            column("median duration", Align::Right),
            column("waiting", Align::Right),
        ],
        [
            [
                Cell::words("MPI_Allreduce"),
                Cell::number("2,500", 2_500),
                Cell::number("31.2 us", 31_200),
                Cell::number("71 %", 71),
            ],
            [
                Cell::words("MPI_Bcast"),
                Cell::number("12", 12),
                Cell::number("8.10 us", 8_100),
                Cell::words("not resolvable"),
            ],
        ],
    );
    let ranks = (0..64).map(|rank| {
        [
            Cell::number(format!("{rank}"), rank),
            Cell::words(format!("n{:02}", rank / 16 + 1)),
            Cell::number(format!("{} us", 900 + rank), 900 + rank),
        ]
    });
    Report {
        title: "lmp -in in.lj, 64 ranks".into(),
        lead: "64 ranks on 4 hosts; 44 % of the time of collectives is waiting.".into(),
        facts: vec![
            fact("command", "mpirun -n 64 lmp -in in.lj"),
            fact("hosts", "n01 n02 n03 n04"),
            fact("clock", "tsc, offsets measured, uncertainty 0.80 us"),
        ],
        verdict: "Rank 63 arrives last in 2,311 of 2,500 instances.\nThe others waited 71 % of \
                  the time of MPI_Allreduce for it."
            .into(),
        findings: Vec::new(),
        remarks: vec![Remark {
            code: "no-finalize".into(),
            text: "Rank 12 was killed inside MPI_Allreduce.".into(),
        }],
        operations,
        stages: Table::default(),
        paths: Table::default(),
        ranks: Table::new(
            [
                column("rank", Align::Right),
                column("host", Align::Left),
                column("wait", Align::Right),
            ],
            ranks,
        ),
        figures: Vec::new(),
        groups: vec![group(4, 2), group(64, 16)],
        closing: vec![figure(4, 2)],
        ..Report::default()
    }
}

/// The page is XML as well as HTML, so a strict parser can check it.
fn parse(page: &str) -> Document<'_> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(page, options).unwrap()
}

fn elements<'a>(document: &'a Document<'a>, name: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    document
        .descendants()
        .filter(move |node| node.tag_name().name() == name)
}

#[test]
fn the_report_of_two_pictures() {
    insta::assert_binary_snapshot!("report.html", report().to_html().into());
}

#[test]
fn an_empty_report_is_a_page_without_sections() {
    let page = Report {
        title: "nothing".into(),
        ..Report::default()
    }
    .to_html();
    let document = parse(&page);
    assert_eq!(
        elements(&document, "h1").next().unwrap().text(),
        Some("nothing")
    );
    assert_eq!(elements(&document, "section").count(), 0);
}

#[test]
fn findings_are_a_section_of_each_kind_that_has_any_and_are_text() {
    let findings = |heading: &str, sentences: &[&str]| Findings {
        heading: heading.into(),
        sentences: sentences.iter().map(|&sentence| sentence.into()).collect(),
    };
    let page = Report {
        title: "run".into(),
        findings: vec![
            findings("Algorithms", &["MPI_Bcast: binomial", "MPI_Scan: <b>"]),
            findings("Inside", &[]),
            findings("Also", &["an outlier"]),
        ],
        ..Report::default()
    }
    .to_html();
    let document = parse(&page);
    let texts = |name| {
        let found = elements(&document, name).filter_map(|node| node.text());
        found.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(texts("h2"), ["Algorithms", "Also"]);
    let links: Vec<&str> = elements(&document, "a")
        .filter_map(|a| a.attribute("href"))
        .collect();
    assert_eq!(links, ["#main", "#findings-1", "#findings-3"]);
    assert_eq!(
        texts("li"),
        ["MPI_Bcast: binomial", "MPI_Scan: <b>", "an outlier"]
    );
}

/// The text of the only script of a page.
fn script(page: &str) -> &str {
    let scripts: Vec<&str> = page.split("<script").skip(1).collect();
    assert_eq!(scripts.len(), 1);
    let text = scripts[0].strip_prefix('>').expect("no attributes");
    text.split_once("</script>").unwrap().0
}

#[test]
fn the_policy_lets_the_script_of_the_page_run_and_nothing_else() {
    let page = report().to_html();
    let hash = BASE64_STANDARD.encode(Sha256::digest(script(&page)));
    let document = parse(&page);
    let policy = elements(&document, "meta").find_map(|meta| {
        let is_policy = meta.attribute("http-equiv") == Some("Content-Security-Policy");
        is_policy.then(|| meta.attribute("content").unwrap())
    });
    let expected = format!(
        "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'"
    );
    assert_eq!(policy, Some(expected.as_str()));
}

#[test]
fn the_script_ends_where_it_says() {
    let page = report().to_html();
    let script = script(&page).to_lowercase();
    for end in ["</script", "<script", "<!--"] {
        assert!(!script.contains(end), "{end}");
    }
    assert!(!script.contains("innerhtml"), "text never becomes markup");
}

#[test]
fn nothing_is_loaded() {
    let page = report().to_html();
    let document = parse(&page);
    for node in document.descendants() {
        for attribute in node.attributes() {
            let name = attribute.name();
            assert!(name != "src" && !name.starts_with("on"), "{name}");
            assert!(
                name != "href" || attribute.value().starts_with('#'),
                "{name}"
            );
        }
    }
}

#[test]
fn pictures_keep_their_ids_and_styles_to_themselves() {
    let page = report().to_html();
    let document = parse(&page);
    let mut ids: Vec<&str> = document
        .descendants()
        .filter_map(|n| n.attribute("id"))
        .collect();
    let n_ids = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), n_ids, "every id once");
    let pictures: Vec<_> = elements(&document, "svg").collect();
    assert_eq!(pictures.len(), 3);
    for picture in pictures {
        let id = picture.attribute("id").unwrap();
        let style = picture.children().find(|n| n.tag_name().name() == "style");
        for rule in style
            .unwrap()
            .text()
            .unwrap()
            .lines()
            .filter(|line| line.contains('{'))
        {
            let is_scoped = rule
                .split('{')
                .next()
                .unwrap()
                .split(',')
                .all(|selector| selector.starts_with(&format!("#{id} ")));
            assert!(is_scoped || rule.starts_with("@media"), "{rule}");
        }
    }
    // References to ids lead to existing ones.
    for node in document.descendants() {
        let named = ["aria-labelledby"]
            .iter()
            .filter_map(|name| node.attribute(*name));
        let linked = node
            .attribute("href")
            .and_then(|href| href.strip_prefix('#'));
        let filled = node
            .attribute("fill")
            .and_then(|f| f.strip_prefix("url(#")?.strip_suffix(')'));
        for id in named
            .flat_map(str::split_whitespace)
            .chain(linked)
            .chain(filled)
        {
            assert!(ids.binary_search(&id).is_ok(), "{id}");
        }
    }
}

#[test]
fn tables_have_heads_for_columns_and_rows_and_long_ones_fold() {
    let page = report().to_html();
    let document = parse(&page);
    let scope =
        |scope| elements(&document, "th").filter(move |th| th.attribute("scope") == Some(scope));
    assert_eq!(scope("col").count(), 4 + 3);
    assert_eq!(scope("row").count(), 3 + 2 + 64 + 2);
    let tables = |details: &Node<'_, '_>| details.descendants().any(|n| n.has_tag_name("table"));
    let details: Vec<_> = elements(&document, "details").filter(tables).collect();
    assert_eq!(details.len(), 1);
    assert_eq!(
        details[0]
            .descendants()
            .filter(|n| n.tag_name().name() == "tr")
            .count(),
        1 + 64
    );
    let cell = elements(&document, "td")
        .find(|td| td.text() == Some("not resolvable"))
        .unwrap();
    assert_eq!(cell.attribute("class"), Some("number"));
}

#[test]
fn a_picture_on_demand_is_folded_and_the_closing_one_comes_after_all_others() {
    let page = report().to_html();
    let document = parse(&page);
    let is_folded = |figure: Node<'_, '_>| {
        let details = figure.children().find(|n| n.has_tag_name("details"));
        details.is_some_and(|details| details.descendants().any(|n| n.has_tag_name("svg")))
    };
    let folded: Vec<bool> = elements(&document, "figure").map(is_folded).collect();
    assert_eq!(folded, [false, true, false]);
    let closing = page.find("id=\"closing\"").unwrap();
    assert!(closing > page.find("id=\"ranks\"").unwrap());
    assert_eq!(page[closing..].matches("<svg").count(), 1);
    // On narrow screens the title is text, which is broken into lines.
    let titles = page.matches("<p class=\"narrow\" aria-hidden=\"true\"><b>Rank 3 arrives last:");
    assert_eq!(titles.count(), 2);
}

#[test]
fn hostile_text_is_text_and_nothing_else() {
    let hostile = || Text::from(HOSTILE);
    let name = || Column {
        name: hostile(),
        align: Align::Left,
    };
    let mut report = report();
    report.title = hostile();
    report.verdict = hostile();
    report.facts = vec![Fact {
        name: hostile(),
        value: hostile(),
    }];
    report.remarks = vec![Remark {
        code: hostile(),
        text: hostile(),
    }];
    report.lead = hostile();
    report.operations = Table::new(
        [name(), name()],
        [[Cell::words(hostile()), Cell::number(hostile(), 1)]],
    );
    let group = &mut report.groups[0];
    group.heading = hostile();
    group.finding = hostile();
    group.facts[0].name = hostile();
    group.facts[0].value = hostile();
    group.figures[0].heading = hostile();
    group.figures[0].caption = hostile();
    let page = report.to_html();
    assert!(page.chars().all(|c| c == '\n' || !c.is_control()));
    assert!(!page.contains(['\u{202e}', '\u{fffe}']));
    let document = parse(&page);
    let scripts: Vec<_> = elements(&document, "script").collect();
    assert_eq!(scripts.len(), 1, "only the page's own");
    assert_eq!(script(&page), script(&self::report().to_html()));
    let shown = elements(&document, "h1").next().unwrap().text().unwrap();
    assert!(
        shown.starts_with("</title></style></script><script>alert(1)</script>␛]0;x"),
        "{shown}"
    );
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    assert_eq!(report().to_html(), report().to_html());
}
