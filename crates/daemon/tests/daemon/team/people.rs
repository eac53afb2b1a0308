//! The people who answer: over the API, with commands, and on the page, each whatever is open.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use coven_api::ApiClient;
use coven_api::intervention::{DecideRequest, InterventionItem, InterventionQuery};
use coven_model::{InterventionChoice, InterventionKind};
use coven_testkit::random::Random;
use serde_json::{Value, json};

use super::agents::{Agent, Question, Reply};
use crate::page::Browser;
use crate::support::Home;

/// How long somebody looks away when there is nothing to do, or the daemon is gone.
const GLANCE: Duration = Duration::from_millis(100);

/// What all of them share.
pub(super) struct Team {
    pub(super) agents: Vec<Agent>,
    pub(super) session: String,
    pub(super) base: PathBuf,
    pub(super) is_over: AtomicBool,
    pub(super) tally: Tally,
}

/// How often what was done.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) by_api: AtomicU32,
    pub(super) by_command: AtomicU32,
    pub(super) on_page: AtomicU32,
    /// Answers that were refused, most because somebody else was quicker.
    pub(super) refused: AtomicU32,
    /// Messages that were reported as undelivered.
    pub(super) undelivered: AtomicU32,
    pub(super) sent_by_api: AtomicU32,
    pub(super) sent_by_command: AtomicU32,
}

pub(super) fn count(counter: &AtomicU32) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// What is to be decided about something open, and which agent it is about.
struct Decision {
    item: InterventionItem,
    reply: Reply,
}

impl Team {
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn agent(&self, item: &InterventionItem) -> Option<Agent> {
        let task = item.intervention.task.as_ref()?.to_string();
        self.agents.iter().copied().find(|agent| agent.task_id() == task)
    }

    /// What a person decides about something that is open, if it is theirs.
    fn decision(&self, item: InterventionItem) -> Option<Decision> {
        let agent = self.agent(&item)?;
        let shown = item.intervention.excerpt.clone();
        let reply = match item.intervention.kind {
            InterventionKind::Approval | InterventionKind::Question | InterventionKind::Choice => {
                Question::read(&shown)
                    .unwrap_or_else(|| panic!("no question: {item:#?}"))
                    .reply(agent)
            }
            // As somebody does who looks whether it arrived.
            InterventionKind::UndeliveredMessage => {
                count(&self.tally.undelivered);
                eprintln!("undelivered to {}: {}", agent.task_id(), item.intervention.reason);
                let log = std::fs::read_to_string(self.base.join(agent.log_file()));
                let arrived = agent.has_heard(&log.unwrap_or_default(), &shown);
                let choice =
                    if arrived { InterventionChoice::Drop } else { InterventionChoice::Retry };
                Reply::Choice(choice)
            }
            // Its next message comes by itself.
            InterventionKind::EndedTurn => return None,
            kind => panic!("{kind:?}: {item:#?}"),
        };
        Some(Decision { item, reply })
    }

    /// One of the things that are open, whichever.
    async fn pick(&self, client: &ApiClient, random: &mut Random) -> Option<Decision> {
        let query = InterventionQuery { workflow: Some(self.session.clone()), state: None };
        let open = client.interventions(&query).await.ok()?.interventions;
        let mut open: Vec<_> = open.into_iter().filter_map(|item| self.decision(item)).collect();
        (!open.is_empty()).then(|| open.swap_remove(random.below(open.len())))
    }
}

pub(super) async fn over_api(team: Arc<Team>, client: ApiClient, mut random: Random) {
    while !team.is_over() {
        let Some(Decision { item, reply }) = team.pick(&client, &mut random).await else {
            tokio::time::sleep(GLANCE).await;
            continue;
        };
        let digest = item.intervention.digest.clone();
        let (choice, answer, entry) = match reply {
            Reply::Choice(choice) => (choice, None, None),
            Reply::Text(text) => (InterventionChoice::Answer, Some(text), None),
            Reply::Entry(entry) => (InterventionChoice::Answer, None, Some(entry.to_string())),
        };
        let wish = DecideRequest { answer, entry, ..DecideRequest::new(choice, digest) };
        match client.decide(&item.intervention.id, &wish).await {
            Ok(_) => count(&team.tally.by_api),
            Err(_) => count(&team.tally.refused),
        }
    }
}

/// Runs `coven` and gives whether it succeeded.
pub(super) async fn command(home: &Home, program: &PathBuf, arguments: &[&str]) -> bool {
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).env_clear().envs(home.env()).current_dir(home.base());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().await.unwrap().success()
}

pub(super) async fn with_commands(
    team: Arc<Team>,
    home: Arc<Home>,
    program: PathBuf,
    mut random: Random,
) {
    let client = home.client();
    while !team.is_over() {
        let Some(Decision { item, reply }) = team.pick(&client, &mut random).await else {
            tokio::time::sleep(GLANCE).await;
            continue;
        };
        let task = item.intervention.task.as_ref().map(ToString::to_string).unwrap_or_default();
        let target = format!("{}/{task}", item.workflow_name);
        let reply = match reply {
            Reply::Choice(choice) => choice.as_str().to_owned(),
            Reply::Text(text) => text,
            Reply::Entry(entry) => entry.to_string(),
        };
        let done = match reply.as_str() {
            verb @ ("approve" | "deny") => command(&home, &program, &[verb, &target]).await,
            reply => command(&home, &program, &["answer", &target, reply]).await,
        };
        count(if done { &team.tally.by_command } else { &team.tally.refused });
    }
}

/// What can be clicked on the page now: the cards of questions that are not locked.
const CARDS: &str = "return [...document.querySelectorAll('.card')]
    .filter((card) => !card.querySelector('.card-actions.locked'))
    .map((card) => ({
        id: card.dataset.id,
        task: card.querySelector('.card-task')?.innerText,
        text: card.querySelector('.excerpt')?.innerText ?? '',
        kinds: [...card.querySelectorAll('[data-entry], [data-choice]')]
            .map((one) => one.dataset.entry ?? one.dataset.choice),
    }))";

/// Answers one card as a person does: types into it, clicks one of its buttons.
const ANSWER: &str = "const [id, selector, text] = arguments;
    const card = document.querySelector(`.card[data-id='${id}']`);
    if (!card) return false;
    if (text !== null) {
        const field = card.querySelector('.card-answer input');
        if (!field) return false;
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, text);
        field.dispatchEvent(new Event('input', { bubbles: true }));
    }
    return new Promise((done) => setTimeout(() => {
        const button = card.querySelector(selector);
        const may = button && !button.disabled && button.getAttribute('aria-disabled') !== 'true';
        if (may) button.click();
        done(Boolean(may));
    }, 50));";

pub(super) async fn on_page(team: Arc<Team>, browser: Browser, mut random: Random) {
    while !team.is_over() {
        let cards = browser.js(CARDS, json!([])).await;
        let cards: Vec<&Value> = cards
            .as_array()
            .into_iter()
            .flatten()
            .filter(|card| Question::read(card["text"].as_str().unwrap_or_default()).is_some())
            .collect();
        if cards.is_empty() {
            tokio::time::sleep(GLANCE).await;
            continue;
        }
        let card = cards[random.below(cards.len())];
        let agent = team.agents.iter().copied().find(|agent| card["task"] == agent.task_id());
        let question = Question::read(card["text"].as_str().unwrap_or_default());
        let (Some(agent), Some(question)) = (agent, question) else { continue };
        let (selector, text) = match question.reply(agent) {
            Reply::Choice(choice) => (format!("[data-choice={}]", choice.as_str()), None),
            Reply::Text(text) => ("[data-choice=answer]".to_owned(), Some(text)),
            Reply::Entry(entry) => (format!("[data-entry='{entry}']"), None),
        };
        let clicked = browser.js(ANSWER, json!([card["id"], selector, text])).await;
        if clicked == json!(true) {
            count(&team.tally.on_page);
        } else {
            tokio::time::sleep(GLANCE).await;
        }
    }
}
