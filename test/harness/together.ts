import { registerHooks } from 'node:module';

import test from 'ava';

type Files = Readonly<Record<string, () => Promise<unknown>>>;

interface Declaration {
  /** Such as `['serial', 'skip']`. */
  readonly members: readonly string[];
  readonly given: readonly unknown[];
}

const declarations: Declaration[] = [];
let current = '';

/** Replaces ava's `test` in the files that are loaded here. */
const declare: unknown = recorder([]);
export default declare;

function recorder(members: readonly string[]): unknown {
  return new Proxy(() => undefined, {
    get: (_target, name) => recorder([...members, String(name)]),
    apply(_target, _this, given: readonly unknown[]) {
      const [title, ...rest] = given;
      const named = typeof title === 'string' ? [`${current} › ${title}`, ...rest] : given;
      declarations.push({ members, given: named });
    },
  });
}

/**
 * Runs several test files in one process, because loading and warming up the platform takes longer than the tests of most
 * files. ava would start as soon as the first file has declared a test, while the next ones still start their servers. So the
 * tests are recorded, and declared when all files are loaded, with the name of the file as a prefix.
 */
export async function together(files: Files): Promise<void> {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const isTestFile = specifier === 'ava' && context.parentURL?.includes('/node_modules/') === false;
      return isTestFile ? { url: import.meta.url, shortCircuit: true } : next(specifier, context);
    },
  });
  for (const [name, load] of Object.entries(files)) {
    current = name;
    await load();
  }
  hooks.deregister();
  for (const { members, given } of declarations) {
    let member: unknown = test;
    for (const name of members) member = Reflect.get(member as object, name);
    Reflect.apply(member as (...given: readonly unknown[]) => void, undefined, given);
  }
}
