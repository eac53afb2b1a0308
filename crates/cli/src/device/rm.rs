//! `coven device rm`.

use crate::connect;
use crate::failure::Result;
use crate::output;

pub(super) async fn run(name: &str, as_json: bool) -> Result {
    connect::daemon().await?.remove_device(name).await?;
    if as_json {
        return output::json(&serde_json::json!({"name": name, "removed": true}));
    }
    output::line(&format!("{} is no device any more", output::one_line(name)))
}
