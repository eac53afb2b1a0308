//! Whatever is done to sessions and to the cache, a list shows what is.

use std::collections::BTreeMap;
use std::fs;

use coven_model::{SessionId, Timestamp, WorkflowStatus};
use coven_store::retention::remove;
use coven_store::{Index, Session, SessionEntry};
use proptest::prelude::*;

use super::index::{session, view};
use super::{Base, FACT_TIME, id, said};

#[derive(Clone, Debug)]
enum Step {
    Create(u64),
    /// A session goes on, and the index in memory is told or not.
    Change {
        session: u64,
        status: WorkflowStatus,
        updated: u64,
        told: bool,
    },
    /// A fact is recorded and the process dies before the view is written.
    Crash(u64),
    Remove(u64),
    /// The index is loaded anew, and written or not.
    Reload {
        save: bool,
    },
    LoseCache,
    CutCache(usize),
    FlipCache(usize, u8),
}

fn status() -> impl Strategy<Value = WorkflowStatus> {
    prop_oneof![
        Just(WorkflowStatus::Running),
        Just(WorkflowStatus::Blocked),
        Just(WorkflowStatus::Completed)
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let number = 0..6_u64;
    prop_oneof![
        3 => number.clone().prop_map(Step::Create),
        4 => (number.clone(), status(), 0..1000_u64, any::<bool>()).prop_map(
            |(session, status, updated, told)| Step::Change { session, status, updated, told }
        ),
        1 => number.clone().prop_map(Step::Crash),
        1 => number.prop_map(Step::Remove),
        2 => any::<bool>().prop_map(|save| Step::Reload { save }),
        1 => Just(Step::LoseCache),
        1 => any::<usize>().prop_map(Step::CutCache),
        1 => (any::<usize>(), 0..8_u8).prop_map(|(at, bit)| Step::FlipCache(at, bit)),
    ]
}

/// What is known to be true, and the index that is to be kept in step.
struct World {
    base: Base,
    truth: BTreeMap<SessionId, (WorkflowStatus, u64, bool)>,
    index: Index,
}

impl World {
    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Create(number) => {
                if !self.truth.contains_key(&id(number)) {
                    session(&self.base, &id(number), "name");
                    self.truth.insert(id(number), (WorkflowStatus::Running, 6, true));
                }
            }
            Step::Change { session, status, updated, told } => {
                let Some(known) = self.truth.get_mut(&id(session)) else { return };
                *known = (status, updated, true);
                let mut open =
                    Session::open(&self.base.dir(), &self.base.authority(), &id(session)).unwrap();
                open.append(Timestamp::from_millis(updated), &[said("changed")]).unwrap();
                let view = view("name", "a goal", status);
                open.write_view(&view).unwrap();
                if told {
                    let entry = self.entry(&id(session));
                    self.index.set(entry, open.journal_bytes()).unwrap();
                }
            }
            Step::Crash(number) => {
                let Some(known) = self.truth.get_mut(&id(number)) else { return };
                known.2 = false;
                let mut open =
                    Session::open(&self.base.dir(), &self.base.authority(), &id(number)).unwrap();
                open.append(FACT_TIME, &[said("unseen")]).unwrap();
            }
            Step::Remove(number) => {
                if self.truth.remove(&id(number)).is_some() {
                    remove(&self.base.dir(), &self.base.authority(), &id(number)).unwrap();
                    self.index.remove(&id(number));
                }
            }
            Step::Reload { save } => {
                self.index = self.base.index();
                if save {
                    self.index.save().unwrap();
                }
            }
            Step::LoseCache => drop(fs::remove_file(self.cache())),
            Step::CutCache(len) => self.change_cache(|bytes| bytes.truncate(len % bytes.len())),
            Step::FlipCache(at, bit) => self.change_cache(|bytes| {
                let at = at % bytes.len();
                bytes[at] ^= 1 << bit;
            }),
        }
    }

    fn cache(&self) -> std::path::PathBuf {
        self.base.path().join("state/index.jsonl")
    }

    fn change_cache(&self, change: impl FnOnce(&mut Vec<u8>)) {
        if let Ok(mut bytes) = fs::read(self.cache())
            && !bytes.is_empty()
        {
            change(&mut bytes);
            fs::write(self.cache(), bytes).unwrap();
        }
    }

    fn entry(&self, id: &SessionId) -> SessionEntry {
        let (status, updated, fresh) = self.truth[id];
        SessionEntry {
            foreign: false,
            id: id.clone(),
            name: "name".to_owned(),
            grimoire: Some("build".to_owned()),
            cause: None,
            goal: Some("a goal".to_owned()),
            status,
            created_at: Timestamp::from_millis(5),
            updated_at: Timestamp::from_millis(updated),
            kept: false,
            base_dir: fs::canonicalize(self.base.path()).unwrap().into(),
            fresh,
            problem: None,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_list_shows_what_is_after_anything(steps in proptest::collection::vec(step(), 1..40)) {
        let base = Base::new();
        let index = base.index();
        let mut world = World { base, truth: BTreeMap::new(), index };
        for step in &steps {
            world.apply(step);
            let listed: Vec<SessionEntry> =
                world.base.index().entries().cloned().collect();
            let expected: Vec<SessionEntry> = world.truth.keys().map(|id| world.entry(id)).collect();
            prop_assert_eq!(listed, expected, "after {:?}", step);
        }
    }
}
