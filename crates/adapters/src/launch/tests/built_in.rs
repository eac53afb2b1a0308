//! The command lines of the built-in adapters, for every mode and level.

use insta::assert_snapshot;

use super::*;

/// One line for each mode and level.
fn lines(kind: &str) -> String {
    let mut text = String::new();
    for request in [INTERACTIVE, HEADLESS] {
        for permission in std::iter::once(None).chain(PermissionLevel::ALL.map(Some)) {
            let level = permission.map_or("(default)", PermissionLevel::as_str);
            let request = LaunchRequest { permission, prompt: Some("P"), ..request.clone() };
            let said = match built_in(kind, &request) {
                Ok(launch) => {
                    let mut words = launch.env;
                    for variable in ["GEMINI_CLI_NO_RELAUNCH", "GEMINI_CLI_TRUST_WORKSPACE"] {
                        words.remove(variable);
                    }
                    let words = words.iter().map(|(key, value)| format!("{key}={value} "));
                    let typed = launch.typed_prompt.map_or("", |_| "  (P is typed)");
                    let words: String = words.collect();
                    format!("{words}{} {}{typed}", launch.command, launch.args.join(" "))
                }
                Err(error) => error.to_string(),
            };
            writeln!(text, "{:<11} {level:<9}  {said}", request.mode).ok();
        }
    }
    text
}

#[test]
fn the_command_lines_of_claude() {
    assert_snapshot!(lines("claude"), @r#"
    interactive (default)  claude --permission-mode manual P
    interactive read-only  claude --permission-mode dontAsk --disallowedTools Write,Edit,MultiEdit,NotebookEdit P
    interactive ask        claude --permission-mode manual P
    interactive edits      claude --permission-mode acceptEdits P
    interactive all        claude --permission-mode bypassPermissions --settings {"skipDangerousModePermissionPrompt":true} P
    headless (default)  claude -p --output-format stream-json --verbose --permission-mode bypassPermissions --settings {"skipDangerousModePermissionPrompt":true} P
    headless read-only  claude -p --output-format stream-json --verbose --permission-mode dontAsk --disallowedTools Write,Edit,MultiEdit,NotebookEdit P
    headless ask        claude -p --output-format stream-json --verbose --permission-mode manual P
    headless edits      claude -p --output-format stream-json --verbose --permission-mode acceptEdits P
    headless all        claude -p --output-format stream-json --verbose --permission-mode bypassPermissions --settings {"skipDangerousModePermissionPrompt":true} P
    "#);
}

#[test]
fn the_command_lines_of_codex() {
    assert_snapshot!(lines("codex"), @r"
    interactive (default)  codex --no-daemon -s read-only -a on-request P
    interactive read-only  codex --no-daemon -s read-only -a never P
    interactive ask        codex --no-daemon -s read-only -a on-request P
    interactive edits      codex --no-daemon -s workspace-write -a on-request P
    interactive all        codex --no-daemon --dangerously-bypass-approvals-and-sandbox P
    headless (default)  codex exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox P
    headless read-only  codex exec --json --skip-git-repo-check -s read-only P
    headless ask        codex exec --json --skip-git-repo-check -s read-only P
    headless edits      codex exec --json --skip-git-repo-check -s workspace-write P
    headless all        codex exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox P
    ");
}

#[test]
fn the_command_lines_of_gemini() {
    assert_snapshot!(lines("gemini"), @r"
    interactive (default)  gemini --approval-mode default -i P
    interactive read-only  gemini --approval-mode plan -i P
    interactive ask        gemini --approval-mode default -i P
    interactive edits      gemini --approval-mode auto_edit -i P
    interactive all        gemini --approval-mode yolo -i P
    headless (default)  gemini -o stream-json --approval-mode yolo P
    headless read-only  gemini -o stream-json --approval-mode plan P
    headless ask        gemini -o stream-json --approval-mode default P
    headless edits      gemini -o stream-json --approval-mode auto_edit P
    headless all        gemini -o stream-json --approval-mode yolo P
    ");
}

#[test]
fn the_command_lines_of_opencode() {
    assert_snapshot!(lines("opencode"), @r#"
    interactive (default)  OPENCODE_PERMISSION={"bash":"ask","edit":"ask"} opencode --prompt P
    interactive read-only  OPENCODE_PERMISSION={"bash":"deny","edit":"deny"} opencode --prompt P
    interactive ask        OPENCODE_PERMISSION={"bash":"ask","edit":"ask"} opencode --prompt P
    interactive edits      OPENCODE_PERMISSION={"bash":"ask","edit":"allow"} opencode --prompt P
    interactive all        opencode --auto --prompt P
    headless (default)  opencode run --format json --auto P
    headless read-only  OPENCODE_PERMISSION={"bash":"deny","edit":"deny"} opencode run --format json P
    headless ask        OPENCODE_PERMISSION={"bash":"ask","edit":"ask"} opencode run --format json P
    headless edits      OPENCODE_PERMISSION={"bash":"ask","edit":"allow"} opencode run --format json P
    headless all        opencode run --format json --auto P
    "#);
}

#[test]
fn the_command_lines_of_qwen() {
    assert_snapshot!(lines("qwen"), @r"
    interactive (default)  qwen --approval-mode default -i P
    interactive read-only  qwen --approval-mode plan -i P
    interactive ask        qwen --approval-mode default -i P
    interactive edits      qwen --approval-mode auto-edit -i P
    interactive all        qwen --approval-mode yolo -i P
    headless (default)  qwen -o stream-json --approval-mode yolo P
    headless read-only  qwen -o stream-json --approval-mode plan P
    headless ask        qwen -o stream-json --approval-mode default P
    headless edits      qwen -o stream-json --approval-mode auto-edit P
    headless all        qwen -o stream-json --approval-mode yolo P
    ");
}

#[test]
fn the_command_lines_of_copilot() {
    assert_snapshot!(lines("copilot"), @r"
    interactive (default)  copilot -i P
    interactive read-only  copilot --plan --deny-tool shell --deny-tool write -i P
    interactive ask        copilot -i P
    interactive edits      copilot --allow-tool write -i P
    interactive all        copilot --allow-all -i P
    headless (default)  copilot --output-format json --allow-all -p P
    headless read-only  copilot --output-format json --plan --deny-tool shell --deny-tool write -p P
    headless ask        copilot --output-format json -p P
    headless edits      copilot --output-format json --allow-tool write -p P
    headless all        copilot --output-format json --allow-all -p P
    ");
}

#[test]
fn the_command_lines_of_aider() {
    assert_snapshot!(lines("aider"), @r"
    interactive (default)  aider --no-check-update --no-show-release-notes  (P is typed)
    interactive read-only  aider --no-check-update --no-show-release-notes --dry-run  (P is typed)
    interactive ask        aider --no-check-update --no-show-release-notes  (P is typed)
    interactive edits      aider --no-check-update --no-show-release-notes --no-suggest-shell-commands  (P is typed)
    interactive all        aider --no-check-update --no-show-release-notes --yes-always  (P is typed)
    headless (default)  aider --no-check-update --no-show-release-notes --no-pretty --no-stream --yes-always --message P
    headless read-only  aider --no-check-update --no-show-release-notes --no-pretty --no-stream --dry-run --message P
    headless ask        aider --no-check-update --no-show-release-notes --no-pretty --no-stream --message P
    headless edits      aider --no-check-update --no-show-release-notes --no-pretty --no-stream --no-suggest-shell-commands --message P
    headless all        aider --no-check-update --no-show-release-notes --no-pretty --no-stream --yes-always --message P
    ");
}

#[test]
fn the_command_lines_of_the_shell_and_the_demo() {
    assert_snapshot!(lines("shell"), @r#"
    interactive (default)  sh -c for word do case $word in *=*) ;; *) exec env -- "$@" ;; esac; done; test -n "$SHELL" || SHELL=/bin/sh; exec env -- "$@" "$SHELL" shell P
    interactive read-only  the adapter `shell` does not say how to grant `read-only`; it knows: none
    interactive ask        the adapter `shell` does not say how to grant `ask`; it knows: none
    interactive edits      the adapter `shell` does not say how to grant `edits`; it knows: none
    interactive all        the adapter `shell` does not say how to grant `all`; it knows: none
    headless (default)  sh -c for word do case $word in *=*) ;; *) exec env -- "$@" ;; esac; done; echo 'no command was given: it is what stands in the arguments or the prompt' >&2; exit 2 shell P
    headless read-only  the adapter `shell` does not say how to grant `read-only`; it knows: none
    headless ask        the adapter `shell` does not say how to grant `ask`; it knows: none
    headless edits      the adapter `shell` does not say how to grant `edits`; it knows: none
    headless all        the adapter `shell` does not say how to grant `all`; it knows: none
    "#);
    assert_snapshot!(lines("demo"), @r"
    interactive (default)  coven demo-agent --permissions ask P
    interactive read-only  coven demo-agent --permissions read-only P
    interactive ask        coven demo-agent --permissions ask P
    interactive edits      coven demo-agent --permissions edits P
    interactive all        coven demo-agent --permissions all P
    headless (default)  coven demo-agent --headless --output-format stream-json --permissions all P
    headless read-only  coven demo-agent --headless --output-format stream-json --permissions read-only P
    headless ask        coven demo-agent --headless --output-format stream-json --permissions ask P
    headless edits      coven demo-agent --headless --output-format stream-json --permissions edits P
    headless all        coven demo-agent --headless --output-format stream-json --permissions all P
    ");
}
