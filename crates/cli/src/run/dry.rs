//! What a run would do, without doing it and without the daemon.

mod jobs;
mod problems;

use coven_adapters::AdapterRegistry;
use coven_daemon::{ServiceConfig, definition_problem};
use coven_model::{PlanLane, PlanView};
use coven_notation::{ProblemReport, SourceFile};
use coven_workflow::catalogue::GrimoireCatalogue;
use coven_workflow::plan::{PlanStep, StepAction};
use coven_workflow::view::dry_run;
use coven_workflow::{CheckEnvironment, VariableScope, WorkflowPlan, check, known_inputs, settle};
use serde_json::{Map, Value, json};

use self::jobs::{JobPlanner, PlannedJob};
use self::problems::RunProblem;
use super::{Arguments, RunTarget, input};
use crate::failure::{CommandFailure, Result};
use crate::output::PutText;
use crate::{folders, output};

/// How wide the names before values are.
const NAME_COLUMNS: usize = 11;

/// How far everything about a job is indented.
const INDENT: usize = 4;

pub(super) fn run(what: &RunTarget, arguments: &Arguments) -> Result {
    let registry = AdapterRegistry::new(folders::adapters());
    let mut known = CheckEnvironment::new(registry.registered_types());
    if let Some(adapter) = arguments.adapter.clone().or_else(configured_adapter) {
        known = known.with_default_adapter(adapter);
    }
    let plan = plan(what, &known)?;
    let given = input::given(arguments, &plan)?;
    let inputs = known_inputs(&plan, &given);
    let mut settled = plan.clone();
    // What cannot be settled is told below.
    settle(&mut settled, &inputs, &known).ok();
    let base = folders::base_dir(arguments.base_dir.as_deref())?;
    let planner = JobPlanner {
        registry: &registry,
        scope: VariableScope::new(Map::from_iter([(
            "input".to_owned(),
            Value::Object(inputs.clone()),
        )])),
        base: &base,
    };
    let needs = settled.needs();
    let is_first = |index: usize| needs.get(index).map_or(index == 0, Vec::is_empty);
    let jobs = settled.steps.iter().enumerate();
    let jobs = jobs.map(|(index, step)| (step, planner.jobs(step, is_first(index))));
    let steps: Vec<(&PlanStep, Vec<PlannedJob>)> = jobs.collect();
    let mut problems = problems::find(&plan, &given, &inputs, &known);
    problems.extend(problems::of_folder(&base)?);
    problems.extend(problems::of_trees(&plan, &base));
    problems::add_of_jobs(&mut problems, steps.iter().flat_map(|(_, jobs)| jobs));
    let fatal = problems.iter().find(|problem| problem.severity == "error");
    if arguments.json {
        as_json(&settled, &inputs, &steps, &problems)?;
        return fatal.map_or(Ok(()), |problem| {
            let failure = CommandFailure::failed(&problem.message);
            Err(failure.hint(problem.help.as_deref().unwrap_or_default()))
        });
    }
    output::write(&words(&settled, &inputs, &steps))?;
    for RunProblem { severity, message, help } in &problems {
        output::say!("{severity}: {}", output::one_line(message));
        if let Some(help) = help {
            output::say!("hint: {}", output::one_line(help));
        }
    }
    if fatal.is_some() { Err(CommandFailure::told()) } else { Ok(()) }
}

/// The default adapter that the configuration names. One that cannot be read the daemon refuses.
fn configured_adapter() -> Option<String> {
    ServiceConfig::load(&folders::places().ok()?.config()).ok()?.default_adapter
}

fn plan(what: &RunTarget, known: &CheckEnvironment) -> Result<WorkflowPlan> {
    match what {
        RunTarget::Grimoire(name) => {
            let catalogue = GrimoireCatalogue::load(&folders::grimoires(), known);
            Ok(catalogue.plan(name).map_err(crate::grimoire::not_usable)?.clone())
        }
        RunTarget::Definition(definition) => {
            let source = SourceFile::new(definition.name.as_str(), definition.text.as_str());
            let checked = check(&source, known);
            checked.plan.ok_or_else(|| {
                let report = ProblemReport::new(source, checked.problems);
                if CommandFailure::wants_json() {
                    return definition_problem(report).into();
                }
                output::report(&report);
                CommandFailure::told()
            })
        }
    }
}

fn as_json(
    plan: &WorkflowPlan,
    inputs: &Map<String, Value>,
    steps: &[(&PlanStep, Vec<PlannedJob>)],
    problems: &[RunProblem],
) -> Result {
    let mut view = serde_json::to_value(dry_run(plan)).map_err(CommandFailure::failed)?;
    let jobs: Map<String, Value> =
        steps.iter().map(|(step, jobs)| (step.name.clone(), json!(jobs))).collect();
    view["inputs"] = json!(inputs);
    view["jobs"] = Value::Object(jobs);
    view["problems"] = json!(problems);
    output::json(&view)
}

/// Everything that would be done, in the order of the plan.
fn words(
    plan: &WorkflowPlan,
    inputs: &Map<String, Value>,
    steps: &[(&PlanStep, Vec<PlannedJob>)],
) -> String {
    let paint = output::paint();
    let mut text = format!("{}  {}\n", paint.bold(&plan.name), output::one_line(&plan.description));
    for input in &plan.inputs {
        let value = match inputs.get(&input.name) {
            Some(Value::String(text)) => output::one_line(text),
            Some(value) => output::one_line(&value.to_string()),
            None if input.required => "(missing)".to_owned(),
            None => "(not given)".to_owned(),
        };
        let line = format!("{} = {value}", output::one_line(&input.name));
        say(&mut text, 0, "input", &output::shortened(&line, room(0)));
    }
    let mut needs = plan.needs().into_iter();
    for (step, jobs) in steps {
        text.put(format!("\n{}\n", paint.bold(&format!("{}  {}", step.name, step.action.kind()))));
        if let Some(needs) = needs.next() {
            say(&mut text, INDENT, "needs", &needs_words(&needs));
        }
        about(&mut text, step);
        for job in jobs {
            job_words(&mut text, step, job);
        }
    }
    text
}

/// What is so for all jobs of a step.
fn about(text: &mut String, step: &PlanStep) {
    if let Some(condition) = &step.when {
        say(text, INDENT, "when", &output::one_line(condition.source()));
    }
    if step.needs_approval {
        say(text, INDENT, "asks", "a person, before it starts");
    }
    if let StepAction::Gate { script, message, .. } = &step.action {
        let message = message.as_ref().map(|message| output::one_line(message.source()));
        match script {
            None => say(text, INDENT, "asks", &message.unwrap_or_else(|| "a person".to_owned())),
            Some(_) => say(text, INDENT, "asks", "a person, if its command fails"),
        }
    }
    if let Some(timeout) = step.timeout {
        say(text, INDENT, "timeout", &output::age(timeout));
    }
    if let Some(output) = &step.output {
        say(text, INDENT, "output", &format!("${{{output}}}"));
    }
}

/// What a step needs, in words.
fn needs_words(needs: &[String]) -> String {
    if needs.is_empty() { "nothing".to_owned() } else { output::one_line(&needs.join(", ")) }
}

fn job_words(text: &mut String, step: &PlanStep, job: &PlannedJob) {
    let mut say = |name: &str, value: &str| say(text, INDENT, name, value);
    if job.task != step.name {
        say("task", &job.task);
    }
    if !job.times.is_empty() {
        say("times", &output::one_line(&job.times));
    }
    if let Some(mode) = job.mode {
        say("agent", &format!("{}, {mode}", output::one_line(&job.adapter)));
        let permissions = job.permissions.map_or("those of the agent", |level| level.as_str());
        say("permissions", permissions);
    }
    if let Some(sandbox) = job.sandbox {
        say("sandbox", &output::one_line(json!(sandbox).as_str().unwrap_or_default()));
    }
    // A command of several lines is shown in several.
    for (index, line) in shell_words(&job.argv).lines().enumerate() {
        say(if index == 0 { "argv" } else { "" }, &output::clean(line));
    }
    say("cwd", &output::one_line(&job.cwd));
    for (name, value) in &job.env {
        let value = format!("{}={}", output::one_line(name), output::one_line(value));
        say("env", &output::shortened(&value, room(INDENT)));
    }
    if let Some(given) = job.given {
        say("told", given);
    }
    for line in job.prompt.iter().flat_map(|prompt| prompt.trim_end().lines()) {
        say("prompt", &output::clean(line));
    }
    for input in &job.inputs {
        say("then", &output::one_line(input));
    }
    if let Some(problem) = &job.problem {
        say("problem", &output::paint().red(&output::one_line(problem)));
    }
}

fn say(text: &mut String, indent: usize, name: &str, value: &str) {
    let name = output::paint().dim(&format!("{name:<NAME_COLUMNS$}"));
    text.put(format!("{}{name} {value}\n", " ".repeat(indent)));
}

fn room(indent: usize) -> usize {
    output::columns().saturating_sub(indent + NAME_COLUMNS + 1)
}

/// Arguments as they could be typed into a shell.
fn shell_words(argv: &[String]) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "-_./=:,@%+".contains(character);
    let word = |argument: &String| {
        if !argument.is_empty() && argument.chars().all(is_plain) {
            argument.clone()
        } else {
            format!("'{}'", argument.replace('\'', r"'\''"))
        }
    };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// A plan as a table.
pub(crate) fn show(view: &PlanView) -> Result {
    let mut rows = vec![["STEP", "TYPE", "WHAT IT DOES"].map(str::to_owned).to_vec()];
    for row in &view.rows {
        // A step with one task of its own name is told in one row.
        let (own, others): (Vec<_>, Vec<_>) =
            row.lanes.iter().partition(|lane| lane.task.as_str() == row.step);
        let told = own.into_iter().map(does).chain([row.note.clone()]);
        let told: Vec<String> = told.filter(|text| !text.is_empty()).collect();
        let cells = [&row.step, &row.kind, &told.join("; ")];
        rows.push(cells.map(|text| output::one_line(text)).to_vec());
        for lane in others {
            rows.push(vec![
                format!("  {}", lane.task),
                String::new(),
                output::one_line(&does(lane)),
            ]);
        }
    }
    output::write(&output::table(&rows, output::columns()))
}

/// Who does what in a task.
fn does(lane: &PlanLane) -> String {
    if lane.note.is_empty() {
        lane.adapter.clone()
    } else {
        format!("{}: {}", lane.adapter, lane.note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_shown_as_a_shell_would_take_them() {
        let argv = ["bash", "-c", "echo 'it is'\ntrue", "", "--model=a/b"].map(str::to_owned);
        assert_eq!(shell_words(&argv), "bash -c 'echo '\\''it is'\\''\ntrue' '' --model=a/b");
    }
}
