import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';

/** What an OpenTelemetry SDK was given. */
export interface Spans {
  /** The spans that end while something is done, in the order of their ends. */
  during(act: () => Promise<unknown>): Promise<readonly ReadableSpan[]>;
  readonly all: readonly ReadableSpan[];
}

/** Sets the SDK of this process up, as a host does. */
export function startSdk(): Spans {
  const exporter = new InMemorySpanExporter();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
  return {
    async during(act) {
      const before = exporter.getFinishedSpans().length;
      await act();
      return exporter.getFinishedSpans().slice(before);
    },
    get all() {
      return exporter.getFinishedSpans();
    },
  };
}
