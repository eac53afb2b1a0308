//! What agents without a terminal say and do, over the wire: page by page and as a stream that
//! goes on where it broke off.

use coven_api::intervention::DecideRequest;
use coven_api::task::TranscriptQuery;
use coven_api::{ApiClient, ProblemCode};
use coven_model::{InterventionChoice, TranscriptEntry, TranscriptPart, WorkflowStatus};
use serde_json::json;

use crate::stream_support::{Frame, Raw};
use crate::support::{Daemon, Home, code, problem};

/// Gives the user an adapter with a channel: the demo agent by ACP.
fn talker(home: &Home) {
    let folder = home.config().join("adapters/talker");
    std::fs::create_dir_all(&folder).unwrap();
    let levels =
        ["read-only", "ask", "edits", "all"].map(|level| (level, ["--permissions", level]));
    let levels = std::collections::BTreeMap::from(levels);
    let config = json!({
        "schemaVersion": 1,
        "command": "coven",
        "modes": {"headless": {"baseArgs": ["demo-agent", "--headless"], "transcript": "text"}},
        "permissions": levels,
        "channel": {"kind": "acp", "baseArgs": ["demo-agent", "--acp"], "permissions": levels},
    });
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
}

async fn follow(daemon: &Daemon<'_>, id: &str, cursor: Option<u64>) -> Raw {
    Raw::transcript(daemon, &format!("/workflows/{id}/tasks/work/transcript"), cursor).await
}

/// An entry of a stream; its id is the cursor.
fn entry(frame: &Frame) -> TranscriptEntry {
    let entry: TranscriptEntry = serde_json::from_value(frame.data.clone()).unwrap();
    assert_eq!(frame.id, Some(entry.id));
    entry
}

/// Everything that is said in entries, however it is cut.
fn words(entries: &[TranscriptEntry]) -> String {
    let mut words = String::new();
    for entry in entries {
        if !matches!(entry.part, TranscriptPart::Text { continues: true }) {
            words.push('\n');
        }
        words.push_str(&entry.text);
    }
    words
}

async fn all(client: &ApiClient, id: &str) -> Vec<TranscriptEntry> {
    let (mut entries, mut query) = (Vec::new(), TranscriptQuery::default());
    query.limit = Some(2);
    loop {
        let page = client.transcript(id, "work", &query).await.unwrap();
        entries.extend(page.entries);
        query.after = Some(page.next);
        if !page.more {
            return entries;
        }
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_goes_on_without_a_gap_and_without_a_repetition() {
    let home = Home::new();
    talker(&home);
    let daemon = home.daemon().await;
    let text = "name: asks\ndescription: Asks.\nsteps:\n  - {name: work, type: agent, adapter: \
        talker, mode: headless, permissions: ask, prompt: \"say I look first.; approve echo one; \
        say Then more.; approve echo two; say Done.\"}\n";
    let id = daemon.start(&daemon.definition(text)).await.id.to_string();
    let mut told: Vec<TranscriptEntry> = Vec::new();
    for command in ["echo one", "echo two"] {
        // The connection ends while the agent asks, and the next one goes on after it.
        let mut stream = follow(&daemon, &id, told.last().map(|last| last.id)).await;
        loop {
            let next = entry(&stream.find("entry").await);
            let is_question = matches!(next.part, TranscriptPart::Question { .. });
            told.push(next);
            if is_question {
                break;
            }
        }
        drop(stream);
        assert_eq!(told.last().unwrap().text, command);
        let asked = daemon.asked(&id).await.intervention;
        let decide = DecideRequest::new(InterventionChoice::Approve, asked.digest);
        daemon.client.decide(&asked.id, &decide).await.unwrap();
    }
    let mut stream = follow(&daemon, &id, told.last().map(|last| last.id)).await;
    loop {
        let frame = stream.next().await.unwrap();
        match frame.event.as_str() {
            "entry" => told.push(entry(&frame)),
            "end" => break,
            _ => assert!(frame.comment.is_some(), "{frame:?}"),
        }
    }
    assert!(stream.next().await.is_none(), "nothing follows the end");
    daemon.ends(&id, WorkflowStatus::Completed).await;
    assert!(told.windows(2).all(|two| two[0].id < two[1].id), "{told:#?}");
    let read = all(&daemon.client, &id).await;
    assert_eq!(words(&told), words(&read));
    let words = words(&read);
    // The prompt has the same words, and stands before all that the agent does.
    let (_, done) = words.split_once("say Done.").unwrap();
    let order = ["I look first.", "echo one", "approved", "Then more.", "echo two", "Done."];
    let places: Vec<_> = order.iter().map(|one| done.find(one)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{words}");
    // The same again for a client that comes when everything is over.
    let late: Vec<Frame> = follow(&daemon, &id, None).await.rest().await;
    let late: Vec<TranscriptEntry> =
        late.iter().filter(|frame| frame.event == "entry").map(entry).collect();
    assert_eq!(self::words(&late), words);
}

#[tokio::test]
async fn a_page_has_a_cursor_a_tail_and_clear_words_for_what_it_cannot_give() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let task = json!({"id": "work", "adapter": "demo", "executionMode": "headless",
        "prompt": "say one; approve echo two; say three"});
    let id = daemon.stage(&[task]).await.id.to_string();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    let read = all(&daemon.client, &id).await;
    let query = TranscriptQuery { tail: Some(2), ..TranscriptQuery::default() };
    let tail = daemon.client.transcript(&id, "work", &query).await.unwrap();
    assert_eq!(tail.entries, read[read.len() - 2..]);
    let query = TranscriptQuery { after: Some(tail.next), ..TranscriptQuery::default() };
    let rest = daemon.client.transcript(&id, "work", &query).await.unwrap();
    assert_eq!((rest.entries.len(), rest.next, rest.live), (0, tail.next, false));
    let query = TranscriptQuery { limit: Some(20_000), ..TranscriptQuery::default() };
    let refused = daemon.client.transcript(&id, "work", &query).await;
    assert_eq!(code(refused), ProblemCode::BadRequest);
    let path = format!("/workflows/{id}/tasks/work/transcript");
    let request = daemon.raw("GET", &path).header("Accept", "text/event-stream");
    let response = request.header("Last-Event-ID", "x").send().await.unwrap();
    assert_eq!(problem(response).await.code, ProblemCode::BadRequest);
}

#[tokio::test]
async fn a_secret_of_the_caller_is_in_no_transcript_also_when_the_session_is_over() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let secret = "caller-s3cret-0001";
    let text = "name: tells\ndescription: Tells.\nsteps:\n  - {name: work, type: agent, adapter: \
        demo, mode: headless, permissions: all, prompt: 'approve cat secret.txt; say bye'}\n";
    std::fs::write(home.base().join("secret.txt"), secret).unwrap();
    let mut start = daemon.definition(text);
    let env = start.env.get_or_insert_default();
    env.insert("PATH".to_owned(), std::env::var("PATH").unwrap());
    env.insert("CALLER_TOKEN".to_owned(), secret.to_owned());
    let id = daemon.start(&start).await.id.to_string();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    let read = words(&all(&daemon.client, &id).await);
    assert!(read.contains("[redacted]") && !read.contains(secret), "{read}");
}
