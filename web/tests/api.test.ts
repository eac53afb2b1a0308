// Holds the page's words against the published document: a field that is renamed, added as needed
// or taken away there fails here.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CHOICE, KIND, STATUS, TASK, AGENT } from "../src/labels";

interface Schema {
  properties?: Record<string, unknown>;
  required?: string[];
  $ref?: string;
  allOf?: Schema[];
  oneOf?: (Schema & { const?: string; enum?: string[] })[];
  enum?: string[];
}

const web = process.cwd();
const document = JSON.parse(readFileSync(join(web, "../crates/api/openapi.json"), "utf8")) as {
  components: { schemas: Record<string, Schema> };
  paths: Record<string, Record<string, unknown>>;
};
/** What the page calls otherwise than the document. */
const NAMES: Record<string, string> = {
  Evidence: "VerdictEvidence", Verdict: "AgentVerdict", Usage: "TokenUsage",
  Interventions: "InterventionList", Decide: "DecideRequest", Workflow: "WorkflowDetails",
  Envelope: "EventEnvelope", Snapshot: "EventSnapshot", Screen: "TaskScreen", Output: "OutputText", Log: "LogText",
  Transcript: "TaskTranscript", Explanation: "VerdictExplanation", Diagnostic: "TextDiagnostic",
  Grimoires: "GrimoireList", Grimoire: "GrimoireText", Checked: "CheckResponse",
  Adapters: "AdapterList", Definition: "WorkflowDefinition", Started: "StartedSession",
  Trust: "FolderTrust", Status: "StatusResponse", Problem: "ApiProblem", Choice: "InterventionChoice",
};
const { schemas } = document.components;
const schemaOf = (name: string): Schema | undefined => schemas[NAMES[name] ?? name];

interface Written {
  name: string;
  parent: string | null;
  fields: Map<string, boolean>;
}

function written(): Written[] {
  const text = ["src/api.ts", "src/api-trees.ts"].map((path) => readFileSync(join(web, path), "utf8")).join("\n");
  return [...text.matchAll(/export interface (\w+)(?: extends (\w+))? \{\n([^}]*(?:\{[^}]*\}[^}]*)*)\n\}/g)].map(
    ([, name, parent, body]) => ({
      name: name!,
      parent: parent ?? null,
      fields: new Map(
        [...body!.matchAll(/^ {2}(\w+)(\?)?:/gm)].map(([, field, optional]) => [field!, optional === undefined]),
      ),
    }));
}

function fieldsOf(schema: Schema): { all: Set<string>; required: Set<string> } {
  const all = new Set(Object.keys(schema.properties ?? {}));
  const required = new Set(schema.required ?? []);
  for (const part of [...(schema.allOf ?? []), ...(schema.$ref ? [{ $ref: schema.$ref }] : [])]) {
    const target = part.$ref ? schemas[part.$ref.split("/").at(-1)!]! : part;
    const inner = fieldsOf(target);
    inner.all.forEach((field) => all.add(field));
    inner.required.forEach((field) => required.add(field));
  }
  // Of an object of several kinds, a field of any kind may be there; those of all kinds are.
  const kinds = (schema.oneOf ?? []).map(fieldsOf);
  kinds.forEach((kind) => kind.all.forEach((field) => all.add(field)));
  kinds[0]?.required.forEach((field) => {
    if (kinds.every((kind) => kind.required.has(field))) required.add(field);
  });
  return { all, required };
}

test("every field the page knows is in the document, and is needed where the page relies on it", () => {
  const types = written();
  assert.ok(types.length > 30, `only ${types.length} types were read`);
  for (const type of types) {
    const schema = schemaOf(type.name);
    assert.ok(schema, `${type.name} is not in the document`);
    const { all, required } = fieldsOf(schema);
    for (const [field, needed] of type.fields) {
      assert.ok(all.has(field), `${type.name}.${field} is not in the document`);
      if (needed) assert.ok(required.has(field), `${type.name}.${field} may be missing, and the page relies on it`);
    }
  }
});

test("what the document needs in a request, the page sends", () => {
  const types = new Map(written().map((type) => [type.name, type]));
  for (const name of ["Decide", "StartWorkflow", "Definition", "OneAgent", "ReviewComment", "SendReview", "MergeRequest", "PruneTrees", "RestoreTree"]) {
    const type = types.get(name)!;
    for (const field of fieldsOf(schemaOf(name)!).required) {
      assert.ok(type.fields.has(field), `${name}.${field} is needed`);
    }
  }
});

function values(name: string): string[] {
  const schema = schemaOf(name)!;
  const listed = [...(schema.enum ?? []), ...(schema.oneOf ?? []).flatMap((one) => one.enum ?? (one.const ? [one.const] : []))];
  assert.ok(listed.length > 1, `${name} has no values`);
  return listed.sort();
}

test("every word of the document has a name on the page", () => {
  assert.deepEqual(Object.keys(CHOICE).sort(), values("Choice"));
  assert.deepEqual(Object.keys(KIND).sort(), values("InterventionKind"));
  assert.deepEqual(Object.keys(STATUS).sort(), values("WorkflowStatus"));
  assert.deepEqual(Object.keys(TASK).sort(), values("TaskStatus"));
  assert.deepEqual(Object.keys(AGENT).sort(), values("AgentState"));
});
