//! The commands there are, and what each is for.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::failure::{self, Result};
use crate::output::PutText;
use crate::{
    adapter, answer, attach, audit, cancel, comment, completions, daemon, demo_agent, device, diff,
    doctor, events, explain, finish, grimoire, hold, home, import, inbox, init, interrupt, key,
    logs, ls, man, merge, new, open, play, policy, pr, results, resume, retry, review, rm, run,
    schema, send, show, stop, trees, trust, ui, wait,
};

/// Runs teams of AI coding CLIs on your own machine.
///
/// Coven starts each agent in a real terminal, knows what it is doing, asks you when it waits for
/// you, and strings agents into workflows that survive a crash. Without a command it shows what
/// needs you.
#[derive(Parser)]
#[command(
    name = "coven",
    version,
    after_help = "Sessions are called by their name (brisk-otter) or id, or by the beginning of one, first in the
folder you are in; @ is the newest there. A task is NAME/TASK.
Exit codes: 0 done, 1 failed, 2 usage, 3 blocked, 4 cancelled, 5 daemon unreachable,
124 time was up, 130 interrupted.

Start here: coven run demo"
)]
pub(crate) struct CovenCli {
    #[command(subcommand)]
    command: Option<Command>,
}

/// The verbs by what people want to do. Each is in one group; a test holds them against the verbs
/// there are.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Start", &["run", "new", "init"]),
    (
        "Look",
        &["ls", "show", "output", "logs", "events", "attach", "play", "wait", "explain", "ui"],
    ),
    ("Answer", &["inbox", "answer", "approve", "deny", "send", "finish"]),
    ("Review", &["diff", "comment", "review", "merge", "pr", "trees"]),
    (
        "Repair",
        &["interrupt", "stop", "cancel", "resume", "retry", "rm", "doctor", "audit", "daemon"],
    ),
    ("Write", &["grimoire", "adapter", "policy", "schema"]),
    ("Set up", &["trust", "open", "import", "key", "device", "completions"]),
];

/// The command line. Its help lists the verbs in groups, which clap cannot do.
pub(crate) fn cli() -> clap::Command {
    let command = CovenCli::command();
    let groups = groups(&command);
    command.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\nOptions:\n\
         {{options}}{{after-help}}"
    ))
}

fn groups(command: &clap::Command) -> String {
    let widest = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter()).map(|verb| verb.len()).max();
    let widest = widest.unwrap_or(0);
    let mut text = String::new();
    for (head, verbs) in GROUPS {
        text.put(format!("\n{head}:\n"));
        for verb in verbs {
            let Some(found) = command.find_subcommand(verb) else { continue };
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            let aliases: Vec<&str> = found.get_visible_aliases().collect();
            let also = if aliases.is_empty() {
                String::new()
            } else {
                format!(" (also: {})", aliases.join(", "))
            };
            text.put(format!("  {verb:<widest$}  {about}{also}\n"));
        }
    }
    text
}

#[derive(Subcommand)]
enum Command {
    /// Run a workflow and follow it.
    Run(Box<run::Arguments>),
    /// Start one agent, here.
    New(new::Arguments),
    /// List sessions.
    Ls(ls::Arguments),
    /// Show a session, or one of its tasks.
    Show(show::Arguments),
    /// Show what waits for you.
    Inbox(inbox::Arguments),
    /// Decide what waits: approve, deny, retry, skip, send a text, and so on.
    Answer(answer::Arguments),
    /// Say yes to what an agent asks.
    Approve(answer::ApproveArguments),
    /// Say no to what an agent asks.
    Deny(answer::DenyArguments),
    /// Show an agent's terminal here and type into it.
    Attach(attach::Arguments),
    /// Type a message to an agent.
    Send(send::Arguments),
    /// Show what changed in a tree.
    Diff(diff::Arguments),
    /// Write a comment about lines that changed.
    Comment(comment::Arguments),
    /// Send comments to the agent that they are for.
    #[command(subcommand)]
    Review(review::Command),
    /// Bring what was done in a tree onto a branch.
    Merge(merge::Arguments),
    /// Push the branch of a tree, and make a pull request.
    Pr(pr::Arguments),
    /// List the worktrees of agents; remove them, bring them back.
    Trees(trees::Arguments),
    /// Show what tasks printed.
    Logs(logs::Arguments),
    /// Print what the steps of a run gave.
    Output(results::Arguments),
    /// Wait until a session is over, idle, or waits for a person.
    Wait(wait::Arguments),
    /// Say that a task is done.
    Finish(finish::Arguments),
    /// Let an agent stop what it does, and stay.
    Interrupt(interrupt::Arguments),
    /// End an agent and everything it started.
    Stop(stop::Arguments),
    /// End a run and all its agents.
    Cancel(cancel::Arguments),
    /// Let a run go on that no daemon drives.
    Resume(resume::Arguments),
    /// Try again what failed.
    Retry(retry::Arguments),
    /// Delete sessions that are over.
    Rm(rm::Arguments),
    /// Show what happened, fact by fact.
    Events(events::Arguments),
    /// Play back the terminal of a task, or a recording.
    Play(play::Arguments),
    /// Say why we think that an agent does what we say.
    Explain(explain::Arguments),
    /// Check sessions on disk, independently of what ran them.
    Audit(audit::Arguments),
    /// Make foreign sessions your own.
    Import(import::Arguments),
    /// Print the public key with which others can check your journals.
    Key(key::Arguments),
    /// Let a folder's sessions be listed with the others.
    Open(open::Arguments),
    /// Agree to what a folder's `.coven/` brings along.
    Trust(trust::Arguments),
    /// Look at grimoires, which are workflows that people write.
    #[command(subcommand, visible_alias = "workflow")]
    Grimoire(grimoire::Command),
    /// Look at adapters, which say how to start, read, answer and stop an agent CLI.
    #[command(subcommand)]
    Adapter(adapter::Command),
    /// Look at policies, which answer questions without you.
    #[command(subcommand)]
    Policy(policy::Command),
    /// Look after the daemon.
    #[command(subcommand)]
    Daemon(daemon::Command),
    /// Open the page.
    Ui(ui::Arguments),
    /// Look after browsers and programs that use the daemon's port.
    #[command(subcommand)]
    Device(device::Command),
    /// Look whether everything is well, and say how to mend what is not.
    Doctor(doctor::Arguments),
    /// Write a `.coven/` with a workflow and a policy to start from.
    Init(init::Arguments),
    /// Print what a shell needs to complete names.
    Completions(completions::Arguments),
    /// Print the JSON schema of a file that people write.
    Schema(schema::Arguments),
    /// Write manual pages.
    #[command(hide = true)]
    Man(man::Arguments),
    #[command(hide = true, name = coven_demo::SUBCOMMAND)]
    DemoAgent(Box<demo_agent::Arguments>),
    #[command(hide = true, disable_help_flag = true)]
    Hold(hold::Arguments),
}

/// Runs the command that was given.
pub(crate) fn run(cli: CovenCli) -> ExitCode {
    match cli.command {
        Some(Command::DemoAgent(arguments)) => demo_agent::run(*arguments),
        Some(Command::Hold(arguments)) => hold::run(arguments),
        Some(command) => failure::exit(dispatch(command)),
        None => failure::exit(home::run()),
    }
}

fn dispatch(command: Command) -> Result {
    match command {
        Command::Run(arguments) => run::run(*arguments),
        Command::New(arguments) => new::run(arguments),
        Command::Ls(arguments) => ls::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
        Command::Inbox(arguments) => inbox::run(&arguments),
        Command::Answer(arguments) => answer::answer(arguments),
        Command::Approve(arguments) => answer::approve(&arguments),
        Command::Deny(arguments) => answer::deny(arguments),
        Command::Attach(arguments) => attach::run(&arguments),
        Command::Send(arguments) => send::run(arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Comment(arguments) => comment::run(arguments),
        Command::Review(command) => review::run(command),
        Command::Merge(arguments) => merge::run(arguments),
        Command::Pr(arguments) => pr::run(&arguments),
        Command::Trees(arguments) => trees::run(arguments),
        Command::Logs(arguments) => logs::run(&arguments),
        Command::Output(arguments) => results::run(&arguments),
        Command::Wait(arguments) => wait::run(&arguments),
        Command::Finish(arguments) => finish::run(&arguments),
        Command::Interrupt(arguments) => interrupt::run(&arguments),
        Command::Stop(arguments) => stop::run(&arguments),
        Command::Cancel(arguments) => cancel::run(&arguments),
        Command::Resume(arguments) => resume::run(&arguments),
        Command::Retry(arguments) => retry::run(arguments),
        Command::Rm(arguments) => rm::run(&arguments),
        Command::Events(arguments) => events::run(arguments),
        Command::Play(arguments) => play::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Open(arguments) => open::run(&arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Key(arguments) => key::run(&arguments),
        Command::Trust(arguments) => trust::run(&arguments),
        Command::Grimoire(command) => grimoire::run(command),
        Command::Adapter(command) => adapter::run(command),
        Command::Policy(command) => policy::run(command),
        Command::Daemon(command) => daemon::run(&command),
        Command::Ui(arguments) => ui::run(&arguments),
        Command::Device(command) => device::run(&command),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
        // These two are programs of their own and never come here.
        Command::DemoAgent(_) | Command::Hold(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_is_in_one_group() {
        let command = CovenCli::command();
        let there = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut there: Vec<&str> = there.map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        there.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, there);
    }
}
