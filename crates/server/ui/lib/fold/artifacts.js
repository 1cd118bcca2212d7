// Artifacts and their versions. A chunk that came before is left out; one that comes early waits.
//
// @typedef Artifact { id, kind: 'file'|'data'|'dataset', name, description, versions: Version[] }
// @typedef Version { artifact, number, complete, mime, encoding, uri, schema, text (of a file, or base64),
//   data (of a record), rows (of a dataset), seq, last, at, by, task, item }

const KINDS = { 'data-write': 'data', 'dataset-write': 'dataset' };

export class Artifacts {
  all = new Map();

  /** Takes a write in; gives the version it went into, or null. */
  apply(event, seq, at) {
    const id = event.artifactId;
    if (typeof id !== 'string') return null;
    let artifact = this.all.get(id);
    if (!artifact) {
      artifact = { id, kind: KINDS[event.kind] ?? 'file', name: null, description: null, versions: [] };
      this.all.set(id, artifact);
    }
    if (typeof event.name === 'string') artifact.name = event.name;
    if (typeof event.description === 'string') artifact.description = event.description;
    const index = artifact.kind === 'data' ? 0 : Number.isInteger(event.index) ? event.index : 0;
    let version = artifact.versions.at(-1);
    if (!version || version.complete) {
      if (version && index > 0) return null;
      version = {
        artifact, number: artifact.versions.length + 1, complete: false, mime: null, encoding: null, uri: null,
        schema: null, text: '', data: undefined, rows: [], seq, last: seq, at,
        by: event.agentId ?? null, task: event.taskId ?? null, item: null, next: 0, end: null, held: new Map(),
      };
      artifact.versions.push(version);
    }
    if (index < version.next || version.held.has(index)) return null;
    version.last = seq;
    if (index === 0) {
      version.mime = event.mimeType ?? version.mime;
      version.encoding = event.encoding ?? version.encoding;
      version.uri = event.uri ?? version.uri;
      version.schema = event.schema ?? version.schema;
    }
    if (artifact.kind === 'data') {
      version.data = event.data;
      version.complete = true;
      return version;
    }
    if (event.complete === true) version.end = index;
    version.held.set(index, event);
    while (version.held.has(version.next)) {
      const chunk = version.held.get(version.next);
      version.held.delete(version.next);
      version.next += 1;
      if (artifact.kind === 'dataset') for (const row of Array.isArray(chunk.rows) ? chunk.rows : []) version.rows.push(row);
      else if (typeof chunk.data === 'string') version.text += chunk.data;
    }
    version.complete = version.end !== null && version.next > version.end;
    return version;
  }
}
