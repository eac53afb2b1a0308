//! Another program takes the daemon's port while the daemon is away, and a page is open.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::{home_with_port, signed_in};
use crate::support::until;

/// A listener that answers whatever it is asked, and remembers it.
struct Impostor {
    heard: Arc<Mutex<Vec<String>>>,
}

impl Impostor {
    fn on(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let record = heard.clone();
        // It goes with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let record = record.clone();
                std::thread::spawn(move || answer(stream, &record));
            }
        });
        Self { heard }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

/// Reads one request, writes it down and answers as if all were well.
fn answer(mut stream: TcpStream, record: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&lower);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok();
    record.lock().unwrap().push(format!("{head}\n{}", String::from_utf8_lossy(&body)));
    let body = "{}";
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .ok();
}

#[tokio::test]
async fn a_program_that_took_the_port_learns_nothing_from_the_open_page() {
    let home = home_with_port(16);
    let daemon = home.daemon().await;
    let browser = signed_in(&daemon).await;
    let address = daemon.address().await;
    daemon.kill();
    let impostor = Impostor::on(address);
    browser.sees("This is not your daemon").await;
    until("the page asked it often", || async { (impostor.heard().len() >= 4).then_some(()) })
        .await;
    for request in impostor.heard() {
        for word in ["authorization", "bearer", "coven_", "code", "signature", "publickey"] {
            assert!(!request.to_lowercase().contains(word), "{word}: {request}");
        }
        assert!(request.starts_with("post /sign-in/challenge"), "{request}");
    }
}

#[tokio::test]
async fn the_page_says_what_is_wrong_and_goes_on_once_the_daemon_is_back() {
    let home = home_with_port(16);
    let daemon = home.daemon().await;
    let browser = signed_in(&daemon).await;
    let address = daemon.address().await;
    daemon.kill();
    // Another daemon of another home is no less a stranger.
    let other = crate::support::Home::new();
    let config = format!("port: {}\n", address.port());
    std::fs::write(other.config().join("config.yaml"), config).unwrap();
    let stranger = other.daemon().await;
    browser.sees("This is not your daemon").await;
    assert!(stranger.client.devices().await.unwrap().devices.is_empty());
    stranger.kill();
    let _daemon = home.daemon().await;
    browser.sees("Connected").await;
}

#[tokio::test]
async fn a_new_tab_of_a_signed_in_browser_has_no_wall_and_one_that_was_removed_has() {
    let home = home_with_port(16);
    let daemon = home.daemon().await;
    let browser = signed_in(&daemon).await;
    let address = daemon.address().await;
    let first = browser.this_tab().await;
    browser.tab().await;
    browser.go(&format!("http://{address}/#/adapters")).await;
    browser.sees("Connected").await;
    // The key cannot be taken out of the browser.
    let kept = browser
        .js_later(
            "const open = indexedDB.open('coven'); await new Promise((done) => { open.onsuccess = done; });
             const get = open.result.transaction('device').objectStore('device').get('this browser');
             await new Promise((done) => { get.onsuccess = done; });
             const { privateKey } = get.result.keys;
             return [privateKey.extractable, await crypto.subtle.exportKey('pkcs8', privateKey).then(() => 'out', () => 'kept')];",
        )
        .await;
    assert_eq!(kept, serde_json::json!([false, "kept"]));
    let devices = daemon.client.devices().await.unwrap().devices;
    assert_eq!(devices.len(), 1, "{devices:?}");
    daemon.client.remove_device(&devices[0].name).await.unwrap();
    browser.sees("Sign in to Coven").await;
    browser.sees("was removed").await;
    browser.turn_to(&first).await;
    browser.sees("Sign in to Coven").await;
    // A code signs it in again.
    super::sign_in(&browser, &daemon).await;
}

#[tokio::test]
async fn the_file_of_coven_ui_leads_a_browser_to_the_page() {
    let home = home_with_port(16);
    let daemon = home.daemon().await;
    let make = coven_api::device::MakeSignInCode { redirect_file: true, ..Default::default() };
    let code = daemon.client.sign_in_code(&make).await.unwrap();
    let browser = super::Browser::open(1440, 900).await;
    browser.go(&format!("file://{}", code.file.unwrap())).await;
    browser.sees("Connected").await;
    browser.waits("the code is gone", "!location.href.includes('code')").await;
}
