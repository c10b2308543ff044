import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Context, DefaultContext, Middleware, Request } from 'koa';

import { readmit } from '../access/reauthentication.ts';
import type { Logger } from '../contracts/index.ts';
import { BodyError } from '../errors.ts';
import { discardRest, isUnread, readBody, receiveBody, textOf } from '../http/body.ts';
import { whenClosed } from '../http/closed.ts';
import { parseIJson } from '../http/json.ts';
import { sendProblem } from '../http/problem.ts';
import type { ReauthenticatorOf } from './actions/answer.ts';
import type { Limits } from './limits.ts';

/** The context of routes that a host adds to the API. */
export interface RouteBody extends DefaultContext {
  readonly request?: Request & {
    /** The value of a JSON body, or the fields of a form or a multipart body. `undefined`: there was no such body. */
    body?: unknown;
    /** The text of a JSON body or a form, for verifying a signature of it. */
    rawBody?: string;
    /** The files of a multipart body, by field name, those of one field in their order. They are deleted after the response. */
    files?: Readonly<Record<string, UploadedFile | UploadedFile[]>>;
  };
}

/** A file of a multipart body. */
export interface UploadedFile {
  /** The path of the file, which exists until the response was sent. */
  readonly filepath: string;
  /** The name that the client sent: do not use it as a path. */
  readonly originalFilename: string | null;
  /** The media type that the client sent. */
  readonly mimetype: string | null;
  /** In bytes. */
  readonly size: number;
}

/** Parses the bodies of the routes that a host adds. */
export interface RouteBodies {
  /** Starts to load the parsers of forms. */
  readonly load: () => void;
  /** Parses unread JSON, form and multipart bodies. Other bodies are left to the route. */
  readonly parse: Middleware;
}

/** The methods whose body has defined semantics (RFC 9110 section 9.3). */
export const METHODS_WITH_BODY: readonly string[] = ['POST', 'PUT', 'PATCH'];

/** @param parts.reauthenticatorOf - authenticates a request again when its body has arrived */
export function createRouteBodies(
  limits: Limits,
  { logger, reauthenticatorOf }: { readonly logger: Logger; readonly reauthenticatorOf: ReauthenticatorOf },
): RouteBodies {
  const { bodyLimit, uploads } = limits;
  const rules = { limit: bodyLimit, name: 'body' } as const;
  let loading: ReturnType<typeof importParsers> | undefined;
  const load = async () => (loading ??= importParsers());

  async function readText(ctx: Context): Promise<string> {
    const found = await readBody(ctx, rules);
    return found && !('value' in found) ? textOf(found) : '';
  }

  async function parseForm(ctx: Context): Promise<void> {
    const { qs } = await load();
    const rawBody = await readText(ctx);
    try {
      const body = qs.parse(rawBody, {
        arrayLimit: uploads.maxFields,
        parameterLimit: uploads.maxFields,
        throwOnLimitExceeded: true,
      });
      Object.assign(ctx.request, { body, rawBody });
    } catch (error) {
      throw error instanceof RangeError ? tooManyFields(limits) : error;
    }
  }

  async function parseMultipart(ctx: Context): Promise<void> {
    const { formidable } = await load();
    const form = formidable.formidable({
      enabledPlugins: [formidable.multipart],
      uploadDir: await temporaryDirectory(ctx, logger),
      maxFields: uploads.maxFields,
      maxFieldsSize: bodyLimit,
      maxFiles: uploads.maxFiles,
      maxFileSize: uploads.bodyLimit,
      allowEmptyFiles: true,
      minFileSize: 0,
      // For a file field without a chosen file, a browser sends a part with an empty file name.
      filter: ({ originalFilename }) => originalFilename !== '',
    });
    const failed = Promise.withResolvers<never>();
    form.onPart = (part) => {
      const fault = preparePart(part);
      // formidable does not handle rejections of its part handler: an unhandled rejection would end the process.
      if (fault) failed.reject(fault);
      else Promise.resolve(form._handlePart(part)).catch(failed.reject);
    };
    // formidable itself lists the files of a field in the order in which they were written to the disk.
    const files: Record<string, UploadedFile[]> = Object.create(null);
    form.on('fileBegin', (name, file) => {
      (files[name] ??= []).push(file);
    });
    const fields = await receiveBody(ctx, { limit: uploads.bodyLimit, name: 'body' }, async () => {
      try {
        return (await Promise.race([form.parse(ctx.req), failed.promise]))[0];
      } catch (error) {
        // A file system error is a fault of the server, so it must not become a `BodyError`.
        if (isFileSystemError(error)) return error;
        throw toBodyError(error, limits);
      }
    });
    if (fields instanceof Error) throw discardRest(ctx, fields);
    Object.assign(ctx.request, { body: withoutLists(fields), files: withoutLists(files) });
  }

  return {
    load() {
      // The first request that needs the parsers is answered with the error.
      load().catch(() => {});
    },
    async parse(ctx, next) {
      if (!isUnread(ctx.req)) return next();
      const reauthenticate = reauthenticatorOf(ctx);
      if (ctx.is(MULTIPART)) await parseMultipart(ctx);
      else if (ctx.is('urlencoded')) await parseForm(ctx);
      else if (ctx.is('json', '+json')) {
        const rawBody = await readText(ctx);
        const body = rawBody === '' ? undefined : parseIJson(rawBody, PROTOTYPE);
        Object.assign(ctx.request, { body, rawBody });
      }
      const problem = await readmit(ctx, reauthenticate);
      return problem ? sendProblem(ctx, problem) : next();
    },
  };
}

async function importParsers() {
  const [formidable, { default: qs }] = await Promise.all([import('formidable'), import('qs')]);
  return { formidable, qs };
}

const MULTIPART = 'multipart/form-data';

// A route may merge the value into another object.
const PROTOTYPE = '__proto__';

/** A single value instead of a list of one. */
function withoutLists<T>(lists: Readonly<Record<string, T[] | undefined>>): Record<string, T | T[]> {
  return Object.fromEntries(
    Object.entries(lists).map(([name, list = []]) => [name, list.length === 1 ? list[0]! : list]),
  );
}

/** Creates a directory for the files of a request. It is deleted when the response was sent or the connection was closed. */
async function temporaryDirectory({ res }: Context, logger: Logger): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-upload-'));
  const remove = (): void => {
    // With retries, because formidable may still create a file.
    rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch((error: unknown) =>
      logger.warn({ err: error, folder }, 'uploaded files could not be removed'),
    );
  };
  whenClosed(res, remove);
  return folder;
}

interface Part {
  name: string | null;
  originalFilename: string | null;
  mimetype: string | null;
  transferEncoding?: string;
}

/** Prepares a part for formidable: a part with a file name is a file, whatever its media type (RFC 7578 section 4.2). */
function preparePart(part: Part): BodyError | undefined {
  if (part.name === null || part.name === '__proto__') return new BodyError(MALFORMED);
  if (part.originalFilename === null) part.mimetype = null;
  else part.mimetype ??= 'application/octet-stream';
  // formidable has decoded the content already, and would use the transfer encoding as a charset.
  part.transferEncoding = 'utf-8';
  return undefined;
}

const MALFORMED = `The body is not valid ${MULTIPART}.`;

/** Converts an error of formidable to a `BodyError`. */
function toBodyError(error: unknown, limits: Limits): unknown {
  if (!(error instanceof Error) || error instanceof BodyError) return error;
  const { bodyLimit, uploads } = limits;
  const { code, httpCode } = error as { code?: unknown; httpCode?: unknown };
  // The codes are those of formidable's FormidableError.js.
  if (code === 1007) return tooManyFields(limits);
  if (code === 1006) return limitExceeded(`fields of more than ${bodyLimit} bytes`);
  if (code === 1009 || code === 1016) return limitExceeded(`files of more than ${uploads.bodyLimit} bytes`);
  if (code === 1015) return limitExceeded(`more than ${uploads.maxFiles} files`);
  // Any other error of formidable, except 1002: the connection was closed.
  if (typeof httpCode === 'number' && code !== 1002) return new BodyError(MALFORMED, { cause: error });
  return error;
}

function tooManyFields({ uploads }: Limits): BodyError {
  return limitExceeded(`more than ${uploads.maxFields} fields`);
}

function limitExceeded(what: string): BodyError {
  return new BodyError(`The body has ${what}.`, { status: 413 });
}

function isFileSystemError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error && 'path' in error;
}
