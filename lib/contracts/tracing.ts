/** What may be said of a piece of work. Never a credential, nor text that a stranger sent. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

/** A piece of work in a trace. */
export interface WorkSpan {
  set(attributes: SpanAttributes): void;
  /** Marks the work as failed by a fault of the server. Of the error only its kind is told: messages can hold anything. */
  fail(error: unknown): void;
}

/**
 * Does a piece of work in a trace, so that what happens in it, such as queries, is shown as its parts. The work gets no
 * span when nobody wants one.
 */
export type Trace = <T>(name: string, work: (span?: WorkSpan) => Promise<T>) => Promise<T>;
