// Recordings: asciicast v2, read and played.

export interface Frame {
  /** Seconds since the beginning. */
  at: number;
  kind: "o" | "r" | "m";
  data: string;
}

export interface Cast {
  cols: number;
  rows: number;
  frames: Frame[];
  /** How long it is, in seconds. */
  length: number;
  marks: { at: number; label: string }[];
}

/** Reads a recording. A last line that is cut short is left out: the task may still be running. */
export function parseCast(text: string): Cast {
  const lines = text.split("\n");
  const header = JSON.parse(lines[0] ?? "{}") as { version?: number; width?: number; height?: number };
  if (header.version !== 2) throw new Error("This is no recording of version 2.");
  const frames: Frame[] = [];
  const marks: Cast["marks"] = [];
  for (const line of lines.slice(1)) {
    if (line.trim() === "") continue;
    let read: unknown;
    try {
      read = JSON.parse(line);
    } catch {
      continue;
    }
    const [at, kind, data] = read as [number, string, string];
    if (kind === "o" || kind === "r") frames.push({ at, kind, data });
    else if (kind === "m") {
      frames.push({ at, kind, data });
      marks.push({ at, label: data });
    }
  }
  return {
    cols: header.width ?? 80,
    rows: header.height ?? 24,
    frames,
    length: frames.at(-1)?.at ?? 0,
    marks,
  };
}

/** Shortens pauses to at most this many seconds, for those who do not want to wait. */
export function withoutPauses(cast: Cast, longest: number): Cast {
  let cut = 0;
  let last = 0;
  const moved = (at: number) => Math.max(0, at - cut);
  const frames = cast.frames.map((frame) => {
    const pause = frame.at - last;
    if (pause > longest) cut += pause - longest;
    last = frame.at;
    return { ...frame, at: moved(frame.at) };
  });
  const marks = frames.filter((frame) => frame.kind === "m").map(({ at, data }) => ({ at, label: data }));
  return { ...cast, frames, marks, length: frames.at(-1)?.at ?? 0 };
}

/** What is to be written between two moments; from the beginning where time goes back. */
export function between(cast: Cast, from: number, to: number): { frames: Frame[]; next: number } {
  let next = from;
  const frames: Frame[] = [];
  while (next < cast.frames.length) {
    const frame = cast.frames[next]!;
    if (frame.at > to) break;
    frames.push(frame);
    next += 1;
  }
  return { frames, next };
}

/** The size of a resize frame such as `120x40`. */
export function sizeOf(data: string): { cols: number; rows: number } | null {
  const found = /^(\d+)x(\d+)$/.exec(data);
  return found ? { cols: Number(found[1]), rows: Number(found[2]) } : null;
}
