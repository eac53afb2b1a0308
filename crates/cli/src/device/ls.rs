//! `coven device ls`.

use coven_api::device::{DeviceItem, DeviceKind};

use crate::connect;
use crate::failure::Result;
use crate::output;

pub(super) async fn run(json: bool) -> Result {
    let devices = connect::daemon().await?.devices().await?;
    if json {
        return output::as_json(&devices);
    }
    if devices.devices.is_empty() {
        output::say!("No device may use the daemon. `coven ui` signs a browser in.");
        return Ok(());
    }
    let heads = ["NAME", "ROLE", "KIND", "ADDED", "LAST USED", "CONNECTIONS"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(devices.devices.iter().map(row));
    output::write(&output::table(&rows, usize::MAX))
}

fn row(device: &DeviceItem) -> Vec<String> {
    let now = output::now();
    let kind = match device.kind {
        DeviceKind::Browser => "browser",
        DeviceKind::Program => "program",
    };
    vec![
        output::one_line(&device.name),
        device.role.as_str().to_owned(),
        kind.to_owned(),
        output::ago(device.created, now),
        device.last_used.map_or_else(|| "never".to_owned(), |last| output::ago(last, now)),
        device.connections.to_string(),
    ]
}
