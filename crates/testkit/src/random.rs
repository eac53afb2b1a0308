//! Numbers and terminal output from a seed, the same on every machine.

/// A small generator. Not for secrets.
#[derive(Clone, Debug)]
pub struct Random(fastrand::Rng);

impl Random {
    /// A generator; equal seeds give equal numbers.
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    #[expect(clippy::should_implement_trait, reason = "an endless iterator would need unwrapping")]
    pub fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0.usize(..limit)
    }

    /// One of the items.
    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}

/// Pieces of terminal output that touch every part of an emulator, `#` standing for a number.
const PIECES: &[&str] = &[
    "hello",
    "a",
    "word word ",
    "0123456789012345678901234567890123456789",
    "│ ─ ╭",
    "漢字",
    "漢",
    "é",
    "e\u{301}",
    "👍🏽",
    "👨\u{200d}👩\u{200d}👧",
    "❤\u{fe0f}",
    "❤",
    "\u{fe0f}",
    "\u{200d}",
    "🏽",
    "👍",
    "\u{1f1e9}\u{1f1ea}",
    "한국어",
    "\r",
    "\n",
    "\r\n",
    "\t",
    "\x08",
    "\x07",
    "\x0b",
    "\x0e",
    "\x0f",
    "\0",
    "\x7f",
    "\x1b[#A",
    "\x1b[#B",
    "\x1b[#C",
    "\x1b[#D",
    "\x1b[#E",
    "\x1b[#F",
    "\x1b[#G",
    "\x1b[#;#H",
    "\x1b[H",
    "\x1b[#I",
    "\x1b[#Z",
    "\x1b[J",
    "\x1b[1J",
    "\x1b[2J",
    "\x1b[3J",
    "\x1b[K",
    "\x1b[1K",
    "\x1b[2K",
    "\x1b[#L",
    "\x1b[#M",
    "\x1b[#P",
    "\x1b[#@",
    "\x1b[#X",
    "\x1b[#S",
    "\x1b[#T",
    "\x1b[#b",
    "\x1b[#d",
    "\x1b[#e",
    "\x1b[# @",
    "\x1b[# A",
    "\x1b[#'}",
    "\x1b[#'~",
    "\x1b[#;#r",
    "\x1b[r",
    "\x1b[g",
    "\x1b[3g",
    "\x1bH",
    "\x1b7",
    "\x1b8",
    "\x1b[s",
    "\x1b[u",
    "\x1bD",
    "\x1bE",
    "\x1bM",
    "\x1bc",
    "\x1b#8",
    "\x1b=",
    "\x1b>",
    "\x1b(0",
    "\x1b(B",
    "\x1b)0",
    "\x1b)B",
    "\x1bn",
    "\x1bo",
    "\x1b[!p",
    "\x1b[# q",
    "\x1b[m",
    "\x1b[1;31m",
    "\x1b[38;5;#m",
    "\x1b[48;2;#;#;#m",
    "\x1b[4:3m",
    "\x1b[58:5:#m",
    "\x1b[7m",
    "\x1b[42m",
    "\x1b[97m",
    "\x1b[2;3;9m",
    "\x1b[8m",
    "\x1b[0;104m",
    "\x1b[?1049h",
    "\x1b[?1049l",
    "\x1b[?47h",
    "\x1b[?47l",
    "\x1b[?1047h",
    "\x1b[?1047l",
    "\x1b[?1048h",
    "\x1b[?1048l",
    "\x1b[?6h",
    "\x1b[?6l",
    "\x1b[?7h",
    "\x1b[?7l",
    "\x1b[?25l",
    "\x1b[?25h",
    "\x1b[?45h",
    "\x1b[4h",
    "\x1b[4l",
    "\x1b[20h",
    "\x1b[20l",
    "\x1b[?2026h",
    "\x1b[?2026l",
    "\x1b[?2004h",
    "\x1b[?1003h",
    "\x1b[?1006h",
    "\x1b[?1000l",
    "\x1b[?1h",
    "\x1b[?5h",
    "\x1b[?2031h",
    "\x1b[>4;2m",
    "\x1b[>4;?m",
    "\x1b[>7u",
    "\x1b[<u",
    "\x1b[=#;2u",
    "\x1b[?u",
    "\x1b[c",
    "\x1b[>c",
    "\x1b[=c",
    "\x1b[6n",
    "\x1b[?#$p",
    "\x1b]0;title #\x07",
    "\x1b]2;t\x1b\\",
    "\x1b]8;;http://a/#\x1b\\",
    "\x1b]8;id=x;http://b\x1b\\",
    "\x1b]8;;\x1b\\",
    "\x1b]4;#;#010203\x07",
    "\x1b]104\x07",
    "\x1b]11;?\x07",
    "\x1b]7501;?\x1b\\",
    "\x1b]7501;state=working:app=x\x1b\\",
    "\x1b]9;note\x07",
    "\x1b]133;A\x07",
    "\x1b[22t",
    "\x1b[23t",
    "\x1bP$qm\x1b\\",
    "\x1bP+q544e\x1b\\",
    "\x1b_Ga=q;A\x1b\\",
    "\x1b^x\x1b\\",
    "\x1b[999999999b",
    "\x1b[?5W",
    "\x1b[1",
    "\x1b]0;open",
    "\x1bP",
    "\x1b",
    "\x18",
    "\u{9b}",
    "\x1b[3\n1m",
];

/// Terminal output of about `pieces` pieces.
pub fn output(random: &mut Random, pieces: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..pieces {
        if random.below(40) == 0 {
            bytes.push(random.next() as u8);
            continue;
        }
        for byte in random.pick(PIECES).bytes() {
            if byte == b'#' {
                let number = match random.below(8) {
                    0 => random.below(70_000),
                    1 => random.below(200),
                    _ => random.below(12),
                };
                bytes.extend_from_slice(number.to_string().as_bytes());
            } else {
                bytes.push(byte);
            }
        }
    }
    bytes
}
