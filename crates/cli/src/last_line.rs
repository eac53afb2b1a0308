//! The last line that a running command printed: it says more than that the command runs.

use coven_api::ApiClient;
use coven_api::task::OutputQuery;
use coven_api::workflow::{TaskItem, WorkflowDetails};
use coven_model::AgentMode;

use crate::output;
use crate::transcript::SHELL_ADAPTER;

/// How much of the end of an output is looked at.
const TAIL_BYTES: i64 = 2000;

/// How many commands of a session are asked for their line.
const MAX_TASKS: usize = 8;

/// Whether a task is a command that runs now.
fn is_command(task: &TaskItem) -> bool {
    task.live && task.adapter == SHELL_ADAPTER && task.mode == AgentMode::Headless
}

/// The commands of a session that run now, with the last line that each printed.
pub(crate) async fn of(client: &ApiClient, workflow: &WorkflowDetails) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for task in workflow.tasks.iter().filter(|task| is_command(task)).take(MAX_TASKS) {
        let query = OutputQuery { offset: Some(-TAIL_BYTES), ..OutputQuery::default() };
        let piece = client.output(workflow.item.id.as_str(), task.id.as_str(), &query).await;
        // A command that is only just starting has printed nothing; that is no reason to fail.
        let Some(line) = piece.ok().and_then(|piece| last(&piece.text)) else { continue };
        lines.push((task.id.to_string(), line));
    }
    lines
}

/// Puts those lines where the tree of a session shows what its tasks do.
pub(crate) async fn put(client: &ApiClient, workflow: &mut WorkflowDetails) {
    for (id, line) in of(client, workflow).await {
        for task in workflow.tasks.iter_mut().filter(|task| task.id.as_str() == id) {
            task.verdict = None;
        }
        let lanes = workflow.plan.rows.iter_mut().flat_map(|row| &mut row.lanes);
        lanes.filter(|lane| lane.task == id).for_each(|lane| lane.note.clone_from(&line));
    }
}

/// The last line with something on it. A carriage return begins a line anew, as progress bars do.
fn last(text: &str) -> Option<String> {
    let lines = text.rsplit(['\n', '\r']).map(output::one_line);
    lines.into_iter().find(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_with_words_counts() {
        assert_eq!(last("one\ntwo\n\n").as_deref(), Some("two"));
        assert_eq!(last("10%\r50%\r99%\r").as_deref(), Some("99%"));
        assert_eq!(last("\n \n"), None);
    }
}
