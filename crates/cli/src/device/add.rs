//! `coven device add`.

use coven_api::device::{AddDevice, DeviceRole, MakeSignInCode};

use crate::connect;
use crate::failure::Result;
use crate::output;

pub(super) async fn run(name: &str, role: DeviceRole, token: bool, as_json: bool) -> Result {
    let client = connect::daemon().await?;
    if token {
        let add = AddDevice { name: name.to_owned(), role };
        let added = client.add_device(&add).await?;
        if as_json {
            return output::as_json(&added);
        }
        let address = client.status().await?.address.unwrap_or_else(|| "none".to_owned());
        output::say!(
            "A program that sends `Authorization: Bearer TOKEN` to {address} is the device {name}. \
             The token is shown only now:"
        );
        return output::line(&added.token);
    }
    let make =
        MakeSignInCode { name: Some(name.to_owned()), role: Some(role), redirect_file: false };
    let code = client.sign_in_code(&make).await?;
    if as_json {
        return output::as_json(&code);
    }
    output::say!("The browser that opens this within a minute is the device {name}:");
    output::line(&code.url)
}
