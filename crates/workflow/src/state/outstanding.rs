//! What has to be done, as far as the facts tell: all orders that were given and not yet seen to
//! be carried out. After a restart they are simply given again.

use coven_model::event::{
    DeliveredInput, JobTimer, SessionEvent, StopCause, StoppingEnd, TimerPurpose,
};
use coven_model::{AttemptId, InterventionChoice, InterventionId, Timestamp};

use super::{
    AnswerPhase, LiveJob, PendingIntervention, PendingText, RunPhase, State, TaskPhase, TaskRun,
    WorkflowRun,
};
use crate::command::{AgentAnswer, Command, OrderedText};

impl State {
    /// Every order that may still have to be carried out.
    pub fn outstanding(&self) -> Vec<Command> {
        let Some(run) = self.run.as_ref().filter(|_| self.closed.is_none()) else {
            return Vec::new();
        };
        let tree_orders = || run.tree_orders().into_iter().map(Command::Tree);
        if run.is_over() {
            return run.orders_for_kept().chain(tree_orders()).collect();
        }
        let mut commands = Vec::new();
        for (task, live) in run.live_jobs() {
            commands.extend(run.orders(task.job(), live));
        }
        for (_, _, step) in run.active().filter(|_| run.phase == RunPhase::Running) {
            for (place, due) in &step.delayed {
                if let Some(task) = step.task(*place as usize) {
                    commands.push(Command::SetTimer { timer: task.next_attempt(), due: *due });
                }
            }
        }
        commands.extend(run.interventions.values().filter_map(|pending| pending.expire()));
        commands.extend(run.orders_for_kept());
        commands.extend(tree_orders());
        commands
    }

    /// The attempt that a fact is about, read before the fact is folded.
    pub(crate) fn subject(&self, event: &SessionEvent) -> Option<AttemptId> {
        match event {
            SessionEvent::TaskStarted(started) => Some(started.spec.job.attempt.clone()),
            SessionEvent::TaskStopping { job, .. }
            | SessionEvent::InputQueued { job, .. }
            | SessionEvent::InputDelivered { job, .. } => Some(job.clone()),
            SessionEvent::InputDecided { intervention, attempt, .. } => {
                Some(AttemptId { task: intervention.task.clone()?, attempt: *attempt })
            }
            SessionEvent::InterventionResolved { id, .. } => {
                let (_, pending) = self.run.as_ref()?.pending(id)?;
                let task = pending.intervention.task.clone()?;
                Some(AttemptId { task, attempt: pending.attempt? })
            }
            _ => None,
        }
    }

    /// The orders that follow from a fact about `subject` that was just folded into this state.
    pub(crate) fn orders_after(
        &self,
        event: &SessionEvent,
        subject: Option<&AttemptId>,
    ) -> Vec<Command> {
        let Some(run) = &self.run else { return Vec::new() };
        let about_kept = match event {
            SessionEvent::InputRefused { job, .. } => Some(job),
            _ => subject,
        };
        let about_kept = about_kept.is_some_and(|job| run.kept_job(job).is_some());
        if run.is_over() && !about_kept {
            return Vec::new();
        }
        let wanted = |order: &Command| match (event, order) {
            (SessionEvent::TaskStarted(_), Command::Start(_))
            | (
                SessionEvent::TaskStopping { .. } | SessionEvent::WorkflowStopping { .. },
                Command::Stop(_),
            )
            | (
                SessionEvent::InterventionResolved { .. },
                Command::Stop(_) | Command::Send { .. },
            )
            | (
                SessionEvent::InputDelivered { input: DeliveredInput::Queued(_), .. },
                Command::Send { .. },
            ) => true,
            // One that is behind others is ordered when they have arrived.
            (SessionEvent::InputQueued { number, .. }, Command::Send { text, .. }) => {
                *number == text.number
            }
            (SessionEvent::InputDecided { intervention, .. }, Command::Answer(answer)) => {
                answer.intervention == intervention.id
            }
            (SessionEvent::InterventionResolved { id, .. }, Command::Answer(answer)) => {
                answer.intervention == *id
            }
            _ => false,
        };
        let orders = match event {
            SessionEvent::TimerSet { timer, due } => {
                return vec![Command::SetTimer { timer: timer.clone(), due: *due }];
            }
            SessionEvent::InterventionRequired { intervention, .. } => {
                let pending = run.pending(&intervention.id);
                return pending.and_then(|(_, pending)| pending.expire()).into_iter().collect();
            }
            SessionEvent::InputRefused { job, .. }
            | SessionEvent::InputDelivered { job, input: DeliveredInput::Answer(_), .. }
                if run.alive(job).is_some() =>
            {
                return vec![Command::Observe(job.clone())];
            }
            SessionEvent::WorkflowStopping { .. } => self.outstanding(),
            _ => {
                let live = subject.and_then(|job| Some((job, run.alive(job)?)));
                live.map(|(job, live)| run.orders(job.clone(), live)).unwrap_or_default()
            }
        };
        let mut orders: Vec<Command> = orders.into_iter().filter(wanted).collect();
        // What the agent showed meanwhile was not acted on, because a text was on its way.
        if let (SessionEvent::InterventionResolved { decision, .. }, Some(job)) = (event, subject)
            && decision.choice == InterventionChoice::Drop
        {
            orders.push(Command::Observe(job.clone()));
        }
        orders
    }
}

impl WorkflowRun {
    /// Everything that is to be done about a live job, or about an agent that was left alive: that
    /// one is not started again, and a run that fails does not take it along.
    fn orders(&self, job: AttemptId, live: &LiveJob) -> Vec<Command> {
        let is_kept = self.kept_job(&job).is_some();
        let is_stopped = match &self.phase {
            RunPhase::Stopping { end, .. } => !is_kept || *end == StoppingEnd::Cancelled,
            _ => false,
        };
        if is_stopped {
            return vec![Command::Stop(job)];
        }
        match &live.stop {
            // Its end is written down next; the agent stays.
            Some((StopCause::Completed, _)) if live.stays_alive() => return Vec::new(),
            Some(_) => return vec![Command::Stop(job)],
            None => {}
        }
        let mut orders = Vec::new();
        if !is_kept {
            orders.push(Command::Start(Box::new(live.spec.as_ref().clone())));
        }
        if let Some(due) = live.deadline {
            let timer = JobTimer { job: job.clone(), purpose: TimerPurpose::Timeout };
            orders.push(Command::SetTimer { timer, due });
        }
        for asked in &live.asked {
            if let AnswerPhase::Decided(decision) = &asked.answer {
                orders.push(Command::Answer(Box::new(AgentAnswer {
                    job: job.clone(),
                    intervention: InterventionId::in_session(self.session(), asked.number),
                    digest: asked.digest.clone(),
                    decision: decision.as_ref().clone(),
                })));
            }
        }
        if let Some(typing) = live.typing.as_ref().filter(|typing| typing.held.is_none()) {
            let PendingText { number, attempt, unverified, .. } = *typing;
            let text = typing.text.clone();
            let text = OrderedText { number, attempt, text, unverified };
            orders.push(Command::Send { job, text });
        }
        orders
    }

    /// What is to be done about the agents that were left alive. A cancelled run takes them along.
    fn orders_for_kept(&self) -> impl Iterator<Item = Command> {
        let kept = self.kept_jobs.values();
        kept.flat_map(|kept| self.orders(kept.spec.job.attempt.clone(), kept))
    }
}

impl PendingIntervention {
    /// The order to tell when its time is up.
    fn expire(&self) -> Option<Command> {
        let (intervention, due) = (self.intervention.id.clone(), self.expiry()?);
        Some(Command::Expire { intervention, due })
    }
}

impl TaskRun {
    /// The timer that starts its next attempt.
    pub(crate) fn next_attempt(&self) -> JobTimer {
        let attempt = self.attempt.saturating_add(1);
        JobTimer { job: AttemptId { task: self.id.clone(), attempt }, purpose: TimerPurpose::Retry }
    }

    /// When it is to be started again.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        match self.phase {
            TaskPhase::Delayed { due } => Some(due),
            _ => None,
        }
    }
}
