//! `coven explain`: why we think that an agent does what we say.

use coven_model::{EvidenceSource, is_report_rule};

use crate::connect::{self, block_on};
use crate::failure::Result;
use crate::find::{self, SessionTarget, TaskFilter};
use crate::output::PutText;
use crate::{output, tree};

/// What `coven explain` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven explain brisk-otter/build.3   what it does, by which rule, and what its screen shows")]
pub(crate) struct Arguments {
    /// The session, or the task that is explained.
    #[arg(value_name = "NAME[/TASK]", add = crate::complete::live())]
    target: SessionTarget,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let wanted =
            if arguments.target.task.is_some() { TaskFilter::Started } else { TaskFilter::Running };
        let workflow = find::workflow(&client, &arguments.target.session).await?;
        // A foreign session is never run here, but its last task can still be explained.
        let wanted = if workflow.item.foreign { TaskFilter::Started } else { wanted };
        let task = find::choose(&workflow, arguments.target.task.as_deref(), wanted)?.clone();
        let why = client.explain(&workflow.item.address(), task.id.as_str()).await?;
        if arguments.json {
            return output::as_json(&why);
        }
        let paint = output::paint();
        let doing = why.verdict.as_ref().map_or_else(|| tree::task_words(&task), tree::doing_words);
        let since = why.since.map_or_else(String::new, |since| {
            format!(" for {}", output::ago(since, output::now()))
        });
        let name = format!("{}/{}", workflow.item.name, why.attempt.task);
        let mut text = format!("{}  {}  {doing}{since}\n", paint.bold(&name), why.adapter);
        text.put(format!("{}\n", output::one_line(&why.words)));
        if let Some(verdict) = &why.verdict {
            let evidence = &verdict.evidence;
            let (rule, region) =
                (output::one_line(&evidence.rule), output::one_line(&evidence.region));
            text.put(match (evidence.source, region.is_empty()) {
                (EvidenceSource::Channel, _) if is_report_rule(&rule) => {
                    format!("reported {rule}\n")
                }
                (EvidenceSource::Channel, _) if rule.is_empty() => String::new(),
                (EvidenceSource::Channel, true) => format!("its message {rule}\n"),
                (EvidenceSource::Channel, false) => {
                    format!("its message {rule}, request {region}\n")
                }
                _ => format!("rule {rule}, looked at {region}\n"),
            });
            for conflict in &evidence.conflicts {
                let source = format!("{:?}", conflict.source).to_lowercase();
                text.put(format!(
                    "but the {source} says {}: {}\n",
                    conflict.state,
                    output::one_line(&conflict.text)
                ));
            }
        }
        if !why.lines.is_empty() {
            text.push('\n');
        }
        for line in &why.lines {
            text.put(format!("{} {}\n", paint.dim("│"), output::clean(line).trim_end()));
        }
        output::write(&text)
    })
}
