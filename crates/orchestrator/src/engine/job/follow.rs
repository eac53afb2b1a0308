//! A job under way: what its agent does is told, what its session orders is done.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use coven_adapters::AgentAdapter;
use coven_folder::best_effort;
use coven_model::{AgentState, JobOutcome, JobWork};
use coven_runner::{
    AgentRunner, DeliveryError, GivenAnswer, RunnerEvent, RunnerSubscription, RunnerUpdate,
    ShownState,
};
use coven_store::Attempt;
use coven_tape::{GapReason, TapeEvent as Taped, TapeStream as Taping};
use coven_workflow::SessionInput;
use coven_workflow::input::{ObservedQuestion, ScreenObservation};
use tokio::sync::mpsc;

use super::once::{self, SentMessage};
use super::written_answer::TurnProgress;
use super::{JobDetails, JobOrder, Runner, RunningJob, pass_panic_on, tell};
use crate::engine::answer::{self, AnswerWay};
use crate::event::LiveEvent;
use crate::state::blocking::blocking;

/// Why an answer is not typed whose text was only in the memory of a daemon that is gone.
const SECRET_LOST: &str =
    "Coven ended before the secret was typed, and secrets are kept nowhere; type it again";

/// How much of a script's output becomes a value.
const MAX_OUTPUT_BYTES: usize = 16 << 20;

/// How much of what a failed command said becomes the reason that people read.
const MAX_REASON_BYTES: usize = 2 << 10;

/// How long the end of a turn waits for the report of what began it, which is only a task switch
/// away.
const REPORT_TIMEOUT: Duration = Duration::from_secs(2);

impl RunningJob {
    pub(super) async fn follow(
        &mut self,
        runner: Runner,
        adapter: &Arc<dyn AgentAdapter>,
        orders: &mut mpsc::Receiver<JobOrder>,
        early: Vec<JobOrder>,
    ) {
        let mut events = match &runner {
            Runner::Agent(agent) => agent.subscribe(),
            Runner::Headless(headless) => headless.subscribe(),
        };
        self.runner.set(Some(runner.clone()));
        self.tell(SessionInput::Started(self.id())).await;
        for order in early {
            self.obey(order, &runner, adapter).await;
        }
        loop {
            tokio::select! {
                update = next(&mut events) => match update {
                    Some(RunnerEvent::Done(outcome)) => {
                        let details = self.details.clone();
                        let complete = move || details.complete(details.with_output(*outcome));
                        let outcome = blocking(complete).await;
                        self.log.finish().await;
                        self.end_with(outcome, orders).await;
                        break;
                    }
                    Some(event) => self.happened(event, &runner, adapter).await,
                    None => break,
                },
                order = orders.recv() => {
                    let Some(order) = order else {
                        runner.detach().await;
                        break;
                    };
                    self.obey(order, &runner, adapter).await;
                }
                Some(done) = self.sending.join_next() => drop(pass_panic_on(done)),
                () = self.log.keep_writing() => {}
            }
        }
        self.runner.set(None);
    }

    pub(super) async fn happened(
        &mut self,
        event: RunnerEvent,
        runner: &Runner,
        adapter: &Arc<dyn AgentAdapter>,
    ) {
        match event {
            RunnerEvent::Output { stream, offset, raw, clean } => {
                self.log.output_came();
                let job = self.id();
                let live = LiveEvent::Output { job, stream, offset, length: raw.len(), clean };
                self.live.publish(live);
            }
            RunnerEvent::State(verdict) => {
                let state = verdict.state;
                let live = LiveEvent::State { job: self.id(), verdict: Box::new(verdict) };
                self.live.publish(live);
                match state {
                    // It works until it ends, and its output says how.
                    _ if matches!(runner, Runner::Headless(_)) => {}
                    AgentState::Working => {
                        self.turn.worked = true;
                        self.observed(ScreenObservation::Working).await;
                    }
                    AgentState::Idle | AgentState::Error => {
                        self.observed(ScreenObservation::Idle { worked: false, output: None })
                            .await;
                    }
                    _ => {}
                }
            }
            RunnerEvent::TurnEnded { .. } => {
                self.arrived().await;
                // A text that arrived meanwhile began another turn. The end of that one is told
                // when it comes.
                if let Runner::Agent(agent) = runner
                    && !matches!(agent.verdict().state, AgentState::Idle | AgentState::Error)
                {
                    return;
                }
                let output = match runner {
                    // What it said was not cleaned while it was read.
                    Runner::Agent(agent) if agent.channel().is_some() => {
                        let said = agent.last_answer().await;
                        said.map(|said| self.details.redactor.clean(&said))
                    }
                    Runner::Agent(agent) => self.turn_output(agent, adapter).await,
                    Runner::Headless(_) => None,
                };
                self.observed(ScreenObservation::Idle { worked: true, output }).await;
            }
            RunnerEvent::TurnInterrupted => {
                self.arrived().await;
                self.observed(ScreenObservation::Interrupted).await;
            }
            RunnerEvent::Awaiting(question) => {
                let automatic =
                    matches!(&self.details.spec.work, JobWork::Agent(agent) if agent.auto_approve);
                let policies = self.details.executor.current_policies().await;
                let automation = automatic.then(|| self.details.executor.automation(&**adapter));
                let way = match runner {
                    Runner::Agent(agent) if agent.channel().is_some() => AnswerWay::Spoken,
                    _ => AnswerWay::Pressed,
                };
                let asked = (&question, way);
                let ruling = answer::decide(&policies, &**adapter, automation.as_ref(), asked);
                let offers_always =
                    coven_policy::always_rule(adapter.kind(), &question.action).is_ok();
                let question = Box::new(ObservedQuestion {
                    offers_always,
                    kind: question.kind,
                    rule: question.rule,
                    help: question.help,
                    title: question.title,
                    excerpt: question.excerpt.join("\n"),
                    action: question.action,
                    digest: question.digest,
                    repeated: question.repeated,
                });
                self.observed(ScreenObservation::Awaiting { question, ruling }).await;
            }
            RunnerEvent::Unexplained(lines) => {
                let begin = lines.iter().position(|line| !line.trim().is_empty()).unwrap_or(0);
                let excerpt = lines[begin..].join("\n").trim_end().to_owned();
                self.observed(ScreenObservation::Unexplained { excerpt }).await;
            }
            RunnerEvent::DeliveryFailed { error, .. } => {
                let (job, reason, typable) = (self.id(), error.to_string(), error.is_typable());
                self.tell(SessionInput::PromptUndelivered { job, reason, typable }).await;
            }
            _ => {}
        }
    }

    /// What the turn that is over comes to.
    async fn turn_output(
        &mut self,
        agent: &AgentRunner,
        adapter: &Arc<dyn AgentAdapter>,
    ) -> Option<String> {
        let after = self.turn.read.clone().filter(|_| self.turn.worked);
        let output = self.details.turn_output(agent, adapter, after).await?;
        if output.place.is_some() {
            self.turn = TurnProgress { read: output.place, worked: false };
        }
        Some(output.text)
    }

    /// Tells again what the agent shows, as if it were seen for the first time.
    async fn observe(&mut self, runner: &Runner, adapter: &Arc<dyn AgentAdapter>) {
        let Runner::Agent(agent) = runner else { return };
        let Some(shown) = agent.shown().await else { return };
        match shown {
            ShownState::Asks(question) => {
                self.happened(RunnerEvent::Awaiting(*question), runner, adapter).await;
            }
            ShownState::Rests { worked: true } => {
                let error = agent.verdict().state == AgentState::Error;
                self.happened(RunnerEvent::TurnEnded { error }, runner, adapter).await;
            }
            ShownState::Rests { worked: false } => {
                self.observed(ScreenObservation::Idle { worked: false, output: None }).await;
            }
            ShownState::Interrupted => {
                self.happened(RunnerEvent::TurnInterrupted, runner, adapter).await;
            }
            ShownState::Unexplained(lines) => {
                self.happened(RunnerEvent::Unexplained(lines), runner, adapter).await;
            }
            ShownState::Other => {}
        }
    }

    /// Waits until what began a turn is told. The runner says that a message arrived before it says
    /// that the turn is over, and a session that still waits for the first ignores the second.
    async fn arrived(&mut self) {
        let all = async {
            while let Some(done) = self.sending.join_next().await {
                pass_panic_on(done);
            }
        };
        // A message whose report takes longer did not begin this turn.
        let reported = tokio::time::timeout(REPORT_TIMEOUT, all).await;
        best_effort("wait for the report of a message", reported);
    }

    pub(super) async fn observed(&mut self, what: ScreenObservation) {
        let seen = self.next_seen();
        self.tell(SessionInput::Observed { job: self.id(), seen, what }).await;
    }

    /// A number larger than every earlier one, also of an earlier process.
    pub(super) fn next_seen(&mut self) -> u64 {
        self.seen = (self.seen + 1).max(micros());
        self.seen
    }

    pub(super) async fn obey(
        &mut self,
        order: JobOrder,
        runner: &Runner,
        adapter: &Arc<dyn AgentAdapter>,
    ) {
        let seen = self.next_seen();
        let reports = self.reports.clone();
        let job = self.id();
        match (order, runner) {
            (JobOrder::Stop, runner) => {
                let (details, runner) = (self.details.clone(), runner.clone());
                self.sending.spawn(async move {
                    blocking(move || details.mark_killed()).await;
                    runner.stop().await;
                });
            }
            (JobOrder::Answer(answer), Runner::Agent(agent)) => {
                let agent = agent.clone();
                let intervention = answer.intervention.clone();
                let secret = self.details.executor.shared.secrets.take(&intervention);
                let folder = self.details.attempt.path().to_owned();
                let earlier = self.earlier_inputs.clone();
                self.sending.spawn(async move {
                    let action = match agent.channel() {
                        Some(_) => answer::spoken_action(&answer.decision, secret),
                        None => answer::action(&answer.decision, secret),
                    };
                    let Some(action) = action else {
                        let reason = SECRET_LOST.to_owned();
                        let input = SessionInput::Stale { intervention, reason, pressed: false };
                        return tell(&reports, input).await;
                    };
                    let name = intervention.to_string();
                    let typed = earlier.read(&folder).await.answer(&name);
                    let (digest, name) = (answer.digest.clone(), Some(name));
                    let given = GivenAnswer { digest, action, name, typed };
                    let input = match agent.give(given).await {
                        Ok(()) => SessionInput::Answered { intervention, seen },
                        Err(error) => {
                            let (reason, pressed) = (error.to_string(), error.was_pressed());
                            SessionInput::Stale { intervention, reason, pressed }
                        }
                    };
                    tell(&reports, input).await;
                });
            }
            (JobOrder::Send(text), Runner::Agent(agent)) => {
                let (number, attempt) = (text.number, text.attempt);
                // The same order may come more than once.
                if !self.ordered.insert((number, attempt)) {
                    return;
                }
                let folder = self.details.attempt.path().to_owned();
                let (agent, adapter) = (agent.clone(), adapter.clone());
                let details = self.details.clone();
                let earlier = self.earlier_inputs.clone();
                self.sending.spawn(async move {
                    let sent = once::send(&agent, earlier.read(&folder).await, text).await;
                    if let SentMessage::Not(error) = &sent {
                        // That it has ended is told by itself.
                        if *error != DeliveryError::Ended {
                            let (reason, typable) = (error.to_string(), error.is_typable());
                            let input =
                                SessionInput::Undelivered { job, number, attempt, reason, typable };
                            tell(&reports, input).await;
                        }
                        return;
                    }
                    let delivered =
                        SessionInput::Delivered { job: job.clone(), number, seen: micros() };
                    tell(&reports, delivered).await;
                    if sent == SentMessage::Before
                        && agent.channel().is_none()
                        && once::is_over(&agent, &adapter, &folder).await
                    {
                        // It was told of the end of this turn before it knew of the text.
                        let output = details.turn_output(&agent, &adapter, None).await;
                        let output = output.map(|output| output.text);
                        let what = ScreenObservation::Idle { worked: true, output };
                        tell(&reports, SessionInput::Observed { job, seen: micros(), what }).await;
                    }
                });
            }
            (JobOrder::Observe, runner) => self.observe(runner, adapter).await,
            (JobOrder::Answer(_) | JobOrder::Send(_), Runner::Headless(_)) => {}
        }
    }
}

impl JobDetails {
    /// A command's output is all it printed, which is on its tape.
    pub(super) fn with_output(&self, mut outcome: JobOutcome) -> JobOutcome {
        if matches!(self.spec.work, JobWork::Shell(_)) {
            let PrintedText { output, mut errors, omitted, lost, errors_omitted } =
                printed(&self.attempt);
            (outcome.omitted, outcome.lost) = (omitted, lost);
            if outcome.ok {
                // What was read while it ran may have been cut earlier than this.
                outcome.reason = outcome.ending.to_string();
            }
            if !outcome.ok && !errors.trim().is_empty() {
                let last = errors.trim_end().lines().rev().take(3).collect::<Vec<_>>();
                let last = last.into_iter().rev().collect::<Vec<_>>().join("\n");
                // Not behind what was read while it ran, which quotes the same lines.
                outcome.reason = format!("{}: {last}", outcome.ending);
            }
            if let Some(lost) = outcome.lost_words().filter(|_| !outcome.ok) {
                outcome.reason = format!("{}; {lost}", outcome.reason);
            }
            if errors_omitted > 0 {
                errors = format!("{errors}\n… ({errors_omitted} more bytes)");
            }
            let without_end = |text: &str| text.trim_end_matches(['\n', '\r']).to_owned();
            outcome.output = Some(without_end(&output));
            outcome.stderr = Some(without_end(&errors)).filter(|errors| !errors.is_empty());
        }
        outcome
    }
}

/// An outcome whose reason can be read: of what a failed program said last, the end. All it printed is
/// in its output, its log and on its tape. To be called when secrets are out of it, because a part of
/// one is not recognised.
pub(super) fn with_short_reason(mut outcome: JobOutcome) -> JobOutcome {
    outcome.reason = short_reason(&outcome.ending.to_string(), outcome.reason);
    outcome
}

/// A reason whose words, behind the way it ended, are at most [`MAX_REASON_BYTES`] long.
fn short_reason(ending: &str, reason: String) -> String {
    let words = reason.strip_prefix(ending).and_then(|rest| rest.strip_prefix(": "));
    let words = words.unwrap_or(&reason);
    if words.len() <= MAX_REASON_BYTES {
        return reason;
    }
    let omitted = words.ceil_char_boundary(words.len() - MAX_REASON_BYTES);
    let (head, kept) = (&reason[..reason.len() - words.len()], &words[omitted..]);
    format!("{head}… ({omitted} bytes left out) {kept}")
}

/// The next event; what a slow follower missed is output, which is on the tape.
async fn next(events: &mut RunnerSubscription) -> Option<RunnerEvent> {
    loop {
        match events.next().await? {
            RunnerUpdate::Event(event) => return Some(event),
            RunnerUpdate::Lagged(_) => {}
        }
    }
}

/// What a command printed, output and errors apart.
struct PrintedText {
    output: String,
    errors: String,
    /// How many bytes of the output are missing: beyond the limit, or lost.
    omitted: u64,
    /// How many bytes of what it printed the disk had no room for.
    lost: u64,
    /// How many bytes of the errors are beyond the limit.
    errors_omitted: u64,
}

/// Everything a command printed, up to the limit.
fn printed(attempt: &Attempt) -> PrintedText {
    let (mut output, mut errors, mut omitted, mut errors_omitted) = (Vec::new(), Vec::new(), 0, 0);
    let mut lost = 0;
    if let Ok(reader) = attempt.tape() {
        // On a disk that is full to the end not even the loss is on the tape.
        let printed = attempt.exit().ok().flatten().map_or(0, |exit| exit.output);
        lost += printed.saturating_sub(reader.range().end);
        for record in reader.records(0) {
            let Ok(record) = record else { break };
            // What the tape had no room for may have been output.
            if let Taped::Gap(gap) = &record.event {
                match gap.reason {
                    GapReason::Full | GapReason::Failed => lost += gap.len,
                    GapReason::Dropped => omitted += gap.len,
                }
            }
            if let Taped::Output { stream, bytes } = record.event {
                let (kept, surplus) = match stream {
                    Taping::Out => (&mut output, &mut omitted),
                    Taping::Err => (&mut errors, &mut errors_omitted),
                };
                let fits = bytes.len().min(MAX_OUTPUT_BYTES - kept.len());
                kept.extend(&bytes[..fits]);
                *surplus += (bytes.len() - fits) as u64;
            }
        }
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    PrintedText {
        output: text(output),
        errors: text(errors),
        omitted: omitted + lost,
        lost,
        errors_omitted,
    }
}

fn micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_reason_the_end_is_kept_and_what_is_left_out_is_said() {
        let short = "exit code 3: no such file".to_owned();
        assert_eq!(short_reason("exit code 3", short.clone()), short);
        for head in ["exit code 3: ", ""] {
            let long = format!("{head}{}end", "\u{20ac}".repeat(100_000));
            let cut = short_reason("exit code 3", long);
            assert!(cut.starts_with(&format!("{head}… (297957 bytes left out) €")), "{cut}");
            assert!(cut.ends_with("€end") && cut.len() < 2200, "{cut}");
        }
    }
}
