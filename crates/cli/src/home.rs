//! Bare `coven`: what needs you, what runs, what to do next.

use coven_api::intervention::InterventionQuery;
use coven_api::workflow::ListQuery;

use crate::connect::{self, block_on};
use crate::failure::Result;
use crate::output::PutText;
use crate::{inbox, ls, output};

const MAX_SHOWN_QUESTIONS: usize = 5;

/// How many sessions are shown of each kind.
const MAX_SHOWN_SESSIONS: u32 = 8;

/// What a user without sessions sees.
const WELCOME: &str = concat!(
    "coven ",
    env!("CARGO_PKG_VERSION"),
    ": runs teams of AI coding CLIs on your own machine.

There are no sessions yet. Try:

  coven run demo              a tour; nothing has to be installed
  coven new claude \"PROMPT\"   one agent, here (or codex, gemini, opencode, ...)
  coven doctor                which agents are there, and whether all is well
  coven grimoire ls           the workflows there are
  coven init                  a workflow of your own, in this folder
  coven --help                everything else
"
);

pub(crate) fn run() -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let open = client.interventions(&InterventionQuery::default()).await?.interventions;
        let query = |status: &str| ListQuery {
            status: Some(status.to_owned()),
            limit: Some(MAX_SHOWN_SESSIONS),
            ..ListQuery::default()
        };
        let running = client.workflows(&query("running,blocked,pending")).await?;
        let over = client.workflows(&query("completed,failed,cancelled")).await?;
        if running.total + over.total == 0 {
            return output::write(WELCOME);
        }
        let paint = output::paint();
        let mut text = String::new();
        if open.is_empty() {
            text.push_str("Nothing waits for you.\n");
        } else {
            let head = format!(
                "{} for you:",
                if open.len() == 1 {
                    "1 question waits".to_owned()
                } else {
                    format!("{} questions wait", open.len())
                }
            );
            text.put(format!("{}\n\n", paint.bold(&head)));
            text.push_str(&inbox::listed(&open[..open.len().min(MAX_SHOWN_QUESTIONS)]));
            if open.len() > MAX_SHOWN_QUESTIONS {
                text.put(format!("\n{} more: coven inbox\n", open.len() - MAX_SHOWN_QUESTIONS));
            }
        }
        let mut section = |title: &str, page: &coven_api::workflow::WorkflowPage| {
            if page.workflows.is_empty() {
                return;
            }
            let shown = page.workflows.len() as u64;
            let more = page.total - shown;
            let more = if more > 0 { format!(" ({more} more: coven ls)") } else { String::new() };
            text.put(format!(
                "\n{}{more}\n{}",
                paint.bold(title),
                ls::table(&page.workflows, &ls::PrintedLines::new())
            ));
        };
        section("Not over:", &running);
        section("Over:", &over);
        text.push_str(
            "\ncoven show NAME  coven attach NAME  coven run GRIMOIRE  coven ui  coven --help\n",
        );
        output::write(&text)
    })
}
