//! `coven daemon start`.

use coven_api::{ApiClient, DaemonAddress};
use serde_json::json;

use crate::connect::{self, DaemonStart};
use crate::failure::Result;
use crate::{folders, output};

pub(super) async fn run(as_json: bool) -> Result {
    if let Some((_, version)) = connect::running().await? {
        if as_json {
            return output::json(&json!({"pid": version.pid, "started": false}));
        }
        return output::line(&format!("the daemon runs already (process {})", version.pid));
    }
    let client = ApiClient::new(DaemonAddress::Socket(folders::places()?.socket()))?;
    let (start, version) = connect::start(&client).await?;
    if let Some(port) = client.status().await?.lost_port {
        output::say!("{}", connect::lost_port(port));
    }
    if as_json {
        let started = start == DaemonStart::Now;
        return output::json(&json!({"pid": version.pid, "started": started}));
    }
    output::line(&match start {
        DaemonStart::Now => format!("the daemon is started (process {})", version.pid),
        DaemonStart::Before => format!("the daemon runs already (process {})", version.pid),
    })
}
