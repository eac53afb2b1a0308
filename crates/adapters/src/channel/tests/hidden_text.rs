//! Requests with characters that a terminal would swallow: people read all of what is asked.

use super::*;
use crate::view::TranscriptView;

const HIDDEN: [(&str, &str); 5] = [
    ("echo hi \u{1b}]0;touch A;\u{7} # end", "echo hi ␛]0;touch A;␇ # end"),
    ("echo hi \u{1b}Pq;touch A;\u{1b}\\ # end", "echo hi ␛Pq;touch A;␛\\ # end"),
    ("echo hi \u{1b}]0; touch A", "echo hi ␛]0; touch A"),
    ("echo \u{1b}_a\u{1b}\\\u{1b}^b\u{1b}\\\u{1b}Xc\u{1b}\\", "echo ␛_a␛\\␛^b␛\\␛Xc␛\\"),
    ("echo \u{9d}0;touch A\u{9c} \u{202e}x\u{8}", "echo \u{fffd}0;touch A\u{fffd} \u{fffd}x␈"),
];

#[test]
fn nothing_of_what_is_asked_is_left_out_of_the_question_or_the_transcript() {
    for kind in ChannelKind::ALL {
        for (command, shown) in HIDDEN {
            let mut codec = working(kind);
            printed(&mut codec, &permission(kind, 1, command));
            let question = codec.open().next().unwrap();
            assert_eq!(question.command.as_deref(), Some(command), "what rules read is exact");
            assert_eq!(question.text, shown, "{kind}");
            let mut texts = Vec::new();
            let line = json_rpc::json_line(&permission(kind, 1, command));
            let mut view = TranscriptView::channel(working(kind));
            view.printed(&line, &mut |part| texts.push(part.text));
            assert!(texts.iter().any(|text| text == shown), "{kind}: {texts:?}");
            assert!(!texts.concat().contains('\u{1b}'), "{kind}: {texts:?}");
        }
    }
}
