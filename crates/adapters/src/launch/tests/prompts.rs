//! Prompts that are hard to hand over.

use super::*;

fn with_prompt(prompt: &str, folder: Option<&str>) -> Result<LaunchSpec, LaunchError> {
    let request = LaunchRequest { prompt: Some(prompt), prompt_folder: folder, ..HEADLESS };
    built_in("opencode", &request)
}

#[test]
fn a_prompt_that_begins_with_a_dash_is_no_option() {
    for kind in crate::builtin::types() {
        for request in [INTERACTIVE, HEADLESS] {
            let request = LaunchRequest { prompt: Some("--help me"), ..request };
            let launch = built_in(kind, &request).unwrap();
            if launch.typed_prompt.is_none() {
                assert_eq!(launch.args.last().unwrap(), " --help me", "{kind}");
            }
        }
    }
}

#[test]
fn an_empty_prompt_is_none() {
    for empty in ["", "  \n\t "] {
        let request = LaunchRequest { prompt: Some(empty), ..INTERACTIVE };
        let asks = ["--approval-mode", "default"];
        assert_eq!(args("gemini", &request), asks, "no `-i` without its value");
        let headless = LaunchRequest { prompt: Some(empty), ..HEADLESS };
        assert_eq!(built_in("gemini", &headless), Err(LaunchError::NoPrompt));
    }
    let none = LaunchRequest { prompt: None, ..HEADLESS };
    assert_eq!(built_in("claude", &none), Err(LaunchError::NoPrompt));
}

#[test]
fn a_prompt_of_many_lines_is_one_argument_as_it_is() {
    let prompt = "first line\n\n  second \"line\" with $HOME and `ls`\n\ttab\n";
    assert_eq!(with_prompt(prompt, None).unwrap().args.last().unwrap(), prompt);
}

#[test]
fn a_nul_byte_cannot_be_handed_over() {
    let error = with_prompt("a\0b", None).unwrap_err();
    assert_eq!(error.to_string(), "the prompt has a NUL byte in it, which no program can be given");
    let extra = ["a\0b".to_owned()];
    let error = built_in("claude", &LaunchRequest { extra_args: &extra, ..HEADLESS }).unwrap_err();
    assert_eq!(error, LaunchError::Nul("an argument"));
}

#[test]
fn a_prompt_that_just_fits_is_an_argument() {
    let prompt = "x".repeat(MAX_ARGUMENT_BYTES);
    let launch = with_prompt(&prompt, None).unwrap();
    assert_eq!(launch.args.last(), Some(&prompt));
    assert_eq!(launch.prompt_file, None);
}

#[test]
fn a_longer_prompt_goes_into_a_file_that_a_short_one_points_to() {
    let prompt = "x".repeat(MAX_ARGUMENT_BYTES + 1);
    let launch = with_prompt(&prompt, Some("/sessions/1/")).unwrap();
    assert_eq!(
        launch.args.last().unwrap(),
        "Read the file /sessions/1/prompt.md and do exactly what it says."
    );
    assert_eq!(launch.prompt_file, Some(("prompt.md".to_owned(), prompt)));
}

#[test]
fn a_longer_prompt_without_a_place_for_a_file_is_refused() {
    let error = with_prompt(&"x".repeat(200_000), None).unwrap_err();
    assert_eq!(error.to_string(), "the prompt has 200000 bytes; one argument can have 131071");
}

#[test]
fn a_prompt_that_fits_only_without_the_space_before_its_dash_goes_into_the_file_too() {
    let prompt = format!("-{}", "x".repeat(MAX_ARGUMENT_BYTES - 1));
    let launch = with_prompt(&prompt, Some("/s")).unwrap();
    assert!(launch.args.iter().all(|arg| arg.len() <= MAX_ARGUMENT_BYTES));
    assert!(launch.prompt_file.is_some());
}

#[test]
fn a_typed_prompt_may_be_longer_than_any_argument() {
    let prompt = "x".repeat(MAX_ARGUMENT_BYTES + 1);
    let launch =
        built_in("aider", &LaunchRequest { prompt: Some(&prompt), ..INTERACTIVE }).unwrap();
    assert_eq!(launch.typed_prompt, Some(prompt));
}

#[test]
fn an_argument_that_is_too_long_is_refused() {
    let extra = ["x".repeat(MAX_ARGUMENT_BYTES + 1)];
    let error = built_in("claude", &LaunchRequest { extra_args: &extra, ..HEADLESS }).unwrap_err();
    assert_eq!(error, LaunchError::TooLong { what: "an argument", bytes: MAX_ARGUMENT_BYTES + 1 });
}
