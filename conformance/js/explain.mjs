// Shortens a zod error: of a union it keeps the member whose tag matches.

/** Says in one line what the schema refused. */
export function explain(error) {
  const issues = error?.issues ?? error?.cause?.issues;
  if (issues === undefined) return String(error?.message ?? error);
  return issues.flatMap((issue) => flatten(issue, [])).join('; ');
}

const TAGS = new Set(['type', 'state', 'role', 'kind']);

function isTag(issue) {
  return issue.path?.length === 1 && TAGS.has(issue.path[0]);
}

function flatten(issue, above) {
  const path = [...above, ...(issue.path ?? [])];
  const members = issue.errors ?? issue.unionErrors?.map((member) => member.issues) ?? [];
  const distance = (member) => member.filter(isTag).length;
  const nearest = members.toSorted((a, b) => distance(a) - distance(b) || a.length - b.length).at(0);
  if (nearest === undefined) return [`${path.join('.') || 'value'}: ${issue.message}`];
  const tag = nearest.find((inner) => isTag(inner));
  if (tag !== undefined) return [`${[...path, ...tag.path].join('.')}: not a value that the peer knows`];
  return nearest.flatMap((inner) => flatten(inner, path));
}
