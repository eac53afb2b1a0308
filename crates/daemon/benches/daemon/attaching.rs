//! From asking for a terminal to having its exact screen.

use std::io;
use std::time::Instant;

use coven_api::attach::AttachQuery;
use coven_api::client::FromTerminal;
use coven_api::task::AttemptQuery;

use crate::place::{Home, until};
use crate::{Plan, Times};

/// A full screen in many colours, then nothing.
const PAINTING: &str = r"
for ((i = 0; i < 400; i++)); do
    printf '\033[38;5;%dmline %d \033[1mbold\033[0m and \033[48;5;%dmcoloured\033[0m text to the end\r\n' $((i % 256)) $i $((i % 256))
done
printf 'painted'
read -r line
";

pub(crate) async fn measure(plan: &Plan) -> io::Result<Times> {
    let home = Home::new(None, "maxAgents: 100\n")?;
    let (daemon, _) = home.daemon().await?;
    let started = daemon.paint(plan.agents, PAINTING, &[]).await?;
    let id = started.id.as_str();
    for number in 0..plan.agents {
        let task = format!("p{number}");
        until("the screen is painted", async || {
            let screen = daemon.client.screen(id, &task, AttemptQuery::default()).await.ok()?;
            screen.lines.iter().any(|line| line.contains("painted")).then_some(())
        })
        .await?;
    }
    let mut times = Vec::new();
    for number in 0..plan.attaches {
        let task = format!("p{}", number % plan.agents);
        let begun = Instant::now();
        let query = AttachQuery { read_only: Some(true), ..AttachQuery::default() };
        let attached = daemon.client.attach(id, &task, query).await;
        let mut terminal = attached.map_err(io::Error::other)?;
        loop {
            match terminal.next().await.map_err(io::Error::other)? {
                Some(FromTerminal::Bytes(_)) => break,
                Some(FromTerminal::Said(_)) => {}
                None => return Err(io::Error::other("the terminal was closed")),
            }
        }
        times.push(begun.elapsed());
    }
    Ok(Times::new(times))
}
