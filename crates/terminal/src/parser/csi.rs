//! A control sequence taken apart: private marker, parameters, intermediates, last byte.

/// Parameters kept of one sequence, sub-parameters included; the rest are dropped, as in xterm.
const MAX_PARAMS: usize = 32;

/// A control sequence such as `CSI ? 25 h`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlSequence<'a> {
    /// One of `< = > ?` where the sequence begins with it, else 0.
    pub marker: u8,
    pub params: SequenceParams,
    /// Bytes between the numbers and the last byte, such as `$` or a space.
    pub intermediates: &'a [u8],
    /// The byte that says what the sequence does.
    pub last: u8,
}

impl<'a> ControlSequence<'a> {
    /// Takes the body (all between `CSI` and the last byte) apart. Malformed bodies, for example
    /// with a marker after a number (`CSI > 4 ; ? m`), give nothing: the sequence is then ignored
    /// as a whole.
    pub(super) fn parse(body: &'a [u8], last: u8) -> Option<Self> {
        let (marker, body) = match body {
            [marker @ b'<'..=b'?', rest @ ..] => (*marker, rest),
            _ => (0, body),
        };
        let numbers = body.iter().take_while(|byte| (b'0'..=b';').contains(*byte)).count();
        let (numbers, intermediates) = body.split_at(numbers);
        if intermediates.iter().any(|byte| !(0x20..=0x2f).contains(byte)) {
            return None;
        }
        Some(Self { marker, params: SequenceParams::parse(numbers), intermediates, last })
    }

    /// Marker and numbers as they are written.
    pub(crate) fn body(&self) -> String {
        let mut body = String::new();
        if self.marker != 0 {
            body.push(char::from(self.marker));
        }
        for (place, group) in self.params.groups().enumerate() {
            if place > 0 {
                body.push(';');
            }
            let numbers: Vec<String> = group.iter().map(u16::to_string).collect();
            body.push_str(&numbers.join(":"));
        }
        body
    }
}

/// The numbers of a control sequence, in groups: `38:2:1:2:3` is one group of five, `1;31` two
/// groups of one. A number that is left out is 0, one too large is `u16::MAX`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SequenceParams {
    values: [u16; MAX_PARAMS],
    /// Bit i is set where value i continues the group of value i-1.
    joined: u32,
    length: usize,
}

impl SequenceParams {
    fn parse(bytes: &[u8]) -> Self {
        let mut params = Self::default();
        if bytes.is_empty() {
            return params;
        }
        let mut value: u16 = 0;
        let mut joined = false;
        for &byte in bytes {
            match byte {
                b';' | b':' => {
                    params.push(value, joined);
                    value = 0;
                    joined = byte == b':';
                }
                digit => value = value.saturating_mul(10).saturating_add(u16::from(digit - b'0')),
            }
        }
        params.push(value, joined);
        params
    }

    fn push(&mut self, value: u16, joined: bool) {
        if self.length < MAX_PARAMS {
            self.values[self.length] = value;
            self.joined |= u32::from(joined) << self.length;
            self.length += 1;
        }
    }

    /// Whether the sequence has no numbers at all.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Value `index`, or 0 where it is left out.
    pub fn get(&self, index: usize) -> u16 {
        self.all().get(index).copied().unwrap_or(0)
    }

    /// Value `index` as a count: 0 or left out means 1.
    pub fn count(&self, index: usize) -> usize {
        usize::from(self.get(index).max(1))
    }

    /// Every value, groups not told apart.
    pub fn all(&self) -> &[u16] {
        &self.values[..self.length]
    }

    /// The groups in order.
    pub fn groups(&self) -> impl Iterator<Item = &[u16]> {
        let mut start = 0;
        std::iter::from_fn(move || {
            if start == self.length {
                return None;
            }
            let mut end = start + 1;
            while end < self.length && self.joined >> end & 1 == 1 {
                end += 1;
            }
            let group = &self.values[start..end];
            start = end;
            Some(group)
        })
    }
}
