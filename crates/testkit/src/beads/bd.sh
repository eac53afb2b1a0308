#!/bin/sh
# Stands in for the bead tracker `bd` (1.1 and later) with the verbs that the built-in grimoires
# use. Each bead is a folder in .beads; a lock makes every call one step, as the database of the
# real one does. Every call is a line of .beads/calls.
set -eu
test -d .beads || { echo "Error: no beads database found" >&2; exit 1; }

actor=${USER:-nobody}
if test "$1" = --actor; then actor=$2; shift 2; fi
verb=$1
shift
until mkdir .beads/.lock 2> /dev/null; do :; done
trap 'rmdir .beads/.lock' EXIT
{ printf '%s|' "$actor" "$verb" "$@" | tr '\n' ' '; echo; } >> .beads/calls

get() { cat ".beads/$1/$2" 2> /dev/null || true; }
put() { printf '%s' "$3" > ".beads/$1/$2"; }
ids() { for bead in .beads/*/; do test ! -f "$bead/status" || basename "$bead"; done; }
quoted() { printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g' | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }'; }
known() { test -f ".beads/$1/status" || { echo "Error: no issue found matching \"$1\"" >&2; exit 1; }; }
# A bead as one element of the indented JSON that bd prints. Empty values are left out.
json() {
  printf '  {\n    "id": "%s",\n    "title": "%s",\n    "description": "%s",\n    "status": "%s"' \
    "$1" "$(quoted "$(get "$1" title)")" "$(quoted "$(get "$1" description)")" "$(get "$1" status)"
  test -z "$(get "$1" assignee)" || printf ',\n    "assignee": "%s"' "$(get "$1" assignee)"
  printf '\n  }'
}
array() {
  if test $# = 0; then echo '[]'; return; fi
  echo '['
  separator=
  for one in "$@"; do printf '%b' "$separator"; json "$one"; separator=',\n'; done
  printf '\n]\n'
}
claim() {
  status=$(get "$1" status)
  assignee=$(get "$1" assignee)
  if test -n "$assignee" && test "$assignee" != "$actor"; then
    echo "Error claiming $1: issue already claimed by $assignee" >&2
    return 1
  fi
  case $status in
    open | in_progress) ;;
    *) echo "Error claiming $1: issue not claimable: status $status" >&2; return 1 ;;
  esac
  put "$1" assignee "$actor"
  put "$1" status in_progress
}
is_ready() {
  test "$(get "$1" status)" = open || return 1
  for need in $(get "$1" needs); do test "$(get "$need" status)" = closed || return 1; done
}

case $verb in
  create)
    title=$1
    shift
    description=
    while test $# -gt 0; do
      case $1 in --description) description=$2; shift ;; esac
      shift
    done
    id=bd-$(($(ids | wc -l) + 1))
    mkdir ".beads/$id"
    put "$id" title "$title"
    put "$id" description "$description"
    put "$id" status open
    json "$id" | sed 's/^  //'
    echo
    ;;
  dep)
    known "$2"
    known "$3"
    put "$2" needs "$(get "$2" needs) $3"
    ;;
  ready)
    claims=
    for argument in "$@"; do test "$argument" != --claim || claims=yes; done
    set --
    for id in $(ids); do
      if is_ready "$id"; then
        if test -z "$claims"; then set -- "$@" "$id"; continue; fi
        if claim "$id" 2> /dev/null; then set -- "$id"; break; fi
      fi
    done
    array "$@"
    ;;
  list)
    status= assignee=
    while test $# -gt 0; do
      case $1 in --status) status=$2; shift ;; --assignee) assignee=$2; shift ;; esac
      shift
    done
    set --
    for id in $(ids); do
      test -z "$status" || test "$(get "$id" status)" = "$status" || continue
      test -z "$assignee" || test "$(get "$id" assignee)" = "$assignee" || continue
      set -- "$@" "$id"
    done
    array "$@"
    ;;
  show)
    known "$1"
    if test "${2:-}" = --json; then array "$1"; exit; fi
    printf '%s: %s\nStatus: %s\n\n%s\n' "$1" "$(get "$1" title)" "$(get "$1" status)" "$(get "$1" description)"
    ;;
  update)
    id=$1
    known "$id"
    shift
    while test $# -gt 0; do
      case $1 in
        --claim) claim "$id" || exit 1 ;;
        --status) put "$id" status "$2"; shift ;;
        --assignee) put "$id" assignee "$2"; shift ;;
        *) echo "Error: unknown flag: $1" >&2; exit 1 ;;
      esac
      shift
    done
    echo "✓ Updated issue: $id"
    ;;
  close)
    known "$1"
    put "$1" status closed
    echo "✓ Closed $1"
    ;;
  *) echo "Error: unknown command \"$verb\" for \"bd\"" >&2; exit 1 ;;
esac
