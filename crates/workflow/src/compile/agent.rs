//! How an agent is run, put together from a step and the defaults.

use coven_model::{AgentMode, PermissionLevel, SandboxMode};

use super::{CompileError, exit_codes, expect, size};
use crate::check::CheckEnvironment;
use crate::definition::grimoire::{ArbiterDefinition, StepDefaults, StepDefinition};
use crate::expect::ExpectedOutput;
use crate::plan::AgentSpec;
use crate::template::TextTemplate;

pub(super) fn template(text: Option<&String>) -> Result<Option<TextTemplate>, CompileError> {
    Ok(text.map(|text| TextTemplate::parse(text)).transpose()?)
}

fn templates(texts: Option<&Vec<String>>) -> Result<Vec<TextTemplate>, CompileError> {
    let texts = texts.into_iter().flatten();
    texts.map(|text| Ok(TextTemplate::parse(text)?)).collect()
}

/// The agent of a step.
pub(super) fn spec(
    step: &StepDefinition,
    defaults: &StepDefaults,
    known: &CheckEnvironment,
) -> Result<AgentSpec, CompileError> {
    let adapter = step.adapter.as_ref().or(defaults.adapter.as_ref());
    let adapter = adapter.or(known.default_adapter.as_ref());
    let adapter = adapter.ok_or(CompileError::Missing("adapter"))?.clone();
    // The model and the arguments of one program mean nothing to another.
    let same = step.adapter.is_none() || step.adapter == defaults.adapter;
    let (model, arguments) =
        if same { (&defaults.model, &defaults.extra_args) } else { (&None, &None) };
    Ok(AgentSpec {
        adapter,
        name: None,
        mode: step.mode.or(defaults.mode).unwrap_or(AgentMode::Headless),
        model: template(step.model.as_ref().or(model.as_ref()))?,
        permissions: step.permissions.or(defaults.permissions),
        extra_args: templates(step.extra_args.as_ref().or(arguments.as_ref()))?,
        auto_approve: step.auto_approve.or(defaults.auto_approve).unwrap_or(false),
        sandbox: super::sandbox(step, defaults),
        confine: step.confine.or(defaults.confine),
        prompt: template(step.prompt.as_ref())?,
        expect: expect(step.expect.clone())?,
        pending_inputs: Vec::new(),
        keep_alive: false,
        channel: step.channel.or(defaults.channel).unwrap_or(false),
        ok_exit_codes: exit_codes(step.ok_exit_codes.clone())?,
        size: size(step.size.as_ref().or(defaults.size.as_ref()))?,
    })
}

/// The arbiter of a loop: like the worker where nothing else is said, but it only looks.
pub(super) fn arbiter(
    arbiter: &ArbiterDefinition,
    worker: &AgentSpec,
) -> Result<AgentSpec, CompileError> {
    let same = arbiter.adapter.as_ref().is_none_or(|adapter| *adapter == worker.adapter);
    let mut spec = AgentSpec::new(
        arbiter.adapter.as_ref().unwrap_or(&worker.adapter),
        AgentMode::Headless,
        Some(TextTemplate::parse(&arbiter.prompt)?),
    );
    spec.model =
        template(arbiter.model.as_ref())?.or_else(|| worker.model.clone().filter(|_| same));
    spec.extra_args = match &arbiter.extra_args {
        Some(arguments) => templates(Some(arguments))?,
        None if same => worker.extra_args.clone(),
        None => Vec::new(),
    };
    spec.size = worker.size;
    spec.permissions = Some(PermissionLevel::ReadOnly);
    spec.sandbox = SandboxMode::ReadOnly;
    spec.expect = ExpectedOutput::Text;
    Ok(spec)
}
