//! Files stay short enough to be read in one sitting.

use super::problem::TidyProblem;

/// Beyond this, look for the seam.
const LONG_FILE_LINES: usize = 500;
/// Beyond this, the file must be split.
const MAX_FILE_LINES: usize = 800;

pub(crate) fn check(path: &str, text: &str) -> Option<TidyProblem> {
    match text.lines().count() {
        lines if lines > MAX_FILE_LINES => {
            let message =
                format!("{lines} lines, at most {MAX_FILE_LINES} are allowed: split the file");
            Some(TidyProblem::error(path, MAX_FILE_LINES + 1, message))
        }
        lines if lines > LONG_FILE_LINES => {
            let message = format!("{lines} lines: look for a seam to split the file along");
            Some(TidyProblem::warning(path, LONG_FILE_LINES + 1, message))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::TidySeverity;
    use super::*;

    fn severity(lines: usize) -> Option<TidySeverity> {
        check("a.rs", &"x\n".repeat(lines)).map(|problem| problem.severity)
    }

    #[test]
    fn up_to_500_lines_are_fine() {
        assert_eq!(severity(500), None);
    }

    #[test]
    fn from_501_lines_there_is_a_warning() {
        assert_eq!(severity(501), Some(TidySeverity::Warning));
        assert_eq!(severity(800), Some(TidySeverity::Warning));
    }

    #[test]
    fn from_801_lines_there_is_an_error() {
        assert_eq!(severity(801), Some(TidySeverity::Error));
    }
}
