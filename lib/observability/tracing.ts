import { createRequire } from 'node:module';

import type { Trace, WorkSpan } from '../contracts/index.ts';

// A bundle in the format CommonJS has no `import.meta.url`.
const require = createRequire(import.meta.url ?? __filename);

/**
 * Makes spans with the OpenTelemetry API when the host has it (`@opentelemetry/api`, an optional peer dependency) and has
 * registered an SDK with it, which may be at any time; until then work is done and nothing else.
 */
export function createTracing(): Trace {
  const file = findApi();
  let traced: Trace | undefined;
  return async function trace(name, work) {
    // Loading the API takes 20 ms of CPU time. An SDK loads it, so there is none until somebody has.
    if (file === undefined || !(file in require.cache)) return work();
    traced ??= traceWith(require('@opentelemetry/api') as Api);
    return traced(name, work);
  };
}

type Api = typeof import('@opentelemetry/api');

function findApi(): string | undefined {
  try {
    return require.resolve('@opentelemetry/api');
  } catch {
    return undefined;
  }
}

function traceWith({ SpanKind, SpanStatusCode, trace }: Api): Trace {
  // The API hands its calls on to the SDK that is registered with it by then, and does nothing without one.
  const tracer = trace.getTracer('koa-gatehouse');

  return async function traced(name, work) {
    // The host's own instrumentation makes the span of the HTTP request, which this one is a part of.
    return tracer.startActiveSpan(name, { kind: SpanKind.INTERNAL }, async (span) => {
      if (!span.isRecording()) return work();
      const own: WorkSpan = {
        set: (attributes) => void span.setAttributes(attributes),
        fail(error) {
          span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', kindOf(error));
        },
      };
      try {
        return await work(own);
      } catch (error) {
        own.fail(error);
        throw error;
      } finally {
        span.end();
      }
    });
  };
}

function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error && typeof error.code === 'string' && /^\w{1,64}$/.test(error.code)
    ? error.code
    : error.name;
}
