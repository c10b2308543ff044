import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';

/** The spans that an OpenTelemetry SDK receives. */
export interface Spans {
  /** The spans that end while `act` runs, in the order of their ends. */
  during(act: () => Promise<unknown>): Promise<readonly ReadableSpan[]>;
  readonly all: readonly ReadableSpan[];
}

/** Sets up the SDK of this process like a host. */
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
