//! `coven answer`, `approve` and `deny`: deciding what waits.

use std::io::{IsTerminal, Read};

use coven_api::intervention::{DecideRequest, InterventionItem, InterventionQuery};
use coven_api::{ApiClient, ProblemCode};
use coven_model::{ContentDigest, Intervention, InterventionChoice, InterventionKind, MenuEntry};
use coven_notation::near;
use serde_json::json;

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::find::{self, SessionTarget};
use crate::question::{self, TextRequirement};
use crate::{output, trust, tty};

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
  coven answer brisk-otter 2                   the second entry of a menu
  coven answer brisk-otter \"\"                  nothing but Enter, which some wait for
  coven answer brisk-otter/plan answer \"In French, please\"
  coven answer brisk-otter send \"Now the tests\"
  coven answer brisk-otter answer - < key      a secret, which no history and no list of processes has")]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: AnswerTarget,
    /// What is decided: one of its options, or an entry of the menu by its number or its words.
    /// What can be decided is shown if this is left out.
    decision: Option<String>,
    /// The text that goes with it. With `-` it is read from the input: a line of a terminal, or
    /// everything from a pipe.
    text: Option<String>,
}

/// What `coven approve` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven approve brisk-otter
  coven approve brisk-otter/build.3 --always         the same command is not asked again
  coven approve brisk-otter/build.3 --always --save  nor in other sessions

`--always` shows the rule that it makes: the whole command as it was asked, without a pattern. On a
terminal it asks before the rule counts. A rule that denies the command comes before it.")]
pub(crate) struct ApproveArguments {
    #[command(flatten)]
    which: AnswerTarget,
    /// Approve the same command for the rest of the session.
    #[arg(long)]
    always: bool,
    /// Also write that rule into your policy.
    #[arg(long, requires = "always")]
    save: bool,
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
        if word.is_empty() && arguments.text.is_none() {
            return decide(&client, &item, enter(&item)?, &arguments.which).await;
        }
        let decision = match entry(&item, word)?.filter(|_| arguments.text.is_none()) {
            Some(id) => Decision::new(InterventionChoice::Answer, Some(id)),
            None if is_sentence(&item, word, arguments.text.as_deref()) => {
                Decision::new(InterventionChoice::Answer, Some(word.clone()))
            }
            None => {
                let choice = choice(&item, word)?;
                let text = typed_text(arguments.text, choice, &item.intervention)?;
                Decision::new(choice, text)
            }
        };
        decide(&client, &item, decision, &arguments.which).await
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
        let decision = Decision { save: arguments.save, ..Decision::new(choice, None) };
        decide(&client, &item, decision, &arguments.which).await
    })
}

pub(crate) fn deny(arguments: DenyArguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let item = find(&client, &arguments.which).await?;
        let decision = Decision::new(InterventionChoice::Deny, arguments.text);
        decide(&client, &item, decision, &arguments.which).await
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
            let message = format!("the daemon does not run {name} now");
            Err(CommandFailure::not_live(message)
                .hint(format!("coven resume {name}; `coven daemon status` says why, if it cannot")))
        }
        ([], true) => {
            let failure = match &which.target.task {
                Some(_) => not_asked(format!("{name} does not wait for anybody")),
                None => CommandFailure::not_now(format!("{name} does not wait for anybody")),
            };
            let hint = format!("it is {}; `coven inbox` shows what waits", workflow.item.status);
            Err(failure.hint(hint))
        }
        ([], false) => Err(not_asked(format!("{name} does not ask that")).hint(names(name, &open))),
        (several, _) => {
            let message = format!("{name} asks {} things", several.len());
            Err(CommandFailure::usage(message).hint(names(name, &open)))
        }
    }
}

fn not_asked(message: String) -> CommandFailure {
    CommandFailure::not_found(ProblemCode::InterventionNotFound, message)
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

/// The entry of the menu that a word means, where the question has one.
fn entry(item: &InterventionItem, word: &str) -> Result<Option<String>> {
    let asked = &item.intervention;
    if asked.options.iter().any(|choice| choice.as_str() == word) {
        return Ok(None);
    }
    let entry = asked.entry_meant_by(word).map_err(CommandFailure::usage)?;
    Ok(entry.filter(|entry| !entry.takes_text).map(|entry| entry.id.clone()))
}

/// The decision that presses nothing but Enter.
fn enter(item: &InterventionItem) -> Result<Decision> {
    let asked = &item.intervention;
    let choice = asked.options.iter().find(|choice| asked.takes_empty(**choice)).copied();
    let choice = choice.ok_or_else(|| {
        let failure = CommandFailure::usage("it does not take an empty answer");
        failure.hint(format!("`coven answer {}` shows what it takes", item.workflow_name))
    })?;
    Ok(Decision::new(choice, Some(String::new())))
}

/// Whether several words stand where a choice would: they are the answer.
fn is_sentence(item: &InterventionItem, words: &str, text: Option<&str>) -> bool {
    text.is_none()
        && words.trim().contains(char::is_whitespace)
        && item.intervention.options.contains(&InterventionChoice::Answer)
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
            None if item.intervention.entries.is_empty() => {
                failure.hint(format!("it can be {}", options.join(", ")))
            }
            None => {
                let entry = |entry: &MenuEntry| {
                    format!("{} ({})", entry.id, output::one_line(&entry.label))
                };
                let entries: Vec<String> = item.intervention.entries.iter().map(entry).collect();
                failure.hint(format!("it can be {}, or {}", entries.join(", "), options.join(", ")))
            }
        }
    })
}

/// What the command line says is decided.
struct Decision {
    choice: InterventionChoice,
    text: Option<String>,
    /// The rule that it makes is written into the policy.
    save: bool,
}

impl Decision {
    fn new(choice: InterventionChoice, text: Option<String>) -> Self {
        Self { choice, text, save: false }
    }
}

/// Shows all of what would be approved, and the rule that approving it for always makes; asks about
/// the rule on a terminal. Returns the rule that was shown.
async fn show_first(
    item: &InterventionItem,
    choice: InterventionChoice,
    save: bool,
    as_json: bool,
) -> Result<Option<String>> {
    let asked = &item.intervention;
    if asked.kind != InterventionKind::Approval || !question::approves(choice) {
        return Ok(None);
    }
    for line in question::excerpt(asked) {
        for part in output::folded(&line, output::columns().saturating_sub(4)) {
            output::say!("  │ {part}");
        }
    }
    if choice == InterventionChoice::Approve {
        return Ok(None);
    }
    let Some(rule) = &item.always else {
        let why = item.no_always.as_deref().unwrap_or("the daemon makes no rule of it");
        let message = format!("it cannot be approved for always: {}", output::one_line(why));
        return Err(CommandFailure::failed(message)
            .hint(format!("approve it once: coven approve {}", item.workflow_name)));
    };
    let length = if save { "from now on, in every session" } else { "for the rest of the session" };
    output::say!("The rule that answers {length}:");
    for line in output::clean(rule).lines() {
        for part in output::folded(line, output::columns().saturating_sub(3)) {
            output::say!("  {part}");
        }
    }
    // Who reads JSON has read the rule with the question.
    if !as_json && tty::is_interactive() && !trust::confirms("Make this rule?").await? {
        return Err(CommandFailure::told());
    }
    Ok(Some(rule.clone()))
}

async fn decide(
    client: &ApiClient,
    item: &InterventionItem,
    decision: Decision,
    which: &AnswerTarget,
) -> Result {
    let Decision { choice, text, save } = decision;
    let asked = &item.intervention;
    if asked.truncated && question::approves(choice) {
        let name = &item.workflow_name;
        return Err(if question::has_terminal(asked) {
            let message =
                "a part of what it asks is not on its screen, so it cannot be approved here";
            CommandFailure::failed(message)
                .hint(format!("look at it and answer there: coven attach {name}"))
        } else {
            let message = "a part of what it asks is not shown, so it cannot be approved";
            CommandFailure::failed(message)
                .hint(format!("coven deny {name} \"Do it in smaller parts.\""))
        });
    }
    let is_always = choice == InterventionChoice::ApproveAlways;
    if !asked.options.contains(&choice) && !is_always {
        self::choice(item, choice.as_str())?;
    }
    if text.is_none() && question::text(choice) == TextRequirement::Needed {
        let text = if asked.secret { "-   # reads it from standard input" } else { "\"TEXT\"" };
        return Err(CommandFailure::usage(format!("`{choice}` needs a text"))
            .hint(format!("coven answer {} {choice} {text}", item.workflow_name)));
    }
    if text.is_some() && question::text(choice) == TextRequirement::None {
        return Err(CommandFailure::usage(format!("`{choice}` takes no text")));
    }
    let digest = match &which.digest {
        // Whatever it is, it is compared and nothing else.
        Some(text) => serde_json::from_value::<ContentDigest>(json!(text)).ok(),
        None => asked.digest.clone(),
    };
    let is_chosen = |entry: &&MenuEntry| text.as_ref() == Some(&entry.id);
    let done = match asked.entries.iter().find(is_chosen) {
        Some(entry) => format!("chosen {}", output::one_line(&entry.to_string())),
        None if choice == InterventionChoice::Answer => "answered".to_owned(),
        None => question::words(choice).to_owned(),
    };
    let rule = show_first(item, choice, save, which.json).await?;
    let why = which.why.clone();
    let decide =
        DecideRequest { decision: choice, answer: text, entry: None, digest, why, rule, save };
    let decided = client.decide(&asked.id, &decide).await.map_err(|error| {
        CommandFailure::from(error).may_be_done(&format!("coven show {}", item.workflow_name))
    })?;
    if which.json {
        let (id, decision) = (&asked.id, decided.decision);
        return output::json(&json!({
            "id": id, "workflowId": decided.workflow_id, "decision": decision,
            "saved": decided.saved, "delivered": decided.delivered,
        }));
    }
    if let Some(saved) = &decided.saved {
        output::say!("{} has the rule {}", output::one_line(&saved.path), saved.name);
        if let Some(before) = &saved.decided_before_by {
            let before = output::one_line(before);
            output::say!(
                "note: the rule `{before}` comes before it and decides: coven policy edit"
            );
        }
    }
    if !decided.delivered {
        output::say!("note: the answer is on its way; the agent was not seen to take it yet");
    }
    output::line(&format!("{done}: {} {}", item.workflow_name, question::asked(asked)))
}

/// A text that is `-` comes from the input, where neither the history of a shell nor a list of
/// processes has it. A secret that was not given is asked for, and not shown.
fn typed_text(
    text: Option<String>,
    choice: InterventionChoice,
    asked: &Intervention,
) -> Result<Option<String>> {
    let is_asked_for = asked.secret
        && choice == InterventionChoice::Answer
        && text.is_none()
        && tty::is_interactive();
    if text.as_deref() != Some("-") && !is_asked_for {
        return Ok(text);
    }
    let failed = |error: std::io::Error| {
        CommandFailure::failed(format!("cannot read the text from the input: {error}"))
    };
    let mut line = String::new();
    if asked.secret && std::io::stdin().is_terminal() {
        output::ask!("What is typed is not shown: ");
        line = tty::read_hidden_line().map_err(failed)?;
        output::say!("");
    } else if std::io::stdin().is_terminal() {
        std::io::stdin().read_line(&mut line).map_err(failed)?;
    } else {
        // A form has a line for each of its questions.
        std::io::stdin().read_to_string(&mut line).map_err(failed)?;
    }
    Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
}
