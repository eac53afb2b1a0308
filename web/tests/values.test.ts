import assert from "node:assert/strict";
import { test } from "node:test";
import { shownValue } from "../src/values";

test("a value that is kept aside is shown by its beginning and its size", () => {
  const large = { $value: "sha256:00", bytes: 70000, begins: "first line" };
  assert.equal(shownValue(large), "first line\n… (70000 bytes; the output of its step has all of it)");
  assert.equal(shownValue("plain"), "plain");
  assert.equal(shownValue({ $value: 1 }), '{\n  "$value": 1\n}');
  assert.equal(shownValue(null), "null");
});
