// The conversation with an agent's terminal: its exact screen first, then every byte.
import type { FromDaemon, FromViewer, Verdict } from "../api";
import { credential, ofTask } from "../http";
import { connection } from "../store";

export interface Attached {
  /** The whole screen, to be painted on an empty terminal of this size. */
  screen: (bytes: Uint8Array, cols: number, rows: number) => void;
  bytes: (bytes: Uint8Array) => void;
  resized: (cols: number, rows: number) => void;
  keyboard: (yours: boolean, holder: string | null) => void;
  state: (verdict: Verdict) => void;
  refused: (reason: string) => void;
  /** The process has ended, or the daemon lets no viewer attach to it any more. */
  ended: (reason: string) => void;
  /** The connection is there, or is being made again. */
  connected: (yes: boolean) => void;
}

interface Wishes {
  id: string;
  task: string;
  readOnly: boolean;
  cols?: number;
  rows?: number;
}

const LONGEST_PAUSE = 5000;
/** So many attempts in a row that never showed a screen mean that there is nothing to attach to. */
const HOPELESS = 6;

export class Attachment {
  private socket: WebSocket | null = null;
  private stopped = false;
  private pause = 200;
  private failures = 0;
  private awaited: { cols: number; rows: number } | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly encoder = new TextEncoder();
  private takeNext = false;
  /** Counts attempts, so that one that was given up opens nothing late. */
  private openings = 0;

  constructor(private readonly wishes: Wishes, private readonly told: Attached) {
    this.open();
  }

  private open(): void {
    this.openings += 1;
    const opening = this.openings;
    const { id, task, readOnly, cols, rows } = this.wishes;
    const query = new URLSearchParams();
    if (readOnly) query.set("readOnly", "true");
    if (this.takeNext) query.set("take", "true");
    if (!readOnly && cols && rows) {
      query.set("cols", String(cols));
      query.set("rows", String(rows));
    }
    const address = new URL(`${ofTask(id, task, "/attach")}?${query}`, location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    address.hash = "";
    credential().then(
      (token) => {
        if (!this.stopped && opening === this.openings) this.connect(address, token);
      },
      () => {
        if (!this.stopped && opening === this.openings) this.lost();
      },
    );
  }

  private connect(address: URL, token: string): void {
    const socket = new WebSocket(address, ["coven.attach.v1", `coven.bearer.${token}`]);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => {
      if (socket !== this.socket) return;
      if (typeof event.data === "string") this.said(JSON.parse(event.data) as FromDaemon);
      else this.came(new Uint8Array(event.data));
    };
    socket.onclose = () => {
      if (socket === this.socket && !this.stopped) this.lost();
    };
  }

  private said(message: FromDaemon): void {
    switch (message.type) {
      case "screen":
        this.awaited = { cols: message.cols, rows: message.rows };
        break;
      case "resized":
        this.told.resized(message.cols, message.rows);
        break;
      case "keyboard":
        // Who held the keyboard wants it back after the daemon was away.
        this.takeNext = message.yours && !this.wishes.readOnly;
        this.told.keyboard(message.yours, message.holder ?? null);
        break;
      case "state":
        this.told.state(message.verdict);
        break;
      case "refused":
        this.told.refused(message.reason);
        break;
      case "ended":
        this.stop();
        this.told.ended(message.reason);
        break;
    }
  }

  private came(bytes: Uint8Array): void {
    if (!this.awaited) {
      this.told.bytes(bytes);
      return;
    }
    const { cols, rows } = this.awaited;
    this.awaited = null;
    this.pause = 200;
    this.failures = 0;
    this.told.connected(true);
    this.told.screen(bytes, cols, rows);
  }

  private lost(): void {
    this.told.connected(false);
    // While the daemon is away nothing can be said about this terminal.
    if (connection.peek() === "open") this.failures += 1;
    if (this.failures >= HOPELESS) {
      this.stopped = true;
      this.told.ended("nothing answers for this terminal");
      return;
    }
    this.timer = setTimeout(() => this.open(), this.pause);
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
  }

  /** Starts from a new screen, for a viewer that cannot keep up. */
  again(): void {
    const { socket } = this;
    this.socket = null;
    this.openings += 1;
    socket?.close();
    clearTimeout(this.timer);
    if (!this.stopped) this.timer = setTimeout(() => this.open(), 300);
  }

  type(text: string): void {
    this.send(this.encoder.encode(text));
  }

  /** Bytes that are no text, such as those of old mouse protocols. */
  typeBytes(text: string): void {
    this.send(Uint8Array.from(text, (letter) => letter.charCodeAt(0) & 0xff));
  }

  tell(message: FromViewer): void {
    if (message.type === "resize") {
      this.wishes.cols = message.cols;
      this.wishes.rows = message.rows;
    }
    this.send(JSON.stringify(message));
  }

  private send(data: string | Uint8Array<ArrayBuffer>): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(data);
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    const { socket } = this;
    this.socket = null;
    socket?.close();
  }
}
