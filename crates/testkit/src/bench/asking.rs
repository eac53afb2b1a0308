//! An agent to measure with: a shell script that floods its terminal and asks.

/// An agent that floods and asks. The question carries the time right before it is painted, which
/// bash knows without starting a process.
pub const AGENT: &str = r#"
printf '\033[?2004h'
for ((n = 1; n <= QUESTIONS; n++)); do
    lines=$((RANDOM % FLOOD))
    for ((i = 0; i < lines; i++)); do
        printf 'working on item %d of a long list that says nothing at all (esc to stop)\r\n' $i
    done
    read -rsn1 -t 0.$((RANDOM % 90 + 10)) key
    printf '\033[2J\033[HMay I do this?\r\nApprove %s [y/n] ' $EPOCHREALTIME
    read -rsn1 key
    printf '\033[2J\033[H%s' "$key"
done
"#;

/// The adapter of an agent that is a shell script, its prompt; it knows the questions of [`AGENT`].
pub const CONFIG: &str = r#"{
  "command": "bash",
  "modes": { "interactive": { "baseArgs": ["-c"], "promptPosition": "last" } },
  "states": {
    "interaction_approval": { "pattern": "Approve \\d+[.,]\\d+ \\[y/n\\]", "kind": "approval", "region": "tail:1", "begins": "^May I" },
    "execution_running": { "pattern": "esc to stop", "kind": "working", "region": "tail:2" }
  },
  "keys": { "approve": ["y"] }
}"#;
