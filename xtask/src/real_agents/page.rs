//! Writes what came of a CLI into its part of docs/real-agents.md, between two comments that name
//! it. The rest of the page is written by people.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{AgentCli, CliReport, DriveMode, RealAgentsProblem};

pub(super) fn write(
    path: &Path,
    cli: AgentCli,
    mode: DriveMode,
    report: &CliReport,
) -> Result<(), RealAgentsProblem> {
    let page =
        fs::read_to_string(path).map_err(RealAgentsProblem::io("read docs/real-agents.md"))?;
    let name = format!("{}{}", cli.name(), mode.suffix());
    let page = replaced(&page, &name, &section(cli, mode, report, &today()));
    fs::write(path, page).map_err(RealAgentsProblem::io("write docs/real-agents.md"))
}

fn section(cli: AgentCli, mode: DriveMode, report: &CliReport, date: &str) -> String {
    let (package, version) = cli.package();
    let heading = mode.heading();
    let passed = report.rows.iter().filter(|row| row.result == "pass").count();
    let mut text = format!(
        "## {}{heading}\n\n`{package}` {version}, driven on {date}: {passed} of {} rows pass.\n\n\
         | row | result | what was seen |\n|---|---|---|\n",
        cli.shown(),
        report.rows.len()
    );
    debug_assert_eq!(report.cli, cli.name());
    for row in &report.rows {
        let seen: String = row.text.chars().map(plain).collect();
        let seen = seen.replace('|', "\\|");
        text.extend(["| ", &row.name, " | ", &row.result, " | ", &seen, " |\n"]);
    }
    text
}

/// What a table can hold: a reason may quote a screen.
pub(crate) fn plain(char: char) -> char {
    if char.is_control() { ' ' } else { char }
}

pub(crate) fn replaced(page: &str, name: &str, section: &str) -> String {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->\n"));
    match (page.split_once(&begin), page.split_once(&end)) {
        (Some((before, _)), Some((_, after))) => {
            format!("{before}{begin}\n{section}\n{end}{after}")
        }
        _ => format!("{}\n\n{begin}\n{section}\n{end}", page.trim_end()),
    }
}

/// The date in UTC.
pub(crate) fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs() / 86_400)
}

/// The date so many days after the first of January 1970.
fn date(days: u64) -> String {
    // Years that begin in March have their odd day at the end; 400 of them always have as many.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real_agents::CheckRow;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (days, wanted) in [
            (0, "1970-01-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_773, "2026-11-16"),
        ] {
            assert_eq!(date(days), wanted);
        }
    }

    #[test]
    fn only_the_section_of_the_cli_changes() {
        let row = CheckRow { name: "stop".into(), result: "pass".into(), text: "a | b\nc".into() };
        let report = CliReport { cli: "qwen".into(), rows: vec![row] };
        let section = section(AgentCli::Qwen, DriveMode::Plain, &report, "2026-11-16");
        assert!(section.contains("| stop | pass | a \\| b c |\n"), "{section}");
        let page = "# Real\n\n<!-- codex -->\nkept\n<!-- /codex -->\n<!-- qwen -->\nold\n<!-- /qwen -->\nend\n";
        let once = replaced(page, "qwen", &section);
        assert!(once.contains("kept") && once.ends_with("end\n") && !once.contains("old"));
        assert_eq!(replaced(&once, "qwen", &section), once);
        assert!(replaced("# Real\n", "qwen", &section).contains("<!-- /qwen -->"));
    }
}
