//! Many who follow: what each fact costs to tell to all, and whether they slow the run.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::Plan;
use crate::place::{DEADLINE, Daemon, Home};

/// What so many followers cost.
pub(crate) struct Measured {
    pub(crate) followers: usize,
    /// Facts of the run that they followed, and how long it took until the last had the last.
    pub(crate) facts: usize,
    pub(crate) live: Duration,
    /// CPU time of the daemon for it.
    pub(crate) live_cpu: Duration,
    /// The same facts once more, from the journal, all at once.
    pub(crate) replay: Duration,
    pub(crate) replay_cpu: Duration,
}

pub(crate) async fn measure(plan: &Plan) -> io::Result<Vec<Measured>> {
    let home = Home::new(None, "maxAgents: 4\n")?;
    let (daemon, _) = home.daemon().await?;
    let steps: String = (0..plan.steps)
        .map(|step| format!("  - {{name: s{step}, type: script, command: 'true'}}\n"))
        .collect();
    let text = format!("name: long\ndescription: Many steps.\nsteps:\n{steps}");
    let mut all = Vec::new();
    for followers in plan.followers {
        all.push(with(&daemon, *followers, &text).await?);
    }
    Ok(all)
}

async fn with(daemon: &Daemon<'_>, followers: usize, text: &str) -> io::Result<Measured> {
    let before = daemon.cpu()?;
    let ready = Arc::new(Barrier::new(followers + 1));
    let mut following = JoinSet::new();
    for _ in 0..followers {
        let stream = UnixStream::connect(daemon.home.socket()).await?;
        following.spawn(read(stream, "/events?live=false".to_owned(), Some(ready.clone())));
    }
    ready.wait().await;
    let begun = Instant::now();
    let started = daemon.start(text, &[]).await?;
    let counts = finish(following).await?;
    let live = begun.elapsed();
    let live_cpu = daemon.cpu()?.saturating_sub(before);
    daemon.ends(&started).await?;
    let facts = counts.first().copied().unwrap_or_default();
    if counts.iter().any(|count| *count != facts) {
        return Err(io::Error::other("not all followers were told the same"));
    }
    let before = daemon.cpu()?;
    let begun = Instant::now();
    let mut following = JoinSet::new();
    for _ in 0..followers {
        let stream = UnixStream::connect(daemon.home.socket()).await?;
        let path = format!("/workflows/{}/events?after=0&live=false", started.id);
        following.spawn(read(stream, path, None));
    }
    finish(following).await?;
    let replay = begun.elapsed();
    let replay_cpu = daemon.cpu()?.saturating_sub(before);
    Ok(Measured { followers, facts, live, live_cpu, replay, replay_cpu })
}

async fn finish(mut following: JoinSet<io::Result<usize>>) -> io::Result<Vec<usize>> {
    let mut counts = Vec::new();
    while let Some(count) = following.join_next().await {
        counts.push(count.map_err(io::Error::other)??);
    }
    Ok(counts)
}

/// Follows to the end of a run, and says how many facts were told. Does as little as can be done:
/// it runs on the same machine.
async fn read(
    mut stream: UnixStream,
    path: String,
    ready: Option<Arc<Barrier>>,
) -> io::Result<usize> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let (mut buffer, mut text) = (vec![0; 64 * 1024], Vec::new());
    let (mut facts, mut ready) = (0, ready);
    let reading = async {
        loop {
            let length = stream.read(&mut buffer).await?;
            if length == 0 {
                return Err(io::Error::other("the stream ended early"));
            }
            text.extend_from_slice(&buffer[..length]);
            let mut begun = 0;
            while let Some(end) = find(&text[begun..], b"\n\n") {
                let frame = &text[begun..begun + end];
                begun += end + 2;
                if find(frame, b"event: snapshot").is_some() {
                    if let Some(ready) = ready.take() {
                        ready.wait().await;
                    }
                } else if find(frame, b"\nid: ").is_some() {
                    facts += 1;
                }
                if find(frame, b"event: workflow.completed").is_some() {
                    return Ok(facts);
                }
            }
            text.drain(..begun);
        }
    };
    tokio::time::timeout(DEADLINE, reading).await.map_err(io::Error::other)?
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}
