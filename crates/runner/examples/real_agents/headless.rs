//! The rows of an agent without a terminal.

use coven_model::{JobOutcome, TokenUsage};
use coven_runner::{AgentTask, HeadlessRunner};
use coven_testkit::model::{ModelScene, USED};

use crate::agent::STEP_TIMEOUT;
use crate::left;
use crate::stage::Stage;
use crate::{Found, Mark, Rows};
use coven_testkit::real_cli::Home;

/// One run with a tool, its conversation continued, and a run that is stopped half-way.
pub(crate) async fn rows(stage: &Stage, rows: &mut Rows) {
    let asked = stage.server.exchanges().len();
    let first =
        run(stage, &format!("{} first", ModelScene::Shell), None, TokenUsage::default()).await;
    let outcome = match first {
        Ok((outcome, ran)) => {
            let requests = stage.server.exchanges().len() - asked;
            let found = first_run(&outcome, ran, requests);
            if found.is_err() {
                stage.keep("headless", &format!("{outcome:#?}\n{:#?}", stage.turns(0)));
            }
            rows.add("headless", found);
            outcome
        }
        Err(error) => {
            rows.add("headless", Mark::Failed(error));
            return rows
                .add("headless resume", Mark::Failed("there is nothing to resume".to_owned()));
        }
    };
    rows.add("headless resume", resume(stage, &outcome).await);
    rows.add("headless error", error(stage).await);
    rows.add("headless stop", stop(stage).await);
}

/// Runs to the end. Says how, and how many times the tool ran.
async fn run(
    stage: &Stage,
    prompt: &str,
    resume: Option<String>,
    previous: TokenUsage,
) -> Result<(JobOutcome, usize), String> {
    let before = left::processes();
    let scenery = stage.scenery(Home::Settled).map_err(|error| error.to_string())?;
    let ran = Stage::ran(&scenery.place);
    let mut task = AgentTask::headless(&*scenery.job, prompt);
    task.resume = resume;
    task.timeout = Some(STEP_TIMEOUT);
    let runner = HeadlessRunner::start(scenery.adapter.clone(), task, &scenery.place, previous)
        .map_err(|error| error.to_string())?;
    let outcome = runner.done().await.ok_or("the runner is gone")?;
    let left = left::since(&before);
    if !left.is_empty() {
        return Err(format!("left behind: {}", left.join("; ")));
    }
    Ok((outcome, Stage::ran(&scenery.place) - ran))
}

/// Whether a CLI counted what the model says it used: at least for its turns, and for what it asked
/// beside them if it counts that.
fn counted(usage: &TokenUsage, turns: usize, requests: usize) -> Result<(), String> {
    let used = (usage.input_tokens, usage.output_tokens);
    let fits = (turns as u64..=requests as u64)
        .any(|count| used == (Some(count * USED.input), Some(count * USED.output)));
    if fits {
        return Ok(());
    }
    Err(format!("it says it used {used:?} in {turns} turns and {requests} requests"))
}

fn first_run(outcome: &JobOutcome, ran: usize, requests: usize) -> Found {
    if !outcome.ok || ran != 1 {
        return Err(format!("{}; the tool ran {ran} times", outcome.reason));
    }
    let answer = outcome.output.as_deref().unwrap_or_default();
    if !answer.contains("All done") {
        return Err(format!("its answer is {answer:?}"));
    }
    if outcome.agent_session.is_none() {
        return Err("its conversation is not known".to_owned());
    }
    counted(&outcome.usage, 2, requests)?;
    Ok(told(&outcome.usage))
}

async fn resume(stage: &Stage, first: &JobOutcome) -> Found {
    let (turns, asked) = (stage.turns(0).len(), stage.server.exchanges().len());
    let prompt = format!("{} again", ModelScene::Text);
    let session = first.agent_session.clone();
    let (second, _) = run(stage, &prompt, session.clone(), first.usage).await?;
    let requests = stage.turns(turns);
    let keep = |reason: String| {
        stage.keep("headless resume", &format!("{second:#?}\n{requests:#?}"));
        reason
    };
    if !second.ok {
        return Err(keep(second.reason.clone()));
    }
    if second.agent_session != session {
        return Err(keep(format!(
            "it went on as {:?} instead of {session:?}",
            second.agent_session
        )));
    }
    let told_both = requests.iter().any(|request| {
        request.said.iter().any(|said| said.contains("first"))
            && request.said.last().is_some_and(|said| said.contains("again"))
    });
    if !told_both {
        return Err(keep("the model was not told what was said before".to_owned()));
    }
    let all = stage.server.exchanges().len() - asked;
    counted(&second.usage, requests.len(), all).map_err(keep)?;
    Ok(format!("the same conversation, the model knows what was said; {}", told(&second.usage)))
}

async fn error(stage: &Stage) -> Found {
    let prompt = format!("{} please", ModelScene::Error);
    let (outcome, _) = run(stage, &prompt, None, TokenUsage::default()).await?;
    if outcome.ok {
        stage.keep("headless error", &format!("{outcome:#?}"));
        return Err(format!("called a success: {}", outcome.reason));
    }
    Ok(outcome.reason)
}

/// Stopped in the middle of an answer, nothing is left.
async fn stop(stage: &Stage) -> Found {
    let before = left::processes();
    let turns = stage.turns(0).len();
    let scenery = stage.scenery(Home::Settled).map_err(|error| error.to_string())?;
    let task = AgentTask::headless(&*scenery.job, &format!("{} please", ModelScene::Slow));
    let runner =
        HeadlessRunner::start(scenery.adapter.clone(), task, &scenery.place, TokenUsage::default())
            .map_err(|error| error.to_string())?;
    if !stage.wait(|all| all.iter().skip(turns).any(|turn| turn.open)) {
        return Err("it never asked the model".to_owned());
    }
    let processes = left::since(&before).len();
    let outcome = runner.stop().await.map_err(|error| error.to_string())?;
    let left = left::since(&before);
    let of_job = coven_runtime::processes::of_job(&scenery.job);
    if !left.is_empty() || !of_job.is_empty() {
        return Err(format!("left behind: {} {of_job:?}", left.join("; ")));
    }
    if outcome.ok {
        return Err("a stopped run was called a success".to_owned());
    }
    Ok(format!("{processes} processes before, none after; {}", outcome.reason))
}

fn told(usage: &TokenUsage) -> String {
    let cost = usage.cost_usd.map(|cost| format!(", {cost} USD by its own reckoning"));
    format!(
        "{} tokens in ({} cached), {} out{}",
        usage.input_tokens.unwrap_or_default(),
        usage.cached_tokens.unwrap_or_default(),
        usage.output_tokens.unwrap_or_default(),
        cost.unwrap_or_default()
    )
}
