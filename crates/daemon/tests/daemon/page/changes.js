// Answers what the page asks about trees, with what `web/dev/mock-trees.mjs` makes up; everything
// else goes to the daemon. The texts of both stand before this. What was asked is in `window.asked`
// and `window.posted`; `window.special` may answer first, `window.many` makes thousands of files.
window.posted = [];
window.asked = [];
window.honest ??= window.fetch;
window.fetch = async (path, wishes = {}) => {
  const url = new URL(path, location.origin);
  const found = /^\/workflows\/([^/]+)(?:\/(.*))?$/.exec(url.pathname);
  if (!found) return window.honest(path, wishes);
  const [, id, rest] = found;
  const answer = (value) => new Response(JSON.stringify(value), { status: value.status ?? 200, headers: { "content-type": "application/json" } });
  if (rest === undefined) {
    const told = await window.honest(path, wishes);
    if (!told.ok || wishes.method === "DELETE") return told;
    const workflow = await told.json();
    for (const task of workflow.tasks) task.tree = task.id === "plan" ? "@run" : task.id;
    if (window.sharing) workflow.sharing = window.sharing;
    return new Response(JSON.stringify(workflow), { headers: { "content-type": "application/json" } });
  }
  const body = wishes.body ? JSON.parse(wishes.body) : {};
  const told = window.special?.(rest, url.searchParams, body) ?? treeAnswer({ id, name: "made-up" }, rest, url.searchParams, body, window.many);
  if (!told) return window.honest(path, wishes);
  if (wishes.method === "POST") window.posted.push({ path: rest, body });
  else window.asked.push(rest + url.search);
  return answer(told);
};
