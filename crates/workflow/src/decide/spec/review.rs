//! Reviews of what a task did, as what the next agent is told: another attempt of the task, or a run of
//! its own.

use std::collections::BTreeMap;

use coven_model::event::TaskRole;
use coven_model::{AgentWork, JobWork, RoundContext, TaskId};
use serde_json::Value;

use super::{job_draft, local};
use crate::expect::ExpectedOutput;
use crate::plan::{
    AgentSpec, Isolation, OnFailure, PlanForm, PlanStep, PlanTrigger, StepAction, WorkflowPlan,
};
use crate::state::{AgentConversation, TaskVariables, WorkflowRun};
use crate::template::TextTemplate;

/// An attempt that begins with a review of what was done already.
pub(super) fn begin_with(
    work: &mut AgentWork,
    review: &str,
    conversation: Option<AgentConversation>,
) {
    work.context = conversation
        .map(|AgentConversation { id, used }| RoundContext::Continue { conversation: id, used });
    work.prompt = Some(review_of(work.prompt.as_deref(), review));
    work.review = Some(review.to_owned());
}

/// What an agent is told that does not know what it is about: the review, and then the task.
fn review_of(task: Option<&str>, review: &str) -> String {
    match task.map(str::trim) {
        None | Some("") => review.to_owned(),
        Some(task) => format!(
            "{review}\n\nThe changes are in this folder. They were made for this task, which is not to \
             be begun again:\n\n{task}"
        ),
    }
}

impl WorkflowRun {
    /// A plan with one agent like that of a task whose step is over. It begins with a review of what
    /// the task did. Nothing if there is no such agent.
    pub fn follow_up(&self, task: &TaskId, review: &str) -> Option<WorkflowPlan> {
        let (index, role) = self.identity.locate(task)?;
        let step = self.identity.plan.steps.get(index)?;
        let state = self.steps.get(index)?;
        state.task_of(role)?;
        let local = local(self, step, state, role);
        let names = TaskVariables { run: self, step: u32::try_from(index).ok()?, local };
        let given = job_draft(&names, step, state, role).ok()?;
        let JobWork::Agent(work) = given.work else { return None };
        if matches!(role, TaskRole::Arbiter(_)) {
            return None;
        }
        let text = |text: &String| TextTemplate::verbatim(text);
        let prompt = TextTemplate::verbatim(&review_of(work.prompt.as_deref(), review));
        let agent = AgentSpec {
            model: work.model.as_ref().map(text),
            permissions: work.permissions,
            extra_args: work.extra_args.iter().map(text).collect(),
            auto_approve: work.auto_approve,
            sandbox: given.sandbox,
            confine: given.confine,
            expect: ExpectedOutput::Any,
            keep_alive: work.keep_alive,
            channel: work.channel,
            ok_exit_codes: given.ok_exit_codes,
            size: given.size,
            ..AgentSpec::new(work.adapter, work.mode, Some(prompt))
        };
        let step = PlanStep {
            when: None,
            cwd: given.cwd.as_ref().map(text),
            env: given.env.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
            timeout: given.timeout,
            domain: given.domain,
            output: None,
            on_failure: OnFailure::Block,
            isolation: Some(Isolation::Run),
            land: None,
            on_conflict: None,
            commit: None,
            action: StepAction::Agent { agent },
            places: BTreeMap::new(),
            ..step.clone()
        };
        Some(WorkflowPlan {
            name: self.identity.plan.name.clone(),
            form: PlanForm::Grimoire,
            goal: Some(format!("the review of {}/{task}", self.identity.name)),
            description: String::new(),
            trigger: PlanTrigger::Manual,
            inputs: Vec::new(),
            isolation: Isolation::Run,
            run_tree: true,
            steps: vec![step],
            definition: Value::Null,
        })
    }
}
