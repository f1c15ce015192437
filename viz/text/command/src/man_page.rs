//! Man pages of the commands: what clap_mangen renders, with sections of their own for examples, exit
//! status and environment, and with a short synopsis.

use std::io;

/// What a paragraph of the help begins with, and the section that it becomes.
const SECTIONS: [(&str, &str); 5] = [
    ("Examples:", "EXAMPLES"),
    ("Exit status: ", "EXIT STATUS"),
    ("Environment: ", "ENVIRONMENT"),
    ("# Scenarios", "SCENARIOS"),
    ("# Tree files", "TREE FILES"),
];

/// The man page of a command.
///
/// The usage by clap, such as `Usage: collbench-record [OPTIONS] [COMMAND]...`, becomes the synopsis,
/// which otherwise lists every option. The text after the options is divided into sections; the lines
/// of examples and blocks of code stay as they are.
pub(crate) fn of(mut command: clap::Command) -> io::Result<String> {
    let usage = command.render_usage().to_string();
    let mut rendered = Vec::new();
    clap_mangen::Man::new(command).render(&mut rendered)?;
    let rendered = String::from_utf8(rendered).map_err(io::Error::other)?;
    Ok(divided(&rendered, &usage))
}

fn divided(rendered: &str, usage: &str) -> String {
    let mut page = String::new();
    let (mut is_synopsis, mut is_extra, mut is_code) = (false, false, false);
    for line in rendered.lines() {
        if line.starts_with(".SH ") {
            is_synopsis = line == ".SH SYNOPSIS";
            is_extra = line == ".SH EXTRA";
            if !is_extra {
                push(&mut page, line);
            }
            if is_synopsis {
                let usage = usage.trim().trim_start_matches("Usage: ");
                for (at, line) in usage.lines().enumerate() {
                    if at > 0 {
                        push(&mut page, ".br");
                    }
                    push(&mut page, &line.trim().replace('-', "\\-"));
                }
            }
            continue;
        }
        if is_synopsis {
            continue;
        }
        if !is_extra {
            push(&mut page, line);
            continue;
        }
        let section = SECTIONS
            .iter()
            .find_map(|(start, name)| Some((line.strip_prefix(start)?, name)));
        if let Some((rest, name)) = section {
            if is_code {
                push(&mut page, ".fi");
            }
            push(&mut page, &format!(".SH \"{name}\""));
            is_code = *name == "EXAMPLES";
            if is_code {
                push(&mut page, ".nf");
            }
            if !rest.is_empty() {
                push(&mut page, rest);
            }
        } else if line.starts_with("```") {
            push(&mut page, if is_code { ".fi" } else { ".nf" });
            is_code = !is_code;
        } else {
            // Each row of a table and each item of a list begins a line.
            if line.starts_with('|') || line.starts_with("\\- ") {
                push(&mut page, ".br");
            }
            push(&mut page, line);
        }
    }
    page
}

fn push(page: &mut String, line: &str) {
    page.push_str(line);
    page.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_short_synopsis_and_sections_of_examples_and_exit_status() {
        let rendered = ".TH c 1\n.SH NAME\nc\n.SH SYNOPSIS\n\\fBc\\fR [\\fB\\-x\\fR]\n.SH OPTIONS\n\\-x\n\
                        .SH EXTRA\nExamples:\n  c \\-x\n\nExit status: 0 done.\n```toml\na = 1\n```\n| a |\n\\- i\n\
                        .SH VERSION\nv1\n";
        assert_eq!(
            divided(rendered, "Usage: c-d [OPTIONS]\n       c-d X"),
            ".TH c 1\n.SH NAME\nc\n.SH SYNOPSIS\nc\\-d [OPTIONS]\n.br\nc\\-d X\n.SH OPTIONS\n\\-x\n\
             .SH \"EXAMPLES\"\n.nf\n  c \\-x\n\n.fi\n.SH \"EXIT STATUS\"\n0 done.\n.nf\na = 1\n.fi\n.br\n| a |\n.br\n\\- i\n\
             .SH VERSION\nv1\n"
        );
    }
}
