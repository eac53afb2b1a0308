// The views with a terminal in them. The terminal is by far the largest part of the page, so it is
// fetched when the first one is shown.
import { later } from "./parts";

export const LiveTerminal = later(async () => (await import("./live-terminal")).LiveTerminal);
export const SmallTerminal = later(async () => (await import("./live-terminal")).SmallTerminal);
export const LastScreen = later(async () => (await import("./live-terminal")).LastScreen);
export const Replay = later(async () => (await import("./replay")).Replay);
