// What people type into a form, as the values a grimoire takes.
import type { InputItem } from "./api";

/** What was typed, as values of the types the inputs have. */
export function readInputs(wanted: readonly InputItem[], typed: Record<string, string>): {
  values: Record<string, unknown>;
  wrong: Record<string, string>;
} {
  const values: Record<string, unknown> = {};
  const wrong: Record<string, string> = {};
  for (const item of wanted) {
    const text = typed[item.name];
    if (text === undefined || text === "") {
      if (item.required && item.default == null) wrong[item.name] = "is needed";
      continue;
    }
    if (item.type === "string") values[item.name] = text;
    else if (item.type === "boolean") values[item.name] = text === "true";
    else if (item.type === "number") {
      const number = Number(text);
      if (Number.isFinite(number)) values[item.name] = number;
      else wrong[item.name] = "must be a number";
    } else {
      try {
        const value: unknown = JSON.parse(text);
        const fits = item.type === "array" ? Array.isArray(value) : typeof value === "object" && value !== null && !Array.isArray(value);
        if (fits) values[item.name] = value;
        else wrong[item.name] = `must be ${item.type === "array" ? "an array" : "an object"} in JSON`;
      } catch {
        wrong[item.name] = "must be JSON";
      }
    }
  }
  return { values, wrong };
}
