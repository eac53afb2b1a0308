//! A grimoire becomes a plan.

use std::collections::BTreeMap;

use coven_model::ExitCodes;
use coven_notation::{SourceFile, SourceNode};
use serde_json::Value;

use super::agent::{self, template};
use super::{CompileError, command, exit_codes, expect, shell};
use crate::check::{CheckEnvironment, PositionFinder};
use crate::condition::Condition;
use crate::definition::grimoire::{
    Grimoire, SandboxChoice, StepDefaults, StepDefinition as Written, StepType, UntilChoice,
    UntilDefinition,
};
use crate::plan::{
    DEFAULT_CONCURRENCY, DEFAULT_ITEM, DEFAULT_ITERATIONS, LoopCheck, LoopEnd, PlanForm, PlanInput,
    PlanStep, PlanTrigger, RetryPolicy, ShellScript, StepAction, WorkflowPlan,
};
use crate::template::TextTemplate;

/// The plan of a grimoire that passed the checks.
pub(crate) fn grimoire(
    source: &SourceFile,
    node: &SourceNode,
    mut written: Grimoire,
    definition: Value,
    known: &CheckEnvironment,
) -> Result<WorkflowPlan, CompileError> {
    let mut places = PositionFinder::new(source);
    let nodes = node.get("steps").map(SourceNode::items).unwrap_or_default();
    let mut steps = Vec::with_capacity(written.steps.len());
    for (step, node) in written.steps.iter().zip(nodes) {
        let mut made = compile_step(step, &written.defaults, known)?;
        made.places = places.of(node, "");
        if let StepAction::ForEach { step, .. } = &mut made.action {
            step.places.clone_from(&made.places);
        }
        if let StepAction::Loop { steps, .. } = &mut made.action {
            let nodes = node.get("steps").map(SourceNode::items).unwrap_or_default();
            for (inner, node) in steps.iter_mut().zip(nodes) {
                inner.places = places.of(node, "");
            }
        }
        steps.push(made);
    }
    // In the order of the file, which the map has lost.
    let entries = node.get("inputs").map(SourceNode::entries).unwrap_or_default();
    let inputs = entries.iter().filter_map(|entry| {
        let input = written.inputs.remove(&entry.key)?;
        Some(PlanInput {
            name: entry.key.clone(),
            description: input.description,
            kind: input.kind,
            required: input.required,
            default: input.default,
        })
    });
    let inputs = inputs.collect();
    Ok(WorkflowPlan {
        name: written.name,
        form: PlanForm::Grimoire,
        goal: None,
        description: written.description,
        trigger: trigger(&written.trigger)?,
        inputs,
        isolation: written.defaults.isolation.unwrap_or_default(),
        run_tree: false,
        steps,
        definition,
    })
}

fn trigger(written: &Value) -> Result<PlanTrigger, CompileError> {
    let Some(event) = written.get("event").and_then(Value::as_str) else {
        return Ok(PlanTrigger::Manual);
    };
    let condition = written.get("where").and_then(Value::as_str).map(Condition::parse);
    Ok(PlanTrigger::Event { event: event.to_owned(), condition: condition.transpose()? })
}

fn compile_step(
    step: &Written,
    defaults: &StepDefaults,
    known: &CheckEnvironment,
) -> Result<PlanStep, CompileError> {
    let action = action(step, defaults, known)?;
    // A person takes the time a person takes.
    let asks = matches!(action, StepAction::Gate { script: None, .. });
    let timeout = step.timeout.or(defaults.timeout).filter(|_| !asks);
    let retry = step.retry.or(defaults.retry).filter(|_| !asks);
    let retry = retry.map_or_else(RetryPolicy::default, |retry| RetryPolicy {
        attempts: retry.attempts,
        delay: retry.delay.map(Into::into).unwrap_or_default(),
    });
    let mut env = BTreeMap::new();
    for (name, value) in defaults.env.iter().chain(&step.env) {
        env.insert(name.clone(), TextTemplate::parse(value)?);
    }
    Ok(PlanStep {
        name: step.name.clone(),
        needs: step.needs.clone(),
        when: step.when.as_deref().map(Condition::parse).transpose()?,
        timeout: timeout.map(Into::into),
        retry,
        cwd: template(step.cwd.as_ref().or(defaults.cwd.as_ref()))?,
        env,
        domain: step.domain.clone().or_else(|| defaults.domain.clone()).filter(|_| !asks),
        output: step.output.clone(),
        on_failure: step.on_failure.unwrap_or_else(|| action.default_on_failure()),
        on_lost: step.on_lost,
        needs_approval: step.needs_approval,
        approval_timeout: step.approval_timeout.map(Into::into),
        unconfined: known.unconfined && must_be_confined(step, defaults, &action),
        isolation: step.isolation,
        land: step.land,
        on_conflict: step.on_conflict,
        commit: template(step.commit.as_ref())?,
        action,
        places: BTreeMap::new(),
    })
}

/// Whether a step must not run without confinement: an arbiter must not be able to change the work,
/// and other steps can say so.
fn must_be_confined(step: &Written, defaults: &StepDefaults, action: &StepAction) -> bool {
    let required = step.sandbox.or(defaults.sandbox) == Some(SandboxChoice::Required);
    let has_process = !matches!(action, StepAction::Gate { script: None, .. });
    if let StepAction::Loop { steps, .. } = action
        && steps.iter().any(|inner| inner.unconfined)
    {
        return true;
    }
    matches!(action, StepAction::AgentLoop { arbiter: Some(_), .. }) || (required && has_process)
}

fn action(
    step: &Written,
    defaults: &StepDefaults,
    known: &CheckEnvironment,
) -> Result<StepAction, CompileError> {
    let runs_over = !step.for_each.is_null();
    Ok(match step.kind {
        StepType::Agent if !runs_over => {
            StepAction::Agent { agent: agent::spec(step, defaults, known)? }
        }
        StepType::AgentLoop => {
            let agent = agent::spec(step, defaults, known)?;
            let arbiter = step.arbiter.as_ref();
            let arbiter = arbiter.map(|arbiter| agent::arbiter(arbiter, &agent)).transpose()?;
            let until = match &step.until {
                Some(UntilChoice::Command(until)) => Some(loop_check(until, step, defaults)?),
                Some(UntilChoice::Condition(_)) => return Err(CompileError::Value("until")),
                None => None,
            };
            if arbiter.is_none() && until.is_none() {
                return Err(CompileError::Missing("arbiter"));
            }
            StepAction::AgentLoop {
                arbiter,
                until,
                agent,
                max_iterations: step.max_iterations.unwrap_or(DEFAULT_ITERATIONS),
                on_max_iterations: step.on_max_iterations.unwrap_or_default(),
                context: step.context.unwrap_or_default(),
            }
        }
        StepType::ParallelAgents | StepType::Agent => StepAction::ParallelAgents {
            agent: agent::spec(step, defaults, known)?,
            for_each: for_each(step)?,
            item: step.item.clone().unwrap_or_else(|| DEFAULT_ITEM.to_owned()),
            max_concurrent: step.max_concurrent.unwrap_or(DEFAULT_CONCURRENCY),
        },
        StepType::Script | StepType::Gate if runs_over => {
            if step.command.is_none() {
                return Err(CompileError::Missing("command"));
            }
            // One element of it; what concerns the step as a whole is said of that alone.
            let mut one = step.clone();
            one.for_each = Value::Null;
            (one.needs, one.when, one.output, one.needs_approval) = (None, None, None, false);
            let one = compile_step(&one, defaults, known)?;
            StepAction::ForEach {
                step: Box::new(one),
                for_each: for_each(step)?,
                item: step.item.clone().unwrap_or_else(|| DEFAULT_ITEM.to_owned()),
                max_concurrent: step.max_concurrent.unwrap_or(DEFAULT_CONCURRENCY),
            }
        }
        StepType::Loop => StepAction::Loop {
            steps: inner_steps(step, defaults, known)?,
            until: match &step.until {
                Some(UntilChoice::Command(until)) => {
                    LoopEnd::Command(loop_check(until, step, defaults)?)
                }
                Some(UntilChoice::Condition(text)) => LoopEnd::Condition(Condition::parse(text)?),
                None => return Err(CompileError::Missing("until")),
            },
            max_iterations: step.max_iterations.unwrap_or(DEFAULT_ITERATIONS),
            on_max_iterations: step.on_max_iterations.unwrap_or_default(),
        },
        StepType::Script => StepAction::Script {
            script: script(step, defaults)?.ok_or(CompileError::Missing("command"))?,
            expect: expect(step.expect.clone())?,
        },
        StepType::Gate => StepAction::Gate {
            script: script(step, defaults)?,
            message: template(step.message.as_ref())?,
            skippable: step.skippable,
        },
    })
}

/// What a step runs over.
fn for_each(step: &Written) -> Result<TextTemplate, CompileError> {
    match &step.for_each {
        Value::String(text) => Ok(TextTemplate::parse(text)?),
        list @ Value::Array(_) => Ok(TextTemplate::constant(list.clone())),
        _ => Err(CompileError::Missing("for_each")),
    }
}

/// The steps of a round.
fn inner_steps(
    step: &Written,
    defaults: &StepDefaults,
    known: &CheckEnvironment,
) -> Result<Vec<PlanStep>, CompileError> {
    let written = step.steps.as_deref().filter(|steps| !steps.is_empty());
    let written = written.ok_or(CompileError::Missing("steps"))?;
    let inner = |inner: &Written| match inner.kind {
        StepType::Agent | StepType::Script => compile_step(inner, defaults, known),
        _ => Err(CompileError::Value("type")),
    };
    written.iter().map(inner).collect()
}

fn script(step: &Written, defaults: &StepDefaults) -> Result<Option<ShellScript>, CompileError> {
    let Some(text) = &step.command else { return Ok(None) };
    let codes = exit_codes(step.ok_exit_codes.clone())?;
    shell_script(text, &step.shell, codes, step, defaults).map(Some)
}

fn shell_script(
    text: &str,
    own: &Value,
    ok_exit_codes: ExitCodes,
    step: &Written,
    defaults: &StepDefaults,
) -> Result<ShellScript, CompileError> {
    let shell = match shell(own)? {
        Some(own) => Some(own),
        None => shell(&defaults.shell)?,
    };
    Ok(ShellScript {
        command: command(text, shell.as_deref())?,
        shell,
        ok_exit_codes,
        sandbox: super::sandbox(step, defaults),
        confine: step.confine.or(defaults.confine),
    })
}

fn loop_check(
    until: &UntilDefinition,
    step: &Written,
    defaults: &StepDefaults,
) -> Result<LoopCheck, CompileError> {
    Ok(LoopCheck {
        // Each of them says something about the round; only 0 ends the loop.
        script: shell_script(&until.command, &until.shell, ExitCodes::Any, step, defaults)?,
        timeout: until.timeout.map(Into::into),
        first: until.first,
    })
}
