//! The world around a run: processes, their ledgers, what is on its way, and what really happened.

use std::collections::{BTreeMap, BTreeSet};

use coven_model::event::{
    DeliveredInput, InterventionDecision, SessionEvent, StoppingEnd, TaskRole,
};
use coven_model::{
    AgentState, AttemptId, InterventionChoice, InterventionKind, JobOutcome, JobWork, TaskId,
    TaskStatus, Timestamp,
};

use super::scenes::ModelScenario;
use super::trees::TreeWorld;
use super::{
    DisabledParts, OrderInFlight, ProcessEnd, ReportInFlight, SafetyMechanism, is_forever,
};
use crate::command::Command;
use crate::decide::decide;
use crate::fold::fold;
use crate::input::SessionInput;
use crate::state::{RunPhase, State, StepRun, TaskPhase, WorkflowRun};
use crate::testing;

/// Everything but the firing of timers happens at this time, and that much later.
pub(super) const NOW: Timestamp = Timestamp::from_millis(1);
const LATER: Timestamp = Timestamp::from_millis(1_000_000);

/// What became of a process, as its ledger says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ModelProcess {
    Runs {
        mood: AgentDisplay,
        seen: u64,
        texts: u32,
        /// What was seen when the newest text was taken.
        taken: u64,
    },
    Ended(ProcessEnd),
}

/// What an interactive agent shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AgentDisplay {
    Works,
    Idle,
    Asks,
}

impl AgentDisplay {
    /// What is told of it.
    fn report(self, job: &AttemptId, seen: u64) -> Option<ReportInFlight> {
        match self {
            Self::Works => None,
            Self::Idle => Some(ReportInFlight::Idle(job.clone(), seen)),
            Self::Asks => Some(ReportInFlight::Asks(job.clone(), seen)),
        }
    }
}

#[expect(clippy::struct_excessive_bools, reason = "each is something that happens once in a scene")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct WorldState {
    pub(super) scene: u8,
    pub(super) state: State,
    pub(super) orders: BTreeSet<OrderInFlight>,
    pub(super) reports: BTreeSet<ReportInFlight>,
    pub(super) processes: BTreeMap<AttemptId, ModelProcess>,
    /// Stopped before they were ever started.
    marked: BTreeSet<AttemptId>,
    pub(super) crashes: u8,
    pub(super) questions: u64,
    pub(super) failures: u8,
    /// How often a process was started.
    pub(super) runs: BTreeMap<AttemptId, u8>,
    /// The tasks that once were done.
    pub(super) done: BTreeSet<TaskId>,
    /// A status that was to be for ever.
    pub(super) forever: Option<coven_model::WorkflowStatus>,
    /// How many jobs were asked for when the end was, and afterwards.
    pub(super) asked_for: u32,
    pub(super) asked_for_late: u32,
    /// How often each intervention was decided.
    pub(super) decided: BTreeMap<u64, u8>,
    /// The steps that a person let start and that have not started since.
    pub(super) let_start: BTreeSet<u32>,
    /// Whether a step that needs approval, or a task of it, started without.
    pub(super) started_unapproved: bool,
    /// How many retry requests there were, and how many were carried out.
    pub(super) wishes: u8,
    pub(super) fulfilled: u8,
    /// Whether a text was ordered while the agent worked.
    pub(super) interrupted: bool,
    /// Whether it was ever blocked.
    pub(super) was_blocked: bool,
    /// Whether an agent was answered that was left alive, after the end of the run.
    pub(super) answered_late: bool,
    pub(super) trees: TreeWorld,
    /// The tasks that were started again because their program refused its protocol.
    pub(super) refused: BTreeSet<TaskId>,
    /// Whether an attempt was started without that protocol before, or with it afterwards.
    misspoken: bool,
    /// Whether a step began before all that it needs was over.
    pub(super) hasty: bool,
    /// Whether the run failed while a step could go on.
    pub(super) halted: bool,
}

impl WorldState {
    pub(super) fn run(&self) -> &WorkflowRun {
        self.state.run().unwrap()
    }

    pub(super) fn new(scene: u8, about: &ModelScenario, broken: DisabledParts) -> Self {
        let mut state = State::default();
        state.rules.broken = broken.rule;
        let mut world = Self {
            scene,
            state,
            orders: BTreeSet::new(),
            reports: BTreeSet::new(),
            processes: BTreeMap::new(),
            marked: BTreeSet::new(),
            crashes: about.crashes,
            questions: about.questions,
            failures: about.failures,
            runs: BTreeMap::new(),
            done: BTreeSet::new(),
            forever: None,
            asked_for: 0,
            asked_for_late: 0,
            decided: BTreeMap::new(),
            let_start: BTreeSet::new(),
            started_unapproved: false,
            wishes: 0,
            fulfilled: 0,
            interrupted: false,
            was_blocked: false,
            answered_late: false,
            trees: TreeWorld::new(about.conflicts, about.tree_failures),
            refused: BTreeSet::new(),
            misspoken: false,
            hasty: false,
            halted: false,
        };
        for input in [testing::creation(about.plan.clone(), &about.input), SessionInput::Begin] {
            world.decide_on(input, NOW, None, broken);
        }
        world
    }

    /// Decides on an input. With a cut, only so many facts are written, and the process dies.
    pub(super) fn decide_on(
        &mut self,
        input: SessionInput,
        now: Timestamp,
        cut: Option<usize>,
        broken: DisabledParts,
    ) {
        let (events, commands) = decide(&self.state, input, now);
        let written = cut.map_or(events.len(), |cut| cut.min(events.len()));
        if cut.is_none() || broken.mechanism == Some(SafetyMechanism::JournalFirst) {
            self.issue_orders(&commands);
        }
        for event in &events[..written] {
            self.note(event);
            self.state = fold(std::mem::take(&mut self.state), event);
        }
        if cut.is_some() {
            self.recover(broken);
        }
        self.remember_status();
    }

    fn issue_orders(&mut self, commands: &[Command]) {
        for command in commands {
            let order = match command {
                Command::Start(spec) => OrderInFlight::Start(spec.job.attempt.clone()),
                Command::Stop(job) => OrderInFlight::Stop(job.clone()),
                Command::Answer(answer) => {
                    let number = self.run().number(&answer.intervention).unwrap();
                    OrderInFlight::Answer(answer.job.clone(), number)
                }
                Command::Send { job, text } => {
                    let (number, attempt) = (&text.number, &text.attempt);
                    // The same text ordered once more is recognised and not typed again.
                    if let Some(ModelProcess::Runs { mood: AgentDisplay::Works, texts, .. }) =
                        self.processes.get(job)
                    {
                        self.interrupted |= texts < number;
                    }
                    OrderInFlight::Send(job.clone(), *number, *attempt)
                }
                Command::Observe(job) => {
                    self.observe_again(job);
                    continue;
                }
                Command::SetTimer { timer, .. } => {
                    self.reports.insert(ReportInFlight::Fired(timer.clone()));
                    continue;
                }
                Command::Tree(order) => OrderInFlight::Tree(order.clone()),
                Command::Expire { intervention, .. } => {
                    let number = self.run().number(intervention).unwrap();
                    self.reports.insert(ReportInFlight::Expired(number));
                    continue;
                }
            };
            self.orders.insert(order);
        }
    }

    /// What a process shows is told again.
    fn observe_again(&mut self, job: &AttemptId) {
        if let Some(ModelProcess::Runs { mood, seen, .. }) = self.processes.get_mut(job) {
            *seen += 1;
            self.reports.extend(mood.report(job, *seen));
        }
    }

    /// Everything in memory is gone: it is read again, and what is outstanding is ordered again.
    pub(super) fn recover(&mut self, broken: DisabledParts) {
        // Orders that were given may still arrive. A person's requests were accepted, so they are
        // repeated; other reports are made again.
        self.reports
            .retain(|report| matches!(report, ReportInFlight::Again(_) | ReportInFlight::Cancel));
        if broken.mechanism == Some(SafetyMechanism::DurableOutcomes) {
            self.processes.retain(|_, process| matches!(process, ModelProcess::Runs { .. }));
        }
        let (events, _) = decide(&self.state, SessionInput::Recover, NOW);
        for event in &events {
            self.note(event);
            self.state = fold(std::mem::take(&mut self.state), event);
        }
        // Agents that were left alive are taken up again by their ledgers.
        let kept = self.run().kept_jobs.values().map(|kept| kept.spec.job.attempt.clone());
        let kept: Vec<AttemptId> = kept.collect();
        for job in kept {
            self.carry_out(&OrderInFlight::Start(job), broken);
        }
        let outstanding = self.state.outstanding();
        self.issue_orders(&outstanding);
    }

    /// Remembers what was written down.
    fn note(&mut self, event: &SessionEvent) {
        self.note_tree(event);
        self.note_order(event);
        let ending = self
            .run_phase()
            .is_some_and(|phase| !matches!(phase, RunPhase::Created | RunPhase::Running));
        match event {
            SessionEvent::TaskStarted(started) => {
                self.asked_for += 1;
                self.asked_for_late += u32::from(ending);
                let by = &started.spec.approved_by;
                let step = self.run().active_named(&started.spec.step);
                let needs_approval = step.is_some_and(|index| self.needs_approval(index));
                self.started_unapproved |= by.is_none() && needs_approval;
                if let JobWork::Agent(work) = &started.spec.work {
                    let is_refused = self.refused.contains(&started.spec.job.attempt.task);
                    self.misspoken |= work.without_channel.is_some() != is_refused;
                }
            }
            SessionEvent::TaskEnded(ended)
                if ended.outcome.channel_refused.is_some()
                    && ended.status == TaskStatus::Pending =>
            {
                self.refused.insert(ended.job.task.clone());
            }
            SessionEvent::StepStarted { index, .. } => {
                let was_let = self.let_start.remove(index);
                self.started_unapproved |= !was_let && self.needs_approval(*index);
            }
            SessionEvent::InterventionResolved { id, decision, .. } => {
                let number = self.run().number(id).unwrap();
                *self.decided.entry(number).or_default() += 1;
                let asked = self.run().pending(id).map(|(_, pending)| &pending.intervention);
                if let Some(asked) = asked
                    && asked.kind == InterventionKind::StartApproval
                    && decision.choice == InterventionChoice::Approve
                {
                    let step = self.run().active_named(&asked.step);
                    self.let_start.extend(step);
                }
            }
            SessionEvent::InputDelivered { input: DeliveredInput::Answer(_), .. } => {
                self.answered_late |= self.run().status() == coven_model::WorkflowStatus::Completed;
            }
            SessionEvent::WorkflowRetried { .. } => self.fulfilled += 1,
            _ => {}
        }
    }

    fn needs_approval(&self, index: u32) -> bool {
        self.run().step_at(index).is_some_and(|(_, step, _)| step.needs_approval)
    }

    /// Remembers whether steps keep to what they need. What that is, the plan says.
    fn note_order(&mut self, event: &SessionEvent) {
        let Some(run) = self.state.run() else { return };
        let steps = &run.identity.plan.steps;
        let place = |name: &str| steps.iter().position(|step| step.name == name);
        let said = run.identity.plan.needs();
        let needs = |at: usize| -> Vec<usize> {
            match said.get(at) {
                Some(needs) => needs.iter().filter_map(|name| place(name)).collect(),
                None => at.checked_sub(1).into_iter().collect(),
            }
        };
        let begins = match event {
            SessionEvent::StepStarted { index, .. } | SessionEvent::StepSkipped { index, .. } => {
                Some(*index as usize)
            }
            SessionEvent::TaskStarted(started) => place(&started.spec.step),
            _ => None,
        };
        if let Some(at) = begins {
            let is_over = |at: usize| run.steps.get(at).is_some_and(StepRun::is_over);
            self.hasty |= !needs(at).into_iter().all(is_over);
        }
        let fails = matches!(
            event,
            SessionEvent::WorkflowFailed { .. }
                | SessionEvent::WorkflowStopping { end: StoppingEnd::Failed, .. }
        );
        if fails && self.run_phase() == Some(&RunPhase::Running) {
            // Steps are written behind what they need in all scenes.
            let mut stuck = Vec::new();
            for (at, step) in run.steps.iter().enumerate() {
                stuck.push(step.has_failed() || needs(at).into_iter().any(|need| stuck[need]));
            }
            let can_go_on =
                run.steps.iter().zip(stuck).any(|(step, stuck)| !step.is_over() && !stuck);
            self.halted |= can_go_on;
        }
    }

    /// Whether every task whose program refused its protocol was started once more than its step
    /// allows, without it, and no other task was.
    pub(super) fn counts_refusals_once(&self) -> bool {
        let Some((_, plan, step)) = self.run().current() else { return !self.misspoken };
        let counts = step.tasks.iter().all(|task| {
            let more = u32::from(self.refused.contains(&task.id));
            let most = plan.retry.attempts.max(1) + more;
            let is_failed = matches!(task.phase, TaskPhase::Failed { lost: false, .. });
            // A person may have allowed more.
            more == 0 || (task.attempt <= most && (!is_failed || task.attempt == most))
        });
        counts && !self.misspoken
    }

    fn run_phase(&self) -> Option<&RunPhase> {
        self.state.run().map(|run| &run.phase)
    }

    /// Remembers what the run says.
    pub(super) fn remember_status(&mut self) {
        let run = self.state.run().unwrap();
        let status = run.status();
        self.was_blocked |= status == coven_model::WorkflowStatus::Blocked;
        if self.forever.is_none() && is_forever(status) {
            self.forever = Some(status);
        }
        for step in run.steps.iter() {
            let done = step.tasks.iter().filter(|task| task.status() == TaskStatus::Done);
            // An arbiter may answer and be asked again.
            let workers = done.filter(|task| !matches!(task.role, TaskRole::Arbiter(_)));
            self.done.extend(workers.map(|task| task.id.clone()));
        }
    }

    /// An order arrives where processes are.
    pub(super) fn carry_out(&mut self, order: &OrderInFlight, broken: DisabledParts) {
        let lacks = |mechanism| broken.mechanism == Some(mechanism);
        match order {
            OrderInFlight::Start(job) => match self.processes.get(job) {
                Some(ModelProcess::Ended(end)) if !lacks(SafetyMechanism::Ledger) => {
                    let end = *end;
                    self.reports.insert(ReportInFlight::Ended(job.clone(), end));
                }
                Some(ModelProcess::Runs { mood, seen, .. }) => {
                    // It is looked at again, and what it shows is told again.
                    self.reports.extend(mood.report(job, *seen));
                    self.reports.insert(ReportInFlight::Started(job.clone()));
                }
                None if self.marked.contains(job) && !lacks(SafetyMechanism::Tombstones) => {
                    self.reports.insert(ReportInFlight::Ended(job.clone(), ProcessEnd::Stopped));
                }
                _ => {
                    let process = ModelProcess::Runs {
                        mood: AgentDisplay::Works,
                        seen: 0,
                        texts: 0,
                        taken: 0,
                    };
                    self.enter_tree(job);
                    self.processes.insert(job.clone(), process);
                    *self.runs.entry(job.clone()).or_default() += 1;
                    self.reports.insert(ReportInFlight::Started(job.clone()));
                }
            },
            OrderInFlight::Stop(job) => {
                let end = match self.processes.get(job) {
                    Some(ModelProcess::Ended(end)) => *end,
                    Some(ModelProcess::Runs { .. }) => {
                        self.processes
                            .insert(job.clone(), ModelProcess::Ended(ProcessEnd::Stopped));
                        ProcessEnd::Stopped
                    }
                    None => {
                        self.marked.insert(job.clone());
                        ProcessEnd::Stopped
                    }
                };
                self.reports.insert(ReportInFlight::Ended(job.clone(), end));
            }
            OrderInFlight::Tree(order) => self.carry_out_tree(order),
            OrderInFlight::Answer(job, number) => {
                if let Some(ModelProcess::Runs { mood, seen, .. }) = self.processes.get_mut(job) {
                    // An answer is given only to what it was given for.
                    if *mood == AgentDisplay::Asks {
                        *mood = AgentDisplay::Works;
                        *seen += 1;
                    }
                    self.reports.insert(ReportInFlight::Answered(*number, *seen));
                }
            }
            OrderInFlight::Send(job, number, _) => {
                if let Some(ModelProcess::Runs { mood, seen, texts, taken }) =
                    self.processes.get_mut(job)
                {
                    if *texts < *number {
                        *texts = *number;
                        *mood = AgentDisplay::Works;
                        *seen += 1;
                        *taken = *seen;
                    }
                    self.reports.insert(ReportInFlight::Delivered(job.clone(), *number, *taken));
                }
            }
        }
    }

    pub(super) fn input(report: &ReportInFlight) -> (SessionInput, Timestamp) {
        let input = match report {
            ReportInFlight::Started(job) => SessionInput::Started(job.clone()),
            ReportInFlight::Ended(job, ProcessEnd::Lost) => SessionInput::Lost(job.clone()),
            ReportInFlight::Ended(job, end) => {
                let outcome = Box::new(outcome(*end));
                SessionInput::Ended { job: job.clone(), outcome }
            }
            ReportInFlight::Asks(job, seen) => {
                testing::asks(job.task.as_str(), job.attempt, *seen, &format!("question {seen}"))
            }
            ReportInFlight::Idle(job, seen) => {
                testing::idle(job.task.as_str(), job.attempt, *seen, true)
            }
            ReportInFlight::Undelivered(job, number, attempt) => {
                let (job, reason) = (job.clone(), "it was not seen".to_owned());
                let (number, attempt, typable) = (*number, *attempt, true);
                SessionInput::Undelivered { job, number, attempt, reason, typable }
            }
            ReportInFlight::Delivered(job, number, seen) => {
                SessionInput::Delivered { job: job.clone(), number: *number, seen: *seen }
            }
            ReportInFlight::Answered(number, seen) => {
                SessionInput::Answered { intervention: testing::intervention(*number), seen: *seen }
            }
            ReportInFlight::Fired(timer) => {
                return (SessionInput::TimerFired(timer.clone()), LATER);
            }
            ReportInFlight::Expired(number) => {
                return (SessionInput::Expired(testing::intervention(*number)), LATER);
            }
            ReportInFlight::Again(run) => {
                SessionInput::Retry { run: *run, by: "she".to_owned(), why: String::new() }
            }
            ReportInFlight::Tree(told) => told.input(),
            ReportInFlight::Cancel => {
                SessionInput::Cancel { by: "she".to_owned(), why: String::new() }
            }
        };
        (input, NOW)
    }

    /// Whether the run ends if everything goes on somehow: orders arrive, processes end well,
    /// whatever waits is decided.
    pub(super) fn can_end(&self) -> bool {
        let mut world = self.clone();
        for _ in 0..24 {
            if world.run().is_over() {
                return true;
            }
            world.issue_orders(&world.state.outstanding());
            for order in std::mem::take(&mut world.orders) {
                world.carry_out(&order, DisabledParts::default());
            }
            let alive: Vec<AttemptId> = world.alive().cloned().collect();
            for job in alive {
                let end = if job.task.as_str().ends_with("arbiter") {
                    ProcessEnd::Done
                } else {
                    ProcessEnd::Good
                };
                world.processes.insert(job.clone(), ModelProcess::Ended(end));
                world.reports.insert(ReportInFlight::Ended(job, end));
            }
            for report in std::mem::take(&mut world.reports) {
                if !matches!(report, ReportInFlight::Cancel | ReportInFlight::Again(_)) {
                    let (input, now) = Self::input(&report);
                    world.decide_on(input, now, None, DisabledParts::default());
                }
            }
            let open: Vec<(u64, InterventionChoice)> = world
                .run()
                .interventions
                .iter()
                .map(|(number, pending)| (*number, *pending.intervention.options.last().unwrap()))
                .collect();
            for (number, choice) in open {
                let decision = InterventionDecision::new(choice, "she").with_text("x");
                world.decide_on(
                    testing::decide_with(number, decision),
                    NOW,
                    None,
                    DisabledParts::default(),
                );
            }
        }
        false
    }

    /// Whether every agent that asks has somebody to wait for, once all that is on its way to the
    /// run has arrived.
    pub(super) fn attends_to_all(&self) -> bool {
        let asks = |(_, process): &(&AttemptId, &ModelProcess)| {
            matches!(process, ModelProcess::Runs { mood: AgentDisplay::Asks, .. })
        };
        let asking: Vec<&AttemptId> =
            self.processes.iter().filter(asks).map(|(job, _)| job).collect();
        let are_attended = |world: &Self| {
            asking.iter().all(|job| {
                let watched = world.run().watched(job);
                watched.is_none_or(|live| live.is_attended(AgentState::Awaiting))
            })
        };
        if are_attended(self) {
            return true;
        }
        let mut world = self.clone();
        // A job that was found after a crash and is not followed yet will be.
        let starts = |order: &&OrderInFlight| matches!(order, OrderInFlight::Start(_));
        for order in world.orders.iter().filter(starts).cloned().collect::<Vec<_>>() {
            world.carry_out(&order, DisabledParts::default());
        }
        for _ in 0..4 {
            for report in world.reports.clone() {
                if !matches!(report, ReportInFlight::Cancel | ReportInFlight::Again(_)) {
                    let (input, now) = Self::input(&report);
                    world.decide_on(input, now, None, DisabledParts::default());
                }
            }
        }
        are_attended(&world)
    }

    /// Processes that run and were not left alive on purpose.
    pub(super) fn alive(&self) -> impl Iterator<Item = &AttemptId> {
        let runs = self
            .processes
            .iter()
            .filter(|(_, process)| matches!(process, ModelProcess::Runs { .. }));
        runs.map(|(job, _)| job).filter(|job| self.run().kept.get(&job.task) != Some(&job.attempt))
    }
}

fn outcome(end: ProcessEnd) -> JobOutcome {
    match end {
        ProcessEnd::Good => testing::succeeded("fine"),
        ProcessEnd::More => testing::succeeded(r#"{"verdict": "actionable"}"#),
        ProcessEnd::Done => testing::succeeded(r#"{"verdict": "done"}"#),
        ProcessEnd::Bad => testing::exited(1),
        ProcessEnd::Refused => testing::refused("no such option"),
        ProcessEnd::Stopped | ProcessEnd::Lost => testing::stopped(),
    }
}
