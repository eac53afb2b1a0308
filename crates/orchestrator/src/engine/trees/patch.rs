//! A patch that is not too large to be answered: whole files are left out of it, and each is named on a
//! line that git takes for no part of a patch.

/// What the header of each file begins with. Lines of files have another letter before them.
const HEADER: &[u8] = b"diff --git ";

/// What a line about a file that is left out begins with.
const LEFT_OUT: &str = "# left out";

/// The patch, with as many files as there is room for, in their order. `how_to_see` says how what is left
/// out can be seen.
pub(super) fn within(patch: Vec<u8>, room: usize, how_to_see: &str) -> Vec<u8> {
    if patch.len() <= room {
        return patch;
    }
    let mut left = room;
    let (mut kept, mut omitted) = (Vec::new(), Vec::new());
    for file in files(&patch) {
        if let Some(rest) = left.checked_sub(file.len()) {
            left = rest;
            kept.extend_from_slice(file);
        } else {
            let end = file.iter().position(|byte| *byte == b'\n').unwrap_or(file.len());
            let header = &file[HEADER.len().min(end)..end];
            omitted.extend_from_slice(format!("{LEFT_OUT}, {} bytes: ", file.len()).as_bytes());
            omitted.extend_from_slice(header);
            omitted.push(b'\n');
        }
    }
    let about = format!("# The patch has more than {} MiB; {how_to_see}\n", room >> 20);
    [about.as_bytes(), &omitted, &kept].concat()
}

/// The parts of a patch, one for each file.
fn files(patch: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut starts: Vec<usize> =
        line_starts(patch).filter(|at| patch[*at..].starts_with(HEADER)).collect();
    starts.push(patch.len());
    (1..starts.len()).map(move |next| &patch[starts[next - 1]..starts[next]])
}

/// Where lines begin.
fn line_starts(patch: &[u8]) -> impl Iterator<Item = usize> {
    let feeds = patch.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0).chain(feeds.map(|(at, _)| at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, line: &str) -> String {
        format!(
            "diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -0,0 +1 @@\n+{line}\n"
        )
    }

    /// Naive: a patch that is too large is refused as a whole, be it because of one file.
    #[test]
    fn files_that_have_no_room_are_left_out_and_named() {
        let (one, three) = (file("one", "1"), file("three", "diff --git a/x b/x"));
        let two = file("two words", &"2".repeat(1000));
        let patch = [one.as_str(), &two, &three].concat().into_bytes();
        assert_eq!(within(patch.clone(), patch.len(), "look"), patch);
        let cut = String::from_utf8(within(patch, 400, "look elsewhere")).unwrap();
        let about = format!("# left out, {} bytes: a/two words b/two words\n", two.len());
        let wanted =
            format!("# The patch has more than 0 MiB; look elsewhere\n{about}{one}{three}");
        assert_eq!(cut, wanted);
    }
}
