import fc from 'fast-check';

import { randomText } from '../../harness/random-text.ts';
import type { Field, GoodRequest } from './good-requests.ts';
import { ODD_HEADERS, ODD_JSON, ODD_METHODS, ODD_NAMES, ODD_PIECES, ODD_VALUES } from './odd-values.ts';

/** A request as it is sent. */
export interface SweptRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** One character stands for one byte. */
  readonly body?: string;
}

/** A request while it is changed. */
interface Draft {
  method: string;
  path: string;
  kind: GoodRequest['in'];
  fields: Field[];
  readonly headers: Record<string, string>;
  /** In place of the fields. */
  whole?: string;
  /** Of the body, which ends there. */
  length?: number;
}

type Edit = (draft: Draft) => unknown;

const at = fc.nat(60);
const oddText = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...ODD_VALUES) },
  { weight: 1, arbitrary: randomText({ maxLength: 40 }) },
);
const oddJson = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...ODD_JSON) },
  { weight: 1, arbitrary: fc.json({ maxDepth: 4 }) },
);
const oddName = fc.constantFrom(...ODD_NAMES);

/** Changes one field. */
function ofField(to: fc.Arbitrary<string>, change: (field: Field, to: string, at: number) => Partial<Field>) {
  return fc.tuple(at, to).map(([place, text]): Edit => (draft) => {
    const index = place % Math.max(draft.fields.length, 1);
    const field = draft.fields[index];
    if (field) draft.fields[index] = { ...field, ...change(field, text, place) };
  });
}

const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.constantFrom(...ODD_METHODS).map(
    (to): Edit =>
      (draft) =>
        (draft.method = to),
  ),
  fc.tuple(at, fc.constantFrom(...ODD_PIECES), fc.nat(10)).map(([place, to, cut]): Edit => (draft) => {
    const start = 1 + (place % draft.path.length);
    draft.path = draft.path.slice(0, start) + to + draft.path.slice(start + cut);
  }),
  fc.constant<Edit>((draft) => (draft.path = draft.path.toUpperCase())),
  fc.constant<Edit>((draft) => (draft.kind = draft.kind === 'json' ? 'form' : 'json')),
  at.map(
    (place): Edit =>
      ({ fields }) =>
        fields.splice(place % Math.max(fields.length, 1), 1),
  ),
  { weight: 6, arbitrary: ofField(oddText, (_field, value) => ({ value, json: false })) },
  {
    weight: 2,
    arbitrary: ofField(oddText, ({ value }, to, place) => {
      const start = place % (value.length + 1);
      return { value: value.slice(0, start) + to + value.slice(start), json: false };
    }),
  },
  fc.tuple(at, oddText).map(([place, value]): Edit => ({ fields }) => {
    const field = fields[place % Math.max(fields.length, 1)];
    if (field) fields.push({ ...field, value, json: false });
  }),
  ofField(oddName, (_field, name) => ({ name })),
  ofField(oddJson, (_field, value) => ({ value, json: true })),
  fc.tuple(oddName, oddText).map(
    ([name, value]): Edit =>
      ({ fields }) =>
        fields.push({ name, value }),
  ),
  fc.oneof(oddJson, oddText).map(
    (to): Edit =>
      (draft) =>
        (draft.whole = to),
  ),
  at.map(
    (length): Edit =>
      (draft) =>
        (draft.length = length),
  ),
  {
    weight: 4,
    arbitrary: fc.constantFrom(...Object.entries(ODD_HEADERS)).chain(([name, values]) =>
      fc.constantFrom(...values).map(
        (to): Edit =>
          ({ headers }) =>
            (headers[name] = to),
      ),
    ),
  },
);

/** Valid requests with up to four changes. */
export function sweptRequests(good: readonly GoodRequest[]): fc.Arbitrary<SweptRequest> {
  return fc
    .tuple(fc.constantFrom(...good), fc.array(edit, { maxLength: 4, size: 'max' }))
    .map(([request, edits]) => written(request, edits));
}

function written({ in: kind, ...request }: GoodRequest, edits: readonly Edit[]): SweptRequest {
  const draft: Draft = { ...request, kind, fields: [...request.fields], headers: { ...request.headers } };
  for (const change of edits) change(draft);
  const { fields, headers, length, method, path, whole } = draft;
  if (draft.kind === 'query') {
    const query = whole ?? formOf(fields);
    const separator = path.includes('?') ? '&' : '?';
    return { method, path: inRequestLine(query === '' ? path : path + separator + query), headers };
  }
  const text = whole ?? (draft.kind === 'json' ? jsonOf(fields) : formOf(fields));
  const type = draft.kind === 'json' ? 'application/json' : 'application/x-www-form-urlencoded';
  const body = Buffer.from(text.slice(0, length)).toString('latin1');
  return { method, path: inRequestLine(path), headers: { 'content-type': type, ...headers }, body };
}

// Text with a percent sign is not encoded again.
function formOf(fields: readonly Field[]): string {
  return fields
    .map(({ name, value }) =>
      [name, value]
        .map((text) => (text.includes('%') ? text : encodeURIComponent(text.toWellFormed())))
        .join('='),
    )
    .join('&');
}

function jsonOf(fields: readonly Field[]): string {
  const members = fields.map(
    ({ name, value, json }) => `${JSON.stringify(name)}:${json ? value : JSON.stringify(value)}`,
  );
  return `{${members.join(',')}}`;
}

/** As HTTP permits it: without blanks and control characters, and no longer than Node's parser accepts. */
function inRequestLine(target: string): string {
  return target
    .toWellFormed()
    .replaceAll(/[^\u0021-\u00ff]/gu, (character) => encodeURIComponent(character))
    .slice(0, 12_000);
}
