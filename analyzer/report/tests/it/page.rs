//! The page has what the screen has, and neither says anything twice.

use std::collections::BTreeSet;
use std::path::Path;

use collbench_analyzer::{Analysis, Options, RunFiles, Selection, analyze};
use collbench_formats::{
    CallSite, CallSiteChange, Definition, Layer, LayerState, NO_MODULE, Operation, Record,
    SiteFrame,
};
use collbench_report::{to_text_within, write_report};

use crate::built::{START, TestTrace, assert_has, call, split};
use crate::generated;

/// The analysis of a part of a run that a scenario of the tests describes.
fn of_scenario(file: &str, selection: &Selection) -> Analysis {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    collbench_generate::generate(&folder.join(file), &trace, None, false).unwrap();
    let options = Options {
        selection: selection.clone(),
        ..Options::default()
    };
    analyze(&RunFiles::open(&trace).unwrap(), &options, &mut |_| {}).unwrap()
}

/// The sentences of a screen behind dashes, and the first line, if it is an alarm. Remarks are without their
/// codes.
fn sentences_of_screen(analysis: &Analysis) -> Vec<String> {
    let screen = to_text_within(analysis, None, 120);
    let screen = generated::plain(&screen);
    let mut sentences: Vec<String> = Vec::new();
    let (mut is_open, mut is_remark) = (false, false);
    for line in screen.lines() {
        if line.starts_with("The trace is incomplete.") {
            sentences.push(line.to_owned());
        } else if let Some(sentence) = line.strip_prefix("  - ") {
            let bare = sentence.split_once(": ").filter(|_| is_remark);
            sentences.push(bare.map_or(sentence, |(_, bare)| bare).to_owned());
            is_open = true;
        } else if is_open && line.starts_with("    ") {
            let sentence = sentences.last_mut().unwrap();
            *sentence = format!("{sentence} {}", line.trim());
        } else {
            is_open = false;
            is_remark = line == "Remarks" || (is_remark && !line.is_empty());
        }
    }
    sentences
}

/// What is written on a page beside its pictures.
fn text_of(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, tag)) = rest.split_once('<') {
        text += before;
        text.push(' ');
        let skipped = ["svg", "style", "script"];
        let skipped = skipped.iter().find(|name| tag.starts_with(**name));
        rest = match skipped {
            Some(name) => tag.split_once(&format!("</{name}>")).unwrap().1,
            None => tag.split_once('>').unwrap().1,
        };
    }
    plain(&text)
}

/// Text without escapes and in one line.
fn plain(markup: &str) -> String {
    let escapes = [
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("\u{a0}", " "),
        ("&#38;", "&"),
    ];
    let all = escapes
        .iter()
        .fold(markup.to_owned(), |text, (from, to)| text.replace(from, to));
    generated::in_one_line(&all)
}

fn page_of(analysis: &Analysis) -> String {
    let directory = tempfile::tempdir().unwrap();
    write_report(analysis, directory.path(), 5).unwrap();
    std::fs::read_to_string(directory.path().join("index.html")).unwrap()
}

/// List items, and long values of tables, as the page has them.
fn sentences_of_page(page: &str) -> Vec<String> {
    let of = |element: &str| {
        let (open, close) = (format!("<{element}>"), format!("</{element}>"));
        let found = page.split(&open).skip(1);
        let found = found.map(|after| after.split(&close).next().unwrap());
        found.map(text_of_part).collect::<Vec<_>>()
    };
    let all = of("li").into_iter().chain(of("td"));
    all.filter(|sentence| sentence.len() > 60).collect()
}

fn text_of_part(markup: &str) -> String {
    text_of(&format!("{markup}<p>")).trim().to_owned()
}

fn assert_none_twice(sentences: &[String], what: &str) {
    let mut seen = BTreeSet::new();
    for sentence in sentences {
        let same = sentence.to_lowercase();
        let same = same.trim_end_matches('.').to_owned();
        assert!(seen.insert(same), "twice on {what}: {sentence}");
    }
}

/// Runs in which everything is found that there is a sentence for, or nearly so.
fn runs() -> Vec<(&'static str, Analysis)> {
    let whole = Selection::default();
    let few = Selection {
        operations: vec!["allreduce".into()],
        to_ns: Some(1_000_000),
        ..Selection::default()
    };
    let mut runs = vec![("a hang", TestTrace::hanging().analyze())];
    for file in [
        "tests/browser/scenarios/inside.toml",
        "tests/browser/scenarios/sixty-four.toml",
        "tests/browser/scenarios/hostile.toml",
        "analyzer/tests/scenarios/everything.toml",
        "analyzer/tests/scenarios/hosts.toml",
        "analyzer/tests/scenarios/inside_nonblocking.toml",
        "analyzer/tests/scenarios/verdicts/noise-on-one.toml",
        "analyzer/tests/scenarios/verdicts/moving.toml",
    ] {
        runs.push((file, of_scenario(file, &whole)));
    }
    let file = "tests/browser/scenarios/inside.toml";
    runs.push(("a part", of_scenario(file, &few)));
    runs
}

#[test]
fn every_sentence_of_the_screen_is_on_the_page_and_none_is_twice_on_either() {
    let mut n_sentences = 0;
    for (what, analysis) in runs() {
        let page = page_of(&analysis);
        let text = text_of(&page).to_lowercase();
        let sentences = sentences_of_screen(&analysis);
        assert_none_twice(&sentences, &format!("the screen of {what}"));
        assert_none_twice(&sentences_of_page(&page), &format!("the page of {what}"));
        for sentence in sentences {
            // How many are left out on the screen.
            if sentence.starts_with("and ") {
                continue;
            }
            let sought = generated::in_one_line(&sentence).to_lowercase();
            let sought = sought.trim_end_matches('.');
            assert!(
                text.contains(sought),
                "not on the page of {what}: {sentence}"
            );
            n_sentences += 1;
        }
    }
    assert!(n_sentences > 40, "{n_sentences}");
}

#[test]
fn the_verdict_of_a_run_that_hung_begins_with_who_waits_for_whom() {
    let page = page_of(&TestTrace::hanging().analyze());
    let verdict = page.split("<ul class=\"verdict\">").nth(1).unwrap();
    let first = text_of_part(verdict.split("</li>").next().unwrap());
    assert!(
        first.starts_with("Ranks 0-1, 3 have been waiting in MPI_Bcast")
            && first.contains("rank 2 never arrived"),
        "{first}"
    );
    assert!(!verdict.contains("see trace.damage"));
}

fn plain_screen(analysis: &Analysis) -> String {
    let screen = to_text_within(analysis, None, 100);
    generated::plain(&screen)
}

/// Six ranks with three communicators of one name, of two ranks each; on the last one rank 5 is late.
fn with_namesakes() -> Analysis {
    let mut trace = TestTrace::new(6);
    for process in &mut trace.processes {
        let rank = process.identity.rank;
        let pair = rank / 2;
        process.define(collbench_formats::Communicator {
            name: "columns".into(),
            ..split(2, 20 + u64::from(pair), &[2 * pair, 2 * pair + 1], rank, 0)
        });
    }
    for n in 0..100u64 {
        let at = 10_000 * n;
        for process in &mut trace.processes {
            let rank = u64::from(process.identity.rank);
            let late = match rank {
                5 => 4_000,
                _ => (n * 131 + rank * 37) % 90,
            };
            process.call(call(
                Operation::Allreduce,
                2,
                -1,
                8,
                (at + late, at + 5_000),
            ));
        }
    }
    trace.analyze()
}

#[test]
fn communicators_of_one_name_are_one_row_and_else_told_apart_by_id_and_ranks() {
    let analysis = with_namesakes();
    let screen = plain_screen(&analysis);
    let rows: Vec<&str> = screen
        .lines()
        .filter(|line| line.contains("columns (3)"))
        .collect();
    assert!(rows.len() == 1 && rows[0].contains(" 600 "), "{screen}");
    assert!(rows[0].contains("rank 5 (#"), "{screen}");
    let late = "rank 5 is late: it computes longer than the others, or is interrupted, before MPI_Allreduce on \
                columns #";
    assert!(generated::in_one_line(&screen).contains(late), "{screen}");
    let page = text_of(&page_of(&analysis));
    for ranks in ["(ranks 0-1)", "(ranks 2-3)", "(ranks 4-5)"] {
        assert!(page.contains(ranks), "{ranks}: {page}");
    }
    // In one look only what was asked for, by the id that the screen names.
    let id = analysis
        .communicators
        .iter()
        .find(|of| of.ranks.contains(&Some(5)) && of.size == 2);
    assert!(
        screen.contains(&format!("columns #{} (ranks 4-5)", id.unwrap().id)),
        "{screen}"
    );
}

#[test]
fn no_two_rows_of_a_screen_are_about_the_same() {
    for file in [
        "tests/browser/scenarios/sixty-four.toml",
        "analyzer/tests/scenarios/everything.toml",
    ] {
        let screen = plain_screen(&of_scenario(file, &Selection::default()));
        let table = screen.split("Operations by time").nth(1).unwrap();
        let rows = table
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with("  MPI_"));
        let mut seen = BTreeSet::new();
        for row in rows {
            let about = row.split("  ").filter(|cell| !cell.is_empty()).take(3);
            let about: Vec<&str> = about.collect();
            let bytes: Vec<&str> = row.split_whitespace().take(5).collect();
            assert!(seen.insert((about, bytes)), "{file}: {screen}");
        }
        assert!(seen.len() > 5, "{file}: {screen}");
    }
}

#[test]
fn of_one_instance_nothing_is_said_to_be_the_rule_and_no_share() {
    let mut trace = TestTrace::new(4);
    let enters = [0, 100, 3_000, 200];
    let stamps = enters.map(|enter| (enter, 3_500));
    trace.world(Operation::Allreduce, -1, 8, &stamps);
    let analysis = trace.analyze();
    let screen = generated::in_one_line(&plain_screen(&analysis));
    let expected = "- too few instances for a rule: 1 instance with a known last rank - in the one \
                    MPI_Allreduce on MPI_COMM_WORLD rank 2 arrives last: the others wait 8.70 us for it (";
    assert_has(&screen, expected);
    assert_has(&screen, " rank 2 (1 of 1)");
    assert!(
        !screen.contains("100 %") && !screen.contains("as a rule"),
        "{screen}"
    );
    let page = page_of(&analysis);
    assert!(page.contains("In the one instance of MPI_Allreduce rank 2 arrives last"));
    assert!(
        !page.contains("100 % of 1") && !page.contains("No rank stands out"),
        "{page}"
    );
}

#[test]
fn a_rank_that_arrives_last_in_all_of_several_instances_is_named_and_nobody_is_said_not_to_stand_out()
 {
    for (n_ranks, n_instances) in [(2, 2), (2, 5), (2, 7), (3, 5), (3, 14)] {
        let mut trace = TestTrace::new(n_ranks);
        for n in 0..n_instances {
            let at = 10_000 * n;
            let last = u64::from(n_ranks) - 1;
            let stamps: Vec<(u64, u64)> = (0..=last)
                .map(|rank| (at + if rank == last { 3_000 } else { 0 }, at + 3_100))
                .collect();
            trace.world(Operation::Allreduce, -1, 8, &stamps);
        }
        let analysis = trace.analyze();
        let screen = plain_screen(&analysis);
        let row = screen
            .lines()
            .find(|line| line.starts_with("  MPI_Allreduce"));
        let share = match n_instances {
            ..=9 => format!("{n_instances} of {n_instances}"),
            _ => "100 %".to_owned(),
        };
        let named = format!(" rank {} ({share})", n_ranks - 1);
        assert!(row.unwrap().ends_with(&named), "{screen}");
        let page = page_of(&analysis);
        for text in [&*screen, &*page] {
            let text = text.to_lowercase();
            assert!(!text.contains("no rank stands out as") && !text.contains("none stands out"));
            assert!(!text.contains("nobody stands out"));
        }
    }
}

#[test]
fn an_instance_is_found_in_the_time_that_is_said_of_it() {
    let mut trace = TestTrace::new(2);
    let mut at = 0;
    for n in 0..60u64 {
        // The last rank to arrive is late by most of the duration.
        let late = if n == 50 { 3_504_000 } else { 2_000 + n };
        at += 1_234_567;
        let stamps = [(at, at + late + 900), (at + late, at + late + 900)];
        trace.world(Operation::Allreduce, -1, 8, &stamps);
        at += late;
    }
    let screen = generated::in_one_line(&plain_screen(&trace.analyze()));
    let (_, said) = screen
        .split_once("MPI_Allreduce on MPI_COMM_WORLD at ")
        .unwrap();
    let ns = |text: &str| {
        let mut words = text.split([' ', ',']);
        let value: f64 = words.next().unwrap().parse().unwrap();
        let unit = match words.next().unwrap() {
            "s" => 1e9,
            "ms" => 1e6,
            other => panic!("{other}: {text}"),
        };
        (value * unit).round() as i64
    };
    let (_, took) = said.split_once(" took ").unwrap();
    let (from_ns, duration_ns) = (ns(said), ns(took));
    let part = trace.analyze_part(&Selection {
        from_ns: Some(from_ns),
        to_ns: Some(from_ns + duration_ns),
        ..Selection::default()
    });
    let longest = part.operations[0].duration_ns.as_ref().unwrap().max;
    assert!((longest - duration_ns).abs() < 10_000, "{longest}: {said}");
}

#[test]
fn the_ranks_of_a_place_are_those_of_all_communicators() {
    let mut trace = TestTrace::new(6);
    for (process, rank) in trace.processes.iter_mut().zip(0u32..) {
        let pair = [rank / 2 * 2, rank / 2 * 2 + 1];
        let layers = &mut process.identity.layers;
        layers.push(LayerState::new(Layer::Sites, true, ""));
        process.definitions.push(Definition::CallSite(CallSite {
            index: 0,
            frames: vec![SiteFrame {
                module: NO_MODULE,
                address: 16,
            }],
            is_whole: true,
        }));
        process.define(split(2, 10 + u64::from(pair[0]), &pair, rank, 0));
        let note = CallSiteChange { index: 0 }.words();
        process.call(Record::of_words(note, START + 1, 0));
        process.call(call(Operation::Bcast, 2, 0, 8, (100, 200)));
    }
    let analysis = trace.analyze();
    let text = collbench_report::by_site_to_text_within(&analysis, 100);
    let row = text
        .lines()
        .find(|line| line.contains(" MPI_Bcast "))
        .unwrap();
    let (_, cells) = row.split_once("MPI_Bcast").unwrap();
    let cells: Vec<&str> = cells.split_whitespace().collect();
    assert_eq!(cells[..2], ["6", "6"], "{text}");
}

#[test]
fn a_rank_for_which_nobody_waits_is_not_named_however_often_it_arrives_last() {
    let run = |late_ns: u64| {
        let mut trace = TestTrace::new(8);
        for n in 0..2_000u64 {
            let at = 20_000 * n;
            // Mostly somebody, by turns, comes 1 us late; every fifth time rank 3 does, by so much.
            let (late, by) = if n % 5 == 0 {
                (3, late_ns)
            } else {
                (n / 5 % 8, 1_000)
            };
            let stamps: Vec<(u64, u64)> = (0..8)
                .map(|rank| (at + if rank == late { by } else { 0 }, at + 16_000))
                .collect();
            trace.world(Operation::Allreduce, -1, 8, &stamps);
        }
        trace.analyze()
    };
    let row = |analysis: &Analysis| {
        let screen = plain_screen(analysis);
        let row = screen
            .lines()
            .find(|line| line.starts_with("  MPI_Allreduce"))
            .unwrap();
        row.trim_end().to_owned()
    };
    let nothing = run(20);
    assert!(row(&nothing).ends_with(" varies"), "{}", row(&nothing));
    let page = page_of(&nothing);
    assert!(page.contains("No rank stands out as the last to arrive at this MPI_Allreduce"));
    let much = run(5_000);
    assert!(row(&much).ends_with(" rank 3 (30 %)"), "{}", row(&much));
    assert!(page_of(&much).contains("Rank 3 arrives last in 30 %"));
}

/// What follows a beginning up to an end, wherever it is on a page.
fn between<'p>(page: &'p str, begin: &str, end: char) -> Vec<&'p str> {
    let found = page.split(begin).skip(1);
    found
        .filter_map(|after| Some(after.split_once(end)?.0))
        .collect()
}

#[test]
fn whatever_leads_to_an_instance_leads_to_one_that_is_there() {
    let mut n_links = 0;
    for (what, analysis) in runs() {
        let page = page_of(&analysis);
        let there: BTreeSet<&str> = between(&page, "<div class=\"timeline\" id=\"instance-", '"')
            .into_iter()
            .collect();
        let lists = between(&page, "data-columns=\"", '"').into_iter();
        let columns = lists
            .flat_map(|list| list.split(','))
            .filter(|to| !to.is_empty());
        let single = [" data-to=\"", "href=\"#instance-"];
        let single = single
            .into_iter()
            .flat_map(|begin| between(&page, begin, '"'));
        for to in single.chain(columns) {
            assert!(there.contains(to), "{what}: {to}");
            n_links += 1;
        }
        let n_shown = there.len();
        assert_eq!(n_shown == 0, analysis.instances.list.is_empty(), "{what}");
    }
    assert!(n_links > 1_000, "{n_links}");
}

#[test]
fn each_picture_has_the_command_that_exports_what_it_shows() {
    for (what, analysis) in runs() {
        let page = page_of(&analysis);
        let n_pictures = page.matches("<figure ").count();
        let n_instances = page.matches("<details class=\"instance\"").count();
        let commands = between(&page, "<pre><code>", '<');
        assert_eq!(commands.len(), n_pictures + n_instances, "{what}");
        let trace = format!("collbench-export {} ", analysis.trace.directory);
        for command in commands {
            assert!(command.starts_with(&trace), "{what}: {command}");
            let of_instance = command.contains(" -o instance-");
            assert_eq!(
                of_instance,
                command.contains(" --from "),
                "{what}: {command}"
            );
        }
    }
}

#[test]
fn the_verdict_and_outliers_lead_to_an_instance() {
    let whole = Selection::default();
    let page = page_of(&of_scenario("tests/browser/scenarios/four.toml", &whole));
    let verdict = page.split("<ul class=\"verdict\">").nth(1).unwrap();
    let first = verdict.split("</li>").next().unwrap();
    let number = between(first, "href=\"#instance-", '"');
    let heading = page
        .split(&format!("<h3 id=\"instance-{}-heading\">", number[0]))
        .nth(1)
        .unwrap();
    let heading = heading.split("</h3>").next().unwrap();
    assert!(heading.ends_with("rank 2 last"), "{heading}");
    let file = "analyzer/tests/scenarios/verdicts/noise-on-one.toml";
    let page = page_of(&of_scenario(file, &whole));
    let also = page.split("<h2 id=\"findings-3\">").nth(1).unwrap();
    let outliers = also.split("</ul>").next().unwrap().split("<li>");
    let outliers: Vec<&str> = outliers
        .filter(|sentence| sentence.contains("unusually long"))
        .collect();
    assert!(!outliers.is_empty(), "{also:.2000}");
    for outlier in outliers {
        assert_has(outlier, "its timeline</a>");
    }
}
