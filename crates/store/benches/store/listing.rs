//! Listing many sessions: from the cache, and without one.

use std::fs;
use std::io;

use coven_store::{BaseDir, Index, Session, SessionEntry};
use serde_json::json;

use crate::{FACT_TIME, Plan, Took, authority, id, took};

pub(crate) struct Listing {
    pub(crate) cached: Took,
    /// With this many sessions that went on since the cache was written.
    pub(crate) changed: Took,
    pub(crate) uncached: Took,
    pub(crate) resolve: Took,
    /// Opening and reading the view of each, without taking it apart.
    pub(crate) views: Took,
}

/// How many sessions are under way when the cache is read.
pub(crate) const CHANGED_SESSIONS: usize = 50;

pub(crate) fn measure(plan: &Plan) -> io::Result<Listing> {
    // In memory where there is such a place: what counts is the listing, and making ten thousand
    // sessions durable takes minutes.
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    let base = BaseDir::create(directory.path()).map_err(io::Error::other)?;
    let mut sessions = Vec::new();
    for number in 0..plan.sessions {
        let mut session =
            Session::create(&base, &authority(&base), &id(number)?).map_err(io::Error::other)?;
        session.append(FACT_TIME, &[json!({"type": "x"})]).map_err(io::Error::other)?;
        let view = json!({
            "name": format!("brisk-otter-{number}"),
            "goal": "Find out why the tests fail on some machines, and mend it",
            "status": "completed", "createdAt": 1_700_000_000_000_u64,
            "history": vec!["something happened and was noted here"; 20],
        });
        session.write_view(&view).map_err(io::Error::other)?;
        if number < CHANGED_SESSIONS {
            sessions.push(session);
        }
    }
    let load = || {
        let index =
            Index::load(&base, &base.path().join("state"), |_| true).map_err(io::Error::other)?;
        assert_eq!(index.len(), plan.sessions, "not all are listed");
        Ok(index)
    };
    let views = took(plan.rounds, || {
        (0..plan.sessions).try_for_each(|number| {
            fs::read(base.session_path(&id(number)?).join("session.json")).map(drop)
        })
    })?;
    let uncached = took(plan.rounds, load)?;
    let mut index = load()?;
    let entries: Vec<SessionEntry> = index.entries().cloned().collect();
    for (number, entry) in entries.into_iter().enumerate() {
        let name = format!("brisk-otter-{number}");
        index.settle(SessionEntry { name, fresh: true, ..entry });
    }
    index.save().map_err(io::Error::other)?;
    let cached = took(plan.rounds, load)?;
    let index = load()?;
    let resolve = took(plan.rounds, || {
        index.resolve("brisk-otter-77").map(|entry| entry.id.clone()).map_err(io::Error::other)
    })?;
    for session in &mut sessions {
        session.append(FACT_TIME, &[json!({"type": "y"})]).map_err(io::Error::other)?;
    }
    let changed = took(plan.rounds, load)?;
    Ok(Listing { cached, changed, uncached, resolve, views })
}
