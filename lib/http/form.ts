import type { Context } from 'koa';

import { BodyError } from '../errors.ts';
import { discardRest, FORM, isUnread, readBody, readBytes, textOf } from './body.ts';
import type { Body, BodyRules } from './body.ts';

const PAGE_FORM: BodyRules = { limit: 16 * 1024, name: 'form', types: [FORM] };

/**
 * Reads the fields of a posted page form, at most 16 KiB of `application/x-www-form-urlencoded`.
 *
 * @throws BodyError - as {@link readBody}; 400 for a field that is repeated or nested, or contains a NUL character
 */
export async function readForm(ctx: Context): Promise<Record<string, string>> {
  const found = await readBody(ctx, PAGE_FORM);
  const fields = checkFields(found ? formEntries(found) : []);
  // Middleware that reads the same request later finds the fields here.
  Object.assign(ctx.request, { body: fields });
  return fields;
}

/** The values of the boxes that are checked in a posted form, by the beginning of the names of their fields. */
export function checkedBoxes(posted: Readonly<Record<string, string>>, prefix: string): string[] {
  return Object.entries(posted)
    .filter(([field]) => field.startsWith(prefix))
    .map(([, value]) => value);
}

/** The random string of a form that must not be processed twice. */
export function readOnce(form: Readonly<Record<string, string>>): string {
  const once = form['once'] ?? '';
  if (/^[\w-]{16,64}$/.test(once)) return once;
  throw new BodyError('The form is incomplete.');
}

// Larger than the files that are accepted, so that the page says so of those that are not.
const FILE_FORM: BodyRules = { limit: 256 * 1024, name: 'form' };

/**
 * Reads the file of a posted page form with one field, at most 256 KiB of `multipart/form-data`. Empty when no file was chosen.
 *
 * @throws BodyError - as {@link readBody}; 400 for a form that is malformed, or has no file, or several, in the field
 */
export async function readFormFile(ctx: Context, name: string): Promise<Uint8Array> {
  if (ctx.request.type.trim().toLowerCase() !== 'multipart/form-data')
    throw discardRest(ctx, new BodyError('Send the form as multipart/form-data.', { status: 415 }));
  if (!isUnread(ctx.req)) throw new BodyError('The form was already read by another middleware.');
  const bytes = await readBytes(ctx, FILE_FORM);
  const response = new Response(new Uint8Array(bytes), {
    headers: { 'Content-Type': ctx.get('Content-Type') },
  });
  const fields = await response.formData().catch((cause: unknown) => {
    throw new BodyError('The form is malformed.', { cause });
  });
  const [file, ...others] = fields.getAll(name);
  if (!(file instanceof File) || others.length > 0)
    throw new BodyError(`Send one file in the field ${name}.`);
  return file.bytes();
}

function formEntries(body: Body): [string, unknown][] {
  return 'value' in body ? Object.entries(body.value ?? {}) : decode(textOf(body));
}

function decode(form: string): [string, string][] {
  return form
    .split('&')
    .filter((field) => field !== '')
    .map((field) => {
      const [name = '', ...value] = field.split('=');
      return [percentDecode(name), percentDecode(value.join('='))];
    });
}

// Not URLSearchParams: it replaces bytes that are not UTF-8 with U+FFFD.
function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (cause) {
    throw new BodyError('The form is not percent-encoded UTF-8.', { cause });
  }
}

function checkFields(entries: readonly [string, unknown][]): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  for (const [name, value] of entries) {
    // `a[b]` and `a.b` are refused too: a host's parser nests them, and a form must have the same meaning with and without it.
    if (typeof value !== 'string' || name in fields || !/^[\w-]+$/.test(name)) {
      throw new BodyError('A field of the form is repeated, is nested or has an invalid name.');
    }
    // PostgreSQL refuses a NUL character in text, and some password hashes stop at it.
    if (value.includes('\0')) throw new BodyError('A field of the form contains a NUL character.');
    fields[name] = value;
  }
  return fields;
}
