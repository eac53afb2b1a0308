//! What agents show while they run: questions, turns that are over, texts that arrived.

use std::sync::Arc;

use coven_model::event::{DeliveredInput, InterventionDecision, SessionEvent, SessionRule};
use coven_model::{
    AskedAction, AttemptId, AwaitingKind, Intervention, InterventionChoice, InterventionId,
    InterventionKind, JobWork, TaskId, TaskStatus, are_same_entries,
};
use coven_notation::printable;

use super::DecisionDraft;
use super::question::{above_entries, command_line, question_line, shortened};
use crate::command::Command;
use crate::input::{ObservedQuestion, QuestionRuling, ScreenObservation};
use crate::rules::DecisionRule;
use crate::state::{
    AnswerPhase, AskedQuestion, LiveJob, PendingText, RefusedQuestion, WorkflowRun,
};

/// How often rules deny the same question of an agent before a person is asked.
const MAX_DENIALS: u32 = 5;

/// How many answers of rules to one question may be refused before a person is asked.
const MAX_RULE_REFUSALS: u32 = 3;

/// Why a question comes back that was answered.
const STILL_ASKED: &str = "the agent still asks the same after an answer";

/// Why a question goes when the agent asks another one.
const ASKS_OTHER: &str = "the agent asks something else now";

/// Why a question goes that comes back at once with what was missing.
const KNOWN_BETTER: &str = "more of the question can be read now";

/// What kind of decision a question wants, and how that is said.
fn kind_of(question: &ObservedQuestion) -> (InterventionKind, &'static str) {
    match question.kind {
        _ if coven_model::is_generic_rule(&question.rule) => {
            (InterventionKind::Choice, "offers a choice")
        }
        AwaitingKind::Approval => (InterventionKind::Approval, "asks for approval"),
        AwaitingKind::Question => (InterventionKind::Question, "asks a question"),
        AwaitingKind::Choice => (InterventionKind::Choice, "offers a choice"),
        AwaitingKind::Dialog => (InterventionKind::Dialog, "shows a dialog"),
    }
}

impl WorkflowRun {
    /// The decision about a command that a person has approved for the rest of the session. The
    /// command must be the same from its first to its last character.
    fn decide_by_session_rule(
        &self,
        live: &LiveJob,
        question: &ObservedQuestion,
    ) -> Option<InterventionDecision> {
        let JobWork::Agent(agent) = &live.spec.work else { return None };
        let AskedAction { command, wrapped, truncated, extras, .. } = &question.action;
        let is_whole = !wrapped && !truncated && extras.is_empty();
        if question.kind != AwaitingKind::Approval || !is_whole {
            return None;
        }
        let command = command.as_ref()?;
        let same =
            |rule: &&Arc<SessionRule>| rule.adapter == agent.adapter && rule.command == *command;
        let rule = self.rules.iter().find(same)?;
        let decision = InterventionDecision::new(
            InterventionChoice::Approve,
            format!("policy:session:{}", rule.name),
        );
        let why = "this command was approved for the rest of the session".to_owned();
        Some(InterventionDecision { why, ..decision })
    }
}

impl DecisionDraft {
    /// The live job, or the agent that was left alive, if what is seen on its screen still matters.
    fn watched_job(&self, job: &AttemptId) -> Option<&LiveJob> {
        self.run()?.watched(job).filter(|live| live.stop.is_none())
    }

    /// Whether the agent of this attempt was left alive: no task waits for it any more.
    fn is_kept(&self, job: &AttemptId) -> bool {
        self.run().is_some_and(|run| run.kept_job(job).is_some())
    }

    pub(super) fn observed(&mut self, job: &AttemptId, seen: u64, what: ScreenObservation) {
        let Some(live) = self.watched_job(job) else { return };
        if seen <= live.seen && self.holds(DecisionRule::ObservationsGrow) {
            return;
        }
        match what {
            ScreenObservation::Awaiting { question, ruling } => {
                self.agent_asks(job, seen, *question, ruling);
            }
            ScreenObservation::Working => self.agent_moves_on(job, seen),
            ScreenObservation::Unexplained { excerpt } => self.agent_puzzles(job, seen, excerpt),
            ScreenObservation::Idle { worked, output } => {
                self.agent_idles(job, seen, worked, output);
            }
            ScreenObservation::Interrupted => self.agent_was_interrupted(job, seen),
        }
    }

    /// The agent was stopped in the middle of its turn. What it should do now, a person says: its
    /// work is not done, and what was to follow was meant for after it.
    fn agent_was_interrupted(&mut self, job: &AttemptId, seen: u64) {
        self.end_questions(job, seen);
        let Some(live) = self.watched_job(job) else { return };
        if live.typing.is_some() || !live.converses() {
            return;
        }
        if live.say.is_some() {
            return self.agent_idles(job, seen, false, None);
        }
        // Nobody waits for the turns of an agent that was left alive.
        if live.turn.is_some() || self.is_kept(job) {
            return;
        }
        let deadline = live.deadline;
        let (kind, task) = (InterventionKind::EndedTurn, Some(job.task.clone()));
        let reason = format!("{} was interrupted before its turn was over", job.task);
        let Some(mut intervention) = self.intervention(kind, task, reason) else { return };
        intervention.expires_at = deadline;
        self.ask_person(job, seen, Box::new(intervention));
    }

    /// The agent asks. It has one screen, so it does not ask anything else any more.
    fn agent_asks(
        &mut self,
        job: &AttemptId,
        seen: u64,
        question: ObservedQuestion,
        ruling: QuestionRuling,
    ) {
        let Some(live) = self.watched_job(job) else { return };
        let known = live.asked.iter().rev().find(|asked| asked.digest == question.digest);
        let known = known.filter(|asked| asked.answer != AnswerPhase::Void);
        let is_told = |asked: &AskedQuestion| !self.tells_more(asked, &question);
        if known.is_some_and(is_told) {
            return;
        }
        let is_known = known.is_some();
        // While an answer is on its way, what it shows may be the answer. It is looked at again
        // when that has arrived or was refused.
        if live.is_being_answered() {
            return;
        }
        let deadline = live.deadline;
        let decided = match ruling {
            QuestionRuling::Decided(decision) => Some(*decision),
            QuestionRuling::Undecided => {
                self.run().and_then(|run| run.decide_by_session_rule(live, &question))
            }
            QuestionRuling::AskPerson => None,
        };
        self.withdraw_questions(job, if is_known { KNOWN_BETTER } else { ASKS_OTHER });
        // No adapter says which keys would be a yes or a no.
        let is_generic = coven_model::is_generic_rule(&question.rule);
        let (kind, reason) = kind_of(&question);
        let AskedAction { tool, command, wrapped, truncated, extras, secret, no_approval, entries } =
            question.action;
        let reason = if secret { "asks for a secret" } else { reason };
        let asked = match &command {
            // Its last line says nothing of the others.
            Some(command) if command.trim().contains('\n') => command_line(command),
            _ => match &question.title {
                Some(title) => shortened(title),
                None => question_line(above_entries(&question.excerpt, &entries)),
            },
        };
        // A person approves by it, where a list has no room for more. Rules read the command itself.
        let asked = printable(&asked);
        let reason = match asked.as_str() {
            "" => format!("{} {reason}", job.task),
            asked => format!("{} {reason}: {asked}", job.task),
        };
        let Some(mut intervention) = self.intervention(kind, Some(job.task.clone()), reason) else {
            return;
        };
        if is_generic {
            intervention.options.retain(|choice| *choice != InterventionChoice::Deny);
        }
        // What is not shown whole is looked at on the agent's terminal, where there is one.
        let is_hidden =
            truncated && self.watched_job(job).is_some_and(|live| live.channel.is_some());
        let is_only_denied = no_approval.is_some();
        intervention.options.retain(|choice| match choice {
            InterventionChoice::ApproveAlways => {
                question.offers_always && !is_hidden && !is_only_denied
            }
            InterventionChoice::Approve => !is_hidden && !is_only_denied,
            _ => true,
        });
        intervention.rule = Some(question.rule);
        intervention.help = question.help;
        intervention.tool = tool;
        intervention.command = command;
        intervention.wrapped = wrapped;
        intervention.truncated = truncated;
        intervention.extras = extras;
        intervention.entries = entries;
        intervention.secret = secret;
        intervention.excerpt = question.excerpt;
        intervention.digest = Some(question.digest);
        intervention.expires_at = deadline;
        let Some(live) = self.watched_job(job) else { return };
        let refused = live.refused(&intervention);
        intervention.refused = refused.map(|refused| refused.reason.clone());
        if question.repeated {
            intervention.refused.get_or_insert_with(|| STILL_ASKED.to_owned());
        }
        // What may have been answered already, or does not take a no, is for a person.
        let is_refused =
            |refused: &RefusedQuestion| refused.pressed || refused.answers >= MAX_RULE_REFUSALS;
        let by_itself = !question.repeated && !refused.is_some_and(is_refused);
        let denied = live.denials(&intervention);
        let is_denied =
            |decision: &InterventionDecision| decision.choice == InterventionChoice::Deny;
        let decided = decided
            .filter(|_| by_itself)
            .and_then(|decision| intervention.read_answer(decision).ok())
            .filter(|decision| !is_denied(decision) || denied < MAX_DENIALS);
        if by_itself && decided.is_none() && denied >= MAX_DENIALS {
            let what = intervention.command.as_deref().unwrap_or(&asked);
            let what = if what.is_empty() { "it" } else { what };
            intervention.refused =
                Some(format!("rules denied this {denied} times and it is asked again: {what}"));
        }
        let intervention = Box::new(intervention);
        if let Some(decision) = decided {
            let (attempt, decision) = (job.attempt, Box::new(decision));
            return self.record(SessionEvent::InputDecided { intervention, attempt, decision });
        }
        self.ask_person(job, seen, intervention);
    }

    /// Whether what is seen of a question that nobody has answered has to be told to whoever was
    /// asked: it offers entries that could not be read before, or asks for a secret.
    fn tells_more(&self, asked: &AskedQuestion, question: &ObservedQuestion) -> bool {
        let open = self.run().and_then(|run| run.interventions.get(&asked.number));
        let Some(open) = open.filter(|_| asked.answer == AnswerPhase::Open) else { return false };
        let told = &open.intervention;
        let (kind, _) = kind_of(question);
        kind != told.kind
            || question.action.tells_more_than(&told.action())
            || !are_same_entries(&told.entries, &question.action.entries)
    }

    /// A job waits for the decision about this.
    fn ask_person(&mut self, job: &AttemptId, seen: u64, intervention: Box<Intervention>) {
        let attempt = Some(job.attempt);
        self.record(SessionEvent::InterventionRequired { intervention, attempt });
        self.task_is(job, TaskStatus::WaitingForUser, seen);
    }

    /// The status of a task changes. A task whose agent was left alive is done for ever.
    fn task_is(&mut self, job: &AttemptId, status: TaskStatus, seen: u64) {
        if !self.is_kept(job) {
            self.record(SessionEvent::TaskStatus { job: job.clone(), status, seen });
        }
    }

    /// The agent waits, and nobody was asked.
    pub(super) fn look_again(&mut self, job: AttemptId) {
        if self.watched_job(&job).is_some() {
            self.commands.push(Command::Observe(job));
        }
    }

    /// Whatever the agent waited for, it does not any more.
    fn agent_moves_on(&mut self, job: &AttemptId, seen: u64) {
        let asked = |live: &LiveJob| live.open_questions().next().is_some();
        if self.watched_job(job).is_some_and(asked) {
            self.withdraw_questions(job, "the agent went on by itself");
            self.task_is(job, TaskStatus::Running, seen);
        }
    }

    /// Nobody knows what the agent does: a person has to look.
    fn agent_puzzles(&mut self, job: &AttemptId, seen: u64, excerpt: String) {
        let Some(live) = self.watched_job(job) else { return };
        // What becomes of an answer on its way shows what is asked.
        if live.turn.is_some() || live.is_being_answered() {
            return;
        }
        self.withdraw_each(live.asked_now(), "the agent does not show it any more");
        let Some(live) = self.watched_job(job) else { return };
        let deadline = live.deadline;
        let (kind, task) = (InterventionKind::UnknownState, Some(job.task.clone()));
        let reason = format!("{} shows something that its adapter does not know", job.task);
        let Some(mut intervention) = self.intervention(kind, task, reason) else { return };
        if self.is_kept(job) {
            // Its task is done already.
            intervention.options.retain(|choice| *choice != InterventionChoice::Complete);
        }
        intervention.excerpt = excerpt;
        intervention.expires_at = deadline;
        self.ask_person(job, seen, Box::new(intervention));
    }

    /// What the agent asked, or what nobody knew, is over.
    fn end_questions(&mut self, job: &AttemptId, seen: u64) {
        let open = self.run().and_then(|run| run.alive(job)).map(LiveJob::asked_now);
        if let Some(open) = open.filter(|open| !open.is_empty()) {
            self.withdraw_each(open, "the agent does not ask it any more");
            self.task_is(job, TaskStatus::Running, seen);
        }
        let run = self.run();
        let turn = run.and_then(|run| run.alive(job)).and_then(|live| live.turn);
        let open = run.zip(turn).and_then(|(run, turn)| run.open_intervention(turn));
        if open.is_some_and(|open| open.kind == InterventionKind::UnknownState) {
            self.withdraw_questions(job, "the agent shows what is known");
            self.task_is(job, TaskStatus::Running, seen);
        }
    }

    /// The agent is ready for a text: the next of its queue, or its turn is over.
    fn agent_idles(&mut self, job: &AttemptId, seen: u64, worked: bool, output: Option<String>) {
        self.end_questions(job, seen);
        let Some(live) = self.watched_job(job) else { return };
        if live.typing.is_some() || !live.converses() {
            return;
        }
        let prompted = live.was_given_something();
        if let Some(text) = live.say.clone() {
            let (job, number) = (job.clone(), live.sent + 1);
            return self.record(SessionEvent::InputQueued { job, number, text, seen, by: None });
        }
        if let Some(text) = live.next_input().cloned() {
            // Without a prompt the first text is what it waits for from the beginning.
            if worked || !prompted {
                let (job, number) = (job.clone(), live.sent + 1);
                self.record(SessionEvent::InputQueued { job, number, text, seen, by: None });
            }
            return;
        }
        // Nobody waits for the turns of an agent that was left alive.
        if !worked || live.turn.is_some() || self.is_kept(job) {
            return;
        }
        let Some((_, step, _)) = self.step_of(&job.task) else { return };
        if WorkflowRun::ends_when_idle(step, live) {
            return self.finish(&job.task, "the end of its turn".to_owned(), output);
        }
        let deadline = live.deadline;
        self.withdraw_questions(job, "the agent is idle");
        let (kind, task) = (InterventionKind::EndedTurn, Some(job.task.clone()));
        let reason = format!("{} has ended its turn", job.task);
        let Some(mut intervention) = self.intervention(kind, task, reason) else { return };
        intervention.excerpt = output.unwrap_or_default();
        intervention.expires_at = deadline;
        self.ask_person(job, seen, Box::new(intervention));
    }

    pub(super) fn delivered(&mut self, job: AttemptId, number: u32, seen: u64) {
        let live = self.run().and_then(|run| run.alive(&job));
        let typing = live.and_then(|live| live.typing.as_ref());
        if typing.is_some_and(|typing| typing.number == number) {
            let input = DeliveredInput::Queued(number);
            self.record(SessionEvent::InputDelivered { job, input, seen });
        }
    }

    /// A text, of which this was that try, did not arrive. Everything stays as it is until a person
    /// decides.
    pub(super) fn undelivered(
        &mut self,
        job: &AttemptId,
        (number, attempt): (u32, u32),
        reason: &str,
        typable: bool,
    ) {
        let Some(live) = self.watched_job(job) else { return };
        let under_way = |typing: &&PendingText| {
            (typing.number, typing.attempt, typing.held) == (number, attempt, None)
        };
        let Some(typing) = live.typing.as_ref().filter(under_way) else { return };
        let text = typing.text.clone();
        self.hold_text(job, text, reason, typable);
    }

    /// The prompt did not arrive, likewise.
    pub(super) fn prompt_undelivered(&mut self, job: &AttemptId, reason: &str, typable: bool) {
        let Some(live) = self.watched_job(job) else { return };
        let JobWork::Agent(agent) = &live.spec.work else { return };
        let is_held = live.typing.as_ref().is_some_and(|typing| typing.held.is_some());
        if let Some(prompt) = agent.prompt.clone().filter(|_| !is_held) {
            self.hold_text(job, prompt, reason, typable);
        }
    }

    fn hold_text(&mut self, job: &AttemptId, text: String, reason: &str, typable: bool) {
        let Some(live) = self.watched_job(job) else { return };
        let (deadline, seen) = (live.deadline, live.seen);
        let reason = format!("{} did not get its message: {reason}", job.task);
        let (kind, task) = (InterventionKind::UndeliveredMessage, Some(job.task.clone()));
        let Some(mut intervention) = self.intervention(kind, task, reason) else { return };
        intervention.excerpt = text;
        // What the terminal does not take is not sent by looking away.
        intervention.options.retain(|choice| typable || *choice != InterventionChoice::SendAnyway);
        intervention.expires_at = deadline;
        self.ask_person(job, seen, Box::new(intervention));
    }

    /// Somebody has a message for an agent: the decision about its turn, if that is over, or the
    /// last of the texts on their way to it.
    pub(super) fn message(&mut self, task: &TaskId, text: String, by: String) {
        let Some(run) = self.run() else { return };
        let Some((job, live)) = run.addressee(task) else { return };
        // What nobody knows stays a question: a message is no answer to what its sender has not
        // seen.
        let open = live.turn.and_then(|turn| run.open_intervention(turn));
        let is_known = open.is_some_and(|open| open.kind != InterventionKind::UnknownState);
        if let Some(turn) = live.turn.filter(|_| is_known) {
            let id = InterventionId::in_session(run.session(), turn);
            let decision = InterventionDecision::new(InterventionChoice::Send, by).with_text(text);
            return self.resolve(id, decision);
        }
        let (number, by) = (live.sent.saturating_add(1), Some(by));
        self.record(SessionEvent::InputQueued { job, number, text, seen: 0, by });
    }

    pub(super) fn answered(&mut self, id: &InterventionId, seen: u64) {
        if let Some(job) = self.answering(id) {
            let input = DeliveredInput::Answer(id.clone());
            self.record(SessionEvent::InputDelivered { job, input, seen });
        }
    }

    pub(super) fn answer_is_stale(&mut self, id: &InterventionId, reason: String, pressed: bool) {
        if let Some(job) = self.answering(id) {
            let intervention = id.clone();
            self.record(SessionEvent::InputRefused { job, intervention, reason, pressed });
        }
    }

    /// The job that the answer to this is on its way to.
    fn answering(&self, id: &InterventionId) -> Option<AttemptId> {
        let run = self.run()?;
        let number = run.number(id)?;
        let on_its_way = |live: &LiveJob| {
            let asked = live.question(number);
            asked.is_some_and(|asked| matches!(asked.answer, AnswerPhase::Decided(_)))
        };
        run.all_alive().find(|(_, live)| on_its_way(live)).map(|(job, _)| job)
    }

    pub(super) fn typed(&mut self, job: AttemptId, text: String, by: String) {
        let Some(run) = self.run() else { return };
        if let Some(seen) = run.alive(&job).map(|live| live.seen) {
            let input = DeliveredInput::Typed { text, by };
            self.record(SessionEvent::InputDelivered { job, input, seen });
        }
    }
}
