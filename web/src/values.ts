// Values of a session as people read them.

/** What stands for a value that is too large to be sent along. */
interface LargeValue {
  readonly $value: string;
  readonly begins: string;
  readonly bytes: number;
}

function isLarge(value: unknown): value is LargeValue {
  if (typeof value !== "object" || value === null) return false;
  const { $value, begins, bytes } = value as Record<string, unknown>;
  return typeof $value === "string" && typeof begins === "string" && typeof bytes === "number";
}

export function shownValue(value: unknown): string {
  if (typeof value === "string") return value;
  if (isLarge(value)) return `${value.begins}\n… (${value.bytes} bytes; the output of its step has all of it)`;
  return JSON.stringify(value, null, 2);
}
