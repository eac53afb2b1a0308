//! A module with children is `name.rs` beside `name/`: a dozen open tabs called `mod.rs`
//! cannot be told apart.

use super::problem::TidyProblem;

pub(crate) fn check(path: &str) -> Option<TidyProblem> {
    let folder = path.strip_suffix("/mod.rs")?;
    Some(TidyProblem::error(path, 1, format!("call this file {folder}.rs instead of mod.rs")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mod_rs_is_a_problem_and_the_better_name_is_told() {
        let problem = check("crates/a/src/b/mod.rs").unwrap();
        assert_eq!(problem.message, "call this file crates/a/src/b.rs instead of mod.rs");
    }

    #[test]
    fn other_names_are_fine() {
        assert_eq!(check("crates/a/src/b.rs"), None);
        assert_eq!(check("crates/a/src/model.rs"), None);
        assert_eq!(check("crates/a/src/commod.rs"), None);
    }
}
