//! `coven device`.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::home::Home;

/// What the daemon answers over TCP to a request with a token.
fn status(home: &Home, path: &str, token: &str) -> String {
    let status = home.coven(&["daemon", "status", "--json"]).ok().json();
    let address = status["address"].as_str().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_program_gets_a_token_once_is_listed_and_ends_when_it_is_removed() {
    let home = Home::new();
    assert!(home.coven(&["device", "ls"]).ok().err.contains("coven ui"));
    let added = home.coven(&["device", "add", "ci", "--role", "look", "--token"]).ok();
    let token = added.out.trim();
    assert!(token.starts_with("coven_") && added.err.contains("shown only now"), "{added:?}");
    assert_eq!(status(&home, "/status", token), "200");
    let listed = home.coven(&["device", "ls", "--json"]).ok();
    let device = &listed.json()["devices"][0];
    assert_eq!((&device["name"], &device["role"]), (&"ci".into(), &"look".into()));
    assert!(!listed.out.contains(token));
    let table = home.coven(&["device", "ls"]).ok().out;
    assert!(table.contains("ci") && table.contains("look") && table.contains("program"), "{table}");
    let again = home.coven(&["device", "add", "ci", "--token"]).code(1);
    assert!(again.err.contains("already") && again.err.contains("coven device rm"), "{again:?}");
    home.coven(&["device", "rm", "ci"]).ok();
    assert_eq!(status(&home, "/status", token), "401");
    let gone = home.coven(&["device", "rm", "ci"]).code(1);
    assert!(gone.err.contains("no device named `ci`"), "{gone:?}");
}

#[test]
fn a_browser_gets_an_address_and_a_wrong_name_or_role_is_told() {
    let home = Home::new();
    let added = home.coven(&["device", "add", "tablet", "--role", "answer"]).ok();
    assert!(
        added.out.starts_with("http://127.0.0.1:") && added.out.contains("#code="),
        "{added:?}"
    );
    assert!(added.err.contains("tablet"), "{added:?}");
    home.coven(&["device", "add", "tablet", "--role", "king"]).code(2);
    let wrong = home.coven(&["device", "add", "two words", "--token"]).code(2);
    assert!(wrong.err.contains("letters, digits"), "{wrong:?}");
}
