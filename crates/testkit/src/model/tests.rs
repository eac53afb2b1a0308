//! The server as a client sees it, dialect by dialect.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;

const DEADLINE: Duration = Duration::from_mins(1);

fn connect(server: &ModelServer) -> TcpStream {
    let stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream
}

fn post(path: &str, body: &Value) -> String {
    let body = body.to_string();
    // An answer to this version comes without chunks and ends with the connection.
    format!("POST {path} HTTP/1.0\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// The whole answer to a request: its head and its body.
fn ask(server: &ModelServer, path: &str, body: &Value) -> (String, String) {
    let mut stream = connect(server);
    stream.write_all(post(path, body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

fn plain(server: &ModelServer, path: &str, body: &Value) -> Value {
    serde_json::from_str(&ask(server, path, body).1).unwrap()
}

fn events(server: &ModelServer, path: &str, body: &Value) -> Vec<Value> {
    let (head, body) = ask(server, path, body);
    assert!(head.contains("text/event-stream"), "{head}");
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn texts(events: &[Value], pointer: &str) -> String {
    events.iter().filter_map(|event| event.pointer(pointer)?.as_str()).collect()
}

fn messages(said: &str, stream: bool) -> Value {
    let properties = json!({"command": {"type": "string"}, "description": {"type": "string"}});
    json!({
        "model": "m", "stream": stream,
        "tools": [{"name": "Bash", "input_schema": {"properties": properties}}],
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "<system-reminder>play:slow</system-reminder>"},
            {"type": "text", "text": said},
        ]}],
    })
}

fn responses(said: &str) -> Value {
    let properties = json!({"cmd": {}, "sandbox_permissions": {}});
    json!({
        "model": "m", "stream": true,
        "tools": [{"type": "function", "name": "exec_command", "parameters": {"properties": properties}}],
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": said}]}],
    })
}

fn chat(said: &str, stream: bool) -> Value {
    let function = json!({"name": "bash", "parameters": {"properties": {"command": {}}}});
    json!({
        "model": "m", "stream": stream, "tools": [{"type": "function", "function": function}],
        "messages": [{"role": "user", "content": said}],
    })
}

fn gemini(said: &str) -> Value {
    let tool = json!({"name": "run_shell_command", "parametersJsonSchema": {"properties": {"command": {}}}});
    json!({
        "tools": [{"functionDeclarations": [tool]}],
        "contents": [{"role": "user", "parts": [{"text": said}]}],
    })
}

const STREAM: &str = "/v1beta/models/g:streamGenerateContent";

#[test]
fn every_dialect_says_the_answer_in_events_and_in_one_piece() {
    let server = ModelServer::start().unwrap();
    let answer = "This is the scripted answer. Nothing was changed.";
    let said = events(&server, "/v1/messages?beta=true", &messages("play:text", true));
    assert_eq!(texts(&said, "/delta/text"), answer);
    assert_eq!(said.last().unwrap()["type"], "message_stop");
    let said = plain(&server, "/v1/messages", &messages("play:text", false));
    assert_eq!(said["content"][0]["text"], answer);
    assert_eq!(said["stop_reason"], "end_turn");
    let said = events(&server, "/v1/responses", &responses("play:text"));
    assert_eq!(texts(&said, "/delta"), answer);
    assert_eq!(said.last().unwrap()["response"]["usage"]["total_tokens"], 1250);
    let said = events(&server, "/v1/chat/completions", &chat("play:text", true));
    assert_eq!(texts(&said, "/choices/0/delta/content"), answer);
    let said = plain(&server, "/v1/chat/completions", &chat("play:text", false));
    assert_eq!(said["choices"][0]["message"]["content"], answer);
    let said = events(&server, STREAM, &gemini("play:text"));
    assert_eq!(texts(&said, "/candidates/0/content/parts/0/text"), answer);
    let said = plain(&server, "/v1beta/models/g:generateContent", &gemini("play:text"));
    assert_eq!(said["candidates"][0]["content"]["parts"][0]["text"], answer);
}

#[test]
fn tools_are_called_by_the_names_and_arguments_they_have() {
    let server = ModelServer::start().unwrap();
    let said = plain(&server, "/v1/messages", &messages("play:shell", false));
    let call = &said["content"][1];
    assert_eq!((&call["name"], &call["input"]["command"]), (&json!("Bash"), &json!(PROBE)));
    assert_eq!(said["stop_reason"], "tool_use");
    let said = events(&server, "/v1/responses", &responses("play:ask"));
    let call = &said.last().unwrap()["response"]["output"][1];
    let arguments: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(call["name"], "exec_command");
    assert_eq!(arguments["sandbox_permissions"], "require_escalated");
    let said = events(&server, "/v1/responses", &responses("play:shell"));
    let call = &said.last().unwrap()["response"]["output"][1];
    assert!(!call["arguments"].as_str().unwrap().contains("escalated"));
    let said = events(&server, STREAM, &gemini("play:shell"));
    let call = |event: &Value| event.pointer("/candidates/0/content/parts/0/functionCall").cloned();
    assert_eq!(said.iter().find_map(call).unwrap()["args"]["command"], PROBE);
}

#[test]
fn two_calls_come_one_after_the_other_and_then_the_answer() {
    let server = ModelServer::start().unwrap();
    let mut body = chat("play:text earlier", false);
    let add = |body: &mut Value, message: Value| {
        body["messages"].as_array_mut().unwrap().push(message);
    };
    add(&mut body, json!({"role": "tool", "content": "of the turn before"}));
    add(&mut body, json!({"role": "user", "content": "now play:twice"}));
    for _ in 0..2 {
        let said = plain(&server, "/v1/chat/completions", &body);
        assert_eq!(said["choices"][0]["finish_reason"], "tool_calls", "{said}");
        add(&mut body, json!({"role": "tool", "content": "ran-abcdef"}));
    }
    let said = plain(&server, "/v1/chat/completions", &body);
    assert_eq!(said["choices"][0]["finish_reason"], "stop", "{said}");
    let last = server.exchanges().pop().unwrap();
    assert_eq!(last.scene, Some(ModelScene::Twice));
    assert_eq!(last.said, ["play:text earlier", "now play:twice"]);
    assert_eq!(last.results, ["ran-abcdef", "ran-abcdef"]);
}

#[test]
fn a_refused_call_is_not_tried_again() {
    let server = ModelServer::start().unwrap();
    let mut body = messages("play:twice", false);
    let result = json!({"type": "tool_result", "content": [{"type": "text", "text": "Rejected by the user"}]});
    body["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": [result]}));
    let said = plain(&server, "/v1/messages", &body);
    assert_eq!(said["stop_reason"], "end_turn", "{said}");
}

#[test]
fn errors_have_their_status_and_the_connection_goes_on() {
    let server = ModelServer::start().unwrap();
    let mut stream = connect(&server);
    let requests = post("/v1/responses", &responses("play:error"))
        + &post("/v1/messages", &messages("play:key", true))
        + &post("/v1/nothing", &json!({}))
        + "GET /v1/models HTTP/1.1\r\nconnection: close\r\n\r\n";
    let requests = requests.replace("HTTP/1.0", "HTTP/1.1");
    stream.write_all(requests.as_bytes()).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    let statuses: Vec<&str> = answers.split("HTTP/1.1 ").skip(1).collect();
    assert_eq!(statuses.len(), 4, "{answers}");
    for (status, wanted) in statuses.iter().zip(["400", "401", "404", "200"]) {
        assert!(status.starts_with(wanted), "{answers}");
    }
    assert!(answers.contains(MODEL));
}

#[test]
fn bodies_in_chunks_are_read_whole() {
    let server = ModelServer::start().unwrap();
    let body = chat("play:text", false).to_string();
    let (one, two) = body.split_at(20);
    let mut stream = connect(&server);
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\
         Connection: close\r\n\r\n\
         {:x}\r\n{one}\r\n{:x};x=y\r\n{two}\r\n0\r\n\r\n",
        one.len(),
        two.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("scripted answer"), "{answer}");
}

#[test]
fn a_slow_answer_ends_with_its_reader_and_all_end_with_the_server() {
    let server = ModelServer::start().unwrap();
    let begin = |server: &ModelServer| {
        let mut stream = connect(server);
        stream.write_all(post(STREAM, &gemini("play:slow")).as_bytes()).unwrap();
        let mut some = [0; 64];
        assert!(stream.read(&mut some).unwrap() > 0);
        stream
    };
    let gone = begin(&server);
    assert!(server.exchanges()[0].open);
    drop(gone);
    assert!(server.wait(DEADLINE, |all| !all[0].open), "nobody noticed that the reader left");
    let mut stays = begin(&server);
    drop(server);
    let mut rest = String::new();
    stays.read_to_string(&mut rest).unwrap();
    assert!(rest.len() < 64 * 1024);
}

#[test]
fn questions_of_the_program_itself_get_an_answer_that_fits() {
    let server = ModelServer::start().unwrap();
    let schema = json!({"type": "OBJECT", "properties": {
        "next_speaker": {"type": "STRING", "enum": ["model", "user"]}, "sure": {"type": "BOOLEAN"},
    }});
    let mut body = gemini("play:slow");
    body["generationConfig"] = json!({"responseJsonSchema": schema});
    let said = plain(&server, "/v1beta/models/g:generateContent", &body);
    let text = said["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(
        serde_json::from_str::<Value>(&text).unwrap(),
        json!({"next_speaker": "user", "sure": false})
    );
    let title = json!({"messages": [{"role": "user", "content": "a title for play:slow"}]});
    let said = plain(&server, "/v1/chat/completions", &title);
    assert_eq!(said["choices"][0]["message"]["content"], "Scripted title");
    assert_eq!(server.exchanges()[1].scene, None);
}
