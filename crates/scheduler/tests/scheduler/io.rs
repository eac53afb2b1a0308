//! What moves between a pane, its screen and its buffers.

use coven_runtime::domain::PaneStream;
use coven_runtime::mock::Script;
use coven_scheduler::command::CommandId;
use coven_scheduler::execution::{ExecutionId, TURN_LIMIT};
use coven_scheduler::slot::INPUT_LIMIT;
use coven_terminal::screen::GridSize;

use crate::stage::{Stage, line};

const FIRST: ExecutionId = ExecutionId(0);

/// Spec: RT.3, RT.7
#[test]
fn output_reaches_screen_and_buffer_however_it_is_cut() {
    let text = "grün \x1b[1mand\x1b[0m 漢字\r\nnext\x1b[5Gwill";
    for size in 1..text.len() {
        let mut stage = Stage::new(1);
        stage.play(0, Script::new().output(text).in_reads_of(size));
        let capture = stage.settle_one().capture.unwrap();
        assert_eq!(capture.output.text(), text);
        assert_eq!(capture.screen.unwrap().text(), "grün and 漢字\nnextwill");
        assert!(capture.complete);
    }
}

/// Spec: RT.3
#[test]
fn on_pipes_output_and_errors_are_kept_apart() {
    let mut stage = Stage::new(1);
    let script =
        Script::new().output("out 1\n").error("err 1\n").output("out 2\n").error("err 2\n");
    stage.queue(line(0).on_pipes(), script);
    let capture = stage.settle_one().capture.unwrap();
    assert_eq!(capture.output.text(), "out 1\nout 2\n");
    assert_eq!(capture.errors.text(), "err 1\nerr 2\n");
    assert_eq!(capture.screen, None);
}

#[test]
fn a_screen_shows_output_only() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().error("apart").output("shown"));
    let capture = stage.settle_one().capture.unwrap();
    assert_eq!(capture.screen.unwrap().text(), "shown");
    assert_eq!(capture.errors.text(), "apart");
}

/// Spec: RT.3
#[test]
fn a_turn_is_bounded_and_everybody_gets_one() {
    let mut stage = Stage::new(2);
    stage.play(0, Script::new().output(vec![b'x'; 3 * TURN_LIMIT]).hang());
    stage.play(1, Script::new().output("y").hang());
    stage.tick();
    let total = |stage: &Stage, id| {
        stage.runtime.slot(ExecutionId(id)).unwrap().output(PaneStream::Output).total()
    };
    for turn in 1..=3 {
        stage.tick();
        assert_eq!(total(&stage, 0), turn * TURN_LIMIT as u64);
        assert_eq!(total(&stage, 1), 1);
    }
}

/// Spec: RT.3
#[test]
fn memory_is_bounded_and_what_is_dropped_is_counted() {
    let mut stage = Stage::with(1, |mut config| {
        config.output_limit = 1000;
        config
    });
    let all: Vec<u8> = (0..5 * TURN_LIMIT).map(|byte| byte as u8).collect();
    stage.queue(line(0).on_pipes(), Script::new().output(&all));
    let output = stage.settle_one().capture.unwrap().output;
    assert_eq!(*output.bytes(), all[all.len() - 1000..]);
    assert_eq!(output.total(), all.len() as u64);
    assert_eq!(output.dropped(), all.len() as u64 - 1000);
}

/// Spec: RT.3
#[test]
fn what_was_printed_before_the_exit_is_read_after_it() {
    let mut stage = Stage::new(1);
    let all = vec![b'x'; 3 * TURN_LIMIT + 7];
    stage.play(0, Script::new().exit(0).output(&all).pause().output("end"));
    let done = stage.settle_one();
    let capture = done.capture.unwrap();
    assert_eq!(capture.output.total(), all.len() as u64 + 3);
    assert!(capture.complete);
}

#[test]
fn whoever_looks_after_each_tick_misses_nothing() {
    let mut stage = Stage::new(1);
    let all: Vec<u8> = (0..4 * TURN_LIMIT + 99).map(|byte| (byte / 7) as u8).collect();
    stage.queue(line(0).on_pipes(), Script::new().output(&all).in_reads_of(5000).hang());
    let mut seen = Vec::new();
    while seen.len() < all.len() {
        if stage.tick().active.contains(&FIRST) {
            let output = stage.runtime.slot(FIRST).unwrap().output(PaneStream::Output);
            let rest = output.since(seen.len() as u64);
            assert_eq!(rest.missed, 0);
            seen.extend_from_slice(&rest.bytes);
        }
    }
    assert_eq!(seen, all);
}

#[test]
fn questions_to_the_terminal_are_answered_at_once() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().output("ab\x1b[6n").hang());
    stage.tick();
    stage.tick();
    assert_eq!(stage.domain.played(0).unwrap().written, b"\x1b[1;3R");
}

#[test]
fn an_answer_that_was_begun_is_finished() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().output("\x1b[6n").hang().takes_input_of(2));
    for _ in 0..5 {
        stage.tick();
    }
    assert_eq!(stage.domain.played(0).unwrap().written, b"\x1b[1;1R");
}

#[test]
fn an_answer_that_would_come_late_is_not_given() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().pause().output("\x1b[6n").hang().takes_input_of(1));
    stage.tick();
    stage.runtime.send(FIRST, b"typed").unwrap();
    for _ in 0..9 {
        stage.tick();
    }
    assert_eq!(stage.domain.played(0).unwrap().written, b"typed");
}

#[test]
fn input_that_is_not_taken_waits_and_arrives_in_order() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().hang().takes_input_of(3));
    stage.tick();
    stage.runtime.send(FIRST, b"one ").unwrap();
    stage.runtime.send(FIRST, b"two").unwrap();
    stage.runtime.close_input(FIRST).unwrap();
    assert_eq!(stage.domain.played(0).unwrap().written, b"one");
    assert_eq!(stage.runtime.slot(FIRST).unwrap().unsent(), 4);
    assert!(!stage.domain.played(0).unwrap().input_closed);
    for _ in 0..3 {
        stage.tick();
    }
    let played = stage.domain.played(0).unwrap();
    assert_eq!(played.written, b"one two");
    assert!(played.input_closed, "after everything was written");
}

#[test]
fn input_for_a_program_that_never_reads_is_refused_in_the_end() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().hang().takes_input_of(0));
    stage.tick();
    let page = vec![b'x'; INPUT_LIMIT];
    stage.runtime.send(FIRST, &page).unwrap();
    let refused = stage.runtime.send(FIRST, b"y").unwrap_err();
    assert!(refused.to_string().contains("does not read its input"), "{refused}");
    assert_eq!(stage.runtime.slot(FIRST).unwrap().unsent(), INPUT_LIMIT);
    assert_eq!(stage.domain.played(0).unwrap().written, b"");
}

#[test]
fn a_new_size_reaches_pane_and_screen() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().hang());
    stage.tick();
    let size = GridSize::new(100, 30);
    stage.runtime.resize(FIRST, size).unwrap();
    assert_eq!(stage.domain.played(0).unwrap().sizes, [size]);
    assert_eq!(stage.runtime.screen(FIRST).unwrap().size(), size);
}

#[test]
fn nothing_can_be_sent_to_what_has_ended() {
    let mut stage = Stage::new(1);
    stage.play(0, Script::new().exit(0).pause().pause());
    stage.tick();
    stage.runtime.send(FIRST, b"too late, but nobody knows yet").unwrap();
    stage.settle();
    let error = stage.runtime.send(FIRST, b"x").unwrap_err();
    assert_eq!(error.to_string(), "execution 0 does not run");
    assert!(stage.runtime.cancel(CommandId(0)).is_err());
}
