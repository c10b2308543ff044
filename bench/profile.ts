import type { Profiler } from 'node:inspector/promises';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The CPU profile of the main thread, largest share first. Other threads, such as those that sign, are not included. */
export interface ProfileSummary {
  /** The busy time per operation in microseconds, with the overhead of the profiler. */
  readonly busy: number;
  readonly functions: readonly Share[];
  readonly packages: readonly Share[];
}

export interface Share {
  readonly name: string;
  /** From 0 to 1. */
  readonly share: number;
}

type Frame = Profiler.Profile['nodes'][number]['callFrame'];

const PROJECT = resolve(import.meta.dirname, '..');

/** Adds up the self time of functions. */
export function summarize(
  { nodes, samples = [], timeDeltas = [] }: Profiler.Profile,
  operations: number,
): ProfileSummary {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const functions = new Map<string, number>();
  const packages = new Map<string, number>();
  let busy = 0;
  for (const [index, id] of samples.entries()) {
    const frame = frames.get(id)!;
    const time = timeDeltas[index] ?? 0;
    // Without the profiler itself.
    if (frame.functionName === '(idle)' || frame.url === 'node:inspector') continue;
    busy += time;
    const isNative = frame.url === '' && !frame.functionName.startsWith('(');
    const caller = isNative ? frames.get(callers.get(id) ?? id) : undefined;
    add(functions, caller ? `${describe(frame)} from ${describe(caller)}` : describe(frame), time);
    add(packages, frame.functionName.startsWith('(') ? frame.functionName : placeOf(frame.url).package, time);
  }
  return {
    busy: busy / operations,
    functions: toShares(functions, busy),
    packages: toShares(packages, busy),
  };
}

function describe({ functionName, url, lineNumber }: Frame): string {
  const { file } = placeOf(url);
  return `${functionName || '(anonymous)'}${file ? ` ${file}:${lineNumber + 1}` : ''}`;
}

function placeOf(url: string): { readonly package: string; readonly file: string } {
  if (url === '') return { package: 'native', file: '' };
  if (url.startsWith('node:')) {
    const [area = ''] = url.slice('node:'.length).replace('internal/', '').split('/');
    return { package: `node:${area}`, file: url };
  }
  const path = relative(PROJECT, url.startsWith('file:') ? fileURLToPath(url) : url);
  const inPackage = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
  return inPackage
    ? { package: inPackage, file: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length) }
    : { package: path.split('/').slice(0, 2).join('/'), file: path };
}

function add(times: Map<string, number>, name: string, time: number): void {
  times.set(name, (times.get(name) ?? 0) + time);
}

function toShares(times: ReadonlyMap<string, number>, busy: number): Share[] {
  return Array.from(times, ([name, time]) => ({ name, share: time / busy })).toSorted(
    (a, b) => b.share - a.share,
  );
}
