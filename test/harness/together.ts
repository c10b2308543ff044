import { registerHooks } from 'node:module';

import test from 'ava';
import type { ExecutionContext } from 'ava';

import { resetClock } from './clock.ts';

type Implementation = (t: ExecutionContext, ...given: unknown[]) => unknown;

interface Declaration {
  /** Such as `['serial', 'skip']`. */
  readonly members: readonly string[];
  readonly given: readonly unknown[];
}

const declarations: Declaration[] = [];
let current = '';
/** The file whose serial tests run, or nothing while tests of all files run. */
let running = '';

/** Replaces ava's `test` in the files that are loaded here. */
const declare: unknown = recorder([]);
export default declare;

function recorder(members: readonly string[]): unknown {
  // Files compare `test.serial` and the like.
  const known = new Map<string | symbol, unknown>();
  return new Proxy(() => undefined, {
    get(_target, name) {
      if (!known.has(name)) known.set(name, recorder([...members, String(name)]));
      return known.get(name);
    },
    apply(_target, _this, [first, ...rest]: readonly unknown[]) {
      const [file, prefix] = [current, `${current} › `];
      if (typeof first === 'string') {
        const [run, ...values] = rest as [Implementation, ...unknown[]];
        const turn = members.includes('serial') ? file : '';
        const implementation: Implementation = (t, ...given) => {
          if (turn !== running) resetClock();
          running = turn;
          return run(t, ...given);
        };
        declarations.push({ members, given: [prefix + first, implementation, ...values] });
      } else if (members.some((name) => name === 'beforeEach' || name === 'afterEach')) {
        const hook = first as Implementation;
        const implementation: Implementation = (t) => (t.title.includes(prefix) ? hook(t) : undefined);
        declarations.push({ members, given: [implementation] });
      } else {
        declarations.push({ members, given: [first, ...rest] });
      }
    },
  });
}

/**
 * Runs several test files in one process, because loading and warming up the platform takes longer than the tests of most
 * files. ava would start as soon as the first file has declared a test, while the next ones still start their servers. So the
 * tests are recorded, and declared when all files are loaded, with the path of the file as a prefix.
 *
 * ava runs the serial tests of all files first, in this order, and then the others at once. Those of a file begin with a clock that
 * is right, whatever time has passed in another file.
 */
export async function runTogether(files: Readonly<Record<string, () => Promise<unknown>>>): Promise<void> {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const isTestFile = specifier === 'ava' && context.parentURL?.includes('/node_modules/') === false;
      return isTestFile ? { url: import.meta.url, shortCircuit: true } : next(specifier, context);
    },
  });
  for (const [file, load] of Object.entries(files)) {
    current = file;
    await load();
  }
  hooks.deregister();
  for (const { members, given } of declarations) {
    let member: unknown = test;
    for (const name of members) member = Reflect.get(member as object, name);
    Reflect.apply(member as (...given: readonly unknown[]) => void, undefined, given);
  }
}
