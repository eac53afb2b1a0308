//! Commands that run already when they come to the board, because an earlier process started them.

use std::collections::BTreeSet;

use super::{BegunExecution, Board, CommandState};
use crate::agent::AgentId;
use crate::command::{Capability, CommandId};
use crate::execution::{Execution, ExecutionState};
use crate::scheduler::{IllegalTransition, Rule};

impl Board {
    /// Takes up a command whose process runs already: it is executing from here on, in a free slot
    /// or, if there is none, in one beyond the limit that is there until it ends. Refusing would not
    /// make its process go away. While more run than there are slots, no command begins.
    ///
    /// Its agent is the one that has it, or an idle one, or one that is hired for it and leaves
    /// with it. It must be approved and what it depends on must have succeeded, as for any other.
    pub fn adopt(&mut self, command: CommandId) -> Result<BegunExecution, IllegalTransition> {
        self.transition(|board| {
            let rules = board.rules;
            let entry =
                board.commands.get(&command).ok_or(IllegalTransition::NoSuchCommand(command))?;
            let (unapproved, assigned) = match entry.state {
                CommandState::AwaitingApproval => (true, None),
                CommandState::Queued => (false, None),
                CommandState::Assigned { agent } => (false, Some(agent)),
                CommandState::Executing { .. } | CommandState::Ended { .. } => {
                    return Err(IllegalTransition::AlreadyBegun(command));
                }
            };
            rules.require(
                Rule::ApprovedFirst,
                !unapproved,
                IllegalTransition::NotApproved(command),
            )?;
            board.require_dependencies(command)?;
            let (place, capabilities) = (entry.place, entry.capabilities.clone());

            board.waiting.remove(&place);
            let agent = assigned.or_else(|| board.idle_agent(&capabilities));
            let agent = agent.unwrap_or_else(|| board.insert_agent(capabilities, true));
            let slot = board.unused_slot();
            let state = ExecutionState::Running;
            board.execute(Execution { command, agent, slot, state, adopted: true })
        })
    }

    fn idle_agent(&self, capabilities: &BTreeSet<Capability>) -> Option<AgentId> {
        let mut agents = self.agents.iter();
        let found = agents.find(|(_, agent)| agent.is_idle() && agent.can_all(capabilities));
        found.map(|(id, _)| *id)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use coven_runtime::domain::ExitStatus;

    use super::super::{Board, BoardLimits, CommandState, CommandTicket};
    use crate::clock::Moment;
    use crate::command::{Capability, CommandId, Permission};
    use crate::execution::ExecutionId;
    use crate::scheduler::IllegalTransition;

    const NOW: Moment = Moment::BEGINNING;

    /// A board with one slot, one agent and as many queued commands.
    fn board(commands: u64) -> Board {
        let grace = Duration::from_secs(1);
        let limits =
            BoardLimits { agents: 1, slots: 1, queue: None, stop_grace: grace, drain_grace: grace };
        let mut board = Board::new(limits);
        board.add_agent(&[Capability::Shell]).unwrap();
        for id in (0..commands).map(CommandId) {
            let approval = Permission::Granted { by: "a".to_owned(), reason: "b".to_owned() };
            let capabilities = [Capability::Shell].into();
            let ticket = CommandTicket { id, capabilities, dependencies: Vec::new(), approval };
            board.queue(&ticket, NOW).unwrap();
        }
        board
    }

    fn begin_next(board: &mut Board) -> Result<ExecutionId, IllegalTransition> {
        if let Some(assignment) = board.next_assignment() {
            board.assign(assignment)?;
        }
        let command = board.assigned()[0];
        let begun = board.begin(command)?;
        board.started(begun.execution, NOW)?;
        Ok(begun.execution)
    }

    fn end(board: &mut Board, execution: ExecutionId) {
        board.exited(execution, Some(ExitStatus::Code(0)), NOW).unwrap();
        board.drained(execution, NOW).unwrap();
    }

    #[test]
    fn a_command_that_runs_already_gets_a_free_slot_like_any_other() {
        let mut board = board(2);
        let begun = board.adopt(CommandId(1)).unwrap();
        assert_eq!((board.free_slots(), begun.slot.0), (0, 0));
        assert!(board.execution(begun.execution).unwrap().adopted());
        assert!(board.adopt(CommandId(1)).is_err(), "it is taken up once");
        end(&mut board, begun.execution);
        assert_eq!(board.agents.len(), 1);
        begin_next(&mut board).unwrap();
    }

    /// Spec: RT.9
    #[test]
    fn while_more_run_than_there_are_slots_no_command_begins() {
        let mut board = board(4);
        let first = begin_next(&mut board).unwrap();
        let (second, third) =
            (board.adopt(CommandId(1)).unwrap(), board.adopt(CommandId(2)).unwrap());
        assert_eq!((second.slot.0, third.slot.0, board.live().count()), (1, 2, 3));
        // The slot within the limit is free, and two still run beyond it.
        end(&mut board, first);
        assert_eq!(board.free_slots(), 0);
        let refused = begin_next(&mut board);
        assert_eq!(refused, Err(IllegalTransition::NoTerminalsAvailable(1)));
        end(&mut board, second.execution);
        assert_eq!(board.begin(CommandId(3)), Err(IllegalTransition::NoTerminalsAvailable(1)));
        end(&mut board, third.execution);
        assert_eq!((board.slots.len(), board.agents.len()), (1, 1), "what was added is gone");
        assert!(board.begin(CommandId(3)).is_ok());
    }

    #[test]
    fn a_command_that_waits_for_its_slot_can_turn_out_to_run() {
        let mut board = board(2);
        let first = begin_next(&mut board).unwrap();
        end(&mut board, first);
        let assignment = board.next_assignment().unwrap();
        board.assign(assignment).unwrap();
        let begun = board.adopt(CommandId(1)).unwrap();
        let state = board.command(CommandId(1)).unwrap().state();
        assert_eq!(state, &CommandState::Executing { execution: begun.execution });
        assert_eq!(board.agents.len(), 1, "its agent keeps it");
    }
}
