//! `coven ui`: the page, signed in.

use std::env;
use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use coven_api::device::MakeSignInCode;
use serde_json::json;

use crate::connect::{self, block_on};
use crate::failure::Result;
use crate::output;

/// How long a browser may take to refuse; most hand the page to one that runs and end at once.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(3);

/// What `coven ui` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven ui             opens the page in a browser, or prints its address
  coven ui --print     only prints its address

The address carries a code that signs a browser in, once, within a minute. The browser is opened
with a file that only you can read, so that other users do not see the code among its arguments;
BROWSER names another browser. `coven device ls` lists the browsers that are signed in.")]
pub(crate) struct Arguments {
    /// Only print the address.
    #[arg(short, long)]
    print: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let display = env::var_os("DISPLAY").is_some() || env::var_os("WAYLAND_DISPLAY").is_some();
        let opens = display && !arguments.print;
        let make = MakeSignInCode { redirect_file: opens, ..MakeSignInCode::default() };
        let code = client.sign_in_code(&make).await?;
        if let Some(port) = code.lost_port {
            output::say!("{}", connect::lost_port(port));
        }
        let opened = match &code.file {
            Some(file) => open(file).await,
            None => false,
        };
        if arguments.json {
            return output::json(&json!({"url": code.url, "opened": opened}));
        }
        if opened {
            output::say!("The page is open in your browser. Its address, good for a minute:");
        }
        output::line(&code.url)
    })
}

/// Whether a browser took a file: those that `BROWSER` names, or the desktop's.
async fn open(file: &str) -> bool {
    let named = env::var("BROWSER").unwrap_or_default();
    let named = named.split(':').filter(|browser| !browser.trim().is_empty()).map(OsString::from);
    for browser in named.chain([OsString::from("xdg-open")]) {
        let started = tokio::process::Command::new(browser)
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut started) = started else { continue };
        match tokio::time::timeout(BROWSER_TIMEOUT, started.wait()).await {
            // A browser that goes on running has the page.
            Err(_) => return true,
            Ok(Ok(status)) if status.success() => return true,
            Ok(_) => {}
        }
    }
    false
}
