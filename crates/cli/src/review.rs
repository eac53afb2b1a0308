//! `coven review`: sends the comments about what an agent changed, all in one message.

use coven_api::ApiClient;
use coven_api::changes::{
    AgentComments, AgentCommentsQuery, ReviewAnswer, ReviewDelivery, SendReview,
};
use serde_json::json;

use crate::agent_comments;
use crate::comment::{anchored, place};
use crate::connect::{self, block_on};
use crate::drafts::{DraftFile, Drafts};
use crate::failure::{CommandFailure, Result};
use crate::find::{self, SessionTarget};
use crate::output;

/// What the comments of agents are against: what the tree was made from.
const AGAINST: &str = "base";

/// What `coven review` does.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Send the comments of `coven comment` to the agent.
    Send(SendArguments),
}

/// What `coven review send` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven review send brisk-otter/build.2                      the comments of `coven comment`
  coven review send brisk-otter/build.2 --summary \"Nearly.\"  with a word about the whole
  coven review send brisk-otter/build.2 --from check         also what the step `check` answered with
  coven review send brisk-otter/build.2 --dry-run            only show the message

An agent that runs gets it as a message. One that has ended gets a new attempt, which
goes on with its conversation where its adapter knows how to. Once its step is over, a
new run begins with it, in a worktree made from what was done.")]
pub(crate) struct SendArguments {
    /// The session, or the task whose agent gets the comments.
    #[arg(value_name = "NAME[/TASK]", add = crate::complete::sessions())]
    target: SessionTarget,
    /// Also send the comments that this step or task answered with (`expect: comments`).
    #[arg(long, value_name = "STEP")]
    from: Option<String>,
    /// What is said about the whole.
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Only show the message.
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: Command) -> Result {
    match command {
        Command::Send(arguments) => block_on(send(arguments)),
    }
}

async fn send(arguments: SendArguments) -> Result {
    let client = connect::daemon().await?;
    let (workflow, tree) = find::tree(&client, &arguments.target).await?;
    let (id, name) = (workflow.item.id.as_str(), &workflow.item.name);
    let full = format!("{name}/{tree}");
    let file = DraftFile::open(id, &tree)?;
    let mut drafts = file.read()?.filter(|drafts| !drafts.comments.is_empty());
    let summary = arguments.summary.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let mut said: Vec<String> = summary.map(str::to_owned).into_iter().collect();
    if let Some(step) = arguments.from {
        let query = AgentCommentsQuery { from: Some(step.clone()) };
        let written = client.agent_comments(id, &tree, &query).await?;
        if written.comments.is_empty() && written.summaries.is_empty() {
            let message = format!("{step} of {name} has no comments on what {tree} changed");
            return Err(CommandFailure::failed(message).hint(format!("coven show {name}")));
        }
        said.extend(agent_comments::summaries(&written));
        drafts = with_written(&client, id, &tree, drafts, &written).await?;
    }
    if drafts.is_none() && said.is_empty() {
        let message = format!("nothing is written about {full}");
        return Err(CommandFailure::failed(message)
            .hint(format!("coven comment {full} PATH:LINE \"TEXT\", or --summary \"TEXT\"")));
    }
    let mut review = review(drafts, said, !arguments.dry_run);
    review.env = review.send.then(connect::environment);
    let sent = client
        .review(id, &tree, &review)
        .await
        .map_err(|error| CommandFailure::from(error).may_be_done(&format!("coven show {name}")))?;
    if review.send {
        file.clear()?;
    }
    if arguments.json {
        let mut answer = json!(sent);
        answer["id"] = id.into();
        answer["name"] = name.as_str().into();
        answer["tree"] = tree.as_str().into();
        answer["comments"] = review.comments.len().into();
        return output::json(&answer);
    }
    if !review.send {
        return output::line(&output::clean(&sent.message));
    }
    output::line(&told(&full, &sent))
}

/// The person's comments and those of agents, all about the files as they are now.
async fn with_written(
    client: &ApiClient,
    id: &str,
    tree: &str,
    drafts: Option<Drafts>,
    written: &AgentComments,
) -> Result<Option<Drafts>> {
    let head = written.head.as_deref().unwrap_or_default();
    let mut all = match drafts {
        Some(drafts) if drafts.against != AGAINST => {
            let message =
                format!("your comments that were not sent are against {}", drafts.against);
            return Err(CommandFailure::usage(message).hint(
                "send them first, without --from, or throw them away: coven comment --clear",
            ));
        }
        Some(drafts) if drafts.head != head => anchored(client, id, tree, drafts, head).await?,
        Some(drafts) => drafts,
        None => Drafts::new(AGAINST, head),
    };
    all.comments.extend(agent_comments::drafts(written));
    Ok(Some(all).filter(|drafts| !drafts.comments.is_empty()))
}

/// What is sent. Comments whose lines are gone go along with what they were about.
fn review(drafts: Option<Drafts>, mut parts: Vec<String>, send: bool) -> SendReview {
    let summary = |parts: Vec<String>| (!parts.is_empty()).then(|| parts.join("\n\n"));
    let Some(drafts) = drafts else {
        return SendReview { summary: summary(parts), send, ..SendReview::default() };
    };
    let (gone, there): (Vec<_>, Vec<_>) =
        drafts.comments.into_iter().partition(|draft| draft.outdated);
    for draft in gone {
        let lines: String = draft.lines.iter().map(|line| format!("> {line}\n")).collect();
        let (place, text) = (place(&draft.comment), &draft.comment.text);
        let was = if lines.is_empty() { ":\n" } else { ", which was:\n" };
        parts.push(format!("About {place}{was}{lines}{text}"));
    }
    SendReview {
        comments: there.into_iter().map(|draft| draft.comment).collect(),
        summary: summary(parts),
        against: Some(drafts.against),
        head: Some(drafts.head),
        send,
        env: None,
    }
}

fn told(full: &str, sent: &ReviewAnswer) -> String {
    match sent.delivery {
        ReviewDelivery::None => format!("nothing was sent to {full}"),
        ReviewDelivery::Message => format!("sent to {full}"),
        ReviewDelivery::Queued => {
            format!("queued for {full}: it is typed as soon as the agent takes it")
        }
        ReviewDelivery::Attempt => match sent.attempt {
            Some(number) => format!("attempt {number} of {full} begins with it"),
            None => format!("a new attempt of {full} begins with it"),
        },
        ReviewDelivery::Run => {
            let run = sent.run.as_deref().unwrap_or_default();
            format!("{full} is over; {} begins with it", output::one_line(run))
        }
    }
}

#[cfg(test)]
mod tests {
    use coven_api::changes::{ReviewComment, ReviewSide};

    use super::*;
    use crate::drafts::Draft;

    #[test]
    fn a_comment_whose_lines_are_gone_is_sent_with_what_they_were() {
        let comment = |line, text: &str| ReviewComment {
            path: "a.rs".into(),
            side: ReviewSide::New,
            line,
            end_line: None,
            text: text.to_owned(),
        };
        let draft = |line, text, outdated| Draft {
            comment: comment(line, text),
            lines: vec!["let x = 1;".into()],
            outdated,
        };
        let mut drafts = Drafts::new("target", &"1".repeat(40));
        drafts.comments = vec![draft(3, "why?", false), draft(7, "wrong", true)];
        let review = review(Some(drafts), vec!["Nearly.".to_owned()], true);
        assert_eq!(review.comments, [comment(3, "why?")]);
        assert_eq!(review.against.as_deref(), Some("target"));
        assert_eq!(
            review.summary.as_deref(),
            Some("Nearly.\n\nAbout a.rs:7, which was:\n> let x = 1;\nwrong")
        );
    }
}
