//! `coven device rm`.

use crate::connect;
use crate::failure::Result;
use crate::output;

pub(super) async fn run(name: &str) -> Result {
    connect::daemon().await?.remove_device(name).await?;
    output::line(&format!("{} is no device any more", output::one_line(name)))
}
