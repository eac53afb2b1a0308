//! What other users of the machine can see of the way into the page: every user can read the
//! arguments of every process, the browser's among them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::until;
use crate::home::{Home, Said};

/// Writes down its arguments, one on each line.
const BROWSER: &str =
    "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$SEEN.new\"\nmv \"$SEEN.new\" \"$SEEN\"\n";

/// Runs `coven ui` with a browser that writes down its arguments; what it printed and wrote.
fn opened(home: &Home, name: &str, variable: Option<&str>) -> (Said, String) {
    let bin = home.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let (browser, seen) = (bin.join(name), home.path(&format!("seen-{name}")));
    fs::write(&browser, BROWSER).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = home.command(&["ui"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).env("SEEN", &seen);
    command.env("DISPLAY", ":99");
    if let Some(variable) = variable {
        command.env(variable, &browser);
    }
    let said = Said::of(&command.output().unwrap()).ok();
    until("the browser is started", || seen.exists());
    (said, fs::read_to_string(&seen).unwrap())
}

/// The code that an address ends with.
fn code(address: &str) -> &str {
    address.trim().split_once("#code=").unwrap().1
}

#[test]
fn the_code_that_signs_in_is_in_no_argument_of_the_browser() {
    for (name, variable) in [("xdg-open", None), ("my-browser", Some("BROWSER"))] {
        let home = Home::new();
        let (said, arguments) = opened(&home, name, variable);
        let code = code(&said.out);
        assert!(!arguments.contains("code="), "{arguments}");
        assert!(!arguments.contains(code.split('.').next().unwrap()), "{arguments}");
        // What it gets instead is a file that only its user can read, which leads to the page.
        let file = arguments.trim().strip_prefix("file://").unwrap_or(arguments.trim());
        let metadata = fs::metadata(file).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        assert!(fs::read_to_string(file).unwrap().contains(code));
    }
}
