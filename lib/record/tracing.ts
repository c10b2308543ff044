import { createRequire } from 'node:module';

import type { Trace, WorkSpan } from '../contracts/index.ts';

// A bundle in the format CommonJS has no `import.meta.url`.
const require = createRequire(import.meta.url ?? __filename);

/**
 * Creates spans with the OpenTelemetry API once the host has registered an SDK with it (`@opentelemetry/api`, an optional peer
 * dependency), at start or later. Until then `trace` only runs the work.
 */
export function createTracing(): Trace {
  const file = findApi();
  let traced: Trace | undefined;
  // Not async: without an SDK it adds nothing to the work.
  return function trace(name, work, route) {
    // Loading the API takes 20 ms of CPU time. An SDK loads it itself, so without it in the cache there is no SDK.
    if (file === undefined || !(file in require.cache)) return work();
    traced ??= traceWith(require('@opentelemetry/api') as Api);
    return traced(name, work, route);
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
  // The tracer forwards each call to the SDK that is registered at that time, and does nothing without one.
  const tracer = trace.getTracer('koa-gatehouse');

  return async function traced(name, work, route) {
    if (route !== undefined) trace.getActiveSpan()?.setAttribute('http.route', route);
    // INTERNAL, because the host's HTTP instrumentation creates the SERVER span of the request, the parent of this one.
    return tracer.startActiveSpan(name, { kind: SpanKind.INTERNAL }, async (span) => {
      if (!span.isRecording()) return work();
      const workSpan: WorkSpan = {
        set: (attributes) => void span.setAttributes(attributes),
        fail(error) {
          span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', kindOf(error));
        },
      };
      try {
        return await work(workSpan);
      } catch (error) {
        workSpan.fail(error);
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
