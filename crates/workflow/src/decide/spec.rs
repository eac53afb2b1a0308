//! Makes jobs: fills the variables into everything that a task is given.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coven_model::event::{AttemptPlace, SessionEvent, TaskRole, TaskStarted};
use coven_model::{
    AgentMode, AgentWork, AttemptId, ConfineMode, ExitCodes, JobId, JobSpec, JobWork,
    PermissionLevel, RoundContext, SandboxMode, ShellWork, TaskId, TerminalSize,
};
use serde_json::{Value, json};

use super::DecisionDraft;
use crate::expect::{ExpectedOutput, comments};
use crate::plan::{
    AgentSpec, DEFAULT_ITEM, LoopContext, LoopEnd, PlanStep, ShellScript, StepAction,
};
use crate::state::{AgentConversation, Local, StepRun, TaskRun, TaskVariables, WorkflowRun};
use crate::template::{TextTemplate, to_text};

mod arbiter;
mod inner;
mod review;

/// How long a summary is at most, in characters.
const MAX_SUMMARY_CHARS: usize = 120;

/// A value in one line, for people.
pub(super) fn summary(value: &Value) -> String {
    let text = to_text(value);
    let mut line: String =
        text.split_whitespace().take(MAX_SUMMARY_CHARS).collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = line.char_indices().nth(MAX_SUMMARY_CHARS) {
        line.truncate(at);
        line.push('…');
    }
    line
}

/// Where a field of a step stands, in words.
pub(super) fn field(step: &PlanStep, name: &str) -> String {
    match step.places.get(name) {
        Some(place) => {
            format!(
                "`{name}` of step `{}`, line {}, column {}",
                step.name, place.line, place.column
            )
        }
        None => format!("`{name}` of step `{}`", step.name),
    }
}

impl TaskVariables<'_> {
    /// The value of a template, or why it has none and where it stands.
    pub(super) fn value(
        &self,
        step: &PlanStep,
        name: &str,
        template: &TextTemplate,
    ) -> Result<Value, String> {
        let scope = self.scope(template.references());
        template.value(&scope).map_err(|undefined| {
            // Once more with all names, for a message that can suggest one.
            let undefined =
                template.value(&self.scope_for_errors(&scope)).err().unwrap_or(undefined);
            format!("{undefined} ({})", field(step, name))
        })
    }

    /// The text of a template.
    pub(super) fn text(
        &self,
        step: &PlanStep,
        name: &str,
        template: &TextTemplate,
    ) -> Result<String, String> {
        if let Some(text) = template.literal() {
            return Ok(text.to_owned());
        }
        let scope = self.scope(template.references());
        template.render(&scope).map_err(|undefined| {
            let scope = self.scope_for_errors(&scope);
            let undefined = template.render(&scope).err().unwrap_or(undefined);
            format!("{undefined} ({})", field(step, name))
        })
    }

    fn maybe(
        &self,
        step: &PlanStep,
        name: &str,
        template: Option<&TextTemplate>,
    ) -> Result<Option<String>, String> {
        template.map(|template| self.text(step, name, template)).transpose()
    }

    fn render_texts(
        &self,
        step: &PlanStep,
        name: &str,
        all: &[TextTemplate],
    ) -> Result<Vec<String>, String> {
        all.iter().map(|template| self.text(step, name, template)).collect()
    }

    fn env(
        &self,
        step: &PlanStep,
        prefix: &str,
        env: &BTreeMap<String, TextTemplate>,
    ) -> Result<BTreeMap<String, String>, String> {
        let entry = |(name, value): (&String, &TextTemplate)| {
            let text = self.text(step, &format!("{prefix}env.{name}"), value)?;
            Ok((name.clone(), text))
        };
        env.iter().map(entry).collect()
    }

    fn script(&self, step: &PlanStep, name: &str, script: &ShellScript) -> Result<JobWork, String> {
        let scope = self.scope(script.command.references());
        let prepared = script.command.prepare(&scope).map_err(|error| {
            let error =
                script.command.prepare(&self.scope_for_errors(&scope)).err().unwrap_or(error);
            format!("{error} ({})", field(step, name))
        })?;
        Ok(JobWork::Shell(ShellWork {
            text: prepared.text,
            shell: script.shell.clone(),
            variables: prepared.env,
            files: prepared.files,
        }))
    }

    /// An agent's work, and what it is told later. `prefix` says where its fields stand.
    fn agent(
        &self,
        step: &PlanStep,
        prefix: &str,
        agent: &AgentSpec,
    ) -> Result<(AgentWork, Vec<String>), String> {
        let at = |name: &str| format!("{prefix}{name}");
        let adapter = match TextTemplate::parse(&agent.adapter) {
            Ok(template) => self.text(step, &at("adapter"), &template)?,
            Err(_) => agent.adapter.clone(),
        };
        if adapter.is_empty() {
            let place = field(step, &at("adapter"));
            return Err(format!("`{}` does not say which agent to run ({place})", agent.adapter));
        }
        let work = AgentWork {
            adapter,
            mode: agent.mode,
            model: self.maybe(step, &at("model"), agent.model.as_ref())?,
            permissions: agent.permissions,
            extra_args: self.render_texts(step, &at("extra_args"), &agent.extra_args)?,
            auto_approve: agent.auto_approve,
            prompt: self.maybe(step, &at("prompt"), agent.prompt.as_ref())?,
            keep_alive: agent.keep_alive,
            channel: agent.mode == AgentMode::Headless
                && (agent.channel || !agent.pending_inputs.is_empty()),
            without_channel: None,
            context: None,
            review: None,
        };
        Ok((work, self.render_texts(step, &at("pending_inputs"), &agent.pending_inputs)?))
    }
}

/// What a task is given, before it has a job id.
struct JobDraft {
    work: JobWork,
    inputs: Vec<String>,
    name: Option<String>,
    cwd: Option<String>,
    env: BTreeMap<String, String>,
    timeout: Option<Duration>,
    ok_exit_codes: ExitCodes,
    sandbox: SandboxMode,
    confine: Option<ConfineMode>,
    domain: Option<String>,
    size: Option<TerminalSize>,
}

impl DecisionDraft {
    /// Starts the next attempt of a task. What it is given may not exist; then the step fails.
    pub(super) fn start(&mut self, role: TaskRole) {
        if !self.tree_is_ready(role) {
            return;
        }
        let Some(run) = self.run() else { return };
        let Some((index, step, state)) = self.current() else { return };
        match started(run, (index, step, state), role) {
            Ok(mut started) => {
                started.at = self.now;
                self.record(SessionEvent::TaskStarted(Box::new(started)));
            }
            Err(error) => self.step_failed(error, false),
        }
    }
}

fn started(
    run: &WorkflowRun,
    (index, step, state): (u32, &PlanStep, &StepRun),
    role: TaskRole,
) -> Result<TaskStarted, String> {
    let before = state.task_of(role);
    let attempt = before.map_or(1, |task| task.attempt.saturating_add(1));
    let attempts = step.of_task(role).0.retry.attempts.max(1);
    let limit = before.map_or(attempts, |task| task.limit.max(attempt));
    let names = TaskVariables { run, step: index, local: local(run, step, state, role) };
    let task = task_id(step, role)?;
    let mut given = job_draft(&names, step, state, role)?;
    let tree = run.tree_of(step, role);
    let review = before.and_then(|task| {
        let review = task.review.as_ref()?;
        Some((review.prompt.clone(), task.conversation.clone().filter(|_| review.continues)))
    });
    let resolution = tree.as_ref().and_then(|tree| super::trees::resolution_prompt(run, tree));
    if let (Some(prompt), JobWork::Agent(work)) = (resolution, &mut given.work) {
        work.prompt = Some(prompt);
        given.inputs.clear();
    }
    if let JobWork::Agent(work) = &mut given.work {
        let known = before.or_else(|| round_before(state, role));
        work.without_channel = known.and_then(|task| task.without_channel.clone());
        work.context = round_context(step, state, role);
        if let Some((review, conversation)) = review {
            review::begin_with(work, &review, conversation);
            given.inputs.clear();
        }
        if *step.expected(role) == ExpectedOutput::Comments {
            let last =
                given.inputs.last_mut().unwrap_or_else(|| work.prompt.get_or_insert_default());
            ask_for_comments(last);
        }
    }
    let spec = JobSpec {
        job: JobId {
            session: run.session().clone(),
            attempt: AttemptId { task: task.clone(), attempt },
        },
        step: step.name.clone(),
        name: given.name.unwrap_or_else(|| task.to_string()),
        work: given.work,
        tree: tree.and_then(|tree| run.job_tree(&tree)).map(Box::new),
        cwd: given.cwd,
        env: given.env,
        timeout: given.timeout,
        ok_exit_codes: given.ok_exit_codes,
        sandbox: given.sandbox,
        confine: given.confine,
        approved_by: state.approved_by.clone(),
        domain: given.domain,
        size: given.size,
    };
    let at = coven_model::Timestamp::default();
    Ok(TaskStarted { spec, role, limit, inputs: given.inputs, place: AttemptPlace::Jobs, at })
}

/// Says in what is told last what the answer must be.
fn ask_for_comments(told: &mut String) {
    let request = comments::request();
    if !told.contains(request) {
        let gap = if told.is_empty() { "" } else { "\n\n" };
        *told = format!("{}{gap}{request}", told.trim_end());
    }
}

fn round_before(state: &StepRun, role: TaskRole) -> Option<&TaskRun> {
    match role {
        TaskRole::Round(round) if round > 1 => state.task_of(TaskRole::Round(round - 1)),
        _ => None,
    }
}

/// What a further round has of the round before, where its step wants that.
fn round_context(step: &PlanStep, state: &StepRun, role: TaskRole) -> Option<RoundContext> {
    let StepAction::AgentLoop { context: LoopContext::Continue, .. } = step.action else {
        return None;
    };
    let before = round_before(state, role)?;
    Some(if let Some(AgentConversation { id, used }) = &before.conversation {
        RoundContext::Continue { conversation: id.clone(), used: *used }
    } else {
        let reason = format!("{} named no conversation that could be continued", before.id);
        RoundContext::Fresh { reason }
    })
}

fn task_id(step: &PlanStep, role: TaskRole) -> Result<TaskId, String> {
    let name = &step.name;
    let id = match (role, &step.action) {
        (TaskRole::Stage(place), StepAction::Stage { tasks }) => {
            let task = tasks.get(place as usize);
            return task.map(|task| task.id.clone()).ok_or_else(|| "no such task".to_owned());
        }
        (TaskRole::Main | TaskRole::Stage(_), _) => name.clone(),
        (TaskRole::Item(index), _) => format!("{name}.{index}"),
        (TaskRole::Round(round), _) => format!("{name}.r{round}"),
        (TaskRole::Arbiter(round), _) => format!("{name}.r{round}.arbiter"),
        (TaskRole::Check(round), _) => format!("{name}.r{round}.check"),
        (TaskRole::Inner { round, .. }, _) => {
            format!("{name}.r{round}.{}", step.of_task(role).0.name)
        }
    };
    TaskId::new(id).map_err(|error| error.to_string())
}

/// The names that only this task knows.
pub(super) fn local(
    run: &WorkflowRun,
    step: &PlanStep,
    state: &StepRun,
    role: TaskRole,
) -> Vec<Local> {
    let name = |name: &str, value: Value| (name.to_owned(), Arc::new(value));
    let tree = run.tree_of(step, role).and_then(|tree| run.job_tree(&tree));
    let mut names = match (role, &step.action) {
        (TaskRole::Item(index), action) => {
            let item = action.fan_out().map_or(DEFAULT_ITEM, |(_, item, _)| item);
            let element = state.items.as_ref().and_then(|items| items.get(index as usize));
            vec![name(item, element.cloned().unwrap_or_default()), name("index", json!(index))]
        }
        (TaskRole::Inner { round, place }, StepAction::Loop { steps, .. }) => {
            let output = inner::last_output(state, round.saturating_sub(1));
            let mut names = round_names(state, round, output.as_deref());
            names.extend(inner::names(steps, state, (round, place as usize)));
            names
        }
        (TaskRole::Check(round), StepAction::Loop { steps, .. }) => {
            let output = inner::last_output(state, round.saturating_sub(1));
            let mut names = round_names(state, round, output.as_deref());
            names.extend(inner::names(steps, state, (round, steps.len())));
            names
        }
        (TaskRole::Round(round) | TaskRole::Arbiter(round) | TaskRole::Check(round), _) => {
            let output = arbiter::output(state, round.saturating_sub(1));
            round_names(state, round, output.as_deref())
        }
        _ => Vec::new(),
    };
    let shared = || {
        let folder = run.identity.base_dir.clone().unwrap_or_default();
        (folder.clone(), String::new(), String::new(), folder)
    };
    let (path, branch, base, root) =
        tree.map_or_else(shared, |tree| (tree.path, tree.branch, tree.base, tree.root));
    names.push(name("tree", json!({"path": path, "branch": branch, "base": base, "root": root})));
    names
}

/// What a task in a round knows of the round before.
fn round_names(state: &StepRun, round: u32, output: Option<&Value>) -> Vec<Local> {
    let name = |name: &str, value: Value| (name.to_owned(), Arc::new(value));
    let judged = state.verdict(round.saturating_sub(1));
    vec![
        name("iteration", json!(round)),
        name("previous", json!({ "output": output })),
        name(
            "verdict",
            json!({
                "verdict": judged.map(|judged| judged.verdict.as_str()),
                "reason": judged.map(|judged| judged.reason.as_str()),
            }),
        ),
    ]
}

fn job_draft(
    names: &TaskVariables<'_>,
    step: &PlanStep,
    state: &StepRun,
    role: TaskRole,
) -> Result<JobDraft, String> {
    let (step, role) = step.of_task(role);
    let mut given = match (role, &step.action) {
        (_, StepAction::Script { script, .. } | StepAction::Gate { script: Some(script), .. }) => {
            given_script(names, step, "command", script)?
        }
        (
            TaskRole::Check(_),
            StepAction::AgentLoop { until: Some(until), .. }
            | StepAction::Loop { until: LoopEnd::Command(until), .. },
        ) => {
            let given = given_script(names, step, "until.command", &until.script)?;
            JobDraft { timeout: until.timeout, ..given }
        }
        (TaskRole::Arbiter(round), StepAction::AgentLoop { arbiter: Some(arbiter), .. }) => {
            let mut given = given_agent(names, step, "arbiter.", arbiter)?;
            if let JobWork::Agent(work) = &mut given.work {
                let question = work.prompt.take().unwrap_or_default();
                work.prompt = Some(arbiter::prompt(&question, state, round));
                // It judges the work and cannot change it.
                work.permissions = Some(PermissionLevel::ReadOnly);
                work.auto_approve = false;
                work.keep_alive = false;
                work.channel = false;
            }
            given.sandbox = SandboxMode::ReadOnly;
            given
        }
        (TaskRole::Stage(place), StepAction::Stage { tasks }) => {
            let Some(task) = tasks.get(place as usize) else {
                return Err("no such task".to_owned());
            };
            let prefix = format!("tasks.{}.", task.id);
            let mut given = given_agent(names, step, &prefix, &task.agent)?;
            given.cwd = names.maybe(step, &format!("{prefix}cwd"), task.cwd.as_ref())?;
            given.env = names.env(step, &prefix, &task.env)?;
            given.timeout = task.timeout;
            given.domain.clone_from(&task.domain);
            given
        }
        (TaskRole::Round(_), StepAction::AgentLoop { agent, .. })
        | (_, StepAction::Agent { agent } | StepAction::ParallelAgents { agent, .. }) => {
            given_agent(names, step, "", agent)?
        }
        _ => return Err("such a step has no such task".to_owned()),
    };
    given.cwd = match given.cwd {
        Some(cwd) => Some(cwd),
        None => names.maybe(step, "cwd", step.cwd.as_ref())?,
    };
    for (name, value) in names.env(step, "", &step.env)? {
        given.env.entry(name).or_insert(value);
    }
    given.timeout = given.timeout.or(step.timeout);
    given.domain = given.domain.or_else(|| step.domain.clone());
    Ok(given)
}

fn given_script(
    names: &TaskVariables<'_>,
    step: &PlanStep,
    name: &str,
    script: &ShellScript,
) -> Result<JobDraft, String> {
    Ok(JobDraft {
        work: names.script(step, name, script)?,
        inputs: Vec::new(),
        name: None,
        cwd: None,
        env: BTreeMap::new(),
        timeout: None,
        ok_exit_codes: script.ok_exit_codes.clone(),
        sandbox: script.sandbox,
        confine: script.confine,
        domain: None,
        size: None,
    })
}

fn given_agent(
    names: &TaskVariables<'_>,
    step: &PlanStep,
    prefix: &str,
    agent: &AgentSpec,
) -> Result<JobDraft, String> {
    let (work, inputs) = names.agent(step, prefix, agent)?;
    Ok(JobDraft {
        work: JobWork::Agent(work),
        inputs,
        name: agent.name.clone(),
        cwd: None,
        env: BTreeMap::new(),
        timeout: None,
        ok_exit_codes: agent.ok_exit_codes.clone(),
        sandbox: agent.sandbox,
        confine: agent.confine,
        domain: None,
        size: agent.size,
    })
}
