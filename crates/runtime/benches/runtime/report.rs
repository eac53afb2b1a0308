//! The section of docs/benchmarks.md: what was measured, where, the tables, and how they stand
//! against what we want to reach.

use std::fmt::Write;
use std::time::Duration;

use coven_testkit::bench::cpu::CpuSamples;
use coven_testkit::bench::emulator::LIKE_OURS;
use coven_testkit::bench::machine;
use coven_testkit::bench::table::{header, row};

use crate::Plan;
use crate::adopting::{Adoption, Saved};
use crate::fleet::Kind;
use crate::output::{Cpu, SIZE, SUBJECTS, Stream, Subject};
use crate::scale::{Holder, Idle, Scale};

/// KiB that a holder may take, and that we may take for each pane and its screen.
const HOLDER_KIB: f64 = 300.0;
const OWN_KIB: f64 = 200.0;

/// Part of a core that all idle panes together may take.
const MAX_IDLE_CPU: f64 = 0.01;

/// How long attaching to the exact screen may take.
const MAX_ATTACH_TIME: Duration = Duration::from_millis(50);

pub(crate) fn section(
    plan: &Plan,
    scales: &[(Kind, Scale)],
    streams: &[Stream],
    cpu: &Cpu,
    adoptions: &[Adoption],
) -> String {
    let mut text = String::from("## Runtime\n\n`cargo xtask bench runtime`\n\n");
    text.push_str(&machine::sentence());
    text.push_str("### Many panes\n\n");
    text.push_str(&many(scales));
    text.push_str("\n### Output from the pane to the screen and the disk\n\n");
    text.push_str(&method(plan, streams));
    text.push_str("\nCPU time, ms per MB:\n\n");
    text.push_str(&cpu_table(streams, cpu));
    text.push_str("\nRatios:\n\n");
    text.push_str(&ratios(streams, cpu));
    text.push_str("\n### Adopting\n\n");
    text.push_str(&adopting(plan, adoptions));
    text.push_str(&noise(plan, cpu));
    text
}

/// A number in bold if it misses its mark.
fn marked(text: String, missed: bool) -> String {
    if missed { format!("**{text}**") } else { text }
}

fn or_dash<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), text)
}

fn many(scales: &[(Kind, Scale)]) -> String {
    let mut text = String::from(
        "Each pane is `cat` on a terminal of 80x24. A *local* one is a child of ours; one under a \
         *holder* is the child of a process of its own, which keeps its terminal and its tape and \
         lives on without us. Each case has a process of its own. Every pane has echoed a line \
         before anything but the start is measured.\n\n",
    );
    let names: Vec<String> =
        scales.iter().map(|(kind, scale)| format!("{} {}", scale.count, kind.name())).collect();
    text.push_str(&header("", names.iter().map(String::as_str)));
    let mut line = |name: &str, cell: &dyn Fn(&Scale) -> String| {
        row(&mut text, name, scales.iter().map(|(_, scale)| cell(scale)));
    };
    let seconds = |time: f64| format!("{time:.2}");
    line("start all, s", &|scale| seconds(scale.spawn.wall));
    line("– our CPU time, s", &|scale| seconds(scale.spawn.own));
    line("– CPU time of the holders, s", &|scale| or_dash(scale.spawn.holders, seconds));
    line("stop all, s", &|scale| seconds(scale.stop.wall));
    line("– our CPU time, s", &|scale| seconds(scale.stop.own));
    line("– CPU time of the holders, s", &|scale| or_dash(scale.stop.holders, seconds));
    line("our threads", &|scale| scale.threads.to_string());
    line("our descriptors", &|scale| scale.descriptors.to_string());
    line("our memory per pane, KiB", &|scale| format!("{:.1}", scale.own));
    line("– with a screen each, KiB", &|scale| {
        marked(format!("{:.0}", scale.own_with_screens), scale.own_with_screens > OWN_KIB)
    });
    let holder = |scale: &Scale, part: fn(&Holder) -> f64| {
        or_dash(scale.holder.as_ref(), |holder| {
            marked(format!("{:.0}", part(holder)), part(holder) > HOLDER_KIB)
        })
    };
    line("memory of a holder (PSS), KiB", &|scale| holder(scale, |holder| holder.proportional));
    line("– shared with nobody, KiB", &|scale| holder(scale, |holder| holder.private));
    line("– page tables besides, KiB", &|scale| holder(scale, |holder| holder.page_tables));
    let idle = |scale: &Scale, cell: &dyn Fn(&Idle) -> String| or_dash(scale.idle.as_ref(), cell);
    line("left alone for, s", &|scale| idle(scale, &|idle| format!("{:.0}", idle.cost.wall)));
    line("– our CPU time, ms", &|scale| {
        idle(scale, &|idle| share(idle.cost.own, idle.cost.wall))
    });
    line("– CPU time of the holders, ms", &|scale| {
        idle(scale, &|idle| or_dash(idle.cost.holders, |time| share(time, idle.cost.wall)))
    });
    line("– times something woke us", &|scale| idle(scale, &|idle| idle.wakeups.to_string()));
    text.push_str(
        "\nThe marks: a thousand idle agents take at most 1 % of a core, 200 KiB each in our \
         process and 300 KiB in each holder. What misses one is bold. Our memory is the growth of \
         the resident memory; a part of what a holder shares with the others, which is the \
         program, counts in the PSS. What the kernel needs for a process and a terminal is in none \
         of these. Starting under holders waits for the disk: the ledger of each attempt is \
         synced before its process starts.\n",
    );
    text
}

/// CPU time in ms; bold if it is more than idle panes may take.
fn share(time: f64, wall: f64) -> String {
    marked(format!("{:.2}", time * 1e3), time > wall * MAX_IDLE_CPU)
}

fn method(plan: &Plan, streams: &[Stream]) -> String {
    let sizes: Vec<String> = streams
        .iter()
        .map(|stream| format!("{} {:.1}", stream.name, stream.bytes as f64 / 1e6))
        .collect();
    format!(
        "\
`cat` writes a file to a terminal of {}x{}, in MB of 10^6 bytes ({}); the streams are those of the \
section on the terminal.

- *PTY, read only* reads 4 KiB at a time and does nothing with it. *PTY, bare emulator* is the \
emulator alone, `alacritty_terminal` as it comes with {LIKE_OURS} rows of history.
- *local, read only* and *local, screen* go through a pane of ours, the latter to our screen, \
with answers and signals taken after each read.
- *holder, screen* is the whole way: the holder reads, writes the tape and sends, we receive and \
feed our screen. Its two processes also stand apart.
- *tmux* is the server's CPU time for a detached pane; it writes nothing to a disk.

The least of {} rounds; in each all read all streams, one after the other.
",
        SIZE.columns,
        SIZE.rows,
        sizes.join(", "),
        plan.rounds,
    )
}

fn label(subject: Subject) -> &'static str {
    match subject {
        Subject::Raw => "PTY, read only",
        Subject::Emulator => "PTY, bare emulator",
        Subject::LocalRead => "local, read only",
        Subject::LocalScreen => "local, screen",
        Subject::HolderClient => "holder, screen: we",
        Subject::HolderItself => "holder, screen: the holder, with tape",
        Subject::Holder => "holder, screen",
        Subject::Tmux => "tmux",
    }
}

fn names(streams: &[Stream]) -> impl Iterator<Item = &str> {
    streams.iter().map(|stream| stream.name)
}

fn cpu_table(streams: &[Stream], cpu: &Cpu) -> String {
    let mut table = header("", names(streams));
    for subject in SUBJECTS {
        let cells = cpu.of(subject).iter().map(CpuSamples::least);
        row(&mut table, label(subject), cells.map(|time| or_dash(time, |ms| format!("{ms:.1}"))));
    }
    table
}

/// What a ratio is to be.
enum Reach {
    Open,
    AtMost(f64),
    /// What tmux takes, against us.
    Tmux,
}

impl Reach {
    fn text(&self) -> String {
        match self {
            Self::Open => String::new(),
            Self::AtMost(most) => format!("≤ {most}"),
            Self::Tmux => "≥ 5 on redraws, else ≥ 1".to_owned(),
        }
    }

    fn is_missed(&self, stream: &Stream, ratio: f64) -> bool {
        match self {
            Self::Open => false,
            Self::AtMost(most) => ratio > *most,
            Self::Tmux => ratio < if stream.redraws { 5.0 } else { 1.0 },
        }
    }
}

fn ratios(streams: &[Stream], cpu: &Cpu) -> String {
    let rows = [
        (Subject::LocalRead, Subject::Raw, Reach::Open),
        (Subject::LocalScreen, Subject::Emulator, Reach::AtMost(1.2)),
        (Subject::Holder, Subject::Emulator, Reach::AtMost(1.2)),
        (Subject::Holder, Subject::LocalScreen, Reach::Open),
        (Subject::Tmux, Subject::LocalScreen, Reach::Tmux),
        (Subject::Tmux, Subject::Holder, Reach::Tmux),
    ];
    let mut table = header("", names(streams).chain(["reach"]));
    for (above, below, reach) in rows {
        let pairs = streams.iter().zip(cpu.of(above).iter().zip(cpu.of(below)));
        let cells = pairs.map(|(stream, (above, below))| {
            let ratio = above.least().zip(below.least()).map(|(above, below)| above / below);
            or_dash(ratio, |ratio| marked(format!("{ratio:.2}"), reach.is_missed(stream, ratio)))
        });
        let name = format!("{} / {}", label(above), label(below));
        row(&mut table, &name, cells.chain([reach.text()]));
    }
    table.push_str(
        "\nThe marks: output through screen, tape and sniffer takes at most 1.2 times the CPU of \
         the emulator alone, a fifth of tmux's on redraws, and no more than tmux's on plain text. \
         What misses one is bold.\n",
    );
    table
}

fn adopting(plan: &Plan, adoptions: &[Adoption]) -> String {
    let mut text = format!(
        "A job has printed {:.0} MB and waits. Its screen is rebuilt from the saved one and the \
         rest of the tape, then its holder is reached and read until there is nothing more.\n\n",
        plan.adopted as f64 / 1e6,
    );
    text.push_str(&header("", ["rebuild, ms", "– CPU time, ms", "adopt, ms"]));
    for adoption in adoptions {
        let saved = match adoption.saved {
            Saved::AtTheEnd => "screen saved at the end",
            Saved::FarBack => "screen saved 4 MiB before the end",
            Saved::Never => "screen never saved",
        };
        let times = [adoption.rebuild, adoption.rebuild_cpu, adoption.adopt];
        let times = times
            .map(|time| marked(format!("{:.2}", time.as_secs_f64() * 1e3), time > MAX_ATTACH_TIME));
        row(&mut text, &format!("{}, {saved}", adoption.stream), times);
    }
    write!(
        text,
        "\nThe least of {} times, on the clock where nothing else is said. The mark: attaching to \
         the exact screen takes less than 50 ms. What misses it is bold. Whoever follows a job saves its screen at every quiet moment and at the \
         latest after 4 MiB.\n",
        plan.adoptions,
    ).ok();
    text
}

/// How far the numbers can be trusted.
fn noise(plan: &Plan, cpu: &Cpu) -> String {
    if plan.rounds == 1 {
        return "\nNoise: one round says little.\n".to_owned();
    }
    let spreads = SUBJECTS.into_iter().flat_map(|subject| cpu.of(subject));
    let most = spreads.filter_map(CpuSamples::spread).fold(0.0, f64::max) * 100.0;
    format!(
        "\nNoise: the machine ran other work as well, which shows in every time on the clock; \
         trust CPU times, and ratios more than those. For output the median of the rounds lies up \
         to {most:.0} % above the least. A ratio within a tenth of its mark is neither reached nor \
         missed.\n",
    )
}
