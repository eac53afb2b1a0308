//! The rows of an agent on a terminal.

use coven_model::{
    AgentState, AgentVerdict, AwaitingKind, InterventionChoice, PermissionLevel, ProcessEnding,
};
use coven_runner::{AgentTask, AnswerAction, DeliveryError, Message};
use coven_testkit::model::{LONG_COMMAND_LINES, ModelScene, QUESTION_ENTRIES};

use crate::agent::{Agent, STEP_TIMEOUT, StateTimes, Told};
use crate::stage::Stage;
use crate::{Found, Mark, Rows};
use coven_testkit::real_cli::{Cli, Home};

/// More dialogs than any of them has; only a loop has more.
const MAX_DIALOGS: usize = 8;

/// The share of the time in which what an agent does may be unknown.
const MAX_UNKNOWN_PERCENT: f64 = 1.0;

/// A text of several lines, which must arrive as it is.
const PASTED: &str =
    "First line of three.\n  The second is indented: \"quoted\", $HOME, `tick`.\nplay:text";

fn task(job: &str, prompt: Option<&str>) -> AgentTask {
    let mut task = AgentTask::interactive(job, prompt);
    task.permission = Some(PermissionLevel::Ask);
    task
}

/// The first start: every dialog is seen, answered by its name, and behind the last one waits the
/// prompt. Then what the CLI leaves running after its own end is stopped.
pub(crate) async fn first_run(stage: &Stage, rows: &mut Rows) -> StateTimes {
    let started = stage.scenery(Home::Fresh).map_err(|error| error.to_string());
    let agent = match started.and_then(|scenery| {
        let task = task(&scenery.job, None);
        Agent::start(scenery, task)
    }) {
        Ok(agent) => agent,
        Err(error) => {
            rows.add("first-run dialogs", Mark::Failed(error));
            return StateTimes::default();
        }
    };
    let found = dialogs(stage.cli, &agent).await;
    if found.is_err() {
        stage.keep("first-run dialogs", &agent.portrait(stage).await);
    }
    rows.add("first-run dialogs", found);
    let more = match stage.cli {
        Cli::Codex => Some("stop with its daemon"),
        Cli::Gemini => Some("stop with its relaunch"),
        Cli::Claude | Cli::Opencode | Cli::Qwen | Cli::Copilot => None,
    };
    let times = agent.times();
    let stopped = stop(agent).await;
    if let Some(row) = more {
        rows.add(row, stopped);
    }
    times
}

/// A message to an agent that was only just started waits until it can be typed.
pub(crate) async fn early_message(stage: &Stage, rows: &mut Rows) -> StateTimes {
    const ROW: &str = "message right after the start";
    let started = stage.scenery(Home::Settled).map_err(|error| error.to_string());
    let agent = match started.and_then(|scenery| {
        let task = task(&scenery.job, None);
        Agent::start(scenery, task)
    }) {
        Ok(agent) => agent,
        Err(error) => {
            rows.add(ROW, Mark::Failed(error));
            return StateTimes::default();
        }
    };
    let found = message(stage, &agent, "at once").await;
    if found.is_err() {
        stage.keep(ROW, &agent.portrait(stage).await);
    }
    rows.add(ROW, found);
    let times = agent.times();
    stop(agent).await.ok();
    times
}

/// How much of the time nobody knew what the agents do, over all rows on a terminal.
pub(crate) fn unknown(times: StateTimes) -> Found {
    let (percent, seconds) = (times.unknown_percent(), times.all.as_secs());
    let told = format!("unknown for {percent:.2} % of {seconds} s");
    if percent < MAX_UNKNOWN_PERCENT { Ok(told) } else { Err(told) }
}

async fn dialogs(cli: Cli, agent: &Agent) -> Found {
    let mut seen = Vec::new();
    let mut from = 0;
    while seen.len() < MAX_DIALOGS {
        let next = agent.wait(from, "a dialog or the prompt", |told| match told {
            Told::Asks(question) => Some(Some(question.clone())),
            Told::State(AgentState::Idle) => Some(None),
            _ => None,
        });
        let (at, next) = next.await?;
        from = at + 1;
        if let Some(question) = next {
            let name = question.dialog.clone().unwrap_or_else(|| question.rule.clone());
            let answered = agent.choose(&question, InterventionChoice::Approve).await;
            answered.map_err(|error| format!("{name}: {error}"))?;
            seen.push(name);
            continue;
        }
        // Some show their prompt for a moment before a dialog; then nothing must be typed.
        match agent.runner.send(Message::new(format!("{} please", ModelScene::Text))).await {
            Ok(()) => break,
            Err(DeliveryError::Awaiting) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    agent.turn_end(0).await?;
    if seen != cli.dialogs() {
        return Err(format!("saw {seen:?} instead of {:?}", cli.dialogs()));
    }
    let seen = if seen.is_empty() { "it shows none".to_owned() } else { seen.join(", ") };
    Ok(format!("{seen}; then it took a message"))
}

/// Everything else, in one conversation.
pub(crate) async fn terminal(stage: &Stage, rows: &mut Rows) -> StateTimes {
    let started = stage.scenery(Home::Settled).map_err(|error| error.to_string());
    let prompt = format!("{} please", ModelScene::Text);
    let turns = stage.turns(0).len();
    let agent = match started.and_then(|scenery| {
        let task = task(&scenery.job, Some(&prompt));
        Agent::start(scenery, task)
    }) {
        Ok(agent) => agent,
        Err(error) => {
            rows.add("idle", Mark::Failed(error));
            return StateTimes::default();
        }
    };
    macro_rules! row {
        ($name:literal, $check:expr) => {
            let found: Found = $check.await;
            if found.is_err() {
                stage.keep($name, &agent.portrait(stage).await);
            }
            let failed = found.is_err();
            rows.add($name, found);
            if failed {
                recover(&agent).await;
            }
        };
    }
    row!("finish", finish(stage, &agent, turns));
    row!("idle", idle(&agent));
    row!("working", working(stage, &agent));
    row!("two approvals", two_approvals(stage, &agent));
    row!("approve", approve(stage, &agent));
    row!("deny", deny(stage, &agent));
    row!("answer with an entry", chosen(stage, &agent, None));
    row!("answer in words", chosen(stage, &agent, Some("a colour of mine")));
    row!("draft in the prompt", drafted(stage, &agent));
    row!("long command", long_command(&agent));
    row!("interrupt", interrupt(stage, &agent));
    row!("message after interrupt", message(stage, &agent, "after the interrupt"));
    row!("model error", error(&agent));
    row!("message after error", message(stage, &agent, "after the error"));
    row!("multi-line paste", paste(stage, &agent));
    row!("retries", retries(stage, &agent));
    let times = agent.times();
    rows.add("stop", stop(agent).await);
    times
}

/// Brings an agent back to its prompt after a row that failed, as well as can be.
async fn recover(agent: &Agent) {
    for _ in 0..3 {
        if agent.runner.verdict().state == AgentState::Idle {
            return;
        }
        agent.runner.interrupt().await.ok();
        let mut verdict = agent.runner.watch();
        let idle = verdict.wait_for(|verdict| verdict.state == AgentState::Idle);
        tokio::time::timeout(STEP_TIMEOUT / 12, idle).await.ok();
    }
}

async fn finish(stage: &Stage, agent: &Agent, turns: usize) -> Found {
    let error = agent.turn_end(0).await?;
    if error {
        return Err("the first turn ended with an error".to_owned());
    }
    let worked = agent.told().iter().any(|told| matches!(told, Told::State(AgentState::Working)));
    if !worked {
        return Err("the turn ended, but it was never seen to work".to_owned());
    }
    if stage.turns(turns).iter().all(|turn| turn.open) {
        return Err("the turn ended, but the model had not answered".to_owned());
    }
    Ok("the prompt given at the start was answered".to_owned())
}

async fn idle(agent: &Agent) -> Found {
    agent.state(AgentState::Idle).await?;
    let verdict = agent.runner.verdict();
    Ok(by(&verdict))
}

fn by(verdict: &AgentVerdict) -> String {
    let source = format!("{:?}", verdict.evidence.source).to_lowercase();
    format!("by {source} ({})", verdict.evidence.rule)
}

async fn working(stage: &Stage, agent: &Agent) -> Found {
    let (from, turns) = (agent.now(), stage.turns(0).len());
    agent.send(&format!("{} please", ModelScene::Think)).await?;
    // The model has been asked and says nothing yet: that is work if anything is.
    if !stage.wait(|all| all.iter().skip(turns).any(|turn| turn.open)) {
        return Err("the model was never asked".to_owned());
    }
    agent.state(AgentState::Working).await?;
    let verdict = agent.runner.verdict();
    let open = stage.turns(turns).iter().any(|turn| turn.open);
    let error = agent.turn_end(from).await?;
    let states = |told: &Told| match told {
        Told::State(now) => Some(*now),
        _ => None,
    };
    let states: Vec<AgentState> = agent.told()[from..].iter().filter_map(states).collect();
    let once = states.iter().filter(|state| **state == AgentState::Working).count() == 1;
    if error || !once || !open {
        return Err(format!(
            "error {error}, open {open}, and the states of the turn were {states:?}"
        ));
    }
    Ok(format!("{}, once from the message to the end of the turn", by(&verdict)))
}

async fn two_approvals(stage: &Stage, agent: &Agent) -> Found {
    let (from, ran) = (agent.now(), Stage::ran(&agent.scenery.place));
    agent.send(&format!("{} please", ModelScene::Twice)).await?;
    let (at, first) = agent.question(from).await?;
    agent.choose(&first, InterventionChoice::Approve).await?;
    let (_, second) = agent.question(at + 1).await?;
    if Stage::ran(&agent.scenery.place) != ran + 1 {
        return Err("the second question came before the first command ran".to_owned());
    }
    agent.choose(&second, InterventionChoice::Approve).await?;
    agent.turn_end(from).await?;
    let (asked, runs) = (agent.questions(from), Stage::ran(&agent.scenery.place) - ran);
    if asked.len() != 2 || runs != 2 || first.digest == second.digest {
        return Err(format!("{} questions and {runs} runs: {asked:?}", asked.len()));
    }
    let results = stage.turns(0).last().map_or(0, |turn| turn.results.len());
    Ok(format!("the same command asked about twice, two digests, {results} results for the model"))
}

async fn approve(stage: &Stage, agent: &Agent) -> Found {
    let (from, ran) = (agent.now(), Stage::ran(&agent.scenery.place));
    agent.send(&format!("{} please", ModelScene::Ask)).await?;
    let (_, question) = agent.question(from).await?;
    if question.kind != AwaitingKind::Approval {
        return Err(format!("it is a {} and not an approval", question.kind));
    }
    let shown = question.excerpt.iter().any(|line| line.contains("mktemp ran-"));
    if !shown {
        return Err(format!("the command is not in the question: {:?}", question.excerpt));
    }
    if Stage::ran(&agent.scenery.place) != ran {
        return Err("the command ran before it was approved".to_owned());
    }
    agent.choose(&question, InterventionChoice::Approve).await?;
    agent.turn_end(from).await?;
    let (asked, runs) = (agent.questions(from).len(), Stage::ran(&agent.scenery.place) - ran);
    if (asked, runs) != (1, 1) {
        return Err(format!("{asked} questions, {runs} runs"));
    }
    let told = stage.turns(0).last().and_then(|turn| turn.results.last().cloned());
    Ok(format!(
        "it ran once; by {} (the model was told {} bytes)",
        question.rule,
        told.unwrap_or_default().len()
    ))
}

async fn deny(stage: &Stage, agent: &Agent) -> Found {
    let (from, ran) = (agent.now(), Stage::ran(&agent.scenery.place));
    agent.send(&format!("{} please", ModelScene::Ask)).await?;
    let (_, question) = agent.question(from).await?;
    agent.choose(&question, InterventionChoice::Deny).await?;
    let error = agent.turn_end(from).await?;
    let (asked, runs) = (agent.questions(from).len(), Stage::ran(&agent.scenery.place) - ran);
    if error || (asked, runs) != (1, 0) {
        return Err(format!("error {error}, {asked} questions, {runs} runs"));
    }
    let told = stage.turns(0).last().is_some_and(|turn| !turn.results.is_empty());
    let told = if told { "the model was told" } else { "the turn ended there" };
    Ok(format!("nothing ran; {told}"))
}

/// The model asks the person, who chooses the second entry, or types a text of their own.
async fn chosen(stage: &Stage, agent: &Agent, text: Option<&str>) -> Found {
    let (from, turns) = (agent.now(), stage.turns(0).len());
    agent.send(&format!("{} please", ModelScene::Question)).await?;
    let asked = agent.wait(from, "a question or the end of the turn", |told| match told {
        Told::Asks(question) => Some(Some(question.clone())),
        Told::TurnEnded { .. } => Some(None),
        _ => None,
    });
    let Some(question) = asked.await?.1 else {
        return Ok("it asks no questions in this mode".to_owned());
    };
    let entries = &question.action.entries;
    let entry = match text {
        Some(_) => entries.iter().find(|entry| entry.takes_text),
        None => entries.get(1),
    };
    let Some(entry) = entry else { return Err(format!("its entries are {entries:?}")) };
    let (id, typed) = (entry.id.clone(), text.map(str::to_owned));
    let answer = AnswerAction::Entry { id, text: typed };
    let answered = agent.runner.answer(question.digest.clone(), answer).await;
    answered.map_err(|error| error.to_string())?;
    agent.turn_end(from).await?;
    let wanted = text.unwrap_or(QUESTION_ENTRIES[1]);
    let told = stage.turns(turns).last().map(|turn| turn.results.clone()).unwrap_or_default();
    if !told.iter().any(|result| result.contains(wanted)) {
        return Err(format!("the model was told {told:?} and not {wanted:?}"));
    }
    Ok(format!("{:?} reached the model, by entry {}", wanted, entry.id))
}

/// A message does not take along what a person has typed, and leaves it there.
async fn drafted(stage: &Stage, agent: &Agent) -> Found {
    let (from, turns) = (agent.now(), stage.turns(0).len());
    let draft = format!("{} of my own", ModelScene::Text);
    agent.runner.write(draft.clone().into_bytes()).await;
    let text = format!("{} by message", ModelScene::Text);
    match agent.runner.send(Message::new(&text)).await {
        Err(DeliveryError::Draft(said)) if said.contains(draft.as_str()) => {}
        other => return Err(format!("the message was {other:?}")),
    }
    agent.runner.write(b"\r".to_vec()).await;
    agent.turn_end(from).await?;
    arrived(stage, turns, &draft)?;
    if arrived(stage, turns, &text).is_ok() {
        return Err("the message was sent all the same".to_owned());
    }
    Ok("the message said so, and the draft was sent by itself".to_owned())
}

async fn interrupt(stage: &Stage, agent: &Agent) -> Found {
    let (from, turns) = (agent.now(), stage.turns(0).len());
    agent.send(&format!("{} please", ModelScene::Slow)).await?;
    agent.state(AgentState::Working).await?;
    // Something of the answer is on the screen, so that there is an answer to interrupt.
    words(agent).await?;
    agent.runner.interrupt().await.ok();
    let error = agent.turn_end(from).await?;
    let open = !stage.wait(|all| all.iter().skip(turns).all(|turn| !turn.open));
    if open {
        return Err("it says it is idle, but the model still answers".to_owned());
    }
    agent.state(AgentState::Idle).await?;
    Ok(if error { "idle; it calls it an error".to_owned() } else { "idle".to_owned() })
}

/// Waits until the slow answer shows.
async fn words(agent: &Agent) -> Result<(), String> {
    let mut events = agent.runner.subscribe();
    let shows = async {
        loop {
            let text = agent.runner.view().await?.snapshot.text();
            if text.contains("word3") {
                return Some(());
            }
            events.next().await?;
        }
    };
    match tokio::time::timeout(STEP_TIMEOUT, shows).await {
        Ok(Some(())) => Ok(()),
        Ok(None) => Err("it ended while it answered".to_owned()),
        Err(_) => Err("its answer never showed".to_owned()),
    }
}

async fn message(stage: &Stage, agent: &Agent, words: &str) -> Found {
    let (from, turns) = (agent.now(), stage.turns(0).len());
    let text = format!("{} {words}", ModelScene::Text);
    agent.send(&text).await?;
    if agent.turn_end(from).await? {
        return Err("the turn ended with an error".to_owned());
    }
    arrived(stage, turns, &text)?;
    Ok("delivered alone and answered".to_owned())
}

/// The last thing the user said is exactly this.
fn arrived(stage: &Stage, turns: usize, text: &str) -> Result<(), String> {
    let turns = stage.turns(turns);
    let said = turns.iter().filter_map(|turn| turn.said.last()).collect::<Vec<_>>();
    if said.iter().any(|said| said.trim() == text) {
        return Ok(());
    }
    Err(format!("the model got {said:?} and not {text:?}"))
}

async fn error(agent: &Agent) -> Found {
    let from = agent.now();
    agent.send(&format!("{} please", ModelScene::Error)).await?;
    if !agent.turn_end(from).await? {
        return Err("the turn ended as if nothing had happened".to_owned());
    }
    let verdict = agent.runner.verdict();
    Ok(by(&verdict))
}

/// The model fails again and again, and what the agent does says so.
async fn retries(stage: &Stage, agent: &Agent) -> Found {
    let (from, turns) = (agent.now(), stage.turns(0).len());
    agent.send(&format!("{} please", ModelScene::Unavailable)).await?;
    let mut verdict = agent.runner.watch();
    let tries = verdict.wait_for(|verdict| verdict.retry.is_some());
    let retry = tokio::select! {
        waited = tokio::time::timeout(STEP_TIMEOUT, tries) => match waited {
            Ok(Ok(verdict)) => verdict.retry.clone(),
            Ok(Err(_)) => return Err("the runner ended".to_owned()),
            Err(_) => return silent_retries(stage, agent, turns).await,
        },
        error = agent.turn_end_within(STEP_TIMEOUT * 2, from) => {
            return if error? {
                Ok("it gives up at once, with an error".to_owned())
            } else {
                Err("the turn ended as if nothing had happened".to_owned())
            };
        }
    };
    let shown = retry.map(|retry| retry.to_string()).unwrap_or_default();
    recover(agent).await;
    agent.state(AgentState::Idle).await?;
    // What stands beside the notice is no reason.
    if shown.contains("interrupt") { Err(format!("it says `{shown}`")) } else { Ok(shown) }
}

/// An agent that tries again and again and shows nothing of it works, as far as anybody can see.
async fn silent_retries(stage: &Stage, agent: &Agent, turns: usize) -> Found {
    let tries = stage.turns(turns).len();
    let found = agent.runner.verdict().state;
    let text = agent.runner.view().await.map(|view| view.snapshot.text()).unwrap_or_default();
    let asked = ModelScene::Unavailable.to_string();
    let below = text.rsplit_once(&asked).map_or("", |(_, below)| below).to_lowercase();
    let words = ["retry", "again", "attempt", "reconnect", "500", "unavailable", "overloaded"];
    let told = words.iter().find(|word| below.contains(**word));
    recover(agent).await;
    agent.state(AgentState::Idle).await?;
    match told {
        Some(word) => Err(format!("its screen says {word:?}, and the state does not")),
        None if tries < 2 || found != AgentState::Working => {
            Err(format!("it neither tries again nor gives up: {found}, {tries} request(s)"))
        }
        None => Ok(format!("its screen says nothing of its {tries} tries")),
    }
}

/// A command that the dialog shows only in part is said to be that, so that no rule approves it.
async fn long_command(agent: &Agent) -> Found {
    let (from, ran) = (agent.now(), Stage::ran(&agent.scenery.place));
    agent.send(&format!("{} please", ModelScene::Long)).await?;
    let (_, question) = agent.question(from).await?;
    let shown = |number: &usize| {
        question.excerpt.iter().any(|line| line.contains(&format!("echo line-{number}")))
    };
    let shown = (1..LONG_COMMAND_LINES).filter(shown).count();
    let is_whole = shown == LONG_COMMAND_LINES - 1;
    agent.choose(&question, InterventionChoice::Deny).await?;
    agent.turn_end(from).await?;
    if Stage::ran(&agent.scenery.place) != ran {
        return Err("the command ran".to_owned());
    }
    match (is_whole, question.action.truncated) {
        (true, _) => Ok("all of it is in the question".to_owned()),
        (false, true) => Ok(format!(
            "{shown} of {LONG_COMMAND_LINES} lines are shown, and the question says that it is cut off"
        )),
        (false, false) => Err(format!("{shown} of {LONG_COMMAND_LINES} lines are shown")),
    }
}

async fn paste(stage: &Stage, agent: &Agent) -> Found {
    let (from, turns) = (agent.now(), stage.turns(0).len());
    agent.send(PASTED).await?;
    agent.turn_end(from).await?;
    arrived(stage, turns, PASTED)?;
    Ok("three lines arrived as they were, in one message".to_owned())
}

/// Stops an agent, and finds nothing of it afterwards.
async fn stop(agent: Agent) -> Found {
    let processes = agent.processes();
    let before = agent.told().iter().any(|told| matches!(told, Told::Done(_)));
    let lagged: u64 = agent
        .told()
        .iter()
        .map(|told| if let Told::Lagged(missed) = told { *missed } else { 0 })
        .sum();
    let (stopped, left) = agent.stop().await;
    let outcome = stopped?;
    if before {
        return Err(format!("it had ended before: {}", outcome.reason));
    }
    if !left.is_empty() {
        return Err(format!("left behind: {}", left.join("; ")));
    }
    if outcome.ending != ProcessEnding::Stopped || lagged > 0 {
        return Err(format!("{:?}, {lagged} events missed", outcome.ending));
    }
    let session = if outcome.agent_session.is_some() { ", its conversation is known" } else { "" };
    Ok(format!("{processes} processes before, none after{session}"))
}
