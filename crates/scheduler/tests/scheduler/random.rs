//! Random walks through whole flows: whatever is asked in whatever order, every promise holds
//! after each step, every command ends once, and nothing is left over.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;
use std::io;
use std::time::Duration;

use coven_runtime::domain::SpawnError;
use coven_runtime::mock::Script;
use coven_scheduler::approval::ApprovalId;
use coven_scheduler::command::CommandId;
use coven_scheduler::execution::{ExecutionFailure, ExecutionOutcome};
use coven_scheduler::invariants;
use coven_scheduler::scheduler::Completion;
use coven_testkit::random::Random;

use crate::stage::{GRACE, Stage, line};

const COMMANDS: u64 = 12;

struct Walk {
    random: Random,
    stage: Stage,
    queued: u64,
    ended: BTreeMap<u64, ExecutionOutcome>,
    log: String,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let stage = Stage::with(1 + random.below(3), |mut config| {
            config.slots = Some(1 + random.below(3));
            config
        });
        Self { random, stage, queued: 0, ended: BTreeMap::new(), log: String::new() }
    }

    fn script(&mut self) -> Script {
        let mut script = Script::new();
        for _ in 0..self.random.below(4) {
            script = match self.random.below(3) {
                0 => script.pause(),
                _ => script.output(vec![b'x'; self.random.below(40_000)]),
            };
        }
        match self.random.below(8) {
            0 => script.exit(1),
            1 => script.vanish().output("left"),
            2 => script.hang(),
            3 => script.hang().ignore_polite_stop().survive_force(self.random.below(3)),
            4 => script.read_error(io::ErrorKind::Other, "broken"),
            5 => script.exit(0).output("left").pause().output("over"),
            6 => script.exit(0).hang(),
            _ => script,
        }
    }

    fn queue(&mut self) {
        let id = self.queued;
        self.queued += 1;
        let script = self.script();
        let mut command = line(id);
        for other in 0..id {
            if self.random.below(6) == 0 {
                command.dependencies.push(CommandId(other));
            }
        }
        if self.random.below(3) == 0 {
            let timeout = (self.random.below(2) == 0).then_some(GRACE);
            command = command.needing_approval(timeout);
        }
        if self.random.below(10) == 0 {
            self.stage.domain.next_fails(SpawnError::Refused("not today".to_owned()));
        }
        self.stage.queue(command, script);
    }

    fn step(&mut self) {
        let some = CommandId(self.random.below(COMMANDS as usize) as u64);
        match self.random.below(10) {
            0 | 1 if self.queued < COMMANDS => self.queue(),
            2 => drop(self.stage.runtime.cancel(some)),
            3 => {
                let question = ApprovalId(some.0);
                drop(self.stage.runtime.approve(question, "ada", "yes"));
            }
            4 if self.random.below(3) == 0 => {
                drop(self.stage.runtime.reject(ApprovalId(some.0), "ada", "no"));
            }
            5 => self.stage.pass(GRACE / (1 + self.random.below(4) as u32)),
            _ => self.tick(),
        }
        invariants::check(self.stage.runtime.board()).unwrap();
    }

    fn tick(&mut self) {
        let result = self.stage.tick();
        writeln!(self.log, "{:?} {:?}", result.assignments, result.executions_started).unwrap();
        for Completion { command, outcome, .. } in result.completions {
            writeln!(self.log, "{command} {outcome}").unwrap();
            let twice = self.ended.insert(command.0, outcome);
            assert_eq!(twice, None, "{command} ended twice");
        }
    }

    /// Brings everything to its end.
    fn finish(&mut self) {
        while self.queued < COMMANDS {
            self.queue();
        }
        for _ in 0..200 {
            let open: Vec<_> = self.stage.runtime.board().unfinished().collect();
            if open.is_empty() {
                return;
            }
            for command in open {
                self.stage.runtime.cancel(command).ok();
            }
            self.stage.pass(GRACE + Duration::from_secs(1));
            self.tick();
        }
        panic!("it does not end: {:#?}", self.stage.runtime.board());
    }
}

fn walk(seed: u64) -> Walk {
    let mut walk = Walk::new(seed);
    for _ in 0..150 {
        walk.step();
    }
    walk.finish();
    walk.tick();
    walk
}

/// Whether a command that ended like this was ever started, where that tells.
fn has_run(outcome: &ExecutionOutcome) -> Option<bool> {
    match outcome {
        ExecutionOutcome::Failed(
            ExecutionFailure::Spawn { .. } | ExecutionFailure::Dependency { .. },
        )
        | ExecutionOutcome::Rejected(_) => Some(false),
        ExecutionOutcome::Succeeded | ExecutionOutcome::Failed(_) => Some(true),
        // Not started, or the process vanished and took its exit status along.
        ExecutionOutcome::Cancelled { exit } => exit.map(|_| true),
    }
}

/// Spec: RT.7, RT.9
#[test]
fn whatever_happens_every_command_ends_once_and_nothing_is_left_over() {
    let mut seen = HashSet::new();
    for seed in 0..100 {
        let walk = walk(seed);
        assert_eq!(walk.ended.len() as u64, COMMANDS, "seed {seed}");
        assert!(walk.stage.is_idle(), "seed {seed}");
        let started = walk.stage.domain.spawned();
        let lines: BTreeSet<_> = started.iter().map(|config| config.argv[2].clone()).collect();
        assert_eq!(lines.len(), started.len(), "seed {seed}: nothing is started twice");
        for (id, outcome) in &walk.ended {
            let ran = lines.contains(std::ffi::OsStr::new(&format!("run {id}")));
            let expected = has_run(outcome).unwrap_or(ran);
            assert_eq!(ran, expected, "seed {seed}: command {id} {outcome}");
            seen.insert(std::mem::discriminant(outcome));
        }
        let panes = (0..started.len()).map(|index| walk.stage.domain.played(index).unwrap());
        assert!(panes.into_iter().all(|played| played.dropped), "seed {seed}: a pane is left");
    }
    assert_eq!(seen.len(), 4, "all kinds of ends were seen");
}

#[test]
fn the_same_happens_every_time() {
    for seed in 0..20 {
        assert_eq!(walk(seed).log, walk(seed).log, "seed {seed}");
    }
}
