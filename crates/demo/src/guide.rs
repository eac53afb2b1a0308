//! What a person reads to drive the agent: the directives and the exit codes. `--help` and `/help`
//! show the same text.

pub const DIRECTIVES: &str = "\
A prompt may hold directives, one per line or separated by `;`. Anything else is
plain text; a prompt without a directive is answered with a friendly echo.
`Read the file PATH and do exactly what it says.` takes the directives from a file,
as prompts come that are too long for an argument.

  say TEXT             say it
  json VALUE           answer with this JSON
  think SECONDS        work for that long
  approve COMMAND      ask, then run the command with `sh -c`
  disobey COMMAND      run it without asking, whatever the permissions say
  write PATH TEXT      write a file; PATH has a `.` or `/` in it
  ask QUESTION         wait for an answer and repeat it
  choose [WHAT?] A|B|C wait for a choice
  cost USD             let the turn cost this much
  fail MESSAGE         end the turn with an error
  exit CODE [now]      end the process; with `now`, without a result
  repeat N             do all that follows N times

For testing whoever runs agents:

  ignore-signals       ignore SIGHUP, SIGINT and SIGTERM from now on
  double-fork SECONDS [PIDFILE]
                       leave a process behind, in a session of its own, that
                       ignores these signals as well
  flood BYTES          write that many bytes, in numbered lines of 64
  late-writer [SECONDS]
                       leave a process behind that writes `late` that long
                       (0.2) after this one has ended
  close-tty SECONDS    close the terminal, live on for that long, exit 0
  split-utf8           stop in the middle of a character, exit 0
  die SIGNAL           die by the signal (TERM, KILL, SEGV, 9, ...)
  hang                 work for ever

A `;` separates if a directive or nothing follows; `\\;` never does. In TEXT,
QUESTION and MESSAGE `\\n` is a new line. In a script, `#` starts a comment
line, and anything that is not a directive is an error.
";

pub const EXIT_CODES: &str = "  0    done, also if something was not allowed (the result lists it)
  1    the turn failed, or a session or a stream could not be used
  2    wrong usage: an option, the prompt, or a script
  129  the terminal went away
  N    what `exit N` says; `die` and signals end it as they end any process
";
