//! A stage workflow becomes a plan: each stage is a step.

use std::collections::BTreeMap;

use coven_model::TaskId;
use coven_notation::{SourceFile, SourceNode};
use serde_json::Value;

use super::{CompileError, exit_codes, expect, size};
use crate::check::PositionFinder;
use crate::definition::stages::{StageDefinition, StageWorkflow, TaskDefinition};
use crate::plan::{
    AgentSpec, Isolation, PlanForm, PlanStep, PlanTrigger, RetryPolicy, StageTask, StepAction,
    WorkflowPlan,
};
use crate::template::TextTemplate;

/// The plan of a stage workflow that passed the checks.
pub(crate) fn stages(
    source: &SourceFile,
    node: &SourceNode,
    written: StageWorkflow,
    definition: Value,
) -> Result<WorkflowPlan, CompileError> {
    let mut places = PositionFinder::new(source);
    let nodes = node.get("stages").map(SourceNode::items).unwrap_or_default();
    let mut steps = Vec::with_capacity(written.stages.len());
    for (stage, node) in written.stages.into_iter().zip(nodes) {
        steps.push(compile_stage(stage, node, &mut places)?);
    }
    Ok(WorkflowPlan {
        name: written.id,
        form: PlanForm::Stages,
        goal: written.goal,
        description: String::new(),
        trigger: PlanTrigger::Manual,
        inputs: Vec::new(),
        isolation: Isolation::Shared,
        run_tree: false,
        steps,
        definition,
    })
}

fn compile_stage(
    stage: StageDefinition,
    node: &SourceNode,
    places: &mut PositionFinder<'_>,
) -> Result<PlanStep, CompileError> {
    let mut found = BTreeMap::new();
    for task in node.get("tasks").map(SourceNode::items).unwrap_or_default() {
        let id = task.get("id").and_then(SourceNode::as_str).unwrap_or_default();
        found.append(&mut places.of(task, &format!("tasks.{id}.")));
    }
    let tasks: Result<Vec<StageTask>, CompileError> =
        stage.tasks.into_iter().map(compile_task).collect();
    let action = StepAction::Stage { tasks: tasks? };
    Ok(PlanStep {
        needs: None,
        name: stage.id,
        when: None,
        timeout: None,
        retry: RetryPolicy::default(),
        cwd: None,
        env: BTreeMap::new(),
        domain: None,
        output: None,
        on_failure: action.default_on_failure(),
        on_lost: None,
        needs_approval: false,
        approval_timeout: None,
        unconfined: false,
        isolation: None,
        land: None,
        on_conflict: None,
        commit: None,
        action,
        places: found,
    })
}

/// Texts of a stage workflow have no variables: what is written is what the agent gets.
fn compile_task(task: TaskDefinition) -> Result<StageTask, CompileError> {
    let verbatim = |text: String| TextTemplate::verbatim(&text);
    let mut agent = AgentSpec::new(
        task.adapter,
        task.execution_mode.unwrap_or_default(),
        task.prompt.map(verbatim),
    );
    agent.name = Some(task.name.unwrap_or_else(|| task.id.clone()));
    agent.model = task.model.map(verbatim);
    agent.permissions = task.permissions;
    agent.extra_args = task.extra_args.into_iter().flatten().map(verbatim).collect();
    agent.auto_approve = task.auto_approve;
    agent.pending_inputs = task.pending_inputs.into_iter().map(verbatim).collect();
    agent.keep_alive = task.keep_alive;
    agent.channel = task.channel;
    agent.expect = expect(task.expect)?;
    agent.ok_exit_codes = exit_codes(task.ok_exit_codes)?;
    agent.size = size(task.size.as_ref())?;
    Ok(StageTask {
        id: TaskId::new(task.id)?,
        agent,
        cwd: task.cwd.map(verbatim),
        env: task.env.into_iter().map(|(name, value)| (name, verbatim(value))).collect(),
        isolation: task.isolation,
        domain: task.domain,
        timeout: task.timeout.map(Into::into),
        on_lost: task.on_lost,
    })
}
