//! Writes what came of the versions of a CLI into its part of docs/drift.md, between two comments
//! that name it. The rest of the page is written by people.

use std::fs;
use std::path::Path;

use super::VersionReport;
use crate::error::Error;
use crate::real_agents::AgentCli;
use crate::real_agents::page::{plain, replaced, today};

pub(super) fn write(path: &Path, cli: AgentCli, reports: &[VersionReport]) -> Result<(), Error> {
    let page = fs::read_to_string(path).unwrap_or_else(|_| "# Version drift\n".to_owned());
    let page = replaced(&page, cli.name(), &section(cli, reports));
    fs::write(path, page).map_err(|source| Error::Write { path: path.to_owned(), source })
}

pub(super) fn section(cli: AgentCli, reports: &[VersionReport]) -> String {
    let mut text = format!("## {}\n\nDriven on {}.\n\n", cli.shown(), today());
    text.push_str("| version | step | true was | Coven said | mark | what happened |\n");
    text.push_str("|---|---|---|---|---|---|\n");
    for report in reports {
        for step in &report.steps {
            let cells =
                [&report.version, &step.step, &step.truth, &step.said, &step.mark, &step.note];
            for cell in cells {
                text.extend(["| ", &cell_text(cell), " "]);
            }
            text.push_str("|\n");
        }
    }
    text
}

fn cell_text(text: &str) -> String {
    text.chars().map(plain).collect::<String>().replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::StepReport;

    #[test]
    fn each_step_of_each_version_is_a_row() {
        let step = StepReport {
            step: "approval".into(),
            truth: "asks".into(),
            said: "awaiting by screen (a|b)".into(),
            mark: "right".into(),
            note: "after 1 s\nmore".into(),
        };
        let report = VersionReport { version: "1.2.3".into(), steps: vec![step] };
        let section = section(AgentCli::Qwen, &[report]);
        let row =
            "| 1.2.3 | approval | asks | awaiting by screen (a\\|b) | right | after 1 s more |\n";
        assert!(section.ends_with(row), "{section}");
    }
}
