//! Commands, and what becomes of the variables in them.

use serde_json::{Value, json};

use super::*;

fn scope() -> VariableScope {
    match json!({
        "input": {"base": "main", "base-branch": "b"},
        "x": "value", "y": "other", "list": [1, 2], "none": null,
        "steps": {"run-tests": {"status": "done", "exit_code": 0}},
    }) {
        Value::Object(map) => VariableScope::new(map),
        _ => VariableScope::default(),
    }
}

fn text(command: &str) -> String {
    ShellCommand::parse(command).unwrap().prepare(&scope()).unwrap().text
}

/// What is wrong with a command, each with the text it is about.
fn wrong(command: &str) -> String {
    let (_, errors) = ShellCommand::parse_all(command);
    let show = |error: &ShellError| {
        let place = &command[error.offset..error.offset + error.length];
        format!("{place} => {error}")
    };
    errors.iter().map(show).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_variable_becomes_a_quoted_reference_to_the_environment() {
    insta::assert_snapshot!(text("git diff ${input.base}"), @r#"git diff "${COVEN_V1}""#);
    insta::assert_snapshot!(text(r#"git diff "origin/${input.base}...HEAD""#), @r#"git diff "origin/${COVEN_V1}...HEAD""#);
    insta::assert_snapshot!(text("a ${x} ${y} ${x} ${inputs.base} ${input.base}"), @r#"a "${COVEN_V1}" "${COVEN_V2}" "${COVEN_V1}" "${COVEN_V3}" "${COVEN_V3}""#);
    insta::assert_snapshot!(text("echo ${steps.run-tests.status} ${input.base-branch} ${list[0]}"), @r#"echo "${COVEN_V1}" "${COVEN_V2}" "${COVEN_V3}""#);
    insta::assert_snapshot!(text(r#"echo "$(git log "${x}" | head -n ${y})""#), @r#"echo "$(git log "${COVEN_V1}" | head -n "${COVEN_V2}")""#);
    insta::assert_snapshot!(text("FILE=${x} cargo ${y} > ${x} 2>&1"), @r#"FILE="${COVEN_V1}" cargo "${COVEN_V2}" > "${COVEN_V1}" 2>&1"#);
    insta::assert_snapshot!(text(r#"echo "${FILE:-${x}}" ${FILE:-${y}}"#), @r#"echo "${FILE:-${COVEN_V1}}" ${FILE:-"${COVEN_V2}"}"#);
    insta::assert_snapshot!(text("cat <<EOF\nIt's ${x} and $(echo ${y})\nEOF\necho ${x}"), @r#"
    cat <<EOF
    It's ${COVEN_V1} and $(echo "${COVEN_V2}")
    EOF
    echo "${COVEN_V1}"
    "#);
    insta::assert_snapshot!(text("diff <(echo ${x}) >(cat ${y})"), @r#"diff <(echo "${COVEN_V1}") >(cat "${COVEN_V2}")"#);
    let prepared = ShellCommand::parse("${list} ${none}").unwrap().prepare(&scope()).unwrap();
    let env = [("COVEN_V1", "[1,2]"), ("COVEN_V2", "")];
    assert_eq!(prepared.env, env.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn what_is_the_shells_own_stays_as_it_is() {
    for command in [
        "echo ${HOME} $x ${#x} ${x:-y} ${x%.*} ${x//a/b} ${!x} ${list[@]} ${LIST[0]} ${x-y}",
        "echo $$ $? $! $1 ${1} ${@} ${*}",
        r"echo \${x} '$x' $'it\'s' $((1 + 2)) $(( N + 1 )) `date`",
        "# a comment with ${x} and it's fine\necho ok # ${also.this}",
        "case $1 in a) echo a;; (b) echo b;; esac",
        "echo $(case a in a) echo b;; esac) done",
        "cat <<'EOF'\n$HOME it's `x`\nEOF\necho 'done'",
        "cat <<-\"END\"\n\ttext '\n\tEND\necho \"a\"",
        "f() { echo a; }; if ((1 > 0)); then f; fi; for ((i = 0; i < 3; i++)); do :; done",
        "[[ $a =~ ^(a|b)$ && ( -n $b || $c -eq 1 ) ]] && echo yes",
        "sed -n '${p;}' a; awk '{ print ${' b; echo '${HOME}' '${A:-'",
        "A=(one 'two' \"three\"); echo \"${A[0]}\" {1..3} @(x|y)",
    ] {
        assert_eq!(wrong(command), "", "{command}");
        assert_eq!(text(command), command);
    }
}

#[test]
fn a_doubled_dollar_leaves_braces_to_the_shell() {
    insta::assert_snapshot!(text("for f in *; do echo $${f} \"$${f}\" ${x}; done"), @r#"for f in *; do echo ${f} "${f}" "${COVEN_V1}"; done"#);
    assert_eq!(text("echo '$${x}' '$$' $'$${x}'"), "echo '${x}' '$$' $'${x}'");
    insta::assert_snapshot!(text("echo $${f:-${x}}"), @r#"echo ${f:-"${COVEN_V1}"}"#);
}

#[test]
fn a_variable_is_refused_where_a_shell_expands_nothing() {
    insta::assert_snapshot!(wrong("echo '${x}' $'${x}'"), @"
    ${x} => `${x}` stands in single quotes, where a shell expands nothing
    ${x} => `${x}` stands in single quotes, where a shell expands nothing
    ");
    insta::assert_snapshot!(wrong("cat <<'EOF'\n${x}\nEOF\ncat <<\\END\n${y}\nEND"), @"
    ${x} => `${x}` stands in a here-document whose delimiter is quoted, where a shell expands nothing
    ${y} => `${y}` stands in a here-document whose delimiter is quoted, where a shell expands nothing
    ");
    insta::assert_snapshot!(wrong("echo `basename ${x}` \"`${y}`\""), @"
    ${x} => `${x}` stands between backticks, where quotes do not work as elsewhere
    ${y} => `${y}` stands between backticks, where quotes do not work as elsewhere
    ");
    insta::assert_snapshot!(wrong("echo ${input.base:-main} ${FILE#${x}}"), @"
    ${input.base:-main} => `${input.base:-main}` mixes a variable of the workflow with an operator of the shell
    ${x} => `${x}` stands in a pattern, where its characters have a meaning of their own
    ");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of commands")]
fn a_variable_is_refused_where_a_shell_would_execute_it() {
    for command in [
        "echo $((${x} + 1))",
        "echo $(( $(echo ${x}) ))",
        "((n = ${x}))",
        "if (( ${x} > 1 )); then :; fi",
        "for ((i = 0; i < ${x}; i++)); do :; done",
        "echo $[${x}]",
        "let n=${x}",
        "let \"n = ${x}\"",
        "[[ ${x} -eq 1 ]]",
        "[[ 1 -lt \"${x}\" ]]",
        "[[ -n $a && ( 1 -gt ${x} ) ]]",
        "[[ -v ${x} ]]",
        "test -v \"${x}\"",
        "eval ${x}",
        "a=1 command eval \"echo ${x}\"",
        "if true; then eval ${x}; fi",
        "f() { eval ${x}; }",
        "eval \"$(echo ${x})\"",
        "trap \"rm ${x}\" EXIT",
        "declare \"${x}=1\"",
        "declare -i n=${x}",
        "read ${x}",
        "printf -v ${x} %s a",
        "a[${x}]=1",
        "a=([${x}]=1)",
        "echo ${a[${x}]} ${A:${x}:1}",
        "bash -c \"echo ${x}\"",
        "/bin/sh -euc ${x}",
        "bash -euo pipefail -c ${x}",
        "find . -exec sh -c \"ls ${x}\" \\;",
        "python3 -c \"print('${x}')\"",
        "sed -i \"s/a/${x}/\" file",
        "awk \"/${x}/ { print }\" file",
        "ssh host \"ls ${x}\"",
        "bash <<EOF\necho ${x}\nEOF",
        "python3 - <<EOF\nprint('${x}')\nEOF",
        "bash <<< ${x}",
        "ssh host <<EOF\nls ${x}\nEOF",
        "declare -n ref=${x}",
        "local -n ref=\"${x}\"",
        "typeset -rn ref=${x}",
        "declare -ai list=(1 ${x})",
        "declare -a -i list=(${x})",
        "declare -ai list+=(${x})",
        "source ${x}",
        ". \"${x}\"",
        "source \"lib/${x}.sh\"",
        "alias ll=\"ls ${x}\"",
        "coproc sh -c \"ls ${x}\"",
        "coproc P { eval ${x}; }",
        "coproc P { eval \"ls ${x}\"; }",
        "function f { eval ${x}; }",
        "PS4=${x} bash -x file",
        "PS4=\"${x}\"; set -x; ls",
        "BASH_ENV=${x} bash file",
        "export GIT_SSH_COMMAND=\"ssh -i ${x}\"",
        "env LD_PRELOAD=${x} ls",
        "sudo GIT_CONFIG_VALUE_0=${x} git status",
        "declare -x PROMPT_COMMAND=${x}",
        "echo ${x} | sh",
        "echo \"ls ${x}\" | sudo bash -s",
        "echo ${x} |& python3",
        "echo ${x} | tr a b | bash",
        "{ echo a; echo ${x}; } | sh",
        "(echo ${x}) | sh -e",
        "for i in 1 2; do echo ${x}; done | bash",
        "if true; then echo ${x}; fi | sh",
        "printf '%s' ${x} |\n  sh",
        "echo $(echo ${x} | sh)",
        "echo ${x} | xargs sh -c",
        "echo ${x} | xargs -I{} sh -c 'ls {}'",
        "xargs -n1 bash -c <<< ${x}",
        "echo ${x} | xargs bash",
        "echo ${x} | parallel",
        "parallel \"ls ${x}\" ::: 1 2",
        "script -c \"ls ${x}\" /dev/null",
        "script -qc ${x} /dev/null",
        "echo ${x} | script",
        "watch ls ${x}",
        "watch -n 2 \"ls ${x}\"",
        "make ${x}",
        "make A=${x}",
        "make --eval=${x}",
        "A=${x} make",
        "ex -c \"s/a/${x}/\" file",
        "vim -es -c ${x} file",
        "ex file <<EOF\ns/a/${x}/\nEOF",
        "ed file <<EOF\n${x}\nEOF",
        "emacs --batch --eval \"(print ${x})\"",
        "at now <<EOF\nls ${x}\nEOF",
        "echo \"* * * * * ls ${x}\" | crontab -",
        "sqlite3 db \"$(echo 1)\" <<EOF\n${x}\nEOF",
        "psql -c \"select '${x}'\"",
        "bind -x \"'a':${x}\"",
        "complete -C ${x} ls",
        "mapfile -C ${x} list",
        "env -S ${x}",
        "env -i -S \"ls ${x}\"",
        "env --split-string=${x}",
        "sudo -u me sh -c \"ls ${x}\"",
        "command -p eval ${x}",
        "time -p eval ${x}",
        "timeout 5 awk \"/${x}/\" file",
        "nice -n 5 ssh host \"ls ${x}\"",
        "find . -exec ${x} \\;",
        "find . -exec awk \"/${x}/\" {} \\;",
        "git -c core.sshCommand=${x} fetch",
        "git -c ${x} fetch",
        "git rebase --exec \"ls ${x}\" main",
        "git clone --upload-pack=${x} url",
        "tar xf a.tar --checkpoint=1 --checkpoint-action=exec=${x}",
        "tar -I ${x} -xf a",
        "rsync -e \"ssh ${x}\" a b",
        "ssh -o ProxyCommand=${x} host",
        "ssh -oProxyCommand=${x} host",
        "su -c \"ls ${x}\" me",
        "runuser -u me -c ${x}",
        "perl -e \"print '${x}'\"",
        "bash ${x}",
        "python3 ${x} a",
        "n=${x}; echo $((n + 1))",
        "n=${x}; ((n > 1))",
        "n=$(echo ${x}); let m=n+1",
        "local n=\"${x}\"; [[ $n -gt 1 ]]",
        "n=${x}; [[ 1 -lt n ]]",
        "n=${x}\necho ${list[$n]}",
        "n=${x}; a[n]=1",
        "n=${x}; declare -i m=n",
        "n=${x}; echo ${A:n:1}",
        "for n in ${x}; do echo $((n)); done",
        "read -r n <<< ${x}; echo $((n))",
        "echo ${x} | while read -r n; do echo $((n)); done",
        "printf -v n %s ${x}; ((n))",
        "c=${x}; declare -n ref=$c",
        "c=${x}; unset \"$c\"",
        "c=${x}; printf -v \"$${c}\" %s a",
    ] {
        let (_, errors) = ShellCommand::parse_all(command);
        assert!(
            errors.iter().any(|error| matches!(
                error.problem,
                ShellProblem::Arithmetic { .. }
                    | ShellProblem::Executed { .. }
                    | ShellProblem::VariableName { .. }
                    | ShellProblem::CalculatedLater { .. }
                    | ShellProblem::ReferredLater { .. }
                    | ShellProblem::Environment { .. }
            )),
            "{command}: {errors:?}"
        );
    }
}

#[test]
fn what_only_looks_dangerous_is_accepted() {
    for command in [
        "[ \"${x}\" -gt 3 ]",
        "[[ ${x} == a* && -f ${y} ]]",
        "echo \"[${x}]\" \"list[${x}]\" bash -c ${x}",
        "bash script.sh -c ${x}",
        "python3 tool.py ${x}",
        "export A=${x} B=\"${y}\"",
        "local n=${x}",
        "awk -v n=${x} '{ print n }' ${y}",
        "sed -n '1p' ${x}",
        "ssh ${x} uptime",
        "while read -r line; do echo ${x}; done < ${y}",
        "read -r a b <<< \"${x}\"",
        "cat <<EOF\n[${x}] eval ${y}\nEOF",
        "python3 tool.py <<EOF\n${x}\nEOF",
        "ssh host cat <<EOF\n${x}\nEOF",
        "test -n ${x} -a -f ${y}",
        "git commit -m \"eval $(( 1 + 1 )): ${x}\"",
        "git diff --end-of-options ${x}",
        "checks=${x}; bash -c \"$checks\"",
        "n=${x}; [ \"$n\" -gt 3 ] && echo \"$n\"",
        "n=${x}; m=1; echo $((m + 1))",
        "source lib.sh ${x}",
        "echo ${x} | grep a | xargs rm -f --",
        "echo ${x} | tee log | sort",
        "echo a | sh; echo ${x}",
        "echo ${x} > file; sh file",
        "echo ${x} && ls | sh",
        "sudo -u me ls ${x}",
        "env -u A B=${x} ls ${y}",
        "GIT_AUTHOR_NAME=${x} git commit",
        "tar xf ${x} -C ${y}",
        "rsync -a ${x} host:${y}",
        "timeout 5 ls ${x}",
        "find ${x} -name ${y} -exec rm {} \\;",
        "declare -r a=${x}; declare -a list=(${x})",
        "bash script.sh ${x}",
        "for f in ${x}; do rm -- $f; done",
        "read -r n <<< ${x}; echo \"$n\"",
        "function f { echo ${x}; }; coproc P { cat ${y}; }",
    ] {
        assert_eq!(wrong(command), "", "{command}");
    }
}

#[test]
fn what_is_left_open_is_told_with_its_place() {
    insta::assert_snapshot!(wrong("echo 'it"), @"' => this quote is not closed");
    insta::assert_snapshot!(wrong("echo \"a $(date"), @r#"
    " => this quote is not closed
    ( => this parenthesis is not closed
    "#);
    insta::assert_snapshot!(wrong("echo ${A:-b"), @"${ => this `${` is not closed");
    insta::assert_snapshot!(wrong("echo `date"), @"` => this backtick is not closed");
    insta::assert_snapshot!(wrong("echo a\0b").replace('\0', "NUL"), @"NUL => a command cannot hold a NUL character");
    let deep = "$(".repeat(100_000);
    assert!(ShellCommand::parse(&deep).is_err());
    let deep = "\"${A:-".repeat(100_000);
    assert!(ShellCommand::parse(&deep).is_err());
}

#[test]
fn a_value_that_no_environment_takes_is_handed_over_in_a_file() {
    let scope = scope()
        .with("huge", Value::from("x".repeat(MAX_ENV_VALUE_BYTES + 1)))
        .with("fits", Value::from("x".repeat(MAX_ENV_VALUE_BYTES)))
        .with("nul", Value::from("a\0b"));
    let prepare = |text: &str| ShellCommand::parse(text).unwrap().prepare(&scope);
    let named = |text: &str| {
        let prepared = prepare(text).unwrap();
        let env: Vec<String> = prepared.env.into_iter().map(|(name, _)| name).collect();
        let files: Vec<String> = prepared
            .files
            .into_iter()
            .map(|file| format!("{}={}", file.variable, file.name))
            .collect();
        format!("{} | {} | {}", prepared.text, env.join(" "), files.join(" "))
    };
    insta::assert_snapshot!(named("a ${fits} ${huge} ${fits} ${nul}"), @r#"a "${COVEN_V1}" "${COVEN_V2}" "${COVEN_V1}" "${COVEN_V3}" | COVEN_V1 | COVEN_V2=huge COVEN_V3=nul"#);
    insta::assert_snapshot!(prepare("a ${missing}").unwrap_err(), @"`${missing}` is not defined: there is no variable of that name");
    assert_eq!(prepare("a ${missing}").unwrap_err().offset(), 2);
    let many: String = (0..12).map(|index| format!("${{many[{index}]}} ")).collect();
    let scope = scope.with("many", json!(vec!["x".repeat(MAX_ENV_VALUE_BYTES); 12]));
    let prepared = ShellCommand::parse(&many).unwrap().prepare(&scope).unwrap();
    assert_eq!((prepared.env.len(), prepared.files.len()), (10, 2));
}

#[test]
fn a_command_is_its_source_on_disk_and_raw_text_stays_raw() {
    let command = ShellCommand::parse("echo ${x}").unwrap();
    let stored = serde_json::to_string(&command).unwrap();
    assert_eq!(stored, "\"echo ${x}\"");
    assert_eq!(serde_json::from_str::<ShellCommand>(&stored).unwrap(), command);
    assert!(serde_json::from_str::<ShellCommand>("\"eval ${x}\"").is_err());
    let raw = ShellCommand::raw("print(f'${x}')");
    let stored = serde_json::to_string(&raw).unwrap();
    let back: ShellCommand = serde_json::from_str(&stored).unwrap();
    assert_eq!(back, raw);
    assert_ne!(back, ShellCommand::parse("print").unwrap());
    assert_eq!(back.prepare(&scope()).unwrap().text, "print(f'${x}')");
}

#[test]
fn what_is_executed_later_is_told_at_the_place_of_the_variable() {
    insta::assert_snapshot!(wrong("n=${x}\necho $((n + 1)) | ${y} | sh"), @"
    ${x} => `${x}` goes into the shell variable `n`, and the shell calculates with that: there it executes what a value holds
    ${y} => `${y}` becomes part of a program that `sh` executes
    ");
    insta::assert_snapshot!(wrong("c=${x}; read \"$c\"; PS4=${y} ls"), @"
    ${x} => `${x}` goes into the shell variable `c`, which stands where `read` expects the name of a shell variable: there a shell executes what a value holds
    ${y} => `${y}` goes into `PS4`, and what that holds is executed
    ");
}

#[test]
fn what_functions_make_of_a_value_reaches_the_command_in_the_environment() {
    let command =
        ShellCommand::parse("a ${list | join ','} \"${none | default 'no ${y}'}\" ${list}")
            .unwrap();
    let prepared = command.prepare(&scope()).unwrap();
    assert_eq!(prepared.text, "a \"${COVEN_V1}\" \"${COVEN_V2}\" \"${COVEN_V3}\"");
    let values: Vec<&str> = prepared.env.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(values, ["1,2", "no ${y}", "[1,2]"]);
    insta::assert_snapshot!(wrong("a ${list | jion ','} ${x | indent}"), @r"
     jion ',' => `jion` is no function; did you mean `join`?; there are `default`, `join`, `lines`, `indent`, `quote` and `json`
     indent => `indent` takes a number up to 100, as in `indent 4`
    ");
    insta::assert_snapshot!(wrong("eval \"${x | json}\""), @"${x | json} => `${x}` becomes part of a program that `eval` executes");
}
