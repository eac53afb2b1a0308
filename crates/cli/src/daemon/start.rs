//! `coven daemon start`.

use coven_api::{Address, Client};

use crate::connect::{self, Start};
use crate::failure::Result;
use crate::{folders, output};

pub(super) async fn run() -> Result {
    if let Some((_, version)) = connect::running().await? {
        return output::line(&format!("the daemon runs already (process {})", version.pid));
    }
    let client = Client::new(Address::Socket(folders::places()?.socket()))?;
    let (start, version) = connect::start(&client).await?;
    output::line(&match start {
        Start::Now => format!("the daemon is started (process {})", version.pid),
        Start::Before => format!("the daemon runs already (process {})", version.pid),
    })
}
