import type { Trace, WorkSpan } from '../contracts.ts';

/**
 * Makes spans with the OpenTelemetry API when the host has it (`@opentelemetry/api`, an optional peer dependency); without
 * it work is done and nothing else. Which SDK takes the spans, if any, is the host's matter.
 */
export async function createTracing(): Promise<Trace> {
  const api = await findApi();
  if (!api) return untraced;
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

/** Work in no trace. */
const untraced: Trace = async (_name, work) => work();

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
