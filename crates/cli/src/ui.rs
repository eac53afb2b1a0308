//! `coven ui`: the page, signed in.

use std::env;
use std::process::Stdio;

use crate::connect::{self, block_on};
use crate::failure::Result;
use crate::output;

/// What `coven ui` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven ui             opens the page in a browser, or prints its address
  coven ui --print     only prints its address

The address carries a code that signs in once, within a minute.")]
pub(crate) struct Arguments {
    /// Only print the address.
    #[arg(short, long)]
    print: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        let client = connect::daemon().await?;
        let code = client.sign_in_code().await?;
        let display = env::var_os("DISPLAY").is_some() || env::var_os("WAYLAND_DISPLAY").is_some();
        if display && !arguments.print && open(&code.url).await {
            eprintln!("The page is open in your browser. Its address, good for a minute:");
        }
        output::line(&code.url)
    })
}

/// Whether a browser took it.
async fn open(url: &str) -> bool {
    let opened = tokio::process::Command::new("xdg-open")
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    opened.await.is_ok_and(|status| status.success())
}
