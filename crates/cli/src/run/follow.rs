//! Following a run: as a tree that is answered in place, as lines, or as JSON.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use coven_api::ApiClient;
use coven_api::client::StreamedEvent;
use coven_api::workflow::WorkflowDetails;
use coven_model::SessionId;
use coven_model::event::SessionEvent;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::ask::{AskAction, QuestionPrompt};
use super::canvas::LineCanvas;
use super::end;
use super::key_input::CommandKeyboard;
use super::lines::{FactPrinter, event};
use crate::attach::{self, AttachEnd};
use crate::events::EventPump;
use crate::failure::{CommandFailure, FailureCode, Result};
use crate::signals::{SignalEvent, SignalListener};
use crate::tree::{TreeStyle, fitted, tree};
use crate::tty::{KeyMode, TerminalKeyboard};
use crate::{connect, last_line, output, question, tty};

/// How often a tree is looked at again while something happens.
const TREE_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How often it is drawn again because ages grow.
const REDRAW_INTERVAL: Duration = Duration::from_millis(500);

/// A second Ctrl-C within this time means more than the first.
const SECOND_INTERRUPT_WINDOW: Duration = Duration::from_secs(2);

/// What happens when a person has to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnBlock {
    Wait,
    /// The command ends with exit code 3.
    Fail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FollowMode {
    /// Every event as a line of JSON.
    Json(OnBlock),
    /// A line for everything of interest.
    Lines(OnBlock),
    /// A tree that changes.
    Tree(OnBlock),
}

impl FollowMode {
    /// A tree on a terminal, and lines elsewhere.
    pub(crate) fn usual(on_block: OnBlock) -> Self {
        let draws = io::stdout().is_terminal() && !tty::is_dumb();
        if draws { Self::Tree(on_block) } else { Self::Lines(on_block) }
    }

    fn on_block(self) -> OnBlock {
        match self {
            Self::Json(on_block) | Self::Lines(on_block) | Self::Tree(on_block) => on_block,
        }
    }
}

/// A run that is followed on the terminal, with everything that shows it.
pub(crate) struct RunFollower {
    client: ApiClient,
    id: SessionId,
    name: String,
    how: FollowMode,
    signals: Option<SignalListener>,
    canvas: LineCanvas,
    ask: QuestionPrompt,
    lines: FactPrinter,
    /// Facts up to here are not told.
    from: u64,
}

enum FollowEnd {
    /// The run is over, or does not go on.
    Over,
    /// A person has to be asked.
    Blocked(Box<WorkflowDetails>),
    /// The user stopped following; the run goes on.
    Left(SignalEvent),
}

impl RunFollower {
    pub(crate) fn new(client: ApiClient, id: SessionId, name: String, how: FollowMode) -> Self {
        Self {
            client,
            id,
            name,
            how,
            signals: None,
            canvas: LineCanvas::default(),
            ask: QuestionPrompt::default(),
            lines: FactPrinter::default(),
            from: 0,
        }
    }

    /// The same, from after this fact on.
    pub(crate) fn after(
        client: ApiClient,
        id: SessionId,
        name: String,
        how: FollowMode,
        seq: u64,
    ) -> Self {
        Self { from: seq, ..Self::new(client, id, name, how) }
    }

    /// Follows to the end, and says how that was.
    pub(crate) async fn run(mut self) -> Result {
        self.signals = Some(SignalListener::listen()?);
        let ending = match self.how {
            FollowMode::Tree(_) => self.tree().await,
            FollowMode::Lines(_) | FollowMode::Json(_) => self.stream().await,
        };
        match ending? {
            FollowEnd::Over => self.over().await,
            FollowEnd::Blocked(workflow) => Err(self.blocked(&workflow)),
            FollowEnd::Left(told) => self.leave(told).await,
        }
    }

    async fn signal(&mut self) -> SignalEvent {
        match &mut self.signals {
            Some(signals) => signals.next().await,
            None => std::future::pending().await,
        }
    }

    async fn stream(&mut self) -> Result<FollowEnd> {
        if matches!(self.how, FollowMode::Lines(_)) {
            output::line(&format!("{}: coven show {0}", self.name))?;
        }
        let mut events = EventPump::session(&self.client, self.id.as_str(), Some(self.from));
        loop {
            let streamed = tokio::select! {
                told = self.signal() => match told {
                    SignalEvent::Resized => continue,
                    told => return Ok(FollowEnd::Left(told)),
                },
                streamed = events.next() => streamed?,
            };
            match streamed {
                Some(StreamedEvent::Event(envelope)) => {
                    if matches!(self.how, FollowMode::Json(_)) {
                        output::json_line(&envelope)?;
                    } else if let Some(line) = self.lines.line(&envelope) {
                        output::line(&line)?;
                    }
                    match event(&envelope) {
                        Some(SessionEvent::InterventionRequired { .. }) => {
                            if let Some(workflow) = self.is_blocked().await? {
                                return Ok(FollowEnd::Blocked(workflow));
                            }
                            self.how_to_answer().await?;
                        }
                        Some(event) if is_end(&event) => return Ok(FollowEnd::Over),
                        _ => {}
                    }
                }
                Some(StreamedEvent::Reconnecting(_)) => drop(connect::daemon().await?),
                Some(StreamedEvent::End) | None => return Ok(FollowEnd::Over),
                Some(_) => {}
            }
        }
    }

    /// Prints the command that answers what waits, unless that is automatic or asked in place.
    async fn how_to_answer(&self) -> Result {
        if !matches!(self.how, FollowMode::Lines(_)) {
            return Ok(());
        }
        let workflow = self.client.workflow(self.id.as_str()).await?;
        let alone = workflow.interventions.len() == 1;
        if let Some(asked) = workflow.left_to_person().next_back() {
            let name = question::name(&self.name, asked, alone);
            output::say!("To answer: {}", question::commands(&name, asked).join(", or "));
        }
        Ok(())
    }

    /// The run, if it waits for a person and this command may not ask one.
    async fn is_blocked(&self) -> Result<Option<Box<WorkflowDetails>>> {
        if self.how.on_block() == OnBlock::Wait {
            return Ok(None);
        }
        let workflow = self.client.workflow(self.id.as_str()).await?;
        let is_blocked = workflow.left_to_person().next().is_some();
        Ok(is_blocked.then(|| Box::new(workflow)))
    }

    /// A tree that changes.
    async fn tree(&mut self) -> Result<FollowEnd> {
        let mut events = EventPump::session(&self.client, self.id.as_str(), None);
        let mut workflow = self.client.workflow(self.id.as_str()).await?;
        let mut keyboard =
            if tty::is_interactive() { Some(CommandKeyboard::take()?) } else { None };
        let mut look = interval(TREE_POLL_INTERVAL);
        look.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (mut dirty, mut over, mut drawn) = (true, false, None::<Instant>);
        loop {
            tokio::select! {
                told = self.signal() => match told {
                    SignalEvent::Resized => dirty = true,
                    told => return Ok(FollowEnd::Left(told)),
                },
                streamed = events.next(), if !over => match streamed? {
                    Some(StreamedEvent::Reconnecting(_)) => drop(connect::daemon().await?),
                    Some(StreamedEvent::End) | None => (dirty, over) = (true, true),
                    Some(StreamedEvent::Event(envelope)) if envelope.kind == "task.output" => {}
                    Some(StreamedEvent::Event(envelope)) => {
                        if let Some(event) = event(&envelope) {
                            self.ask.happened(&event);
                        }
                        dirty = true;
                    }
                    Some(_) => dirty = true,
                },
                bytes = typed(keyboard.as_ref()) => {
                    let bytes = bytes?;
                    if bytes.is_empty() {
                        return Ok(FollowEnd::Left(SignalEvent::Terminate));
                    }
                    let wish = self.ask.typed(&workflow, &bytes);
                    self.wished(wish, &workflow, &mut keyboard).await?;
                    (dirty, drawn) = (true, None);
                }
                _ = look.tick() => {}
            }
            let is_old = drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW_INTERVAL);
            if dirty || is_old || self.ask.settles_now() {
                if dirty {
                    workflow = self.client.workflow(self.id.as_str()).await?;
                }
                last_line::put(&self.client, &mut workflow).await;
                self.draw(&workflow)?;
                (dirty, drawn) = (false, Some(Instant::now()));
            }
            if (over || workflow.item.status.is_final()) && !self.ask.is_held() {
                return Ok(FollowEnd::Over);
            }
            let is_blocked = workflow.left_to_person().next().is_some();
            if self.how.on_block() == OnBlock::Fail && is_blocked {
                return Ok(FollowEnd::Blocked(Box::new(workflow)));
            }
        }
    }

    fn draw(&mut self, workflow: &WorkflowDetails) -> Result {
        self.ask.look(workflow);
        let columns = output::columns();
        let style = TreeStyle {
            now: output::now(),
            paint: output::paint(),
            columns,
            whole: false,
            over: None,
        };
        let below = if tty::is_interactive() {
            self.ask.lines(workflow, style.paint, columns)
        } else {
            Vec::new()
        };
        let room = LineCanvas::rows().saturating_sub(below.len());
        let mut lines = fitted(tree(workflow, style), room);
        lines.extend(below);
        lines.truncate(LineCanvas::rows());
        self.canvas.draw(&lines)
    }

    /// Does what the keys mean.
    async fn wished(
        &mut self,
        wish: AskAction,
        workflow: &WorkflowDetails,
        keyboard: &mut Option<CommandKeyboard>,
    ) -> Result {
        let Some(asked) = self.ask.current(workflow).cloned() else { return Ok(()) };
        match wish {
            AskAction::Nothing => Ok(()),
            AskAction::Decide(choice, text) => {
                self.ask.decide(&self.client, &asked, choice, text).await;
                Ok(())
            }
            AskAction::Always { rule, save } => {
                self.ask.approve_always(&self.client, &asked, &rule, save).await;
                Ok(())
            }
            AskAction::Open => {
                let Some(task) = &asked.task else { return Ok(()) };
                self.canvas.clear()?;
                drop(keyboard.take());
                let view = attach::TerminalView::new(self.id.as_str(), &self.name, task.as_str());
                let seen = attach::through(&self.client, &view, attach::Options::default()).await;
                *keyboard = Some(CommandKeyboard::take()?);
                let name = format!("{}/{task}", self.name);
                match seen? {
                    AttachEnd::Left => self.ask.settle(),
                    // What the person types for the agent goes on coming for a while.
                    AttachEnd::Ended(why) => {
                        let why = output::one_line(&why);
                        self.ask.hold(format!("the agent {name} has ended: {why}"));
                    }
                    AttachEnd::Stopped | AttachEnd::Lost => {
                        self.ask.hold(format!("the terminal of {name} was closed by the daemon"));
                    }
                }
                Ok(())
            }
        }
    }

    /// What there is to say at the end.
    async fn over(&mut self) -> Result {
        let workflow = self.client.workflow(self.id.as_str()).await?;
        if matches!(self.how, FollowMode::Tree(_)) {
            self.canvas.clear()?;
            end::tree(&workflow)?;
        }
        if !matches!(self.how, FollowMode::Json(_)) {
            end::words(&workflow)?;
        }
        end::code(&workflow)
    }

    fn blocked(&mut self, workflow: &WorkflowDetails) -> CommandFailure {
        if matches!(self.how, FollowMode::Tree(_)) && self.canvas.clear().is_ok() {
            // What it waits for is said below whether the tree can be shown or not.
            end::tree(workflow).ok();
        }
        let alone = workflow.interventions.len() == 1;
        let Some(asked) = workflow.left_to_person().next() else {
            return CommandFailure::silent(FailureCode::Blocked);
        };
        let name = question::name(&self.name, asked, alone);
        let how = question::commands(&name, asked).join("\n      ");
        let mut message = format!("{} waits for a person: {}", self.name, question::asked(asked));
        for line in question::excerpt(asked) {
            message.push_str(format!("\n  │ {line}").trim_end());
        }
        if workflow.auto.is_some() {
            message.push_str("\n  --auto does not answer it");
        }
        let helps = workflow.auto.is_none() && question::is_allowed_by_auto(asked);
        let or = if helps { "--on-block wait, --auto allow" } else { "--on-block wait" };
        let hint =
            format!("{how}\n      then: coven show {} --follow   (or run with {or})", self.name);
        CommandFailure::new(FailureCode::Blocked, message).hint(hint)
    }

    /// Leaves the run alone; asked twice, it may be cancelled instead.
    async fn leave(mut self, told: SignalEvent) -> Result {
        let tree = matches!(self.how, FollowMode::Tree(_));
        if tree {
            self.canvas.clear()?;
        }
        let name = self.name.clone();
        output::say!("Detached; it goes on. Come back with: coven show {name} --follow");
        if told != SignalEvent::Interrupt || !tty::is_interactive() {
            return Err(CommandFailure::silent(FailureCode::Interrupted));
        }
        output::say!(
            "Ctrl-C once more within {} seconds asks whether to cancel it.",
            SECOND_INTERRUPT_WINDOW.as_secs()
        );
        let again = async { while self.signal().await != SignalEvent::Interrupt {} };
        if timeout(SECOND_INTERRUPT_WINDOW, again).await.is_err() {
            return Err(CommandFailure::silent(FailureCode::Interrupted));
        }
        tty::discard_typed()?;
        output::ask!("Cancel {name} and stop its agents? [y/N] ");
        let keyboard = TerminalKeyboard::take(KeyMode::Single)?;
        let bytes = tokio::select! {
            bytes = keyboard.read() => bytes?,
            _ = self.signal() => Vec::new(),
        };
        drop(keyboard);
        if !tty::is_yes(&bytes) {
            output::say!("no");
            return Err(CommandFailure::silent(FailureCode::Interrupted));
        }
        output::say!("yes");
        let wish =
            coven_api::workflow::ActionRequest { why: Some("Ctrl-C twice".to_owned()), env: None };
        self.client.cancel(self.id.as_str(), &wish).await?;
        let mut events = EventPump::session(&self.client, self.id.as_str(), None);
        while !self.client.workflow(self.id.as_str()).await?.item.status.is_final() {
            if events.next().await?.is_none() {
                break;
            }
        }
        self.over().await
    }
}

/// The next bytes from the keyboard; never ready where there is none.
async fn typed(keyboard: Option<&CommandKeyboard>) -> io::Result<Vec<u8>> {
    match keyboard {
        Some(keyboard) => keyboard.read().await,
        None => std::future::pending().await,
    }
}

/// Whether a run is over with this.
fn is_end(event: &SessionEvent) -> bool {
    matches!(
        event,
        SessionEvent::WorkflowCompleted { .. }
            | SessionEvent::WorkflowFailed { .. }
            | SessionEvent::WorkflowCancelled { .. }
            | SessionEvent::SessionDeleted { .. }
    )
}
