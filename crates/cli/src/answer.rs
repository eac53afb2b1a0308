//! `coven answer`, `approve` and `deny`: deciding what waits.

use coven_api::ApiClient;
use coven_api::intervention::{DecideRequest, InterventionItem, InterventionQuery};
use coven_model::{ContentDigest, InterventionChoice};
use coven_notation::near;
use serde_json::json;

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::find::{self, SessionTarget};
use crate::output;
use crate::question::{self, TextRequirement};

/// What waits and how it is decided, for all three.
#[derive(clap::Args)]
pub(crate) struct AnswerTarget {
    /// The session, its task, or the number of the question: NAME, NAME/TASK or NAME/NUMBER.
    #[arg(value_name = "NAME", add = crate::complete::waiting())]
    target: SessionTarget,
    /// Only if this is what it shows: the `digest` of `coven inbox --json`.
    #[arg(long, value_name = "DIGEST")]
    digest: Option<String>,
    /// Why, for the record.
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// What `coven answer` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven answer brisk-otter                     what can be decided
  coven answer brisk-otter retry               a gate that was mended
  coven answer brisk-otter/plan answer \"In French, please\"
  coven answer brisk-otter send \"Now the tests\"")]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: AnswerTarget,
    /// What is decided; one of its options, which are shown if this is left out.
    decision: Option<String>,
    /// The text that goes with it.
    text: Option<String>,
}

/// What `coven approve` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven approve brisk-otter
  coven approve brisk-otter/build.3 --always")]
pub(crate) struct ApproveArguments {
    #[command(flatten)]
    which: AnswerTarget,
    /// Also tell the agent not to ask this again.
    #[arg(long)]
    always: bool,
}

/// What `coven deny` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven deny brisk-otter
  coven deny brisk-otter/build.3 \"Use the test database\"")]
pub(crate) struct DenyArguments {
    #[command(flatten)]
    which: AnswerTarget,
    /// What the agent is told.
    text: Option<String>,
}

pub(crate) fn answer(arguments: Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let item = find(&client, &arguments.which).await?;
        let Some(word) = &arguments.decision else { return options(&item, arguments.which.json) };
        let choice = choice(&item, word)?;
        decide(&client, &item, choice, arguments.text, &arguments.which).await
    })
}

pub(crate) fn approve(arguments: &ApproveArguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let item = find(&client, &arguments.which).await?;
        let choice = if arguments.always {
            InterventionChoice::ApproveAlways
        } else {
            InterventionChoice::Approve
        };
        decide(&client, &item, choice, None, &arguments.which).await
    })
}

pub(crate) fn deny(arguments: DenyArguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let item = find(&client, &arguments.which).await?;
        decide(&client, &item, InterventionChoice::Deny, arguments.text, &arguments.which).await
    })
}

/// The question that is meant.
async fn find(client: &ApiClient, which: &AnswerTarget) -> Result<InterventionItem> {
    let workflow = find::own_workflow(client, &which.target.session).await?;
    let query = InterventionQuery {
        workflow: Some(workflow.item.id.to_string()),
        ..InterventionQuery::default()
    };
    let open = client.interventions(&query).await?.interventions;
    let name = &workflow.item.name;
    let fits = |item: &&InterventionItem| match &which.target.task {
        None => true,
        Some(part) => {
            let asked = &item.intervention;
            asked.id.as_str().rsplit('/').next() == Some(part)
                || asked.task.as_ref().is_some_and(|task| task.as_str() == part)
                || asked.step == *part
        }
    };
    let found: Vec<&InterventionItem> = open.iter().filter(fits).collect();
    match (found.as_slice(), open.is_empty()) {
        ([only], _) => Ok((*only).clone()),
        ([], true) if !workflow.live && !workflow.item.status.is_final() => {
            Err(CommandFailure::failed(format!("the daemon does not run {name} now"))
                .hint(format!("coven resume {name}; `coven daemon status` says why, if it cannot")))
        }
        ([], true) => Err(CommandFailure::failed(format!("{name} does not wait for anybody"))
            .hint(format!("it is {}; `coven inbox` shows what waits", workflow.item.status))),
        ([], false) => {
            Err(CommandFailure::failed(format!("{name} does not ask that"))
                .hint(names(name, &open)))
        }
        (several, _) => {
            let message = format!("{name} asks {} things", several.len());
            Err(CommandFailure::usage(message).hint(names(name, &open)))
        }
    }
}

fn names(name: &str, open: &[InterventionItem]) -> String {
    let one = |item: &InterventionItem| {
        let asked = &item.intervention;
        format!("{} ({})", question::name(name, asked, false), question::asked(asked))
    };
    format!("name one: {}", open.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// What can be decided.
fn options(item: &InterventionItem, as_json: bool) -> Result {
    if as_json {
        return output::as_json(item);
    }
    output::write(&crate::inbox::listed(std::slice::from_ref(item)))
}

/// The choice that a word means.
fn choice(item: &InterventionItem, word: &str) -> Result<InterventionChoice> {
    let options: Vec<&str> =
        item.intervention.options.iter().map(|choice| choice.as_str()).collect();
    let found = item.intervention.options.iter().find(|choice| choice.as_str() == word);
    found.copied().ok_or_else(|| {
        let failure = CommandFailure::usage(format!("`{word}` cannot be decided here"));
        match near(word, &options).first() {
            Some(near) => {
                failure.hint(format!("did you mean `{near}`? It can be {}", options.join(", ")))
            }
            None => failure.hint(format!("it can be {}", options.join(", "))),
        }
    })
}

async fn decide(
    client: &ApiClient,
    item: &InterventionItem,
    choice: InterventionChoice,
    text: Option<String>,
    which: &AnswerTarget,
) -> Result {
    let asked = &item.intervention;
    if !asked.options.contains(&choice) {
        self::choice(item, choice.as_str())?;
    }
    if !question::can_decide(asked, choice) {
        let message = "a part of what it asks is not on its screen, so it cannot be approved here";
        return Err(CommandFailure::failed(message)
            .hint(format!("look at it and answer there: coven attach {}", item.workflow_name)));
    }
    if text.is_none() && question::text(choice) == TextRequirement::Needed {
        return Err(CommandFailure::usage(format!("`{choice}` needs a text"))
            .hint(format!("coven answer {} {choice} \"TEXT\"", item.workflow_name)));
    }
    if text.is_some() && question::text(choice) == TextRequirement::None {
        return Err(CommandFailure::usage(format!("`{choice}` takes no text")));
    }
    let digest = match &which.digest {
        // Whatever it is, it is compared and nothing else.
        Some(text) => serde_json::from_value::<ContentDigest>(json!(text)).ok(),
        None => asked.digest.clone(),
    };
    let decide = DecideRequest { decision: choice, answer: text, digest, why: which.why.clone() };
    let decided = client.decide(&asked.id, &decide).await?;
    if which.json {
        return output::json(
            &json!({"id": asked.id, "workflowId": decided.workflow_id, "decision": decided.decision}),
        );
    }
    output::line(&format!(
        "{}: {} {}",
        question::words(choice),
        item.workflow_name,
        question::asked(asked)
    ))
}
