// What waits for a person, as cards that can be decided on the spot, with the mouse or with keys.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Choice, InterventionItem } from "../api";
import { decide } from "../actions";
import { Refused } from "../http";
import { lookAgain } from "../live";
import { DecisionLock } from "../decision-lock";
import { go, toSession } from "../route";
import { details } from "../store";
import { duration, now } from "../time";
import { CHOICE, KIND, MEANING, NEEDS_TEXT, TAKES_TEXT, enterChoice, plural, seen, shortPath } from "../labels";
import { Branch, Mark, Terminal, Warn } from "./icons";
import { say } from "./parts";

const KEYS: Record<string, Choice> = { a: "approve", A: "approve-always", d: "deny" };
const SHOWN_KEYS: Partial<Record<Choice, string>> = { approve: "a", "approve-always": "⇧A", deny: "d" };
/** How long a rule must have been shown before it can be made, in milliseconds: a double click on
 * "Always" must not make it unseen. */
const RULE_SETTLE_TIME = 600;
/** How many cards are drawn at once; more would be scrolled past, not read. */
const DRAWN = 25;

export function Attention({ items, title, within }: {
  items: readonly InterventionItem[];
  title?: string;
  /** The session this is shown in, and the task whose terminal is shown with it. */
  within?: { task: string | null };
}) {
  const section = useRef<HTMLElement>(null);
  const settling = useRef(new DecisionLock()).current;
  const [selected, setSelected] = useState<string | null>(null);
  const [, again] = useState(0);
  // The question whose rule for "always" is shown, and since when.
  const [ruled, setRuled] = useState<{ id: string; at: number } | null>(null);
  const showRule = (id: string | null) => setRuled(id === null ? null : { id, at: performance.now() });
  const rulePlaced = (item: InterventionItem) =>
    ruled?.id === item.id && performance.now() - ruled.at >= RULE_SETTLE_TIME;
  const shown = items.slice(0, DRAWN);
  const place = useRef(0);

  // The selected card is gone: the one in its place is next, and must first be seen.
  const index = shown.findIndex((item) => item.id === selected);
  const current = shown[index] ?? shown[Math.min(place.current, shown.length - 1)] ?? null;
  place.current = Math.max(0, current ? shown.indexOf(current) : 0);

  const cards = shown.map((item, at) => ({ id: item.id, key: `${at} ${item.digest ?? ""}` }));
  const mark = cards.map((card) => `${card.id} ${card.key}`).join("\n");
  settling.placed(cards);
  settling.select(current?.id ?? null, current?.id === selected, performance.now());
  useLayoutEffect(() => {
    // Only what the browser has painted was seen.
    let second = 0;
    const first = requestAnimationFrame(() => {
      second = requestAnimationFrame(() => {
        settling.painted(performance.now());
        again((turn) => turn + 1);
      });
    });
    return () => {
      cancelAnimationFrame(first);
      cancelAnimationFrame(second);
    };
  }, [mark, current?.id]);

  const lefts = shown.map((item) => settling.left(item.id, performance.now()));
  const longest = Math.max(0, ...lefts);
  useEffect(() => {
    if (longest === 0) return;
    const timer = setTimeout(() => again((turn) => turn + 1), longest + 10);
    return () => clearTimeout(timer);
  });

  const choose = (by: number) => {
    const next = shown[Math.min(shown.length - 1, Math.max(0, place.current + by))];
    if (!next) return;
    settling.select(next.id, true, performance.now());
    setSelected(next.id);
    const card = section.current?.querySelector(`[data-id="${CSS.escape(next.id)}"]`);
    card?.scrollIntoView({ block: "nearest" });
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (target.matches("input, textarea, select")) {
      if (event.key === "Escape") section.current?.focus();
      return;
    }
    if (event.key === "j" || (event.key === "ArrowDown" && target === section.current)) choose(1);
    else if (event.key === "k" || (event.key === "ArrowUp" && target === section.current)) choose(-1);
    else if (event.key === "Enter" && current && target === section.current) open(current);
    else if (event.key === "Escape" && ruled) showRule(null);
    else if (event.key === "y" && current && rulePlaced(current)) {
      if (event.repeat || !mayApprove(current)) return;
      if (settling.left(current.id, performance.now()) > 0) return;
      void take(current, "approve-always", "");
    } else if (KEYS[event.key] && current) {
      const choice = KEYS[event.key]!;
      if (!current.options.includes(choice) || event.repeat) return;
      if (settling.left(current.id, performance.now()) > 0) return;
      if (APPROVES.has(choice) && !mayApprove(current)) return;
      if (choice === "approve-always") {
        if (current.always) showRule(current.id);
      } else void take(current, choice, "");
    } else return;
    event.preventDefault();
  };

  if (items.length === 0) return null;
  return (
    <section class="attention" ref={section} tabIndex={0} onKeyDown={onKeyDown}
      aria-label={`What needs you: ${plural(items.length, "question")}. Keys: a approves, Shift A always, d denies, j and k move, Enter opens.`}>
      <header class="attention-head">
        <h2>{title ?? "Needs you"} <span class="count count-needs">{items.length}</span></h2>
        <p class="keys-hint" aria-hidden="true">
          <kbd>j</kbd><kbd>k</kbd> move <kbd>a</kbd> approve <kbd>⇧A</kbd> always <kbd>d</kbd> deny <kbd>↵</kbd> open
        </p>
      </header>
      <ul class="cards">
        {shown.map((item, at) => (
          <Card key={item.id} item={item} current={item === current} locked={lefts[at]! > 0} within={within}
            onFocus={() => {
              if (item === current) return;
              settling.select(item.id, true, performance.now());
              setSelected(item.id);
            }}
            onDecide={() => section.current?.focus({ preventScroll: true })}
            mayDecide={() => settling.left(item.id, performance.now()) === 0}
            showsRule={ruled?.id === item.id} onRule={(show) => showRule(show ? item.id : null)}
            mayRule={() => rulePlaced(item)} />
        ))}
      </ul>
      {items.length > shown.length && (
        <p class="muted more">{plural(items.length - shown.length, "more question")} below these; they come up as you answer.</p>
      )}
    </section>
  );
}

/** Choices that let an agent do what it asks for. */
const APPROVES: ReadonlySet<Choice> = new Set<Choice>(["approve", "approve-always"]);

/** Questions about trees: what is in them is seen before they are decided. */
const OF_TREES: ReadonlySet<InterventionItem["kind"]> = new Set(["merge-conflict", "tree-problem", "landing"]);

/** Questions whose text was on the screen to its end. */
const seenToEnd = new Set<string>();

const mayApprove = (item: InterventionItem) =>
  !item.truncated && (item.kind !== "approval" || !item.excerpt || seenToEnd.has(item.id));

const open = (item: InterventionItem) => go(toSession(item.workflowId, item.task ?? null));

/** Decisions that are under way, so that one press is one decision. */
const underWay = new Set<string>();

async function take(item: InterventionItem, decision: Choice, answer: string, save = false, entry?: string): Promise<boolean> {
  if (underWay.has(item.id)) return false;
  underWay.add(item.id);
  try {
    await decide(item, {
      decision,
      ...((answer !== "" || (!entry && enterChoice(item) === decision)) && TAKES_TEXT.has(decision) ? { answer } : {}),
      ...(entry ? { entry } : {}),
      ...(item.digest ? { digest: item.digest } : {}),
      ...(decision === "approve-always" && item.always ? { rule: item.always, ...(save ? { save } : {}) } : {}),
    });
    return true;
  } catch (error) {
    if (error instanceof Refused && ["stale-digest", "already-decided", "intervention-not-found"].includes(error.code)) {
      // The question on the card is no longer the question: show what is asked now.
      say({ text: `Nothing was sent: ${error.problem.detail} The card shows what waits now.` });
      await lookAgain().catch(() => undefined);
    } else {
      say({ error });
    }
    return false;
  } finally {
    underWay.delete(item.id);
  }
}

function Card({ item, current, locked, within, onFocus, onDecide, mayDecide, showsRule, onRule, mayRule }: {
  item: InterventionItem;
  within: { task: string | null } | undefined;
  current: boolean;
  locked: boolean;
  onFocus: () => void;
  /** The card will go; the keyboard stays with the queue. */
  onDecide: () => void;
  mayDecide: () => boolean;
  /** The rule that "always" makes is shown. */
  showsRule: boolean;
  onRule: (show: boolean) => void;
  mayRule: () => boolean;
}) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const excerpt = useRef<HTMLPreElement>(null);
  const [toEnd, setToEnd] = useState(seenToEnd.has(item.id));
  // A long command is approved only when its end has been in view.
  const look = () => {
    const box = excerpt.current;
    if (!box || box.clientHeight === 0 || seenToEnd.has(item.id)) return;
    if (box.scrollTop + box.clientHeight < box.scrollHeight - 2) return;
    seenToEnd.add(item.id);
    setToEnd(true);
  };
  useLayoutEffect(look);
  const unseen = (choice: Choice) =>
    APPROVES.has(choice) && (item.truncated === true || (item.kind === "approval" && !!item.excerpt && !toEnd));
  const task = details.value.get(item.workflowId)?.tasks.find((one) => one.id === item.task);
  const evidence = task?.verdict?.state === "awaiting" ? task.verdict.evidence : null;
  // The terminal right below shows the same; the card keeps enough of it that nothing is decided
  // unseen where the terminal is out of sight.
  const below = within !== undefined && within.task === item.task && task?.live === true && task.mode === "interactive";
  const takes = item.options.filter((option) => TAKES_TEXT.has(option));
  const plain = item.options.filter((option) =>
    !NEEDS_TEXT.has(option) && (option !== "approve-always" || item.always));
  // An approval has words of its own for its entries.
  const entries = item.kind === "approval" ? [] : (item.entries ?? []);
  const ownText = entries.find((entry) => entry.takesText);
  const texts = item.options.filter((option) =>
    NEEDS_TEXT.has(option) && (option !== "answer" || entries.length === 0 || ownText));
  const takesText = takes.length > 0 && (entries.length === 0 || texts.length > 0);
  const typed = {
    value: text,
    onInput: (event: { currentTarget: HTMLInputElement }) => setText(event.currentTarget.value),
    autoComplete: "off",
    "aria-label": texts.length > 0 ? "Your answer" : "A text that goes along",
    placeholder: ownText ? ownText.label : texts[0] === "send" ? "Message to the agent" : texts.length > 0 ? "Answer in words" : "Reason, if you like",
  };

  const press = (choice: Choice) => {
    if (!mayDecide() || busy || unseen(choice)) return;
    if (NEEDS_TEXT.has(choice) && text.trim() === "") return;
    if (choice === "approve-always") return onRule(true);
    send(choice, false);
  };
  const enter = enterChoice(item);
  const pressEnter = () => {
    if (!mayDecide() || busy || !enter) return;
    setBusy(true);
    void take(item, enter, "").then((done) => {
      setBusy(false);
      if (done) onDecide();
    });
  };
  const pick = (entry: string) => {
    if (!mayDecide() || busy) return;
    setBusy(true);
    void take(item, "answer", "", false, entry).then((done) => {
      setBusy(false);
      if (done) onDecide();
    });
  };
  const makeRule = (save: boolean) => {
    if (mayDecide() && !busy && !unseen("approve-always") && mayRule()) send("approve-always", save);
  };
  const send = (choice: Choice, save: boolean) => {
    setBusy(true);
    void take(item, choice, text, save).then((done) => {
      setBusy(false);
      if (done) onDecide();
    });
  };

  return (
    <li class={`card${current ? " card-current" : ""}`} data-id={item.id} aria-current={current ? "true" : undefined}
      onFocusIn={onFocus}>
      <div class="card-head">
        <Mark standing="needs" label="" />
        <div class="card-who">
          <strong>{KIND[item.kind]}</strong>
          <a href={toSession(item.workflowId, item.task ?? null)} class="card-task">
            {item.task ?? item.step}
          </a>
          {item.adapter && <span class="chip">{item.adapter}</span>}
          {item.task && item.step !== item.task && <span class="muted">step {item.step}</span>}
        </div>
        <div class="card-where muted">
          {!within && <a href={toSession(item.workflowId)} title={item.baseDir}>{item.goal || item.workflowName || "session"}</a>}
          {!within && <span class="card-dir" title={item.baseDir}>{shortPath(item.baseDir)}</span>}
          <span title="how long it waits">{duration(now.value - item.createdAt)}</span>
        </div>
      </div>
      <p class="card-reason">{item.reason}</p>
      {item.excerpt && <pre class={`excerpt${item.kind === "approval" ? " excerpt-whole" : ""}${below ? " excerpt-short" : ""}`} ref={excerpt} onScroll={look} tabIndex={0} aria-label="What the agent shows">{item.excerpt}</pre>}
      {item.help && <p class="card-help">{item.help}</p>}
      {item.refused && (
        <p class="unseen"><Warn size={13} /> <span>Asked again: {item.refused}</span></p>
      )}
      {item.truncated && (
        <p class="unseen muted"><Warn size={13} /> <span>{item.kind !== "approval" || item.options.includes("approve")
          ? "A part of this is not on the agent's screen. Open its terminal and answer there."
          : "A part of this is not shown, and the agent has no terminal: it can be denied."}</span></p>
      )}
      {item.kind === "approval" && !item.truncated && item.excerpt && !toEnd && (
        <p class="unseen muted"><Warn size={13} /> <span>Scroll to the end of it before you approve.</span></p>
      )}
      {evidence && !below && (
        <p class="evidence muted">
          {seen(evidence)}, by rule <code>{evidence.rule}</code>
        </p>
      )}
      <div class={`card-actions${locked ? " locked" : ""}`}>
        {entries.filter((entry) => !entry.takesText).map((entry) => (
          <button key={entry.id} type="button" disabled={busy || item.truncated === true} aria-disabled={locked}
            data-entry={entry.id} onClick={() => pick(entry.id)}>{entry.id}. {entry.label}</button>
        ))}
        {plain.map((choice, at) => (
          <button key={choice} type="button" disabled={busy || unseen(choice)} aria-disabled={locked}
            class={at === 0 && entries.length === 0 ? "primary" : choice === "abort" || choice === "stop" ? "danger-quiet" : ""}
            title={MEANING[choice]} data-choice={choice} onClick={() => press(choice)}>
            {CHOICE[choice]}
            {current && SHOWN_KEYS[choice] && <kbd aria-hidden="true">{SHOWN_KEYS[choice]}</kbd>}
          </button>
        ))}
        {enter && (
          <button type="button" disabled={busy || item.truncated === true} aria-disabled={locked}
            data-enter title="Presses nothing but Enter" onClick={pressEnter}>Press Enter</button>
        )}
        {takesText && (
          <form class="card-answer" onSubmit={(event) => {
            event.preventDefault();
            const first = texts[0];
            if (first) press(first);
          }}>
            {item.secret
              ? <input type="password" {...typed} aria-label="Your answer; it is recorded nowhere" />
              : <input {...typed} />}
            {texts.map((choice) => (
              <button key={choice} type="submit" disabled={busy || text.trim() === ""} aria-disabled={locked}
                data-choice={choice} title={MEANING[choice]}>{CHOICE[choice]}</button>
            ))}
          </form>
        )}
        {OF_TREES.has(item.kind) && (
          <a class="button quiet" href={toSession(item.workflowId, item.task ?? null, item.task ? "changes" : "trees")}>
            <Branch /> {item.task ? "See the changes" : "See the trees"}
          </a>
        )}
        {!below && (
          <a class="button quiet card-open" href={toSession(item.workflowId, item.task ?? null)}>
            <Terminal /> Open
          </a>
        )}
      </div>
      {showsRule && item.always && (
        <div class="always" role="group" aria-label="The rule that always makes">
          <p>This rule answers for the rest of the session:</p>
          <pre class="rule" tabIndex={0}>{item.always}</pre>
          <button type="button" data-rule="make" disabled={busy} onClick={() => makeRule(false)}>
            Make this rule{current && <kbd aria-hidden="true">y</kbd>}
          </button>
          <button type="button" data-rule="save" disabled={busy} onClick={() => makeRule(true)}>Also save it in your policy</button>
          <button type="button" data-rule="back" class="quiet" onClick={() => onRule(false)}>Back</button>
        </div>
      )}
      {item.noAlways && item.options.includes("approve") && (
        <p class="no-always muted"><Warn size={13} /> <span>Always is not possible: {item.noAlways}</span></p>
      )}
    </li>
  );
}

/** Shown instead of cards when there are none. */
export function NothingWaits() {
  return <p class="muted nothing-waits"><Mark standing="done" label="" /> Nothing needs you right now.</p>;
}

