import type { Trace, WorkSpan } from '../contracts/index.ts';

// Where every copy of the OpenTelemetry API of this major version keeps what is registered with it.
const REGISTRY = Symbol.for('opentelemetry.js.api.1');

/**
 * Makes spans with the OpenTelemetry API when the host has it (`@opentelemetry/api`, an optional peer dependency) and has
 * registered an SDK with it, which may be at any time; until then work is done and nothing else.
 */
export function createTracing(): Trace {
  let tracing: Promise<Trace> | undefined;
  return async function trace(name, work) {
    // A server without an SDK need not load the API, and a request not go through it.
    if (!(REGISTRY in globalThis)) return work();
    tracing ??= findTracing();
    return (await tracing)(name, work);
  };
}

async function findTracing(): Promise<Trace> {
  const api = await findApi();
  if (!api) return async (_name, work) => work();
  const { trace, SpanKind, SpanStatusCode } = api;
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

type Api = typeof import('@opentelemetry/api');

async function findApi(): Promise<Api | undefined> {
  try {
    return await import('@opentelemetry/api');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error && typeof error.code === 'string' && /^\w{1,64}$/.test(error.code)
    ? error.code
    : error.name;
}
