//! `coven inbox`: what waits for a person.

use std::collections::BTreeMap;

use coven_api::ApiClient;
use coven_api::intervention::{InterventionItem, InterventionQuery};
use coven_api::workflow::{ListQuery, WorkflowItem};
use serde_json::json;

use crate::connect::{self, block_on};
use crate::failure::Result;
use crate::output::PutText;
use crate::{ls, output, question};

/// What `coven inbox` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven inbox                  everything that waits, the longest waiting first
  coven inbox brisk-otter      only of one session
  coven inbox --json | jq -r '.interventions[].id'")]
pub(crate) struct Arguments {
    /// Only of this session.
    #[arg(value_name = "NAME", add = crate::complete::sessions())]
    session: Option<String>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let workflow = match &arguments.session {
            Some(session) => Some(crate::find::workflow(&client, session).await?.item.address()),
            None => None,
        };
        let query = InterventionQuery { workflow, ..InterventionQuery::default() };
        let open = client.interventions(&query).await?;
        let items = live(&client, arguments.session.as_deref()).await?;
        let stuck: Vec<&WorkflowItem> =
            items.iter().filter(|item| item.waits_for_disk.is_some()).collect();
        if arguments.json {
            let waits = |item: &&WorkflowItem| json!({"id": item.id, "name": item.name, "waitsForDisk": item.waits_for_disk});
            let mut all = json!(open);
            all["waitsForDisk"] = stuck.iter().map(waits).collect();
            return output::json(&all);
        }
        ls::note_sharing(&items);
        if open.interventions.is_empty() && stuck.is_empty() {
            output::say!("Nothing waits for you.");
            return Ok(());
        }
        output::write(&listed(&open.interventions))?;
        for item in &stuck {
            let problem = item.waits_for_disk.as_deref().unwrap_or_default();
            let line = format!("{} {}", item.name, output::one_line(problem));
            output::line(&output::paint().yellow(&line))?;
        }
        Ok(())
    })
}

/// The sessions that are not over: among them those that go on only when a person has made room on
/// a disk, whose agents ask then, and those whose agents share a folder.
async fn live(client: &ApiClient, session: Option<&str>) -> Result<Vec<WorkflowItem>> {
    if let Some(session) = session {
        return Ok(vec![crate::find::workflow(client, session).await?.item]);
    }
    let status = Some("pending,running,blocked".to_owned());
    Ok(client.workflows(&ListQuery { status, ..ListQuery::default() }).await?.workflows)
}

/// What waits, with its excerpts and the commands that decide.
pub(crate) fn listed(items: &[InterventionItem]) -> String {
    let (paint, now) = (output::paint(), output::now());
    let mut of: BTreeMap<&str, usize> = BTreeMap::new();
    for item in items {
        *of.entry(item.workflow_name.as_str()).or_default() += 1;
    }
    let mut text = String::new();
    for item in items {
        let asked = &item.intervention;
        let alone = of.get(item.workflow_name.as_str()) == Some(&1);
        let name = question::name(&item.workflow_name, asked, alone);
        if !text.is_empty() {
            text.push('\n');
        }
        let agent = item.adapter.as_ref().map_or_else(String::new, |agent| format!(" {agent}"));
        let title = format!("{} {}", item.workflow_name, question::asked(asked));
        let title = output::shortened(&title, output::columns().saturating_sub(12));
        let age = format!("({}{agent})", output::ago(asked.created_at, now));
        text.put(format!("{} {}\n", paint.yellow(&title), paint.dim(&age)));
        for line in question::excerpt(asked) {
            // The end of a command that is to be approved may be all that matters of it.
            for part in output::folded(&line, output::columns().saturating_sub(4)) {
                text.put(format!("  {} {part}\n", paint.dim("│")));
            }
        }
        if let Some(help) = &asked.help {
            text.put(format!("  {}\n", output::one_line(help)));
        }
        if let Some(refused) = question::refused(asked) {
            text.put(format!("  {}\n", paint.red(&refused)));
        }
        for command in question::commands(&name, asked) {
            text.put(format!("  {command}\n"));
        }
    }
    text
}
