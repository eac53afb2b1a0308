//! One published version of a CLI, driven step by step: what Coven said at each, held against what
//! the model server and the project folder show to be true.
//!
//! A step that Coven cannot do (a state it does not know takes no message) is done with bare keys,
//! as a person at the keyboard would, so that the steps behind it are still seen.

mod first_start;
mod marks;

use std::path::Path;
use std::time::{Duration, Instant};

use coven_model::{AgentState, AgentVerdict, AwaitingKind, InterventionChoice, PermissionLevel};
use coven_runner::{AgentTask, ScreenQuestion};
use coven_terminal::keys::KeyPress;
use coven_testkit::model::{ModelExchange, ModelScene};
use coven_testkit::real_cli::{Cli, Home};
use serde_json::{Value, json};

use self::marks::{is_generic, mark_of, said};
use crate::agent::{Agent, Told};
use crate::frames::Frames;
use crate::stage::Stage;

/// How long an agent may wait for a person before Coven must say so.
const SILENCE_BOUND: Duration = Duration::from_secs(20);

/// How long a CLI may take to its first prompt.
const START_BOUND: Duration = Duration::from_mins(1);

/// How long the model may take to be asked, and a tool to run once it is approved.
const EFFECT_BOUND: Duration = Duration::from_secs(20);

/// How long a screen must stand still before it is kept, and how long that is waited for: spinners
/// never stand still.
const STILL: Duration = Duration::from_millis(700);
const MAX_STILL_WAIT: Duration = Duration::from_secs(2);

const DENIAL: &str = "No. Do nothing else and tell me why.";

/// What Coven said at a step.
struct Step {
    name: &'static str,
    /// What was true.
    truth: &'static str,
    /// The verdict, as `state by source (rule)`.
    said: String,
    /// One word for the table: `right`, `generic`, `wrong`, `silent`, `none`.
    mark: &'static str,
    note: String,
}

/// One CLI in one version, and what was found so far.
pub(crate) struct Lab<'a> {
    stage: &'a Stage,
    /// Arguments for the CLI beyond those of its adapter.
    extra_args: Vec<String>,
    steps: Vec<Step>,
    frames: Frames,
    /// How much of what the agent told was looked at for questions.
    seen: usize,
}

impl<'a> Lab<'a> {
    pub(crate) fn new(stage: &'a Stage, extra_args: Vec<String>) -> Self {
        Self { stage, extra_args, steps: Vec::new(), frames: Frames::default(), seen: 0 }
    }

    /// Drives everything, keeps the screens in `recording`, and tells what was found.
    pub(crate) async fn drive(mut self, version: &str, recording: &Path) -> Value {
        self.first_start().await;
        self.conversation().await;
        if let Err(error) = self.frames.write(recording) {
            eprintln!("the screens could not be kept: {error}");
        }
        let steps = self.steps.iter().map(|step| {
            json!({
                "step": step.name, "truth": step.truth, "said": step.said, "mark": step.mark,
                "note": step.note,
            })
        });
        json!({
            "cli": self.stage.cli.name(), "version": version, "steps": steps.collect::<Vec<_>>(),
        })
    }

    fn add(
        &mut self,
        name: &'static str,
        truth: &'static str,
        said: String,
        mark: &'static str,
        note: String,
    ) {
        eprintln!("  {mark:>7}  {name}: {said}; {note}");
        self.steps.push(Step { name, truth, said, mark, note });
    }

    fn start(&self, home: Home) -> Result<Agent, String> {
        let scenery = self.stage.scenery(home).map_err(|error| error.to_string())?;
        let mut task = AgentTask::interactive(&*scenery.job, None);
        task.permission = Some(PermissionLevel::Ask);
        task.extra_args.clone_from(&self.extra_args);
        Agent::start(scenery, task)
    }

    /// Everything else, in one conversation.
    async fn conversation(&mut self) {
        let agent = match self.start(Home::Settled) {
            Ok(agent) => agent,
            Err(error) => return self.add("start", "idle", error, "none", String::new()),
        };
        if !self.started(&agent).await {
            return;
        }
        self.working(&agent).await;
        for (name, label) in [("approval", "first"), ("second approval", "second")] {
            self.approval(&agent, name, label).await;
        }
        self.answered(&agent, "idle after approvals").await;
        self.denial(&agent).await;
        self.question(&agent).await;
        self.error(&agent).await;
        self.interrupt(&agent).await;
        self.stop(agent).await;
    }

    async fn started(&mut self, agent: &Agent) -> bool {
        let begun = Instant::now();
        let reached = agent.state_within(START_BOUND, AgentState::Idle).await;
        settle(agent).await;
        let verdict = agent.runner.verdict();
        let seconds = begun.elapsed().as_secs();
        let mark = mark_of(&verdict, AgentState::Idle);
        let ended = agent.wait_within(STILL, 0, "its end", |told| match told {
            Told::Done(outcome) => Some(outcome.reason.clone()),
            _ => None,
        });
        if let Ok((_, reason)) = ended.await {
            self.stage.keep("start", &agent.portrait(self.stage).await);
            self.add("start", "idle", said(&verdict), "none", format!("it ended: {reason}"));
            return false;
        }
        if reached.is_err() {
            self.stage.keep("start", &agent.portrait(self.stage).await);
        }
        self.frames.keep(agent, "idle:start", false).await;
        self.add("start", "idle", said(&verdict), mark, format!("after {seconds} s"));
        true
    }

    /// Sends a message; by hand where Coven will not. Says which turn of the model it is, and how
    /// it was sent.
    async fn say(&self, agent: &Agent, scene: ModelScene) -> Option<(usize, &'static str)> {
        self.say_text(agent, &format!("{scene} please")).await
    }

    async fn say_text(&self, agent: &Agent, text: &str) -> Option<(usize, &'static str)> {
        let turn = self.stage.turns(0).len();
        let sent = tokio::time::timeout(EFFECT_BOUND, agent.send(text)).await;
        if matches!(sent, Ok(Ok(()))) || self.stage.turns(0).len() > turn {
            return self.turn(turn, |_| true).then_some((turn, "sent"));
        }
        // Coven may have typed it and not have seen that it was taken.
        let typed =
            agent.runner.view().await.is_some_and(|view| view.snapshot.text().contains(text));
        if !typed {
            agent.runner.write(format!("\x1b[200~{text}\x1b[201~").into_bytes()).await;
            settle(agent).await;
        }
        agent.runner.write(b"\r".to_vec()).await;
        self.turn(turn, |_| true).then_some((turn, "typed by hand"))
    }

    /// Waits until a turn of the model is as wanted.
    fn turn(&self, turn: usize, wanted: impl Fn(&ModelExchange) -> bool) -> bool {
        self.stage.wait_within(EFFECT_BOUND, |all| all.get(turn).is_some_and(|turn| wanted(turn)))
    }

    fn turn_within(&self, timeout: Duration, turn: usize) -> bool {
        self.stage.wait_within(timeout, |all| all.len() > turn)
    }

    async fn working(&mut self, agent: &Agent) {
        let Some((turn, how)) = self.say(agent, ModelScene::Think).await else {
            return self.unasked(agent, "working").await;
        };
        settle(agent).await;
        // Until shortly before the model breaks its silence, so that it must be seen meanwhile.
        let reached = agent.state_within(Duration::from_secs(2), AgentState::Working).await;
        let verdict = agent.runner.verdict();
        let open = self.stage.turns(0).get(turn).is_some_and(|turn| turn.open);
        if reached.is_err() {
            self.stage.keep("working", &agent.portrait(self.stage).await);
        }
        if open {
            self.frames.keep(agent, "working:think", true).await;
        }
        let mark = mark_of(&verdict, AgentState::Working);
        self.add("working", "working", said(&verdict), mark, how.to_owned());
        self.answered(agent, "idle").await;
    }

    /// The model has answered: it must be idle.
    async fn answered(&mut self, agent: &Agent, name: &'static str) {
        self.stage.wait_within(EFFECT_BOUND, |all| all.iter().all(|turn| !turn.open));
        let begun = Instant::now();
        let reached = agent.state_within(SILENCE_BOUND, AgentState::Idle).await;
        let seconds = begun.elapsed().as_secs();
        settle(agent).await;
        let verdict = agent.runner.verdict();
        if reached.is_err() {
            self.stage.keep(name, &agent.portrait(self.stage).await);
        }
        self.frames.keep(agent, "idle:answered", false).await;
        let mark = mark_of(&verdict, AgentState::Idle);
        self.add(name, "idle", said(&verdict), mark, format!("after {seconds} s"));
    }

    async fn approval(&mut self, agent: &Agent, name: &'static str, label: &str) {
        let ran = Stage::ran(&agent.scenery.place);
        // The second question of a turn may come while the answer to the first is still looked at.
        let from = if label == "first" { agent.now() } else { self.seen };
        if label == "first" && self.say(agent, ModelScene::Twice).await.is_none() {
            return self.unasked(agent, name).await;
        }
        let Some(question) = self.noticed(agent, name, from, ran).await else {
            // Approved by hand, so that the rest can be seen.
            press(agent, by_hand(self.stage.cli)).await;
            self.ran(agent, ran).await;
            return;
        };
        let answered = agent.choose(&question, InterventionChoice::Approve).await;
        let how = match &answered {
            Ok(()) => "approved by Coven".to_owned(),
            Err(error) => {
                press(agent, by_hand(self.stage.cli)).await;
                format!("approved by hand ({error})")
            }
        };
        let ran = self.ran(agent, ran).await;
        let step = self.steps.last_mut();
        if let Some(step) = step {
            step.note = format!("{}; {how}, it ran {ran} time(s)", step.note);
            if answered.is_ok() && ran != 1 {
                step.mark = "wrong";
            }
            eprintln!("  {:>7}  {}: {}", step.mark, step.name, step.note);
        }
    }

    /// Waits for Coven to notice the question that is on the screen.
    async fn noticed(
        &mut self,
        agent: &Agent,
        name: &'static str,
        from: usize,
        ran: usize,
    ) -> Option<ScreenQuestion> {
        self.stage.wait_within(EFFECT_BOUND, |all| all.iter().all(|turn| !turn.open));
        let begun = Instant::now();
        let found = agent.wait_within(SILENCE_BOUND, from, "a question", |told| match told {
            Told::Asks(question) => Some(question.clone()),
            _ => None,
        });
        let found = found.await;
        let seconds = begun.elapsed().as_secs();
        settle(agent).await;
        // Painted in pieces, it may have been told again with more of it.
        let found = found.map(|(at, first)| {
            let later = agent.questions(at + 1);
            (at + later.len(), later.len(), later.last().cloned().unwrap_or(first))
        });
        let verdict = agent.runner.verdict();
        if Stage::ran(&agent.scenery.place) > ran {
            let note = "it ran without asking".to_owned();
            self.add(name, "asks", said(&verdict), "wrong", note);
            return None;
        }
        let label =
            if name == "question" { "awaiting_question:colour" } else { "awaiting_approval:shell" };
        self.frames.keep(agent, label, true).await;
        self.seen = agent.now();
        let Ok((_, again, question)) = found else {
            self.unnoticed(agent, name, from, &verdict).await;
            return None;
        };
        let kind = question.kind;
        let mark = match kind {
            _ if is_generic(&verdict) => "generic",
            // A rule that approves would choose one of the answers.
            AwaitingKind::Approval if name == "question" => "wrong",
            AwaitingKind::Question if name != "question" => "wrong",
            _ => "right",
        };
        let said = format!("{} ({kind})", said(&verdict));
        let again = if again > 0 { format!(", told {} times", again + 1) } else { String::new() };
        self.add(name, "asks", said, mark, format!("after {seconds} s{again}"));
        Some(question)
    }

    /// A question that Coven did not see: was a person shown the screen at least?
    async fn unnoticed(
        &mut self,
        agent: &Agent,
        name: &'static str,
        from: usize,
        verdict: &AgentVerdict,
    ) {
        self.stage.keep(name, &agent.portrait(self.stage).await);
        let unexplained = agent.told()[from..].iter().any(|told| matches!(told, Told::Unexplained));
        let (mark, note) = if unexplained {
            ("generic", "a person is shown the screen".to_owned())
        } else {
            ("silent", format!("for {} s", SILENCE_BOUND.as_secs()))
        };
        self.add(name, "asks", said(verdict), mark, note);
    }

    /// Waits until the tool ran once more. Says how many times it did.
    async fn ran(&self, agent: &Agent, before: usize) -> usize {
        let deadline = Instant::now() + EFFECT_BOUND;
        while Stage::ran(&agent.scenery.place) == before && Instant::now() < deadline {
            settle(agent).await;
        }
        Stage::ran(&agent.scenery.place) - before
    }

    /// A denial with a text: nothing runs, and the model is told the text.
    async fn denial(&mut self, agent: &Agent) {
        let (from, ran) = (agent.now(), Stage::ran(&agent.scenery.place));
        if self.say(agent, ModelScene::Ask).await.is_none() {
            return self.unasked(agent, "deny with text").await;
        }
        let Some(question) = self.noticed(agent, "deny with text", from, ran).await else {
            press(agent, &["Esc"]).await;
            agent.state_within(EFFECT_BOUND, AgentState::Idle).await.ok();
            return;
        };
        let denied = agent.choose(&question, InterventionChoice::Deny).await;
        let mut how = "denied by Coven".to_owned();
        if let Err(error) = &denied {
            press(agent, &["Esc"]).await;
            how = format!("denied by hand ({error})");
        }
        agent.state_within(EFFECT_BOUND, AgentState::Idle).await.ok();
        let text = format!("{DENIAL} {}", ModelScene::Text);
        let told = self.say_text(agent, &text).await.is_some_and(|(turn, _)| {
            let turns = self.stage.turns(turn);
            turns.iter().any(|turn| turn.said.iter().any(|said| said.contains(DENIAL)))
        });
        let runs = Stage::ran(&agent.scenery.place) - ran;
        if let Some(step) = self.steps.last_mut() {
            let told = if told { "the model was told why" } else { "the model was not told why" };
            step.note = format!("{}; {how}, it ran {runs} time(s), {told}", step.note);
            if runs > 0 {
                step.mark = "wrong";
            }
            eprintln!("  {:>7}  {}: {}", step.mark, step.name, step.note);
        }
        agent.state_within(EFFECT_BOUND, AgentState::Idle).await.ok();
    }

    async fn question(&mut self, agent: &Agent) {
        let (from, ran) = (agent.now(), Stage::ran(&agent.scenery.place));
        let Some((turn, _)) = self.say(agent, ModelScene::Question).await else {
            return self.unasked(agent, "question").await;
        };
        let offers = self.stage.turns(turn).first().is_some_and(|turn| {
            turn.tools.iter().any(|tool| {
                let tool = tool.to_lowercase();
                tool.contains("ask_user")
                    || tool.contains("question")
                    || tool.contains("user_input")
            })
        });
        if !offers {
            let note = "it offers the model no tool for questions".to_owned();
            self.add("question", "-", "-".to_owned(), "none", note);
            agent.state_within(EFFECT_BOUND, AgentState::Idle).await.ok();
            return;
        }
        // The CLI may refuse the call, in a mode that has no questions: then the model is told so.
        if self.turn_within(MAX_STILL_WAIT, turn + 1) {
            let note = "it refuses the question itself".to_owned();
            self.add("question", "-", "-".to_owned(), "none", note);
            agent.state_within(EFFECT_BOUND, AgentState::Idle).await.ok();
            return;
        }
        self.noticed(agent, "question", from, ran).await;
        press(agent, &["Esc"]).await;
        if agent.state_within(EFFECT_BOUND / 2, AgentState::Idle).await.is_err() {
            press(agent, &["Esc"]).await;
            agent.state_within(EFFECT_BOUND / 2, AgentState::Idle).await.ok();
        }
    }

    async fn error(&mut self, agent: &Agent) {
        let Some((_, how)) = self.say(agent, ModelScene::Error).await else {
            return self.unasked(agent, "error").await;
        };
        let reached = agent.state_within(SILENCE_BOUND, AgentState::Error).await;
        settle(agent).await;
        let verdict = agent.runner.verdict();
        if reached.is_err() {
            self.stage.keep("error", &agent.portrait(self.stage).await);
        }
        self.frames.keep(agent, "error:400", true).await;
        let mark = mark_of(&verdict, AgentState::Error);
        self.add("error", "error", said(&verdict), mark, how.to_owned());
    }

    async fn interrupt(&mut self, agent: &Agent) {
        let Some((turn, how)) = self.say(agent, ModelScene::Slow).await else {
            return self.unasked(agent, "interrupt").await;
        };
        // Some words of the answer have come.
        settle(agent).await;
        settle(agent).await;
        let working = agent.runner.verdict();
        self.frames.keep(agent, "working:streaming", true).await;
        let mark = mark_of(&working, AgentState::Working);
        if mark != "right" {
            self.stage.keep("streaming", &agent.portrait(self.stage).await);
        }
        self.add("streaming", "working", said(&working), mark, how.to_owned());
        agent.runner.interrupt().await.ok();
        let ended = self.turn(turn, |turn| !turn.open);
        let reached = agent.state_within(SILENCE_BOUND, AgentState::Idle).await;
        settle(agent).await;
        let idle = agent.runner.verdict();
        let note = if ended { "the turn ended" } else { "the model still answers" };
        if reached.is_err() {
            self.stage.keep("interrupt", &agent.portrait(self.stage).await);
        }
        if ended {
            self.frames.keep(agent, "idle:interrupted", true).await;
        }
        let mark = if ended { mark_of(&idle, AgentState::Idle) } else { "wrong" };
        self.add("interrupt", "idle", said(&idle), mark, note.to_owned());
    }

    async fn stop(&mut self, agent: Agent) {
        let (stopped, left) = agent.stop().await;
        let (mark, said) = match stopped {
            Ok(outcome) if left.is_empty() => ("right", outcome.reason),
            Ok(outcome) => ("wrong", outcome.reason),
            Err(error) => ("wrong", error),
        };
        let note = if left.is_empty() { "nothing is left".to_owned() } else { left.join("; ") };
        self.add("stop", "stopped", said, mark, note);
    }

    /// A step whose message never reached the model.
    async fn unasked(&mut self, agent: &Agent, name: &'static str) {
        self.stage.keep(name, &agent.portrait(self.stage).await);
        let verdict = agent.runner.verdict();
        self.add(
            name,
            "-",
            said(&verdict),
            "none",
            "the message never reached the model".to_owned(),
        );
    }
}

/// The keys with which a person approves.
fn by_hand(cli: Cli) -> &'static [&'static str] {
    match cli {
        Cli::Codex => &["y"],
        _ => &["Enter"],
    }
}

async fn press(agent: &Agent, keys: &[&str]) {
    let keys: Vec<KeyPress> = keys.iter().filter_map(|key| key.parse().ok()).collect();
    agent.runner.keys(keys).await;
    settle(agent).await;
}

/// Waits until the screen stands still, or has moved for long enough.
async fn settle(agent: &Agent) {
    let mut events = agent.runner.subscribe();
    let still =
        async { while let Ok(Some(_)) = tokio::time::timeout(STILL, events.next()).await {} };
    tokio::time::timeout(MAX_STILL_WAIT, still).await.ok();
}
