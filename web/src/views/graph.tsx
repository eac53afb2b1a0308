// The plan as a picture: a row for each step, a lane for each task, loops that turn back, gates
// that stand in the way. Many tasks become a field of cells. Where steps say what they need, each
// branch has a track of its own.
import { useEffect, useRef, useState } from "preact/hooks";
import type { PlanLane, PlanRow, PlanView, TaskStatus } from "../api";
import { duration, now } from "../time";
import { ofRow, ofTaskStatus, STANDING, TASK, type Standing } from "../labels";

const LEFT = 22;
const INDENT = 46;
const HEAD = 30;
const NOTE = 16;
const LANE = 28;
const CELL = 20;
const GAP = 14;
/** How far apart two tracks are, and how much room all but the first may take. */
const TRACK = 20;
const TRACKS_MOST = 120;
/** More tasks than this are drawn as cells. */
const LANES = 7;

interface Laid {
  row: PlanRow;
  y: number;
  height: number;
  note: string;
  lanesAt: number;
  cells: boolean;
  /** The middle of its node, and where its words begin. */
  x: number;
  indent: number;
}

/** From a step that is needed to one that needs it, by their places among the rows. */
export interface Edge {
  from: number;
  to: number;
}

/** The rows so that each stands below all it needs, the track of each, and what needs what. A track
 * is held from a step to the last one that needs it, so that no edge runs through another's node. */
export function tracksOf(plan: PlanRow[]): { rows: PlanRow[]; tracks: number[]; edges: Edge[] } {
  const rows = inOrder(plan);
  const place = new Map(rows.map((row, at) => [row.step, at]));
  const needs = rows.map((row, at) => (row.needs ?? (at > 0 && !isGraph(rows) ? [rows[at - 1]!.step] : []))
    .map((name) => place.get(name) ?? at).filter((needed) => needed < at));
  const lastUse = rows.map((_, at) => at);
  needs.forEach((own, at) => own.forEach((needed) => { lastUse[needed] = at; }));
  const tracks: number[] = [];
  const held: number[] = [];
  needs.forEach((own, at) => {
    const free = (track: number) => (held[track] ?? -1) <= at;
    const wanted = own.map((needed) => tracks[needed]!).find((track) => free(track));
    let track = wanted ?? 0;
    while (wanted === undefined && !free(track)) track += 1;
    tracks.push(track);
    held[track] = lastUse[at]!;
  });
  const edges = needs.flatMap((own, to) => own.map((from) => ({ from, to })));
  return { rows, tracks, edges };
}

const isGraph = (rows: PlanRow[]) => rows.some((row) => row.needs != null);

/** As they are written, as far as each can stand below all it needs. */
function inOrder(plan: PlanRow[]): PlanRow[] {
  if (!isGraph(plan)) return plan;
  const names = new Set(plan.map((row) => row.step));
  const left = [...plan];
  const placed = new Set<string>();
  const rows: PlanRow[] = [];
  while (left.length > 0) {
    const ready = left.findIndex((row) => (row.needs ?? []).every((name) => placed.has(name) || !names.has(name)));
    const [row] = left.splice(Math.max(0, ready), 1);
    placed.add(row!.step);
    rows.push(row!);
  }
  return rows;
}

/** Where everything goes, for a width. */
export function layOut(plan: PlanView, width: number): { rows: Laid[]; height: number; edges: Edge[] } {
  let y = 6;
  const { rows: ordered, tracks, edges } = tracksOf(plan.rows);
  const most = Math.max(0, ...tracks);
  const apart = most > 0 ? Math.min(TRACK, TRACKS_MOST / most) : 0;
  const indent = INDENT + most * apart;
  const rows = ordered.map((row, at): Laid => {
    const note = row.note ?? "";
    const alone = row.lanes.length === 1 && row.lanes[0]?.name === row.step;
    const cells = row.lanes.length > LANES;
    const lanesAt = y + HEAD + (note ? NOTE : 0);
    let height = lanesAt - y;
    if (cells) {
      const perLine = Math.max(1, Math.floor((width - indent - 8) / CELL));
      height += Math.ceil(row.lanes.length / perLine) * CELL + 6;
    } else if (!alone) {
      height += row.lanes.length * LANE;
    }
    const laid = { row, y, height, note, lanesAt, cells, x: LEFT + tracks[at]! * apart, indent };
    y += height + GAP;
    return laid;
  });
  return { rows, height: y, edges };
}

export function Graph({ plan, selected, link, current }: {
  plan: PlanView;
  selected?: string | null;
  /** The address of a task; nothing where tasks cannot be opened. */
  link?: (task: string) => string;
  /** The steps whose turn it is. */
  current?: string[];
}) {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(340);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const observer = new ResizeObserver((entries) => {
      const wide = Math.floor(entries[0]?.contentRect.width ?? 0);
      if (wide > 0) setWidth(wide);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const { rows, height, edges } = layOut(plan, width);
  return (
    <div class="graph" ref={frame}>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="group" aria-label={`Plan of ${plan.name}: ${plan.rows.length} steps`}>
        <defs>
          <marker id="turn" viewBox="0 0 8 8" refX="5" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M1 1 6 4 1 7" class="graph-arrow" />
          </marker>
        </defs>
        {edges.map(({ from, to }) => (
          <path key={`${rows[from]!.row.step} ${rows[to]!.row.step}`} class={`graph-spine spine-${ofRow(rows[from]!.row)}`}
            data-from={rows[from]!.row.step} data-to={rows[to]!.row.step} d={edgePath(rows[from]!, rows[to]!)} />
        ))}
        {rows.map((laid) => (
          <Row key={laid.row.step} laid={laid} width={width} selected={selected ?? null} link={link}
            current={current?.includes(laid.row.step) ?? false} />
        ))}
      </svg>
    </div>
  );
}

/** Down the track of what is needed, and over to the node that needs it just above that. */
function edgePath(from: Laid, to: Laid): string {
  const [begin, end] = [from.y + 26, to.y + 6];
  if (from.x === to.x) return `M${from.x} ${begin} V${end}`;
  const turn = Math.max(begin, end - GAP);
  return `M${from.x} ${begin} V${turn} C${from.x} ${end} ${to.x} ${turn} ${to.x} ${end}`;
}

/** As much of a text as fits, by the usual width of a letter. */
function fit(text: string, width: number, letter: number): string {
  const most = Math.max(1, Math.floor(width / letter));
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}

function took(started: number | null | undefined, ended: number | null | undefined): string {
  if (started == null) return "";
  return duration((ended ?? now.value) - started);
}

const STEP: Record<string, string> = {
  agent: "agent",
  "parallel-agents": "parallel",
  "agent-loop": "loop",
  loop: "loop",
  gate: "gate",
  script: "script",
  stage: "stage",
};

const isLoop = (kind: string) => kind === "agent-loop" || kind === "loop";

function summed(row: PlanRow): string {
  const parts: string[] = [];
  for (const [status, count] of Object.entries(row.counts ?? {})) {
    if (count) parts.push(`${count} ${STANDING[ofTaskStatus(status as TaskStatus)]}`);
  }
  return parts.join(" · ");
}

function Row({ laid, width, selected, link, current }: {
  laid: Laid;
  width: number;
  selected: string | null;
  link: ((task: string) => string) | undefined;
  current: boolean;
}) {
  const { row, y, indent } = laid;
  const standing = ofRow(row);
  const time = took(row.startedAt, row.endedAt);
  const kind = STEP[row.type] ?? row.type;
  const room = width - indent - 12 - time.length * 7;
  const only = row.lanes.length === 1 && row.lanes[0]?.name === row.step ? row.lanes[0] : null;
  const name = fit(row.step, room - kind.length * 7 - 10, 7.6);
  const head = (
    <>
      <rect class="graph-hit" x={indent - 10} y={y + 1} width={Math.max(0, width - indent + 8)} height={HEAD - 2} rx="5" />
      <text class="graph-step" x={indent} y={y + 20}>{name}
        <tspan class="graph-kind" dx="8">{kind}</tspan>
      </text>
      <text class="graph-time" x={width - 8} y={y + 20} text-anchor="end">{time}</text>
    </>
  );
  const needed = row.needs?.length ? `, needs ${row.needs.join(", ")}` : "";
  const about = `${row.step}, ${kind}, ${STANDING[standing]}${time ? `, ${time}` : ""}${needed}`;
  const count = laid.cells ? summed(row) : "";
  return (
    <g class={`graph-row row-${standing}${current ? " row-current" : ""}`} data-step={row.step} data-status={row.status}>
      <Node kind={row.type} standing={standing} x={laid.x} y={y + 15} />
      {only && link && only.attempt > 0
        ? <a href={link(only.task)} class={only.task === selected ? "selected" : ""}><title>{about}</title>{head}</a>
        : <g role="img" aria-label={about}>{head}</g>}
      {(laid.note || count) && (
        <text class="graph-note" x={indent} y={y + HEAD + 8}>
          <title>{laid.note || count}</title>
          {fit(laid.note || count, width - indent - 8, 6.2)}
        </text>
      )}
      {isLoop(row.type) && row.lanes.length > 1 && !laid.cells && (
        <path class="graph-loop" marker-end="url(#turn)"
          d={`M${indent - 3} ${laid.lanesAt + row.lanes.length * LANE - 14} h-6 a6 6 0 0 1 -6 -6 V${laid.lanesAt + 20} a6 6 0 0 1 6 -6 h3`} />
      )}
      {laid.cells
        ? <Cells laid={laid} width={width} selected={selected} link={link} />
        : !only && row.lanes.map((lane, at) => (
          <Lane key={lane.task} lane={lane} indent={indent} y={laid.lanesAt + at * LANE} width={width} selected={lane.task === selected} link={link} />
        ))}
    </g>
  );
}

/** What a step is, by the shape of its node. */
function Node({ kind, standing, x, y }: { kind: string; standing: Standing; x: number; y: number }) {
  const shape = () => {
    switch (kind) {
      case "gate":
        return <path d={`M${x} ${y - 9} l9 9 -9 9 -9 -9z`} class="node" />;
      case "script":
        return <rect x={x - 7} y={y - 7} width="14" height="14" rx="3" class="node" />;
      case "parallel-agents":
      case "stage":
        return (
          <>
            <rect x={x - 10} y={y - 10} width="20" height="20" class="node-ground" />
            {[-8, -2, 4].map((down) => <rect key={down} x={x - 8} y={y + down} width="16" height="4" rx="1.5" class="node node-bar" />)}
          </>
        );
      default:
        return <circle cx={x} cy={y} r="8" class="node" />;
    }
  };
  return (
    <g class={`graph-node node-${standing}`} aria-hidden="true">
      {shape()}
      {isLoop(kind) && <path d={`M${x + 3.4} ${y - 1.4} a3.6 3.6 0 1 0 -0.6 3.4`} class="node-line" />}
    </g>
  );
}

function Lane({ lane, indent, y, width, selected, link }: {
  lane: PlanLane;
  indent: number;
  y: number;
  width: number;
  selected: boolean;
  link: ((task: string) => string) | undefined;
}) {
  const standing = ofTaskStatus(lane.status);
  const time = took(lane.startedAt, lane.endedAt);
  const adapter = lane.adapter ?? "";
  const room = width - indent - 34 - time.length * 7 - adapter.length * 6.4;
  const inside = (
    <>
      <rect class="graph-lane" x={indent} y={y + 2} width={Math.max(0, width - indent - 4)} height={LANE - 5} rx="5" />
      <circle class={`lane-dot dot-${standing}`} cx={indent + 13} cy={y + LANE / 2} r="4" />
      <text class="graph-lane-name" x={indent + 25} y={y + 18}>{fit(lane.name, room, 6.6)}
        <tspan class="graph-kind" dx="7">{adapter}</tspan>
      </text>
      <text class="graph-time" x={width - 12} y={y + 18} text-anchor="end">{lane.attempt > 1 ? `try ${lane.attempt} · ` : ""}{time}</text>
    </>
  );
  const about = `${lane.name}${adapter ? `, ${adapter}` : ""}, ${TASK[lane.status]}${lane.note ? `: ${lane.note}` : ""}`;
  return link && lane.attempt > 0
    ? <a href={link(lane.task)} class={selected ? "selected" : ""}><title>{about}</title>{inside}</a>
    : <g role="img" aria-label={about}>{inside}</g>;
}

function Cells({ laid, width, selected, link }: {
  laid: Laid;
  width: number;
  selected: string | null;
  link: ((task: string) => string) | undefined;
}) {
  const { indent } = laid;
  const perLine = Math.max(1, Math.floor((width - indent - 8) / CELL));
  return (
    <g>
      {laid.row.lanes.map((lane, at) => {
        const x = indent + (at % perLine) * CELL;
        const y = laid.lanesAt + 4 + Math.floor(at / perLine) * CELL;
        const about = `${lane.name}, ${TASK[lane.status]}`;
        const standing = ofTaskStatus(lane.status);
        const cell = (
          <>
            <rect class={`graph-cell cell-${standing}`} x={x} y={y} width={CELL - 4} height={CELL - 4} rx="4">
              <title>{about}</title>
            </rect>
            {standing === "failed" && <path class="cell-sign" d={`M${x + 5} ${y + 5} l6 6 m0 -6 l-6 6`} />}
            {standing === "done" && <path class="cell-sign" d={`M${x + 4.5} ${y + 8.5} l2.5 2.5 4.5 -5`} />}
            {standing === "needs" && <path class="cell-sign" d={`M${x + 8} ${y + 4} v5 m0 2.6 v.2`} />}
          </>
        );
        return link && lane.attempt > 0
          ? <a key={lane.task} href={link(lane.task)} class={lane.task === selected ? "selected" : ""} aria-label={about}>{cell}</a>
          : <g key={lane.task} role="img" aria-label={about}>{cell}</g>;
      })}
    </g>
  );
}
