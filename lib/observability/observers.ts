import type { EndpointOutcome, GuardOutcome, Logger, Observer } from '../contracts/index.ts';

/** Those who want figures. What nobody wants is `undefined`, so that it costs a request one comparison. */
export interface Observers {
  readonly answered: ((outcome: EndpointOutcome) => void) | undefined;
  readonly guarded: ((outcome: GuardOutcome) => void) | undefined;
}

/** The observers of one server, and the way to become one. The function that comes back from `add` ends it. */
export function createObservers(
  logger: Logger,
): Observers & { add(this: void, observer: Observer): () => void } {
  // Objects of their own, so that an observer that was given twice is told twice and taken back once.
  const entries = new Set<{ readonly observer: Observer }>();
  const told: { -readonly [Name in keyof Observers]: Observers[Name] } = {
    answered: undefined,
    guarded: undefined,
  };

  function refresh(): void {
    told.answered = listenersOf('answered');
    told.guarded = listenersOf('guarded');
  }

  function listenersOf<Name extends keyof Observers>(
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

  return Object.assign(told, {
    add(observer: Observer) {
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
