//! Commands taken apart, and commands that must not be.

use insta::assert_snapshot;

use super::*;

fn shown(command: &str) -> String {
    match parts(command) {
        Err(why) => format!("unread: {why}"),
        Ok(parts) => {
            let one = |part: &CommandPart| {
                let exactly = if part.only_exactly { "!" } else { "" };
                match part.kind {
                    PartKind::Command => format!("{exactly}[{}]", part.text),
                    PartKind::Redirect => format!("{exactly}file[{}]", part.text),
                    PartKind::Special(why) => format!("special[{}: {why}]", part.text),
                }
            };
            parts.iter().map(one).collect::<Vec<_>>().join(" ")
        }
    }
}

#[test]
fn a_command_is_taken_apart_into_everything_that_runs() {
    let commands = [
        "cargo test",
        "cargo   test   --lib",
        "cargo test && git push -f; true cargo test",
        "cargo test | tee log",
        "cargo test\ntouch X",
        "cargo test $(touch X)",
        "cargo test \"a $(touch X) b\"",
        "cargo test '$(touch X)'",
        "cargo test `touch X`",
        "cargo test <(touch X)",
        "cargo test > ~/.bashrc",
        "cargo test >> log 2>&1",
        "cargo test > /dev/null 2>&1",
        "cargo test &> all.log",
        "cargo test >& all.log",
        "cargo test > $HOME/x",
        "cargo test > target/../x",
        "cargo test &",
        "FOO=1 cargo test",
        "FOO=$(touch X) cargo test",
        "FOO=1",
        "A=(1 2) cargo test",
        "(cd x && cargo test)",
        "{ cargo test; touch X; }",
        "if cargo check; then cargo test; else touch X; fi",
        "for f in a $(touch X); do cargo test $f; done",
        "while cargo test; do touch X; done > log",
        "case $A in a) cargo test;; *) touch X;; esac",
        "! cargo test",
        "time cargo test",
        "f() { cargo test; }",
        "[[ -f x ]] && cargo test",
        "((a[$(touch X)]=1))",
        "cargo test ${A:-$(touch X)}",
        "cargo test $((1+1))",
        "cargo test $A \"$B\" ${C}",
        "cargo test <<E\nx\nE",
        "cargo test <<< x",
        "eval cargo test",
        "sh -c 'touch X'",
        "/bin/bash -lc 'touch X'",
        "bash scripts/test.sh",
        "source x",
        "cargo test a#b",
        "echo 'a;b' \"c|d\" e\\;f",
        "coproc cargo test",
    ];
    let all: Vec<String> =
        commands.iter().map(|command| format!("{command:?} → {}", shown(command))).collect();
    assert_snapshot!(all.join("\n"));
}

#[test]
fn what_is_not_what_it_looks_like_is_not_taken_apart() {
    let commands = [
        "",
        "   ",
        "# cargo test",
        "touch X # cargo test",
        "cargo test \\\ntouch X",
        "cargo test \\",
        "cargo\u{a0}test",
        "cargo test\u{202e}",
        "cargo\u{200b} test",
        "cargo test \u{fffd}",
        "cargo test\u{1b}[2K",
        "cargo test \"",
        "cargo test )",
        "cargo test |",
        "if cargo test",
    ];
    for command in commands {
        assert!(parts(command).is_err(), "{command:?} → {}", shown(command));
    }
    let deep = format!("{}cargo test{}", "(".repeat(2000), ")".repeat(2000));
    let long = format!("cargo test {}", "a".repeat(5000));
    let ifs = "if ".repeat(1300);
    for command in [deep.as_str(), &long, &ifs] {
        assert!(parts(command).is_err(), "{}", &command[..20]);
    }
}

/// The parser takes memory without end for some of these.
#[test]
fn a_here_document_is_not_read() {
    for command in [
        "$( (; << ))case x in ",
        "$(<< )x) ",
        "${<<''}}{ <<{ ",
        "`<<a`",
        "cat <(<<a)",
        "<<-\"\"; then ",
        "while ''<<\"\"<<-time <<\"\"<<-time ",
        "x <<<< a",
    ] {
        assert_eq!(parts(command), Err(UnreadCommand("it has a here-document")), "{command}");
    }
    assert!(parts("cargo test <<< x").is_ok());
}

/// The parser takes hours for these, found by trying random commands.
#[test]
fn what_the_parser_does_not_come_back_from_is_not_given_to_it() {
    let begin = std::time::Instant::now();
    for (unit, times) in [
        ("((", 20),
        ("((=~", 20),
        ("((-oa b((", 11),
        ("$((", 20),
        ("${x:-", 18),
        ("${a[{a,b}", 12),
        ("case x in x) ", 23),
        ("case x in x) :\n", 23),
        ("case x in (x) ", 12),
    ] {
        let command = unit.repeat(times);
        assert!(parts(&command).is_err(), "{command}");
    }
    assert!(begin.elapsed() < std::time::Duration::from_secs(20), "{:?}", begin.elapsed());
    // What people write is still read.
    for command in [
        "cp ${A}/x ${B}/y ${C}/z ${D}/${E}",
        "echo $((1 + 2)) $((3 + 4))",
        "case $A in a) cargo test;; b) cargo check;; esac",
    ] {
        assert!(parts(command).is_ok(), "{command} → {}", shown(command));
    }
}

/// What stands behind a word of the shell's own, in any nesting, is seen.
#[test]
fn a_forbidden_word_is_always_seen_or_the_command_is_not_read() {
    use proptest::prelude::*;
    let piece = prop::sample::select(vec![
        "cargo test",
        "touch X",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "\n",
        "(",
        ")",
        "{ ",
        "; }",
        "$(",
        "`",
        "\"",
        "'",
        "\\",
        " ",
        "#",
        ">",
        "<",
        "<<",
        "$",
        "${",
        "}",
        "if ",
        "; then ",
        "; fi",
        "!",
        "a=",
        "eval ",
        "sh -c ",
        "[[ ",
        " ]]",
        "((",
        "))",
        "case x in ",
        "x) ",
        ";; ",
        "esac",
    ]);
    proptest!(ProptestConfig::with_cases(2000), |(pieces in prop::collection::vec(piece, 1..12))| {
        let command = pieces.concat();
        if let Ok(parts) = parts(&command) {
            let whole = command.matches("touch X").count();
            // Behind `>` the first word is a file, and the second is what runs: both are seen.
            let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
            let texts = texts.join(" ");
            let seen = (texts.contains("touch") && texts.contains('X'))
                || parts.iter().any(|part| matches!(part.kind, PartKind::Special(_)));
            prop_assert!(whole == 0 || seen, "{command:?} → {}", shown(&command));
        }
    });
}

/// Nobody knows which shell runs a command: agents run what stands in `SHELL`, and models choose.
#[test]
fn what_another_shell_reads_in_another_way_is_no_plain_command() {
    let commands = [
        r#"echo "${(e):-\$(touch X)}""#,
        "x='$(touch X)'; echo \"${(e)x}\"",
        "echo ${=x}",
        "echo ${^x}",
        "echo ${~x}",
        r#"echo "${(P)x}""#,
        "echo $=x",
        "echo $~x",
        "echo $^x",
        "echo $+x",
        "echo $#x",
        "echo \"$x[1]\"",
        "echo ${x}[1]",
        "echo $PATH['$(touch X)']",
        "echo $x:h",
        "echo \"$x:s/a/b/\"",
        "echo =cat",
        "=cat x",
        "x==cat cargo test",
        "PATH=a:=cat cargo test",
        "echo =(touch X)",
        "echo *(e:'touch X':)",
        "echo $(true) *(e:'touch X':)",
        "echo a*(N)",
        "echo ?(a)",
        "echo x(a)",
        "echo (touch X)",
        "echo {a}(touch X)",
        r"echo 'a\' '(touch X)' '\'",
        r"echo $'a\' ; touch X; echo \''",
        "echo $\"a\"",
        "echo a\\c\\;touch X",
        "echo \\x28",
        "echo x >! X",
        "echo x >>! X",
        "echo x >| touch X",
        "echo x 2>| touch X",
        "echo x >&! X",
        "echo x >?X",
        "echo x ^X",
        "{ echo a; } always { touch X; }",
        "echo ~[x]",
        "cd ~+[1]",
        "echo ~+",
        "echo $[1]",
        "echo $$",
        "echo $!",
        "echo $@",
        "echo !!",
        "echo \"!touch\"",
        "echo !touch",
        "echo \"${ touch X;}\"",
        "echo ${|touch X;}",
        "{PATH}>x cargo test",
        "echo a }",
        "printf -v 'a[$(touch X)]' x",
        r"printf -v a[\$\(touch\ X\)] x",
        r#"read "a[\$(touch X)]""#,
        "test -v 'a['\\$'(touch X)]'",
        "a[b]=1 cargo test",
        "a[$(touch X)]=1 cargo test",
        "\"eval\" touch X",
        "sh \"-c\" 'touch X'",
        "e'v'al touch X",
    ];
    for command in commands {
        let plain = parts(command).is_ok_and(|parts| parts.iter().all(|part| !part.only_exactly));
        assert!(!plain, "{command} → {}", shown(command));
    }
}

/// What people and agents write every day needs no person because of that.
#[test]
fn what_every_shell_reads_alike_is_a_plain_command() {
    let commands = [
        "grep -rn 'foo$' src | head -20",
        "grep \"foo$\" \"a|$|b\"",
        "grep '^[a-z]*$' x",
        "echo \"say \\\"hi\\\" to $USER\"",
        "echo \"Hello World!\"",
        "[ \"$a\" != b ] && echo $?",
        "[ a = b ] || [ a == b ]",
        "pip install foo==1.2 'bar>=3'",
        "git show HEAD~1 HEAD^ stash@{0} HEAD^{tree}",
        "find . -name '*.rs' -exec wc -l {} \\;",
        "cp src/{a,b}.rs ~/x ~",
        "ls ${A}/x $B/y *.rs [ab]?",
        "awk '{print $1}' x",
        "sed -e 's/a\\.b/c/' x",
        "! cargo test",
        "(cd x && cargo test)",
        "{ cargo test; cargo check; }",
        "A=1 B=\"x y\" cargo test --features=a,b",
        "echo a b\\ c \\# \\(x\\)",
        "echo \"$(cargo test 2>&1 | grep -c \"ok\")\" $(git status)",
        "git log --format='%h %s' --since=2.weeks",
    ];
    for command in commands {
        let parts = parts(command).unwrap();
        assert!(parts.iter().all(|part| !part.only_exactly), "{command} → {}", shown(command));
    }
}

#[test]
fn a_file_is_compared_as_the_shell_opens_it() {
    let shown = |target: &str| {
        let part = parts(&format!("echo a > {target}")).unwrap().remove(1);
        let exactly = if part.only_exactly { "!" } else { "" };
        format!("{exactly}{}", part.plain.unwrap_or_else(|| format!("({})", part.text)))
    };
    for (target, expected) in [
        ("target/x", "> target/x"),
        ("'target/x'", "> target/x"),
        ("./target//x", "> target/x"),
        ("\"target\"/./x", "> target/x"),
        ("target\\/x", "> target/x"),
        ("/dev//sda", "> /dev/sda"),
        ("target/../x", "!> x"),
        ("target/.'.'/x", "!> x"),
        ("target/.\"\"./x", "!> x"),
        ("target/'../x'", "!> x"),
        ("target/\\.\\./x", "!> x"),
        ("target/'a/../../x'", "!> x"),
        ("target/$x", "!(> target/$x)"),
        ("target/\"$x\"", "!(> target/\"$x\")"),
        ("target/{..,a}/x", "!(> target/{..,a}/x)"),
        ("target/*", "!(> target/*)"),
        ("target/?./x", "!(> target/?./x)"),
        ("target/[.]./x", "!(> target/[.]./x)"),
        ("target/$(true)/x", "!(> target/$(true)/x)"),
        ("~/x", "!(> ~/x)"),
        ("~root/x", "!(> ~root/x)"),
        ("'~/x'", "!> ~/x"),
        ("=cat", "!> =cat"),
    ] {
        assert_eq!(shown(target), expected, "{target}");
    }
}
