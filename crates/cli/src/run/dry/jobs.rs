//! What each job of a plan would be: the exact arguments, the folder, the prompt. Nothing is started
//! but a program that is asked for its version, where its arguments depend on that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use coven_adapters::launch::{LaunchConversation, LaunchRequest, LaunchSpec};
use coven_adapters::{AdapterRegistry, AgentAdapter, Options, ProgramVersion};
use coven_model::{AgentMode, PermissionLevel, SandboxMode, ShellWork};
use coven_runtime::installed;
use coven_workflow::plan::{AgentSpec, PlanStep, ShellScript, StepAction};
use coven_workflow::{TextTemplate, VariableScope};
use serde::Serialize;
use serde_json::Value;

use crate::doctor;
use crate::transcript::SHELL_ADAPTER;

/// How long a program may take to say its version before the newest that is known is assumed.
const VERSION_TIMEOUT: Duration = Duration::from_secs(30);

/// What stands in the arguments for a prompt, which is told beside them.
const PROMPT: &str = "PROMPT";

/// What stands for the id of a conversation that is only made when it begins.
const NEW_CONVERSATION: &str = "NEW-ID";

/// What stands for the folder of the attempt, which is only made when it begins.
const ATTEMPT_FOLDER: &str = "ATTEMPT-FOLDER";

/// A job as it would be started. What is known only later stands there as `${name}`.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlannedJob {
    pub(super) task: String,
    /// The agent, or `shell`.
    pub(super) adapter: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<AgentMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) permissions: Option<PermissionLevel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sandbox: Option<SandboxMode>,
    pub(super) argv: Vec<String>,
    /// Where the program is; nothing if it was not found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) program: Option<PathBuf>,
    pub(super) cwd: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) env: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt: Option<String>,
    /// How it is given the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) given: Option<&'static str>,
    /// What it is told later, one each time it is idle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) inputs: Vec<String>,
    /// How often it is started.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) times: String,
    /// Why it could not be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
}

/// Makes the jobs of steps, with what is known before a run.
pub(super) struct JobPlanner<'a> {
    pub(super) registry: &'a AdapterRegistry,
    pub(super) scope: VariableScope,
    pub(super) base: &'a Path,
}

impl JobPlanner<'_> {
    /// The same with more that is known.
    fn with_scope(&self, scope: VariableScope) -> JobPlanner<'_> {
        JobPlanner { registry: self.registry, scope, base: self.base }
    }

    /// The jobs of a step, with what is wrong with them.
    pub(super) fn jobs(&self, step: &PlanStep, is_first: bool) -> Vec<PlannedJob> {
        self.planned(step).into_iter().map(|job| without_folder(job, is_first)).collect()
    }

    fn planned(&self, step: &PlanStep) -> Vec<PlannedJob> {
        match &step.action {
            StepAction::Agent { agent } => vec![self.agent(step, &step.name, agent)],
            StepAction::AgentLoop { agent, arbiter, until, max_iterations, .. } => {
                let times = format!("at most {max_iterations} rounds");
                let name = &step.name;
                let work = self.agent(step, &format!("{name}.r1"), agent);
                let check = until.iter().map(|until| PlannedJob {
                    task: format!("{name}.r1.check"),
                    ..self.script(step, &until.script)
                });
                let judge = arbiter.iter();
                let judge = judge.map(|one| self.agent(step, &format!("{name}.r1.arbiter"), one));
                let jobs = std::iter::once(work).chain(check).chain(judge);
                jobs.map(|job| PlannedJob { times: times.clone(), ..job }).collect()
            }
            StepAction::Loop { steps, max_iterations, .. } => {
                let times = format!("at most {max_iterations} rounds");
                let name = &step.name;
                let inside = steps.iter().flat_map(|inner| self.planned(inner));
                let inside =
                    inside.map(|job| PlannedJob { task: format!("{name}.r1.{}", job.task), ..job });
                let check = step.action.check().map(|check| PlannedJob {
                    task: format!("{name}.r1.check"),
                    ..self.script(step, &check.script)
                });
                let jobs = inside.chain(check);
                jobs.map(|job| PlannedJob { times: times.clone(), ..job }).collect()
            }
            StepAction::ForEach { step: one, for_each, item, max_concurrent } => {
                let name = &step.name;
                let times = format!("{max_concurrent} at a time");
                let named = |planner: &JobPlanner<'_>, task: String, times: &str| {
                    let jobs = planner.planned(one).into_iter();
                    let named = jobs.map(|job| PlannedJob {
                        task: task.clone(),
                        times: times.to_owned(),
                        ..job
                    });
                    named.collect::<Vec<_>>()
                };
                let Ok(Value::Array(items)) = for_each.value(&self.scope) else {
                    let each = for_each.render_known(&self.scope);
                    return named(
                        self,
                        format!("{name}.*"),
                        &format!("for each of {each}, {times}"),
                    );
                };
                let of_item = |(index, element): (usize, &Value)| {
                    let scope = self.scope.with(item, element.clone()).with("index", index.into());
                    named(&self.with_scope(scope), format!("{name}.{index}"), &times)
                };
                items.iter().enumerate().flat_map(of_item).collect()
            }
            StepAction::ParallelAgents { agent, for_each, item, max_concurrent } => {
                let times = format!("{max_concurrent} at a time");
                let Ok(Value::Array(items)) = for_each.value(&self.scope) else {
                    let each = for_each.render_known(&self.scope);
                    let times = format!("for each of {each}, {times}");
                    let job = self.agent(step, &format!("{}.*", step.name), agent);
                    return vec![PlannedJob { times, ..job }];
                };
                let one = |(index, element): (usize, &Value)| {
                    let scope = self.scope.with(item, element.clone()).with("index", index.into());
                    let job = self.with_scope(scope).agent(
                        step,
                        &format!("{}.{index}", step.name),
                        agent,
                    );
                    PlannedJob { times: times.clone(), ..job }
                };
                items.iter().enumerate().map(one).collect()
            }
            StepAction::Script { script, .. } | StepAction::Gate { script: Some(script), .. } => {
                vec![self.script(step, script)]
            }
            StepAction::Gate { script: None, .. } => Vec::new(),
            StepAction::Stage { tasks } => {
                let one = |task: &coven_workflow::plan::StageTask| {
                    let mut job = self.agent(step, task.id.as_str(), &task.agent);
                    if let Some(cwd) = &task.cwd {
                        job.cwd = self.folder(Some(cwd));
                    }
                    job.env.extend(self.variables(&task.env));
                    job
                };
                tasks.iter().map(one).collect()
            }
        }
    }

    fn script(&self, step: &PlanStep, script: &ShellScript) -> PlannedJob {
        let mut argv: Vec<String> = match &script.shell {
            Some(shell) if !shell.is_empty() => shell.clone(),
            _ => ShellWork::usual_shell(has_bash()).map(str::to_owned).collect(),
        };
        let program = argv.first().and_then(|program| doctor::find(program));
        argv.push(script.command.source().to_owned());
        // Values reach a command through its environment, never as a part of its text.
        let values = script.command.references().filter_map(|name| {
            let value = self.scope.resolve(name).ok()?;
            Some((format!("${{{name}}}"), coven_workflow::to_text(value)))
        });
        let mut env = self.variables(&step.env);
        env.extend(values);
        let job = PlannedJob {
            task: step.name.clone(),
            adapter: SHELL_ADAPTER.to_owned(),
            sandbox: confined(script.sandbox),
            argv,
            program,
            cwd: self.folder(step.cwd.as_ref()),
            env,
            ..PlannedJob::default()
        };
        missing(job)
    }

    fn agent(&self, step: &PlanStep, task: &str, agent: &AgentSpec) -> PlannedJob {
        let text = |template: &TextTemplate| template.render_known(&self.scope);
        let adapter = TextTemplate::parse(&agent.adapter)
            .map_or_else(|_| agent.adapter.clone(), |it| text(&it));
        let job = PlannedJob {
            task: task.to_owned(),
            adapter: adapter.clone(),
            mode: Some(agent.mode),
            permissions: agent.permissions,
            sandbox: confined(agent.sandbox),
            cwd: self.folder(step.cwd.as_ref()),
            env: self.variables(&step.env),
            prompt: agent.prompt.as_ref().map(text),
            inputs: agent.pending_inputs.iter().map(text).collect(),
            ..PlannedJob::default()
        };
        if adapter.contains("${") {
            // Which agent it is shows only when its turn comes.
            return job;
        }
        match self.registry.create(&adapter, Options::default()) {
            Ok(made) => self.launched(job, made.as_ref(), agent),
            Err(error) => PlannedJob { problem: Some(error.to_string()), ..job },
        }
    }

    /// The same with the arguments that the adapter makes of it.
    fn launched(
        &self,
        job: PlannedJob,
        adapter: &dyn AgentAdapter,
        agent: &AgentSpec,
    ) -> PlannedJob {
        let config = adapter.config();
        let command = config.command.as_deref().unwrap_or_else(|| adapter.kind());
        let is_own = doctor::BUNDLED_ADAPTERS.contains(&adapter.kind());
        let program = if is_own { crate::connect::program().ok() } else { doctor::find(command) };
        let version = program.as_deref().and_then(|program| version(config, program));
        let model = agent.model.as_ref().map(|model| model.render_known(&self.scope));
        let extra: Vec<String> =
            agent.extra_args.iter().map(|it| it.render_known(&self.scope)).collect();
        let chooses = config.resume.as_ref().is_some_and(|it| !it.new_args.is_empty());
        let conversation = if chooses {
            LaunchConversation::NewWithId(NEW_CONVERSATION)
        } else {
            LaunchConversation::New
        };
        let wants_channel = agent.channel || !agent.pending_inputs.is_empty();
        let launch = adapter.launch(&LaunchRequest {
            mode: agent.mode,
            prompt: job.prompt.as_deref(),
            extra_args: &extra,
            permission: agent.permissions,
            model: model.as_deref(),
            version: version.as_ref(),
            auto_approve: agent.auto_approve,
            conversation,
            prompt_folder: Some(ATTEMPT_FOLDER),
            channel: config.speaks(agent.mode, agent.permissions, wants_channel),
            channel_refused: None,
            hooks: None,
        });
        match launch {
            Ok(launch) => {
                let is_prompt = |argument: &String| job.prompt.as_ref() == Some(argument);
                let shown = |argument: String| {
                    if is_prompt(&argument) { PROMPT.to_owned() } else { argument }
                };
                let given = match &launch {
                    LaunchSpec { channel: Some(_), .. } => "in its own protocol",
                    LaunchSpec { prompt_file: Some(_), .. } => "in a file, because it is long",
                    LaunchSpec { input: Some(_), .. } => "on its input",
                    LaunchSpec { typed_prompt: Some(_), .. } => "typed, once it is ready",
                    _ => "as an argument",
                };
                let given = job.prompt.as_ref().map(|_| given);
                let mut env = job.env.clone();
                env.extend(launch.env);
                let argv = [launch.command].into_iter().chain(launch.args.into_iter().map(shown));
                let permissions = launch.permission.or(job.permissions);
                missing(PlannedJob {
                    argv: argv.collect(),
                    program,
                    env,
                    permissions,
                    given,
                    ..job
                })
            }
            Err(error) => PlannedJob { problem: Some(error.to_string()), program, ..job },
        }
    }

    fn folder(&self, cwd: Option<&TextTemplate>) -> String {
        let cwd = cwd.map(|cwd| cwd.render_known(&self.scope)).filter(|cwd| !cwd.is_empty());
        cwd.map_or_else(|| self.base.to_owned(), |cwd| self.base.join(cwd)).display().to_string()
    }

    fn variables(&self, env: &BTreeMap<String, TextTemplate>) -> BTreeMap<String, String> {
        env.iter().map(|(name, value)| (name.clone(), value.render_known(&self.scope))).collect()
    }
}

/// Whether the usual shell of commands is bash.
fn has_bash() -> bool {
    doctor::find("bash").is_some() || Path::new("/bin/bash").is_file()
}

fn confined(sandbox: SandboxMode) -> Option<SandboxMode> {
    (sandbox != SandboxMode::Off).then_some(sandbox)
}

/// Says so if the program of a job is not there.
fn missing(job: PlannedJob) -> PlannedJob {
    if job.program.is_some() || job.problem.is_some() {
        return job;
    }
    let problem = job.argv.first().map(|program| format!("`{program}` was not found in PATH"));
    PlannedJob { problem, ..job }
}

/// Says so if the folder of a job is not there. A step before it may make it.
fn without_folder(job: PlannedJob, is_first: bool) -> PlannedJob {
    let is_known = !job.cwd.contains("${");
    if job.problem.is_some() || !is_known || Path::new(&job.cwd).is_dir() {
        return job;
    }
    let made = if is_first { "" } else { " yet; a step before it may make it" };
    let problem = Some(format!("there is no folder {}{made}", job.cwd));
    PlannedJob { problem, ..job }
}

/// The version of a program, where its adapter knows of differences.
fn version(config: &coven_adapters::Config, program: &Path) -> Option<ProgramVersion> {
    if config.versions.is_empty() || config.version_args.is_empty() {
        return None;
    }
    let printed = installed::printed_by(program, &config.version_args, None, VERSION_TIMEOUT);
    ProgramVersion::find(&printed.ok()?)
}
