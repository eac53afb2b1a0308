//! Questions on the smallest terminals, which may not show all that is asked.

use coven_runner::{AgentRunner, AgentTask, AnswerAction};
use coven_terminal::screen::GridSize;

use crate::support::{Home, question, scripted};

const RULES: &str = r#"
  "states": { "interaction_idle": { "pattern": "^IDLE>", "region": "cursor:1", "kind": "idle" } },
  "keys": { "submit": ["Enter"] }
"#;

/// Spec: C1.9.1
#[tokio::test]
async fn a_question_that_only_enter_answers_is_answered_by_an_empty_text_on_the_smallest_terminal()
{
    for words in ["Press Enter to continue ", "Press Enter to accept "] {
        let home = Home::new();
        let script = format!(
            "printf 'All is set.\\n\\n{words}'; read -r line; printf '<%s>' \"$line\" > heard; \
             printf 'IDLE> '; sleep 60"
        );
        let adapter = scripted(&home, RULES, &script);
        let name = format!("small-{}", home.path().display());
        let size = GridSize::new(20, 5);
        let task = AgentTask { size, ..AgentTask::interactive(name, None) };
        let runner = AgentRunner::start(adapter, task, &home.local()).unwrap();
        let mut events = runner.subscribe();
        let asked = question(&mut events).await;
        assert_eq!(asked.rule, "generic:press-key");
        assert!(asked.action.truncated && asked.action.entries.is_empty(), "{asked:?}");
        let is_told = asked.help.as_deref() == Some("An empty answer presses Enter.");
        assert_eq!(is_told, words.contains("continue"), "{asked:?}");
        runner.answer(asked.digest, AnswerAction::Text(String::new())).await.unwrap();
        let heard = std::fs::read_to_string(home.path().join("heard")).unwrap();
        assert_eq!(heard, "<>");
        runner.stop().await.unwrap();
    }
}
