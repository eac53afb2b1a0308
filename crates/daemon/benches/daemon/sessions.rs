//! A folder with ten thousand sessions: starting, and listing them.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use coven_api::workflow::ListQuery;
use coven_model::SessionId;
use coven_model::event::SessionEvent;
use coven_store::session::ReadOnlySession;
use coven_store::{AuthorityPlaces, BaseDir, Session, SessionAuthority};
use serde_json::Value;

use crate::place::{Daemon, Home, until};
use crate::{Plan, Times};

/// How often the list is asked for.
const LIST_REQUESTS: usize = 50;

/// A run that is copied.
const RUN: &str = "
name: small
description: A small run.
steps:
  - {name: one, type: script, command: echo one}
  - {name: two, type: script, command: echo two}
";

pub(crate) struct Measured {
    /// From starting the program to its first answer.
    pub(crate) answers: Duration,
    /// And to the first list with everything in it.
    pub(crate) knows: Duration,
    /// A page of a hundred, and one of a thousand.
    pub(crate) list: Times,
    pub(crate) long_list: Times,
}

pub(crate) async fn measure(plan: &Plan) -> io::Result<Measured> {
    // In memory where there is such a place: making so many sessions durable takes minutes.
    let memory = Path::new("/dev/shm");
    let below = memory.is_dir().then_some(memory);
    let config = format!("retention: {{keep: {}}}\n", 2 * plan.sessions);
    let home = Home::new(below, &config)?;
    let (daemon, _) = home.daemon().await?;
    let started = daemon.start(RUN, &[]).await?;
    daemon.ends(&started).await?;
    drop(daemon);
    copy(&home, &started.id, plan.sessions - 1)?;
    // Once, so that what is remembered between two starts is there.
    let (daemon, _) = home.daemon().await?;
    list(&daemon, plan, 1).await?;
    drop(daemon);
    let begun = Instant::now();
    let (daemon, answers) = home.daemon().await?;
    list(&daemon, plan, 1).await?;
    let knows = begun.elapsed();
    let (mut times, mut long_times) = (Vec::new(), Vec::new());
    for _ in 0..LIST_REQUESTS {
        times.push(list(&daemon, plan, 100).await?);
        long_times.push(list(&daemon, plan, 1000).await?);
    }
    let (list, long_list) = (Times::new(times), Times::new(long_times));
    Ok(Measured { answers, knows, list, long_list })
}

async fn list(daemon: &Daemon<'_>, plan: &Plan, limit: u32) -> io::Result<Duration> {
    let query = ListQuery { limit: Some(limit), ..ListQuery::default() };
    let mut took = Duration::ZERO;
    until("everything is listed", async || {
        let begun = Instant::now();
        let page = daemon.client.workflows(&query).await.ok()?;
        took = begun.elapsed();
        (page.total >= plan.sessions as u64).then_some(())
    })
    .await?;
    Ok(took)
}

/// Makes sessions like one that was run, each with an id and a name of its own.
fn copy(home: &Home, id: &SessionId, count: usize) -> io::Result<()> {
    let base = BaseDir::find(&home.base()).map_err(io::Error::other)?;
    let base = base.ok_or_else(|| io::Error::other("there are no sessions"))?;
    let state = home.path().join("state/coven");
    let authority = SessionAuthority::open(&AuthorityPlaces::in_state(&state));
    let authority = authority.map_err(io::Error::other)?;
    let look = ReadOnlySession::open(&base, &authority, id).map_err(io::Error::other)?;
    let mut reader = look.reader().map_err(io::Error::other)?;
    let records = reader.read_all::<SessionEvent>(1).map_err(io::Error::other)?;
    let view = look.view().map_err(io::Error::other)?.unwrap_or_default();
    let mut view: Value = serde_json::from_slice(&view)?;
    // Who writes a view adds these.
    for own in ["version", "upTo", "updatedAt"] {
        view.as_object_mut().and_then(|view| view.remove(own));
    }
    for number in 0..count {
        let text = format!("01890a5d-ac96-774b-bcce-{number:012x}");
        let id = SessionId::new(text).map_err(io::Error::other)?;
        let name = format!("brisk-otter-{number}");
        let mut session = Session::create(&base, &authority, &id).map_err(io::Error::other)?;
        for record in &records {
            let mut fact = record.fact.clone();
            if let SessionEvent::SessionCreated(created) = &mut fact {
                created.session = id.clone();
                created.name.clone_from(&name);
            }
            session.append(record.time, &[fact]).map_err(io::Error::other)?;
        }
        view["sessionId"] = id.as_str().into();
        view["name"] = name.into();
        session.write_view(&view).map_err(io::Error::other)?;
    }
    Ok(())
}
