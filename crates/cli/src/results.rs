//! `coven output`: what the steps of a run gave.

use coven_api::ProblemCode;
use coven_api::workflow::{SessionOutputs, StepResult, WorkflowDetails};
use coven_notation::near;
use serde_json::Value;

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::find::{self, SessionTarget};
use crate::output;

/// What `coven output` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven output                      what the newest session of this folder gave
  coven output brisk-otter          what each of its steps gave
  coven output brisk-otter plan     what one step gave, and nothing else
  coven output brisk-otter plan > plan.md
  coven output brisk-otter tests --stderr   what its command printed as errors
  coven output brisk-otter --json | jq '.steps[] | {step, status}'

A step is named by its name or by the variable of its `output:`. Its output is printed whole, up to
the 16 MiB that are kept of it; what is missing is said on stderr, and `omitted` in JSON. An output
that is not a text is printed as JSON. What tasks printed on the way: coven logs.")]
pub(crate) struct Arguments {
    /// The session, or a step of it; the newest of this folder unless said.
    #[arg(value_name = "NAME[/STEP]", default_value = find::NEWEST, add = crate::complete::sessions())]
    target: SessionTarget,
    /// The step whose output is wanted, or the variable that it gives.
    #[arg(value_name = "STEP")]
    step: Option<String>,
    /// Print what the command of the step printed to its standard output, also if it failed.
    #[arg(long, conflicts_with_all = ["stderr", "json"])]
    stdout: bool,
    /// Print what the command of the step printed to its standard error.
    #[arg(long, conflicts_with = "json")]
    stderr: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    let step = match (&arguments.target.task, &arguments.step) {
        (Some(_), Some(_)) => {
            return Err(CommandFailure::usage("the step is given twice")
                .hint("coven output NAME STEP, or coven output NAME/STEP"));
        }
        (one, other) => one.as_ref().or(other.as_ref()),
    };
    block_on(async {
        let client = connect::daemon().await?;
        let workflow = find::workflow(&client, &arguments.target.session).await?;
        let outputs = client.outputs(&workflow.item.address()).await?;
        let Some(step) = step else {
            if arguments.stdout || arguments.stderr {
                return Err(CommandFailure::usage("which step is not said")
                    .hint(format!("coven output {} STEP --stderr", outputs.name)));
            }
            return all(&workflow, &outputs, arguments.json);
        };
        let result = chosen(&outputs, step)?;
        if arguments.stdout || arguments.stderr {
            print_stream(result, arguments.stderr)?;
            if arguments.stdout {
                say_omitted(&workflow, result);
            }
            return Ok(());
        }
        if arguments.json {
            return output::as_json(result);
        }
        if result.output.is_null() {
            return Err(nothing(&outputs.name, result));
        }
        print(&result.output)?;
        say_omitted(&workflow, result);
        Ok(())
    })
}

/// Says on stderr what is missing in an output, and where all of it is.
fn say_omitted(workflow: &WorkflowDetails, result: &StepResult) {
    let StepResult { step, omitted, lost, .. } = result;
    if *lost > 0 {
        output::say!("note: {lost} bytes of the output of {step} are lost: the disk was full");
    }
    if omitted <= lost {
        return;
    }
    let omitted = omitted - lost;
    let task = workflow.tasks.iter().find(|task| task.step == *step);
    let task = task.map_or(step.as_str(), |task| task.id.as_str());
    let name = &workflow.item.name;
    output::say!("note: {omitted} bytes of the output of {step} are missing here; all of it:");
    output::say!("  coven logs {name}/{task} --raw");
}

/// What the command of a step printed to one of its two streams.
fn print_stream(result: &StepResult, is_stderr: bool) -> Result {
    let Some(errors) = &result.stderr else {
        let StepResult { step, status, .. } = result;
        let message = format!("step {step} ran no command; it is {status}");
        return Err(CommandFailure::failed(message));
    };
    let output = result.stdout.as_deref().or(result.output.as_str()).unwrap_or_default();
    print_text(if is_stderr { errors } else { output })
}

/// The step of this name, or the last one that gives this variable.
fn chosen<'a>(outputs: &'a SessionOutputs, name: &str) -> Result<&'a StepResult> {
    let by_name = outputs.steps.iter().find(|result| result.step == name);
    let by_variable = || {
        let gives = |result: &&StepResult| result.variable.as_deref() == Some(name);
        let has_one = |result: &&StepResult| gives(result) && !result.output.is_null();
        let all = || outputs.steps.iter().rev();
        all().find(has_one).or_else(|| all().find(gives))
    };
    by_name.or_else(by_variable).ok_or_else(|| {
        let known: Vec<&str> = outputs
            .steps
            .iter()
            .flat_map(|result| [Some(result.step.as_str()), result.variable.as_deref()])
            .flatten()
            .collect();
        let message = format!("{} has no step and no output `{name}`", outputs.name);
        let failure = CommandFailure::not_found(ProblemCode::TaskNotFound, message);
        match near(name, &known).first() {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint(format!("it has {}", known.join(", "))),
        }
    })
}

/// Why there is nothing to print.
fn nothing(name: &str, result: &StepResult) -> CommandFailure {
    let StepResult { step, status, error, .. } = result;
    let why =
        error.as_deref().map_or(String::new(), |error| format!(": {}", output::one_line(error)));
    let failure = CommandFailure::failed(format!("step {step} has no output; it is {status}{why}"));
    match status.as_str() {
        "pending" | "running" | "blocked" => failure.hint(format!("coven wait {name}")),
        "failed" if result.stderr.is_some() => {
            failure.hint(format!("what it printed: coven output {name} {step} --stdout, --stderr"))
        }
        "failed" => failure.hint(format!("what its tasks printed: coven logs {name}")),
        _ => failure,
    }
}

fn all(workflow: &WorkflowDetails, outputs: &SessionOutputs, as_json: bool) -> Result {
    if as_json {
        return output::as_json(outputs);
    }
    let given: Vec<&StepResult> =
        outputs.steps.iter().filter(|result| !result.output.is_null()).collect();
    if given.is_empty() {
        let message =
            format!("no step of {} has an output; it is {}", outputs.name, outputs.status);
        return Err(CommandFailure::failed(message)
            .hint(format!("what its tasks printed: coven logs {}", outputs.name)));
    }
    for (place, result) in given.iter().enumerate() {
        if given.len() > 1 {
            let gap = if place > 0 { "\n" } else { "" };
            let variable = result.variable.as_deref().filter(|name| *name != result.step);
            let variable = variable.map_or(String::new(), |name| format!(" ({name})"));
            output::line(&format!("{gap}==> {}{variable} <==", result.step))?;
        }
        print(&result.output)?;
        say_omitted(workflow, result);
    }
    Ok(())
}

/// A text as it is, everything else as JSON.
fn print(value: &Value) -> Result {
    let Value::String(text) = value else { return output::json(value) };
    print_text(text)
}

fn print_text(text: &str) -> Result {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    output::file(&format!("{text}{end}"))
}

#[cfg(test)]
mod tests {
    use coven_model::{SessionId, WorkflowStatus};
    use serde_json::json;

    use super::*;

    fn outputs(steps: &[(&str, Option<&str>, Value)]) -> SessionOutputs {
        let step = |(step, variable, output): &(&str, Option<&str>, Value)| StepResult {
            step: (*step).to_owned(),
            status: "completed".to_owned(),
            variable: variable.map(str::to_owned),
            output: output.clone(),
            omitted: 0,
            lost: 0,
            stdout: None,
            stderr: None,
            error: None,
        };
        SessionOutputs {
            id: SessionId::new("01890a5d-ac96-774b-bcce-b302099a8057").unwrap(),
            name: "brisk-otter".to_owned(),
            status: WorkflowStatus::Completed,
            steps: steps.iter().map(step).collect(),
        }
    }

    #[test]
    fn a_step_is_found_by_its_name_before_a_variable_and_the_last_value_counts() {
        let all = outputs(&[
            ("plan", Some("text"), json!("first")),
            ("text", None, json!("a step called text")),
            ("again", Some("said"), json!("old")),
            ("later", Some("said"), json!("new")),
            ("left-out", Some("said"), Value::Null),
        ]);
        let found = |name: &str| chosen(&all, name).map(|result| result.output.clone());
        assert_eq!(found("text").unwrap(), "a step called text");
        assert_eq!(found("plan").unwrap(), "first");
        assert_eq!(found("said").unwrap(), "new");
        assert!(found("sayd").is_err());
    }
}
