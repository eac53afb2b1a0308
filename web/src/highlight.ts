// Syntax colours of changed lines. highlight.js knows the languages, lowlight gives its findings as
// a tree instead of as HTML, so that what agents write never becomes markup. Loaded with the first
// diff that is shown.
import { createLowlight } from "lowlight";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const lowlight = createLowlight({
  bash, c, cpp, csharp, css, dockerfile, go, ini, java, javascript, json, kotlin, makefile, markdown,
  php, python, ruby, rust, sql, swift, typescript, xml, yaml,
});

const BY_ENDING: Record<string, string> = {
  sh: "bash", bash: "bash", zsh: "bash", c: "c", h: "c", cc: "cpp", cpp: "cpp", cxx: "cpp", hpp: "cpp", hh: "cpp",
  cs: "csharp", css: "css", scss: "css", less: "css", go: "go", toml: "ini", ini: "ini", cfg: "ini", conf: "ini", lock: "ini",
  java: "java", js: "javascript", mjs: "javascript", cjs: "javascript", jsx: "javascript", json: "json", jsonl: "json",
  kt: "kotlin", kts: "kotlin", mk: "makefile", md: "markdown", markdown: "markdown", php: "php", py: "python", pyi: "python",
  rb: "ruby", rs: "rust", sql: "sql", swift: "swift", ts: "typescript", mts: "typescript", cts: "typescript", tsx: "typescript",
  html: "xml", htm: "xml", xml: "xml", svg: "xml", vue: "xml", yaml: "yaml", yml: "yaml",
};
const BY_NAME: Record<string, string> = {
  dockerfile: "dockerfile", containerfile: "dockerfile", makefile: "makefile", gnumakefile: "makefile",
  gemfile: "ruby", rakefile: "ruby",
};

/** The language of a file, by its name. */
export function languageOf(path: string): string | null {
  const name = path.replace(/"$/, "").slice(path.lastIndexOf("/") + 1).toLowerCase();
  const dot = name.lastIndexOf(".");
  return BY_NAME[name] ?? (dot > 0 ? BY_ENDING[name.slice(dot + 1)] ?? null : null);
}

/** A piece of a line, and what it is, as a class of ours; plain text has none. */
export interface Piece {
  text: string;
  class: string;
}

/** Texts longer than this stay without colours: they take longer than a person waits. */
const MOST_CHARACTERS = 200_000;
const MOST_IN_A_LINE = 4000;

interface Node {
  type: string;
  value?: string;
  properties?: { className?: unknown };
  children?: Node[];
}

/** What highlight.js finds, as the few colours there are here. */
const CLASSES: [RegExp, string][] = [
  [/^hljs-(comment|quote|doctag)$/, "code-comment"],
  [/^hljs-(keyword|selector-tag|built_in|literal|tag|name|section)$/, "code-keyword"],
  [/^hljs-(string|regexp|char|char\.escape_|link|addition)$/, "code-string"],
  [/^hljs-(number|symbol|bullet|variable|template-variable|attr|attribute|property)$/, "code-value"],
  [/^hljs-(title|title\.function_|title\.class_|type|class|meta|selector-class|selector-id)$/, "code-title"],
];

const classOf = (names: unknown): string => {
  const first = Array.isArray(names) ? String(names[0]) : "";
  return CLASSES.find(([pattern]) => pattern.test(first))?.[1] ?? "";
};

/** The lines of a text in coloured pieces, or nothing where there are no colours for it. */
export function coloured(language: string, lines: readonly string[]): Piece[][] | null {
  const length = lines.reduce((sum, line) => sum + line.length + 1, 0);
  if (length > MOST_CHARACTERS || lines.some((line) => line.length > MOST_IN_A_LINE)) return null;
  const done: Piece[][] = [[]];
  const add = (text: string, kind: string) => {
    text.split("\n").forEach((part, at) => {
      if (at > 0) done.push([]);
      if (part !== "") done.at(-1)!.push({ text: part, class: kind });
    });
  };
  const walk = (node: Node, kind: string) => {
    if (node.type === "text") return add(node.value ?? "", kind);
    const own = classOf(node.properties?.className) || kind;
    for (const child of node.children ?? []) walk(child, own);
  };
  try {
    walk(lowlight.highlight(language, lines.join("\n")) as Node, "");
  } catch {
    return null;
  }
  return done.length === lines.length ? done : null;
}
