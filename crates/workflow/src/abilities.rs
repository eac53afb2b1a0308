//! Holds a plan against what its agents can be asked for, before anything runs: a permission that an
//! adapter cannot grant, a mode it does not have, an answer that cannot be told from a screen, a
//! program that is not there, a file of the adapter with which no run can work. Adapters that come
//! from inputs or from the elements of a fan-out are held against it as far as these are known.

use coven_model::{AdapterAbilities, AgentMode, PermissionLevel};
use coven_notation::{FileProblem, SourceFile, SourceSpan};
use serde_json::{Map, Value};

use crate::bind::known_inputs;
use crate::compile::adapter_names;
use crate::plan::{AgentSpec, LoopContext, PlanStep, SourceLocation, StepAction, WorkflowPlan};
use crate::scope::VariableScope;

/// The code of a program that is not there.
const NO_PROGRAM: &str = "no-program";

/// Something that an agent of a plan cannot do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inability {
    pub code: &'static str,
    /// Whether the step would fail for certain. Otherwise it may not do what its author wants.
    pub fatal: bool,
    /// Whether the adapter is what an input says, so that a run with another input may be able.
    pub by_input: bool,
    /// The step and what about it cannot be done.
    pub message: String,
    /// What to do.
    pub help: String,
    /// Where the step asks for it, if that is known.
    pub place: Option<SourceLocation>,
}

impl Inability {
    /// As a problem of the file that the plan was made from.
    pub fn in_file(&self, source: &SourceFile) -> FileProblem {
        let span = self.place.map_or_else(SourceSpan::default, |place| span(source, place));
        let problem = if self.fatal {
            FileProblem::error(self.code, span, &self.message)
        } else {
            FileProblem::warning(self.code, span, &self.message)
        };
        problem.help(&self.help)
    }
}

impl std::fmt::Display for Inability {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} ({})", self.message, self.help)
    }
}

/// From a place to the end of the word that stands there.
fn span(source: &SourceFile, place: SourceLocation) -> SourceSpan {
    let line = source.line_span(place.line as usize);
    let text = source.slice(line);
    let skipped = text.chars().take(place.column.saturating_sub(1) as usize);
    let start = line.range().start + skipped.map(char::len_utf8).sum::<usize>();
    let rest = &source.text()[start.min(source.text().len())..];
    let length =
        rest.find(|c: char| c.is_whitespace() || c == ',' || c == '}').unwrap_or(rest.len());
    SourceSpan::new(start, start + length.max(1))
}

/// What the agents of a plan cannot do. `inputs` are those that are known; an adapter whose name
/// is not known before the run is not judged. `abilities` knows adapters by their names; one that it
/// does not know is not judged either. `finds` says whether a program is there.
pub fn inabilities(
    plan: &WorkflowPlan,
    inputs: &Map<String, Value>,
    abilities: impl Fn(&str) -> Option<AdapterAbilities>,
    finds: impl Fn(&str) -> bool,
) -> Vec<Inability> {
    let scope = VariableScope::default().with("input", Value::Object(inputs.clone()));
    let mut found: Vec<Inability> = Vec::new();
    let inside = |step| std::iter::once(step).chain(PlanStep::inner(step));
    for step in plan.steps.iter().flat_map(inside) {
        for (agent, prefix) in agents(step) {
            let (names, by_input) = adapter_names(&step.action, agent, &scope);
            for adapter in &names {
                let Some(able) = abilities(adapter) else { continue };
                let prefix = prefix.clone();
                let request = AgentRequest { step, agent, adapter, by_input, prefix, able: &able };
                found.extend(request.unable(&finds));
            }
        }
    }
    found.dedup();
    found
}

/// The same as problems of the file that a plan was made from, for people who check it, who have
/// given no inputs. A program that is missing here may be there where the definition will run, and
/// an input may have another value, so these are warnings.
pub fn ability_problems(
    plan: &WorkflowPlan,
    source: &SourceFile,
    abilities: impl Fn(&str) -> Option<AdapterAbilities>,
    finds: impl Fn(&str) -> bool,
) -> Vec<FileProblem> {
    let found = inabilities(plan, &known_inputs(plan, &Map::new()), abilities, finds).into_iter();
    let problems = found.map(|mut unable| {
        unable.fatal &= unable.code != NO_PROGRAM && !unable.by_input;
        unable.in_file(source)
    });
    problems.collect()
}

fn agents(step: &PlanStep) -> Vec<(&AgentSpec, String)> {
    match &step.action {
        StepAction::Agent { agent } | StepAction::ParallelAgents { agent, .. } => {
            vec![(agent, String::new())]
        }
        StepAction::AgentLoop { agent, arbiter, .. } => {
            let arbiter = arbiter.iter().map(|arbiter| (arbiter, "arbiter.".to_owned()));
            std::iter::once((agent, String::new())).chain(arbiter).collect()
        }
        StepAction::Stage { tasks } => {
            tasks.iter().map(|task| (&task.agent, format!("tasks.{}.", task.id))).collect()
        }
        StepAction::Loop { .. }
        | StepAction::ForEach { .. }
        | StepAction::Script { .. }
        | StepAction::Gate { .. } => Vec::new(),
    }
}

/// What a step asks of one agent.
struct AgentRequest<'a> {
    step: &'a PlanStep,
    agent: &'a AgentSpec,
    /// The name of its adapter, which the agent may take from an input or an element.
    adapter: &'a str,
    by_input: bool,
    prefix: String,
    able: &'a AdapterAbilities,
}

impl AgentRequest<'_> {
    fn unable(&self, finds: impl Fn(&str) -> bool) -> Vec<Inability> {
        if let Some(fault) = self.file() {
            return vec![fault];
        }
        let told = [self.mode(), self.permission(), self.channel(), self.context(), self.answer()];
        let mut found: Vec<Inability> = told.into_iter().flatten().collect();
        let overridden = self.step.env.contains_key("PATH");
        if !overridden && !finds(&self.able.command) {
            found.push(self.program());
        }
        found
    }

    fn told(
        &self,
        code: &'static str,
        fields: &[&str],
        message: String,
        help: String,
    ) -> Inability {
        let places = &self.step.places;
        let of_agent = |field: &str| places.get(&format!("{}{field}", self.prefix));
        let own = fields.iter().find_map(|field| of_agent(field)).or_else(|| of_agent("adapter"));
        let place = own.or_else(|| places.get("adapter")).or_else(|| places.get("name"));
        let by_input = self.by_input;
        Inability { code, fatal: true, by_input, message, help, place: place.copied() }
    }

    /// Who is meant, in words.
    fn subject(&self) -> String {
        match self.prefix.strip_suffix('.') {
            None => format!("step `{}`", self.step.name),
            Some("arbiter") => format!("the arbiter of step `{}`", self.step.name),
            Some(task) => format!("task `{}`", task.trim_start_matches("tasks.")),
        }
    }

    /// What is wrong with the files of the adapter.
    fn file(&self) -> Option<Inability> {
        let fault = self.able.faults.get(&self.agent.mode)?;
        let message = format!(
            "{}: the adapter `{}` cannot be used: {}",
            self.subject(),
            self.adapter,
            fault.message
        );
        Some(self.told(fault.code, &["adapter"], message, fault.help.clone()))
    }

    fn mode(&self) -> Option<Inability> {
        let (adapter, mode) = (self.adapter, self.agent.mode);
        if self.able.modes.contains_key(&mode) {
            return None;
        }
        let known: Vec<&str> = self.able.modes.keys().map(|mode| mode.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let message = format!("{}: `{adapter}` has no mode `{mode}`", self.subject());
        Some(self.told("no-mode", &["mode"], message, format!("its modes: {known}")))
    }

    fn permission(&self) -> Option<Inability> {
        let level = self.agent.permissions?;
        let granted = self.able.modes.get(&self.agent.mode)?;
        if granted.contains(&level) {
            return None;
        }
        let adapter = self.adapter;
        let known: Vec<&str> = granted.iter().map(|level| level.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let is_arbiter = self.prefix == "arbiter.";
        let message = if is_arbiter {
            format!("`{adapter}` cannot be an arbiter: it does not say how to grant `{level}`")
        } else {
            let subject = self.subject();
            format!("{subject}: the adapter `{adapter}` does not say how to grant `{level}`")
        };
        let help = if is_arbiter && level == PermissionLevel::ReadOnly {
            "take another adapter for the arbiter, or add `read-only` to the `permissions` of its \
             file"
                .to_owned()
        } else {
            format!("it knows: {known}")
        };
        Some(self.told("cannot-grant", &["permissions", "adapter", "prompt"], message, help))
    }

    /// More than one prompt without a terminal needs a protocol.
    fn channel(&self) -> Option<Inability> {
        let agent = self.agent;
        let is_asked_for = agent.channel || !agent.pending_inputs.is_empty();
        if agent.mode != AgentMode::Headless || !is_asked_for || self.able.has_channel {
            return None;
        }
        let (field, what) = if agent.channel {
            ("channel", "be spoken to in a protocol of its own")
        } else {
            ("pendingInputs", "be told anything after its start")
        };
        let message =
            format!("{}: `{}` cannot {what} without a terminal", self.subject(), self.adapter);
        let help = format!("remove `{field}`, or run it with `mode: interactive`");
        let told = self.told("no-channel", &[field, "adapter"], message, help);
        Some(Inability { fatal: !agent.channel, ..told })
    }

    /// A loop whose rounds are one conversation needs an agent that goes on with one. Every protocol
    /// has a way.
    fn context(&self) -> Option<Inability> {
        let wanted = matches!(
            self.step.action,
            StepAction::AgentLoop { context: LoopContext::Continue, .. }
        );
        let (agent, able) = (self.agent, self.able);
        let asks = agent.permissions == Some(PermissionLevel::Ask);
        let speaks =
            able.has_channel && agent.mode == AgentMode::Headless && (agent.channel || asks);
        let is_arbiter = !self.prefix.is_empty();
        if !wanted || is_arbiter || speaks || able.resumes.contains(&agent.mode) {
            return None;
        }
        let (subject, adapter) = (self.subject(), self.adapter);
        let message = format!("{subject}: `{adapter}` cannot continue a conversation");
        let by_channel = able.has_channel && agent.mode == AgentMode::Headless;
        let channel = if by_channel { ", or add `channel: true`" } else { "" };
        let help = format!(
            "remove `context: continue`{channel}, or take an adapter that says how (key `resume`)"
        );
        Some(self.told("no-resume", &["context", "adapter"], message, help))
    }

    fn answer(&self) -> Option<Inability> {
        if self.agent.mode != AgentMode::Interactive || self.able.reads_answers {
            return None;
        }
        let structured = self.agent.expect.is_structured();
        if !structured && self.step.output.is_none() {
            return None;
        }
        let message = format!(
            "{}: the output of `{}` on a terminal is all that its screen shows",
            self.subject(),
            self.adapter
        );
        let help = "run it with `mode: headless`, whose output is the answer alone".to_owned();
        let fields: &[&str] =
            if structured { &["expect", "mode", "executionMode"] } else { &["output", "mode"] };
        let told = self.told("screen-output", fields, message, help);
        Some(Inability { fatal: structured, ..told })
    }

    fn program(&self) -> Inability {
        let (adapter, command) = (self.adapter, &self.able.command);
        let message =
            format!("{}: the program `{command}` of `{adapter}` was not found", self.subject());
        let help = "install it, or see what there is: coven doctor".to_owned();
        let told = self.told(NO_PROGRAM, &["adapter"], message, help);
        // A step with a condition may never come to need it.
        Inability { fatal: self.step.when.is_none(), ..told }
    }
}
