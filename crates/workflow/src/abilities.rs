//! Holds a plan against what its agents can be asked for, before anything runs: a permission that an
//! adapter cannot grant, a mode it does not have, an answer that cannot be told from a screen, a
//! program that is not there.

use coven_model::{AdapterAbilities, AgentMode, PermissionLevel};
use coven_notation::{FileProblem, SourceFile, SourceSpan};

use crate::expect::ExpectedOutput;
use crate::plan::{AgentSpec, PlanStep, SourceLocation, StepAction, WorkflowPlan};

/// Something that an agent of a plan cannot do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inability {
    pub code: &'static str,
    /// Whether the step would fail for certain. Otherwise it may not do what its author wants.
    pub fatal: bool,
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

/// What the agents of a plan cannot do. `abilities` knows adapters by their names; one that it does
/// not know is not judged, nor is one whose name is not known before the run. `finds` says whether a
/// program is there.
pub fn inabilities(
    plan: &WorkflowPlan,
    abilities: impl Fn(&str) -> Option<AdapterAbilities>,
    finds: impl Fn(&str) -> bool,
) -> Vec<Inability> {
    let mut found: Vec<Inability> = Vec::new();
    for step in &plan.steps {
        for (agent, prefix) in agents(step) {
            let Some(able) = abilities(&agent.adapter) else { continue };
            let request = AgentRequest { step, agent, prefix, able: &able };
            let told = [request.mode(), request.permission(), request.answer()];
            found.extend(told.into_iter().flatten());
            let overridden = step.env.contains_key("PATH");
            if !overridden && !finds(&able.command) {
                found.push(request.program());
            }
        }
    }
    found.dedup();
    found
}

fn agents(step: &PlanStep) -> Vec<(&AgentSpec, String)> {
    match &step.action {
        StepAction::Agent { agent } | StepAction::ParallelAgents { agent, .. } => {
            vec![(agent, String::new())]
        }
        StepAction::AgentLoop { agent, arbiter, .. } => {
            vec![(agent, String::new()), (arbiter, "arbiter.".to_owned())]
        }
        StepAction::Stage { tasks } => {
            tasks.iter().map(|task| (&task.agent, format!("tasks.{}.", task.id))).collect()
        }
        StepAction::Script { .. } | StepAction::Gate { .. } => Vec::new(),
    }
}

/// What a step asks of one agent.
struct AgentRequest<'a> {
    step: &'a PlanStep,
    agent: &'a AgentSpec,
    prefix: String,
    able: &'a AdapterAbilities,
}

impl AgentRequest<'_> {
    fn told(
        &self,
        code: &'static str,
        fields: &[&str],
        message: String,
        help: String,
    ) -> Inability {
        let places = &self.step.places;
        let own = fields.iter().find_map(|field| places.get(&format!("{}{field}", self.prefix)));
        let place = own.or_else(|| places.get("adapter")).or_else(|| places.get("name"));
        Inability { code, fatal: true, message, help, place: place.copied() }
    }

    /// Who is meant, in words.
    fn subject(&self) -> String {
        match self.prefix.strip_suffix('.') {
            None => format!("step `{}`", self.step.name),
            Some("arbiter") => format!("the arbiter of step `{}`", self.step.name),
            Some(task) => format!("task `{}`", task.trim_start_matches("tasks.")),
        }
    }

    fn mode(&self) -> Option<Inability> {
        let (adapter, mode) = (&self.agent.adapter, self.agent.mode);
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
        let adapter = &self.agent.adapter;
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

    fn answer(&self) -> Option<Inability> {
        if self.agent.mode != AgentMode::Interactive || self.able.reads_answers {
            return None;
        }
        let structured =
            matches!(self.agent.expect, ExpectedOutput::Json | ExpectedOutput::Schema(_));
        if !structured && self.step.output.is_none() {
            return None;
        }
        let message = format!(
            "{}: the output of `{}` on a terminal is all that its screen shows",
            self.subject(),
            self.agent.adapter
        );
        let help = "run it with `mode: headless`, whose output is the answer alone".to_owned();
        let fields: &[&str] = if structured { &["expect", "mode"] } else { &["output", "mode"] };
        let told = self.told("screen-output", fields, message, help);
        Some(Inability { fatal: structured, ..told })
    }

    fn program(&self) -> Inability {
        let (adapter, command) = (&self.agent.adapter, &self.able.command);
        let message =
            format!("{}: the program `{command}` of `{adapter}` was not found", self.subject());
        let help = "install it, or see what there is: coven doctor".to_owned();
        let told = self.told("no-program", &["adapter"], message, help);
        // A step with a condition may never come to need it.
        Inability { fatal: self.step.when.is_none(), ..told }
    }
}
