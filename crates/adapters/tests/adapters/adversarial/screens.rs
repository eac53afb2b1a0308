//! The screens of the programs, as small as they can be and still true.

/// A rule over the whole width.
fn rule(columns: usize) -> String {
    "─".repeat(columns)
}

/// Claude with its prompt box. `above` is what stands over the box, `typed` what is in it.
pub(super) fn claude_box(columns: usize, above: &str, typed: &str, footer: &str) -> String {
    let rule = rule(columns);
    format!("❯ do it\n\n{above}\n\n{rule}\n❯ {typed}\n{rule}\n  ⏸ manual mode on{footer}")
}

pub(super) fn claude_idle(above: &str, typed: &str) -> String {
    claude_box(80, above, typed, "")
}

pub(super) fn claude_working(above: &str) -> String {
    let above = format!("{above}\n\n✻ Brewing… (4s · ↓ 24 tokens)");
    claude_box(80, &above, "", " · esc to interrupt · ← for agents")
}

/// Claude's question before a command. `selected` is the entry with the mark, from 1.
pub(super) fn claude_approval(columns: usize, command: &str, selected: usize) -> String {
    let entries = ["Yes", "Yes, and always allow access to /tmp/demo", "No"];
    let entries: Vec<String> = entries
        .iter()
        .enumerate()
        .map(|(index, entry)| {
            let mark = if index + 1 == selected { '❯' } else { ' ' };
            format!(" {mark} {}. {entry}", index + 1)
        })
        .collect();
    format!(
        "❯ do it\n\n● I will use a tool now.\n\n{}\n Bash command\n {command}\n Do you want to \
         proceed?\n{}\n\n Esc to cancel · Tab to amend",
        rule(columns),
        entries.join("\n")
    )
}

/// Codex with its prompt.
pub(super) fn codex(above: &str, typed: &str) -> String {
    format!("› do it\n\n\n{above}\n\n\n› {typed}\n\n  stub-model default · /tmp/demo\n\n")
}

/// Codex' question before a command.
pub(super) fn codex_approval(command: &str) -> String {
    format!(
        "› do it\n\n  Would you like to run the following command?\n\n  $ {command}\n\n› 1. Yes, \
         proceed (y)\n  2. Yes, and don't ask again for commands that start with `touch` (p)\n  3. \
         No, and tell Codex what to do differently (esc)\n\n  Press enter to confirm or esc to \
         cancel"
    )
}

/// Gemini with its prompt box.
pub(super) fn gemini(above: &str, typed: &str) -> String {
    let (top, bottom) = ("▄".repeat(80), "▀".repeat(80));
    let typed = if typed.is_empty() { "  Type your message or @path/to/file" } else { typed };
    format!(
        "✦ {above}\n{}\n Shift+Tab to accept edits\n\n{top}\n > {typed}\n{bottom}\n workspace \
         (/directory)   sandbox   /model\n /tmp/demo   no sandbox   Auto",
        rule(80)
    )
}

/// A line in a frame.
fn framed(columns: usize, line: &str) -> String {
    format!("│ {line:<width$} │", width = columns - 4)
}

/// Gemini's question before a command.
pub(super) fn gemini_approval(columns: usize, command: &str) -> String {
    let lines = [
        format!("? Shell  {command}"),
        "Allow execution of [Shell]?".to_owned(),
        String::new(),
        "● 1. Allow once".to_owned(),
        "  2. Allow for this session".to_owned(),
        "  3. No, suggest changes (esc)".to_owned(),
    ];
    let lines: Vec<String> = lines.iter().map(|line| framed(columns, line)).collect();
    let edge = "─".repeat(columns - 2);
    format!("✦ I will use a tool now.\n\n╭{edge}╮\n{}\n╰{edge}╯", lines.join("\n"))
}

/// opencode with its prompt box.
pub(super) fn opencode(above: &str, footer: &str) -> String {
    format!(
        "  ┃\n  ┃  do it\n  ┃\n\n{above}\n\n     ▣  Build · Stub Model\n\n  ┃\n  ┃\n  ┃\n  ┃  Build · \
         Stub Model\n  ╹{}\n{footer}",
        "▀".repeat(75)
    )
}

/// The last line of opencode at rest.
pub(super) const OPENCODE_IDLE: &str =
    "   /tmp/demo                                             1.3K  ctrl+p commands";

/// The last line of opencode at work.
pub(super) const OPENCODE_WORKING: &str =
    "   ⬝⬝⬝⬝⬝⬝⬝⬝  esc interrupt                               1.3K  ctrl+p commands";

/// opencode's question before a command.
pub(super) const OPENCODE_APPROVAL: &str = "
     I will use a tool now.

     ▣  Build · Stub Model

  ┃
  ┃  △ Permission required
  ┃    # Shell command
  ┃
  ┃  $ touch created.txt
  ┃
  ┃   Allow once   Allow always   Reject  ctrl+f fullscreen  ⇆ select  enter con
  ┃";

/// Qwen with its prompt box.
pub(super) fn qwen(above: &str) -> String {
    let rule = rule(80);
    format!(
        "  > do it\n\n  ◆ {above}\n\n{rule}\n>   Type your message or @path/to/file\n{rule}\n  ➜ demo · \
         stub-model\n  ⏸ Ask permissions (shift + tab to cycle)"
    )
}

/// Copilot with its prompt box.
pub(super) fn copilot(above: &str, footer: &str) -> String {
    format!(
        "  ❯ do it\n ● {above}\n\n /tmp/demo\n╻{}\n┃ \n╹{}\n {footer}\x1b[2A\x1b[3G",
        "▄".repeat(79),
        "▀".repeat(79)
    )
}

/// The last line of copilot at rest.
pub(super) const COPILOT_IDLE: &str =
    "← open sidebar · Interactive · Manual Approval · / commands            gpt-4.1";
