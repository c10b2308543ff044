import type { EndpointOutcome, GuardOutcome, Logger, Observer } from '../contracts/index.ts';
import { checkNames } from '../options/declare.ts';

/** The observers of one server. A member is `undefined` when nobody observes it, so that a request only makes one comparison. */
export interface Observers {
  readonly answered: ((outcome: EndpointOutcome) => void) | undefined;
  readonly guarded: ((outcome: GuardOutcome) => void) | undefined;
}

const OBSERVERS: Readonly<Record<keyof Observers, true>> = {
  answered: true,
  guarded: true,
};

/** Creates the list of observers. The function that `add` returns removes the observer. */
export function createObservers(
  logger: Logger,
): Observers & { add(this: void, observer: Observer): () => void } {
  // Objects around the observers, so that an observer that is added twice is called twice and removed once at a time.
  const entries = new Set<{ readonly observer: Observer }>();
  const observers: { -readonly [Name in keyof Observers]: Observers[Name] } = {
    answered: undefined,
    guarded: undefined,
  };

  function refresh(): void {
    observers.answered = createNotifier('answered');
    observers.guarded = createNotifier('guarded');
  }

  function createNotifier<Name extends keyof Observers>(
    name: Name,
  ): ((outcome: Parameters<NonNullable<Observers[Name]>>[0]) => void) | undefined {
    const listeners = [...entries].flatMap(({ observer }) => observer[name]?.bind(observer) ?? []);
    if (listeners.length === 0) return undefined;
    return function notify(outcome) {
      for (const listener of listeners) {
        try {
          listener(outcome as never);
        } catch (error) {
          logger.error({ err: error }, 'observer failed');
        }
      }
    };
  }

  return Object.assign(observers, {
    add(observer: Observer) {
      checkNames(methodsOf(observer), OBSERVERS, 'observe()');
      const entry = { observer };
      entries.add(entry);
      refresh();
      return () => {
        entries.delete(entry);
        refresh();
      };
    },
  });
}

/** The observer's own methods. It may have other members; the methods of a class are not listed. */
function methodsOf(observer: Observer): object {
  return Object.fromEntries(Object.entries(observer).filter(([, member]) => typeof member === 'function'));
}
