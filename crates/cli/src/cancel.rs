//! `coven cancel`: a run ends, and all its agents with it.

use coven_api::client::StreamedEvent;
use coven_api::workflow::ActionRequest;

use crate::connect::{self, block_on};
use crate::events::EventPump;
use crate::failure::Result;
use crate::{find, output};

/// What `coven cancel` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven cancel brisk-otter
  coven cancel brisk-otter --why \"the wrong branch\"")]
pub(crate) struct Arguments {
    /// The sessions whose runs are cancelled.
    #[arg(required = true, value_name = "NAME", add = crate::complete::sessions())]
    sessions: Vec<String>,
    /// Why, for the record.
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Do not wait until its agents are gone.
    #[arg(long)]
    no_wait: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        for session in &arguments.sessions {
            let workflow = find::own_workflow(&client, session).await?;
            let (id, name) = (&workflow.item.id, &workflow.item.name);
            if workflow.item.status.is_final() && arguments.json {
                output::json_line(&workflow.item)?;
                continue;
            }
            if workflow.item.status.is_final() {
                output::line(&format!("{name} is {} already", workflow.item.status))?;
                continue;
            }
            let mut events = EventPump::session(&client, id.as_str(), None);
            let wish = ActionRequest { why: arguments.why.clone(), env: None };
            let mut now = client.cancel(id.as_str(), &wish).await?;
            while !arguments.no_wait
                && !now.item.status.is_final()
                && now.item.waits_for_disk.is_none()
            {
                let last = matches!(events.next().await?, Some(StreamedEvent::End) | None);
                now = client.workflow(id.as_str()).await?;
                if last {
                    break;
                }
            }
            if arguments.json {
                output::json_line(&now.item)?;
                continue;
            }
            if let Some(problem) = now.item.waits_for_disk.filter(|_| !now.item.status.is_final()) {
                output::line(&format!("{name} is being cancelled"))?;
                output::say!("note: it {}", output::one_line(&problem));
                continue;
            }
            output::line(&format!("{name} is {}", now.item.status))?;
        }
        Ok(())
    })
}
