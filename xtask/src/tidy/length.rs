//! Files stay short enough to be read in one sitting.

use super::problem::Problem;

/// Beyond this, look for the seam.
const LONG: usize = 500;
/// Beyond this, the file must be split.
const TOO_LONG: usize = 800;

pub(crate) fn check(path: &str, text: &str) -> Option<Problem> {
    match text.lines().count() {
        lines if lines > TOO_LONG => {
            let message = format!("{lines} lines, at most {TOO_LONG} are allowed: split the file");
            Some(Problem::error(path, TOO_LONG + 1, message))
        }
        lines if lines > LONG => {
            let message = format!("{lines} lines: look for a seam to split the file along");
            Some(Problem::warning(path, LONG + 1, message))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::Severity;
    use super::*;

    fn severity(lines: usize) -> Option<Severity> {
        check("a.rs", &"x\n".repeat(lines)).map(|problem| problem.severity)
    }

    #[test]
    fn up_to_500_lines_are_fine() {
        assert_eq!(severity(500), None);
    }

    #[test]
    fn from_501_lines_there_is_a_warning() {
        assert_eq!(severity(501), Some(Severity::Warning));
        assert_eq!(severity(800), Some(Severity::Warning));
    }

    #[test]
    fn from_801_lines_there_is_an_error() {
        assert_eq!(severity(801), Some(Severity::Error));
    }
}
