//! A team of agents of five kinds that ask and are told things all the time, answered from
//! everywhere at once, while the daemon is killed again and again. Every question is shown and
//! decided once, every answer and message is read once, and no agent is ended.

mod agents;
mod people;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use coven_api::client::{EventScope, StreamedEvent};
use coven_api::event::EventEnvelope;
use coven_api::system::AcceptPolicy;
use coven_api::task::TypeRequest;
use coven_api::workflow::StartWorkflow;
use coven_model::{SessionId, WorkflowStatus};
use coven_testkit::random::Random;
use serde_json::{Value, json};

use self::agents::{Agent, Question};
use self::people::{Tally, Team, command, count};
use crate::page::{home_with_port, signed_in};
use crate::support::{DEADLINE, Daemon, Home, until};

/// How much the test command does. `cargo xtask soak` says more.
const AGENTS: u32 = 10;
const ROUNDS: u32 = 3;
const KILLS: u32 = 3;
/// How many agents a soak has and how often each asks and is told something.
const AGENTS_VARIABLE: &str = "COVEN_SOAK_AGENTS";
const ROUNDS_VARIABLE: &str = "COVEN_SOAK_ROUNDS";
const KILLS_VARIABLE: &str = "COVEN_SOAK_KILLS";
const SEED_VARIABLE: &str = "COVEN_SOAK_SEED";
/// The program `coven`; without it nobody uses commands, and nobody the page.
const PROGRAM_VARIABLE: &str = "COVEN_SOAK_PROGRAM";

/// How long the agents may stand still before something is wrong.
const STANDSTILL: Duration = Duration::from_mins(3);

const POLICY: &str = "version: 2
rules:
  - name: allowed
    command: touch allowed-[0-9-]+
    decision: allow
";

fn setting(name: &str, usual: u32) -> u32 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

/// Every fact of a session, through every death of the daemon.
#[derive(Clone, Default)]
struct Facts(Arc<Mutex<Vec<EventEnvelope>>>);

impl Facts {
    async fn follow(self, client: coven_api::ApiClient, session: SessionId) {
        let mut events = client.events(&EventScope::Everything, Some(0));
        while let Some(streamed) = events.next().await.unwrap() {
            match streamed {
                StreamedEvent::Event(envelope) if envelope.workflow_id == session => {
                    let is_over = envelope.kind == "workflow.completed";
                    if envelope.seq.is_some() {
                        self.0.lock().unwrap().push(*envelope);
                    }
                    if is_over {
                        break;
                    }
                }
                StreamedEvent::Gap(gap) => panic!("a gap: {gap:?}"),
                _ => {}
            }
        }
    }

    fn all(&self) -> Vec<EventEnvelope> {
        self.0.lock().unwrap().clone()
    }

    fn last(&self) -> u64 {
        self.0.lock().unwrap().last().and_then(|fact| fact.seq).unwrap_or(0)
    }

    /// What happened to one agent, for whoever looks for a mistake.
    fn about(&self, task: &str) -> String {
        let is_its = |fact: &EventEnvelope| {
            fact.data["task"] == task
                || fact.data["intervention"]["task"] == task
                || fact.kind.ends_with(".resolved")
        };
        let told = |fact: &EventEnvelope| format!("{:?} {} {}\n", fact.time, fact.kind, fact.data);
        self.all().iter().filter(|fact| is_its(fact)).map(told).collect()
    }

    /// Whether a message to an agent is written down: on its own, or as what was decided at the end
    /// of a turn.
    fn has_message(&self, task: &str, text: &str) -> bool {
        let facts = self.0.lock().unwrap();
        let is_its = |id: &Value| {
            facts.iter().any(|fact| {
                let intervention = &fact.data["intervention"];
                intervention["id"] == *id && intervention["task"] == task
            })
        };
        facts.iter().any(|fact| match fact.kind.as_str() {
            "input.queued" => fact.data["task"] == task && fact.data["text"] == text,
            "workflow.intervention.resolved" => {
                fact.data["decision"]["text"] == text && is_its(&fact.data["id"])
            }
            _ => false,
        })
    }
}

/// Tells an agent everything that it is to be told, in order and each once.
async fn tell(
    team: Arc<Team>,
    home: Arc<Home>,
    program: Option<PathBuf>,
    facts: Facts,
    (agent, rounds): (Agent, u32),
    mut random: Random,
) {
    let (client, task) = (home.client(), agent.task_id());
    let name = client.workflow(&team.session).await.map(|workflow| workflow.item.name);
    let messages = (0..rounds).map(|round| agent.message(round)).chain(agent.last_message());
    for text in messages {
        loop {
            let sent = match (&program, &name) {
                (Some(program), Ok(name)) if random.below(3) == 0 => {
                    let target = format!("{name}/{task}");
                    let sent = command(&home, program, &["send", &target, &text]).await;
                    sent.then(|| count(&team.tally.sent_by_command))
                }
                _ => {
                    let message =
                        TypeRequest { message: Some(text.clone()), paste: None, keys: None };
                    let sent = client.input(&team.session, &task, &message).await;
                    sent.ok().map(|_| count(&team.tally.sent_by_api))
                }
            };
            if sent.is_some() {
                break;
            }
            // Whoever did not hear what became of it looks before it is said again.
            let last = until("the session can be read", || async {
                Some(client.workflow(&team.session).await.ok()?.last_seq)
            });
            let last = last.await;
            until("everything is heard", || async { (facts.last() >= last).then_some(()) }).await;
            if facts.has_message(&task, &text) {
                break;
            }
        }
    }
}

/// Spec: C0.8.2, C1.9.1, C1.18.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_question_is_decided_once_and_everything_said_is_read_once() {
    let (agents, rounds) = (setting(AGENTS_VARIABLE, AGENTS), setting(ROUNDS_VARIABLE, ROUNDS));
    let kills = setting(KILLS_VARIABLE, KILLS);
    let seed = u64::from(setting(SEED_VARIABLE, std::process::id()));
    let program = std::env::var_os(PROGRAM_VARIABLE).map(PathBuf::from);
    eprintln!("{agents} agents, {rounds} rounds, {kills} kills, seed {seed}");
    let mut random = Random::new(seed);
    let agents: Vec<Agent> = (0..agents).map(Agent::new).collect();
    let home = Arc::new(home_with_port(agents.len()));
    for agent in &agents {
        if let Some(adapter) = agent.adapter(rounds) {
            let folder = home.config().join("adapters").join(agent.task_id());
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("config.json"), adapter.to_string()).unwrap();
        }
    }
    std::fs::write(home.config().join("policy.yaml"), POLICY).unwrap();
    let mut daemon = home.daemon().await;
    let digest = daemon.client.policy().await.unwrap().digest.unwrap();
    daemon.client.accept_policy(&AcceptPolicy { digest }).await.unwrap();
    let tasks: Vec<Value> = agents.iter().map(|agent| agent.task()).collect();
    let text = json!({"id": "team", "stages": [{"id": "s", "tasks": tasks}]}).to_string();
    let started = daemon.start(&StartWorkflow { ..daemon.definition(&text) }).await;
    let session = started.id.to_string();
    let facts = Facts::default();
    let following = tokio::spawn(facts.clone().follow(home.client(), started.id.clone()));

    let team = Arc::new(Team {
        agents: agents.clone(),
        session: session.clone(),
        base: home.base(),
        is_over: AtomicBool::new(false),
        tally: Tally::default(),
    });
    let mut people = vec![
        tokio::spawn(people::over_api(
            Arc::clone(&team),
            home.client(),
            Random::new(random.next()),
        )),
        tokio::spawn(people::over_api(
            Arc::clone(&team),
            home.client(),
            Random::new(random.next()),
        )),
    ];
    if let Some(program) = &program {
        for _ in 0..2 {
            people.push(tokio::spawn(people::with_commands(
                Arc::clone(&team),
                Arc::clone(&home),
                program.clone(),
                Random::new(random.next()),
            )));
        }
        let browser = signed_in(&daemon).await;
        people.push(tokio::spawn(people::on_page(
            Arc::clone(&team),
            browser,
            Random::new(random.next()),
        )));
    }
    let tellers: Vec<_> = agents
        .iter()
        .map(|agent| {
            let random = Random::new(random.next());
            let (team, home) = (Arc::clone(&team), Arc::clone(&home));
            tokio::spawn(tell(team, home, program.clone(), facts.clone(), (*agent, rounds), random))
        })
        .collect();

    let mut unheard = 0;
    for kill in 0..kills {
        // Spread over the whole of it, at moments that nothing else decides.
        let all: u32 = agents.len() as u32 * rounds;
        let due = (kill + 1) * all / (kills + 1);
        standstill(&home, &team, &|done| done >= due as usize).await;
        tokio::time::sleep(Duration::from_millis(random.below(400) as u64)).await;
        unheard += daemon.client.status().await.map_or(0, |status| status.unheard);
        daemon.kill();
        daemon = next_daemon(&home).await;
    }
    standstill(&home, &team, &|done| done >= agents.len() * rounds as usize).await;
    for teller in tellers {
        tokio::time::timeout(DEADLINE, teller).await.unwrap().unwrap();
    }
    let ended = daemon.ends(&session, WorkflowStatus::Completed).await;
    team.is_over.store(true, Ordering::Relaxed);
    for person in people {
        tokio::time::timeout(DEADLINE, person).await.unwrap().unwrap();
    }
    tokio::time::timeout(DEADLINE, following).await.unwrap().unwrap();
    unheard += daemon.client.status().await.unwrap().unheard;
    eprintln!("{:?}", team.tally);

    for agent in &agents {
        let log = std::fs::read_to_string(home.base().join(agent.log_file())).unwrap();
        let told = || facts.about(&agent.task_id());
        assert_eq!(log, agent.expected(rounds), "{agent:?}\n{}", told());
    }
    assert!(ended.tasks.iter().all(|task| task.attempt == 1), "{:#?}", ended.tasks);
    assert_eq!(home.running(), [], "nothing is left");
    assert_eq!(unheard, 0, "{}", home.log());
    decided_once(&facts, &agents, rounds);
}

/// The next daemon. A command that finds none starts one, which is ended like the others.
async fn next_daemon(home: &Home) -> Daemon<'_> {
    loop {
        if let Some(daemon) = home.daemon_unless_refused(home.command()).await {
            return daemon;
        }
        end_daemon(home).await;
    }
}

/// Ends the daemon that answers, if one does.
async fn end_daemon(home: &Home) {
    let Ok(version) = home.client().version().await else { return };
    let Some(pid) = i32::try_from(version.pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return;
    };
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
    until("it is gone", || async { home.client().version().await.err() }).await;
}

/// Waits until so many rounds are done, as long as they get on.
async fn standstill(home: &Home, team: &Team, enough: &dyn Fn(usize) -> bool) {
    let rounds = || -> usize {
        let lines = |agent: &Agent| {
            let log = std::fs::read_to_string(home.base().join(agent.log_file()));
            let ends = agent.marks_round();
            log.unwrap_or_default().lines().filter(|line| line.starts_with(ends)).count()
        };
        team.agents.iter().map(lines).sum()
    };
    let mut ticks = tokio::time::interval(Duration::from_millis(100));
    let (mut done, mut since) = (rounds(), std::time::Instant::now());
    while !enough(done) {
        ticks.tick().await;
        let now = rounds();
        if now > done {
            (done, since) = (now, std::time::Instant::now());
        }
        if since.elapsed() > STANDSTILL {
            let screens = screens(home, team).await;
            panic!("nothing gets on after {done} rounds: {:?}\n{screens}", team.tally);
        }
    }
}

/// What each agent shows that has not ended.
async fn screens(home: &Home, team: &Team) -> String {
    let client = home.client();
    let mut text = String::new();
    for agent in &team.agents {
        let shown = client.explain(&team.session, &agent.task_id()).await;
        text += &format!("{agent:?}: {shown:#?}\n");
    }
    text
}

/// Every question was shown or answered by a rule, and one decision about it counted.
fn decided_once(told: &Facts, agents: &[Agent], rounds: u32) {
    let facts = told.all();
    let seqs: Vec<u64> = facts.iter().filter_map(|fact| fact.seq).collect();
    let contiguous: Vec<u64> = (1..=facts.len() as u64).collect();
    assert_eq!(seqs, contiguous, "every fact once and in order");
    // Which question an intervention is about.
    let mut about: BTreeMap<String, Question> = BTreeMap::new();
    let mut decided: BTreeMap<Question, Vec<String>> = BTreeMap::new();
    let mut refused: BTreeMap<Question, u32> = BTreeMap::new();
    let mut resolved = BTreeSet::new();
    for fact in &facts {
        let asked = |intervention: &Value| {
            let question = Question::read(intervention["excerpt"].as_str().unwrap_or_default())?;
            let kind = intervention["kind"].as_str().unwrap_or_default();
            let id = intervention["id"].as_str().unwrap_or_default().to_owned();
            ["approval", "question", "choice"].contains(&kind).then_some((id, question))
        };
        match fact.kind.as_str() {
            "workflow.intervention.required" => about.extend(asked(&fact.data["intervention"])),
            "input.decided" => {
                if let Some((id, question)) = asked(&fact.data["intervention"]) {
                    let by = fact.data["decision"]["by"].to_string();
                    decided.entry(question).or_default().push(by);
                    about.insert(id, question);
                }
            }
            "workflow.intervention.resolved" => {
                let id = fact.data["id"].as_str().unwrap_or_default();
                assert!(resolved.insert(id.to_owned()), "{id} was decided twice");
                if let Some(question) = about.get(id)
                    && !fact.data["decision"].is_null()
                {
                    let by = fact.data["decision"]["by"].to_string();
                    decided.entry(*question).or_default().push(by);
                }
            }
            "input.refused" => {
                let id = fact.data["intervention"].as_str().unwrap_or_default();
                if let Some(question) = about.get(id) {
                    *refused.entry(*question).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    for agent in agents {
        for round in 0..rounds {
            let question = agent.question(round);
            let by = decided.get(&question).map_or(&[][..], Vec::as_slice);
            let refused = refused.get(&question).copied().unwrap_or(0) as usize;
            // One that a killed daemon gave is refused when the next one finds the question gone.
            let counted = by.len().checked_sub(refused);
            assert!(
                !by.is_empty() && counted.is_some_and(|counted| counted <= 1),
                "{question} of {agent:?}: {by:?}, {refused} refused\n{}",
                told.about(&agent.task_id()),
            );
            let by_person = by.iter().any(|by| !by.contains("policy") && !by.contains("handler"));
            if !question.is_for_person(*agent) && refused == 0 {
                assert!(!by_person, "{question} of {agent:?}: {by:?}");
            }
        }
    }
    let again: u32 = refused.values().sum();
    eprintln!("{} questions, {again} answers of them refused", decided.len());
}
