//! What the tests of this crate share: small plans, and a run that is told what happens and checks
//! at every turn what must always hold.

use std::collections::BTreeMap;
use std::time::Duration;

use coven_model::event::{
    InterventionDecision, SessionEvent, TreeCheckpoint, TreeLanded, TreeReady, TreeWanted,
};
use coven_model::{
    AgentMode, AttemptId, ContentDigest, ExitCodes, InterventionChoice, InterventionId,
    InterventionKind, JobOutcome, JobSpec, JobWork, ProcessEnding, SandboxMode, SessionId, TaskId,
    TaskStatus, Timestamp, TreeId, TreeSource, TreeWork, WorkflowStatus,
};
use serde_json::{Map, Value, json};

use crate::command::Command;
use crate::condition::Condition;
use crate::decide::decide;
use crate::expect::ExpectedOutput;
use crate::fold::{fold, fold_all};
use crate::input::{
    ObservedQuestion, QuestionRuling, ScreenObservation, SessionInput, SessionSpec, TreeReport,
};
use crate::plan::{
    AgentSpec, LoopCheck, LoopContext, LoopEnd, OnLimit, PlanForm, PlanStep, PlanTrigger,
    RetryPolicy, ShellScript, StageTask, StepAction, WorkflowPlan,
};
use crate::shell::ShellCommand;
use crate::state::{State, WorkflowRun};
use crate::template::TextTemplate;

pub(crate) const SESSION: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

pub(crate) fn template(text: &str) -> TextTemplate {
    TextTemplate::parse(text).unwrap()
}

pub(crate) fn agent(prompt: &str) -> AgentSpec {
    AgentSpec::new("demo", AgentMode::Headless, Some(template(prompt)))
}

pub(crate) fn interactive(prompt: &str) -> AgentSpec {
    AgentSpec::new("demo", AgentMode::Interactive, Some(template(prompt)))
}

/// A step with nothing said but what it does.
pub(crate) fn step(name: &str, action: StepAction) -> PlanStep {
    PlanStep {
        name: name.to_owned(),
        needs: None,
        when: None,
        timeout: None,
        retry: RetryPolicy::default(),
        cwd: None,
        env: BTreeMap::new(),
        domain: None,
        output: None,
        on_failure: action.default_on_failure(),
        on_lost: None,
        needs_approval: false,
        approval_timeout: None,
        unconfined: false,
        isolation: None,
        land: None,
        on_conflict: None,
        commit: None,
        action,
        places: BTreeMap::new(),
    }
}

pub(crate) fn agent_step(name: &str, prompt: &str) -> PlanStep {
    step(name, StepAction::Agent { agent: agent(prompt) })
}

pub(crate) fn script(command: &str) -> ShellScript {
    ShellScript {
        command: ShellCommand::parse(command).unwrap(),
        shell: None,
        ok_exit_codes: ExitCodes::default(),
        sandbox: SandboxMode::default(),
        confine: None,
    }
}

pub(crate) fn script_step(name: &str, command: &str) -> PlanStep {
    step(name, StepAction::Script { script: script(command), expect: ExpectedOutput::default() })
}

pub(crate) fn gate(name: &str, command: Option<&str>) -> PlanStep {
    step(name, StepAction::Gate { script: command.map(script), message: None, skippable: false })
}

pub(crate) fn parallel(name: &str, for_each: &str, prompt: &str, max_concurrent: u32) -> PlanStep {
    let (agent, for_each) = (agent(prompt), template(for_each));
    step(
        name,
        StepAction::ParallelAgents { agent, for_each, item: "item".to_owned(), max_concurrent },
    )
}

/// A command for each element.
pub(crate) fn for_each_script(
    name: &str,
    for_each: &str,
    command: &str,
    max_concurrent: u32,
) -> PlanStep {
    let one = Box::new(script_step(name, command));
    let for_each = template(for_each);
    let item = "item".to_owned();
    step(name, StepAction::ForEach { step: one, for_each, item, max_concurrent })
}

pub(crate) fn agent_loop(name: &str, max_iterations: u32, on_max_iterations: OnLimit) -> PlanStep {
    let work = agent("work ${iteration}, after ${verdict.reason}, was ${previous.output}");
    let arbiter = agent("is it good?");
    let context = LoopContext::Fresh;
    let action = StepAction::AgentLoop {
        agent: work,
        arbiter: Some(arbiter),
        until: None,
        max_iterations,
        on_max_iterations,
        context,
    };
    step(name, action)
}

/// A loop that ends when a command passes, without an arbiter.
pub(crate) fn loop_until(name: &str, max_iterations: u32, on_limit: OnLimit) -> PlanStep {
    let mut step = agent_loop(name, max_iterations, on_limit);
    if let StepAction::AgentLoop { arbiter, until, .. } = &mut step.action {
        *arbiter = None;
        *until = Some(loop_check());
    }
    step
}

/// A loop of several steps that ends when a condition holds.
pub(crate) fn steps_loop(
    name: &str,
    until: &str,
    max_iterations: u32,
    steps: Vec<PlanStep>,
) -> PlanStep {
    let until = LoopEnd::Condition(Condition::parse(until).unwrap());
    let on_max_iterations = OnLimit::Block;
    step(name, StepAction::Loop { steps, until, max_iterations, on_max_iterations })
}

/// A loop that tests, and lets an agent mend what fails, until the tests pass.
pub(crate) fn test_and_mend(max_iterations: u32) -> PlanStep {
    let mut test = script_step("test", "cargo test").output("report");
    test.on_failure = crate::plan::OnFailure::Continue;
    let prompt =
        "round ${iteration}: ${steps.test.exit_code} ${steps.test.stdout}, was ${previous.output}";
    let mend = agent_step("mend", prompt).when("steps.test.exit_code != 0");
    steps_loop("green", "steps.test.exit_code == 0", max_iterations, vec![test, mend])
}

pub(crate) fn loop_check() -> LoopCheck {
    let script = ShellScript { ok_exit_codes: ExitCodes::Any, ..script("cargo test") };
    LoopCheck { script, timeout: None, first: false }
}

pub(crate) fn stage(name: &str, tasks: &[(&str, AgentSpec)]) -> PlanStep {
    let task = |(id, agent): &(&str, AgentSpec)| StageTask {
        isolation: None,
        id: TaskId::new(*id).unwrap(),
        agent: agent.clone(),
        cwd: None,
        env: BTreeMap::new(),
        domain: None,
        timeout: None,
        on_lost: None,
    };
    step(name, StepAction::Stage { tasks: tasks.iter().map(task).collect() })
}

impl PlanStep {
    pub(crate) fn output(self, name: &str) -> Self {
        Self { output: Some(name.to_owned()), ..self }
    }

    pub(crate) fn needs<const N: usize>(self, needs: [&str; N]) -> Self {
        Self { needs: Some(needs.map(str::to_owned).to_vec()), ..self }
    }

    pub(crate) fn when(self, condition: &str) -> Self {
        Self { when: Some(Condition::parse(condition).unwrap()), ..self }
    }

    pub(crate) fn retries(self, attempts: u32, delay: u64) -> Self {
        Self { retry: RetryPolicy { attempts, delay: Duration::from_millis(delay) }, ..self }
    }
}

pub(crate) fn plan(steps: Vec<PlanStep>) -> WorkflowPlan {
    let stages = steps.iter().any(|step| matches!(step.action, StepAction::Stage { .. }));
    WorkflowPlan {
        name: "test".to_owned(),
        form: if stages { PlanForm::Stages } else { PlanForm::Grimoire },
        goal: None,
        description: String::new(),
        trigger: PlanTrigger::Manual,
        inputs: Vec::new(),
        isolation: crate::plan::Isolation::Shared,
        run_tree: false,
        steps,
        definition: json!({"written": "by hand"}),
    }
}

pub(crate) fn job(task: &str, attempt: u32) -> AttemptId {
    AttemptId { task: TaskId::new(task).unwrap(), attempt }
}

pub(crate) fn succeeded(output: &str) -> JobOutcome {
    let outcome = JobOutcome::new(true, ProcessEnding::Exited { code: 0 }, "exit code 0");
    JobOutcome { output: Some(output.to_owned()), ..outcome }
}

pub(crate) fn exited(code: i32) -> JobOutcome {
    let reason = format!("exit code {code}");
    JobOutcome {
        ok: code == 0,
        ending: ProcessEnding::Exited { code },
        reason,
        ..succeeded("some output")
    }
}

/// An agent that refused to be spoken to in its own protocol.
pub(crate) fn refused(reason: &str) -> JobOutcome {
    JobOutcome { channel_refused: Some(reason.to_owned()), ..exited(2) }
}

/// The outcome of an agent that did not go on with its conversation.
pub(crate) fn unresumed() -> JobOutcome {
    JobOutcome { resume_refused: true, ..exited(2) }
}

pub(crate) fn stopped() -> JobOutcome {
    let reason = "stopped".to_owned();
    JobOutcome { ok: false, ending: ProcessEnding::Stopped, reason, output: None, ..succeeded("") }
}

pub(crate) fn ended(task: &str, attempt: u32, outcome: JobOutcome) -> SessionInput {
    SessionInput::Ended { job: job(task, attempt), outcome: Box::new(outcome) }
}

pub(crate) fn repository() -> coven_model::RepositoryRecord {
    coven_model::RepositoryRecord {
        root: "/work".to_owned(),
        git_dir: "/work/.git".to_owned(),
        common_dir: "/work/.git".to_owned(),
        prefix: String::new(),
        head: "base".to_owned(),
        branch: Some("main".to_owned()),
        trees: "/trees/brisk-otter".to_owned(),
        branches: "coven/brisk-otter".to_owned(),
        setup: Vec::new(),
        teardown: Vec::new(),
        setup_timeout: None,
        include: None,
        link: Vec::new(),
        ports: None,
        programs: Vec::new(),
        kept_under: None,
    }
}

pub(crate) fn creation(plan: WorkflowPlan, input: &Value) -> SessionInput {
    let input = input.as_object().cloned().unwrap_or_else(Map::new);
    SessionInput::Create(Box::new(SessionSpec {
        repository: plan.wants_trees().then(|| Box::new(repository())),
        no_trees: None,
        session: SessionId::new(SESSION).unwrap(),
        name: "brisk-otter".to_owned(),
        plan,
        input,
        goal: Some("to test".to_owned()),
        base_dir: Some("/work".to_owned()),
        auto: None,
        cause: None,
    }))
}

pub(crate) fn asks(task: &str, attempt: u32, seen: u64, what: &str) -> SessionInput {
    let question = ObservedQuestion {
        kind: coven_model::AwaitingKind::Approval,
        rule: "approval".to_owned(),
        title: None,
        excerpt: what.to_owned(),
        help: None,
        action: coven_model::AskedAction::default(),
        offers_always: true,
        digest: ContentDigest::of_bytes(what.as_bytes()),
        repeated: false,
    };
    let question = Box::new(question);
    let what = ScreenObservation::Awaiting { question, ruling: QuestionRuling::Undecided };
    SessionInput::Observed { job: job(task, attempt), seen, what }
}

pub(crate) fn idle(task: &str, attempt: u32, seen: u64, worked: bool) -> SessionInput {
    let what = ScreenObservation::Idle { worked, output: Some("an answer".to_owned()) };
    SessionInput::Observed { job: job(task, attempt), seen, what }
}

pub(crate) fn intervention(number: u64) -> InterventionId {
    InterventionId::in_session(&SessionId::new(SESSION).unwrap(), number)
}

pub(crate) fn resolve(number: u64, choice: InterventionChoice) -> SessionInput {
    decide_with(number, InterventionDecision::new(choice, "she"))
}

pub(crate) fn decide_with(number: u64, decision: InterventionDecision) -> SessionInput {
    let intervention = intervention(number);
    SessionInput::Resolve { intervention, decision: Box::new(decision), digest: None }
}

/// A run that is told what happens.
pub(crate) struct TestRun {
    pub(crate) state: State,
    pub(crate) journal: Vec<SessionEvent>,
    pub(crate) now: u64,
}

impl TestRun {
    /// A run that has begun.
    #[expect(clippy::needless_pass_by_value, reason = "it is always written in place")]
    pub(crate) fn begin(plan: WorkflowPlan, input: Value) -> Self {
        let mut told = Self { state: State::default(), journal: Vec::new(), now: 1_000 };
        told.tell(creation(plan, &input));
        told.tell(SessionInput::Begin);
        told
    }

    /// Tells something, and checks what holds at every turn.
    pub(crate) fn tell(&mut self, input: SessionInput) -> (Vec<SessionEvent>, Vec<Command>) {
        self.now += 1;
        let now = Timestamp::from_millis(self.now);
        let admitted = self.state.admits(&input).is_ok();
        let (events, commands) = decide(&self.state, input, now);
        for event in &events {
            let text = serde_json::to_string(event).unwrap();
            assert_eq!(serde_json::from_str::<SessionEvent>(&text).unwrap(), *event, "{text}");
        }
        self.state = fold_all(std::mem::take(&mut self.state), &events);
        self.journal.extend(events.iter().cloned());
        let outstanding = self.state.outstanding();
        // What an agent shows is told anyway by the process that takes it up.
        let looks = |command: &&Command| matches!(command, Command::Observe(_));
        for command in commands.iter().filter(|command| !looks(command)) {
            assert!(outstanding.contains(command), "{command:?} is not in {outstanding:?}");
        }
        // Everything that follows was written down.
        if admitted {
            let (more, _) = decide(&self.state, SessionInput::Recover, now);
            assert_eq!(more, [], "recovery finds more to write down");
        }
        self.check_counts();
        (events, commands)
    }

    /// Records a fact that no decision leads to.
    pub(crate) fn record(&mut self, event: SessionEvent) {
        self.state = fold(std::mem::take(&mut self.state), &event);
        self.journal.push(event);
    }

    pub(crate) fn run(&self) -> &WorkflowRun {
        self.state.run().unwrap()
    }

    pub(crate) fn status(&self) -> WorkflowStatus {
        self.state.status()
    }

    fn check_counts(&self) {
        for step in self.state.run().into_iter().flat_map(|run| run.steps.iter()) {
            let count = |is: &dyn Fn(TaskStatus) -> bool| {
                step.tasks.iter().filter(|task| is(task.status())).count() as u32
            };
            let live = |status| matches!(status, TaskStatus::Running | TaskStatus::WaitingForUser);
            assert_eq!(step.live, count(&live));
            assert_eq!(step.failed, count(&|status| status == TaskStatus::Error));
            let waiting = (step.ready.len() + step.delayed.len()) as u32;
            assert_eq!(waiting, count(&|status| status == TaskStatus::Pending));
        }
    }

    /// The kinds of the facts that follow.
    pub(crate) fn kinds(&mut self, input: SessionInput) -> Vec<String> {
        self.tell(input).0.iter().map(|event| event.kind().to_owned()).collect()
    }

    pub(crate) fn starts(&mut self, input: SessionInput) -> Vec<String> {
        starts(&self.tell(input).1)
    }

    pub(crate) fn succeed(&mut self, task: &str, attempt: u32, output: &str) -> Vec<String> {
        self.starts(ended(task, attempt, succeeded(output)))
    }

    pub(crate) fn fail(&mut self, task: &str, attempt: u32) -> Vec<String> {
        self.starts(ended(task, attempt, exited(1)))
    }

    pub(crate) fn alive(&self) -> Vec<String> {
        self.run().live_jobs().map(|(task, _)| task.job().to_string()).collect()
    }

    pub(crate) fn spec(&self, task: &str, attempt: u32) -> &JobSpec {
        &self.run().live(&job(task, attempt)).unwrap().spec
    }

    pub(crate) fn prompt(&self, task: &str, attempt: u32) -> &str {
        match &self.spec(task, attempt).work {
            JobWork::Agent(agent) => agent.prompt.as_deref().unwrap_or(""),
            JobWork::Shell(shell) => &shell.text,
        }
    }

    pub(crate) fn task_status(&self, task: &str) -> TaskStatus {
        self.run().task_status(&TaskId::new(task).unwrap()).unwrap()
    }

    /// What waits for a person.
    pub(crate) fn waiting(&self) -> Vec<InterventionKind> {
        self.run().interventions().map(|intervention| intervention.kind).collect()
    }

    pub(crate) fn variable(&self, name: &str) -> Value {
        self.run().all_variables().get(name).cloned().unwrap_or_default()
    }

    pub(crate) fn error(&self) -> String {
        let last = self.journal.iter().rev().find_map(|event| match event {
            SessionEvent::WorkflowFailed { error, .. } => Some(error.clone()),
            _ => None,
        });
        last.unwrap_or_default()
    }
}

pub(crate) fn starts(commands: &[Command]) -> Vec<String> {
    let started = commands.iter().filter_map(|command| match command {
        Command::Start(spec) => Some(spec.job.attempt.to_string()),
        _ => None,
    });
    started.collect()
}

pub(crate) fn replay(journal: &[SessionEvent]) -> State {
    journal.iter().fold(State::default(), fold)
}

pub(crate) fn tree_of(task: &str) -> TreeId {
    TreeId::Task(TaskId::new(task).unwrap())
}

fn tree(report: TreeReport) -> SessionInput {
    SessionInput::Tree(Box::new(report))
}

pub(crate) fn tree_ready(id: TreeId) -> SessionInput {
    tree(TreeReport::Ready(TreeReady {
        tree: id,
        head: "base".to_owned(),
        included: 0,
        ports: None,
        notes: Vec::new(),
        at: Timestamp::default(),
    }))
}

pub(crate) fn tree_failed(id: TreeId, work: TreeWork) -> SessionInput {
    tree(TreeReport::Failed { tree: id, work, error: "the disk is full".to_owned() })
}

/// A checkpoint after an attempt of a task, in its own tree.
pub(crate) fn tree_checkpoint(task: &str, attempt: u32) -> SessionInput {
    checkpoint_in(tree_of(task), task, attempt, attempt)
}

/// The same in the tree of the run, with this number.
pub(crate) fn run_checkpoint(task: &str, attempt: u32, number: u32) -> SessionInput {
    checkpoint_in(TreeId::Run, task, attempt, number)
}

pub(crate) fn checkpoint_in(id: TreeId, task: &str, attempt: u32, number: u32) -> SessionInput {
    tree(TreeReport::Checkpointed(TreeCheckpoint {
        tree: id,
        job: Some(job(task, attempt)),
        number,
        reference: format!("refs/coven/{task}/{attempt}"),
        commit: "checkpoint".to_owned(),
        files: 1,
        head: "base".to_owned(),
        committed: false,
        missing: Vec::new(),
        at: Timestamp::default(),
    }))
}

pub(crate) fn tree_landed(task: &str) -> SessionInput {
    tree(TreeReport::Landed(TreeLanded {
        tree: tree_of(task),
        onto: "coven/brisk-otter".to_owned(),
        commit: format!("landed {task}"),
        tip: format!("tip of {task}"),
        by: None,
        at: Timestamp::default(),
    }))
}

pub(crate) fn tree_conflict(task: &str) -> SessionInput {
    let (onto, paths) = ("coven/brisk-otter".to_owned(), vec!["a.txt".to_owned()]);
    tree(TreeReport::Conflicted { tree: tree_of(task), onto, paths })
}

pub(crate) fn tree_removed(id: TreeId) -> SessionInput {
    let tip = format!("tip of {id}");
    tree(TreeReport::Removed { tree: id, tip, notes: Vec::new() })
}

/// A person wants this checkpoint of the tree of a task brought back.
pub(crate) fn tree_restored(task: &str, checkpoint: u32) -> SessionInput {
    let name = format!("{task}.restored1");
    let (base, by) = ("base".to_owned(), "mira".to_owned());
    let source = TreeSource { tree: tree_of(task), base: base.clone(), checkpoint, by };
    tree(TreeReport::Wanted(TreeWanted {
        tree: tree_of(&name),
        base,
        branch: format!("coven/brisk-otter.{name}"),
        path: format!("/trees/brisk-otter/{name}"),
        restores: Some(Box::new(source)),
        at: Timestamp::default(),
    }))
}
