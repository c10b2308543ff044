import type { Storage } from '../../lib/contracts/index.ts';

/** A storage of several nodes: each call is that of the next one, except that all are closed. */
export function nodesInTurn(nodes: readonly Storage[]): Storage {
  let calls = 0;
  const methodsOf = <T extends object>(targets: readonly T[]): T =>
    new Proxy(targets[0]!, {
      get(first, name) {
        const member: unknown = Reflect.get(first, name);
        if (typeof member === 'function') {
          return (...given: unknown[]) => {
            calls += 1;
            const target = targets[calls % targets.length]!;
            return Reflect.apply(Reflect.get(target, name) as typeof member, target, given) as unknown;
          };
        }
        if (typeof member !== 'object' || member === null) return member;
        return methodsOf(targets.map((target) => Reflect.get(target, name) as object));
      },
    });
  return {
    ...methodsOf(nodes),
    close: async () => void (await Promise.all(nodes.map(async (node) => node.close()))),
  };
}

const RACE = /at once|at the same time|a hundred|beside|of many|twenty/;

/** Whether a test of the contract has several calls at once. */
export const isRace = (title: string): boolean => RACE.test(title) && !title.includes('migrate()');
