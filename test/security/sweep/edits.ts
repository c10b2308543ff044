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

/** A change to a valid request. fast-check reduces a failure to the fewest changes. */
type Edit =
  | { readonly edit: 'method'; readonly to: string }
  | { readonly edit: 'path'; readonly at: number; readonly to: string; readonly cut: number }
  | { readonly edit: 'upper-case' | 'drop' | 'other-encoding'; readonly at: number }
  | {
      readonly edit: 'value' | 'name' | 'infix' | 'json' | 'repeat';
      readonly at: number;
      readonly to: string;
    }
  | { readonly edit: 'add'; readonly name: string; readonly to: string }
  | { readonly edit: 'body'; readonly to: string }
  | { readonly edit: 'cut'; readonly at: number }
  | { readonly edit: 'header'; readonly name: string; readonly to: string };

const at = fc.nat(60);
const oddText = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...ODD_VALUES) },
  { weight: 1, arbitrary: randomText({ maxLength: 40 }) },
);
const oddJson = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...ODD_JSON) },
  { weight: 1, arbitrary: fc.json({ maxDepth: 4 }) },
);
const oddHeader = fc.constantFrom(...Object.entries(ODD_HEADERS)).chain(([name, values]) =>
  fc.record({
    edit: fc.constant('header' as const),
    name: fc.constant(name),
    to: fc.constantFrom(...values),
  }),
);
const pathEdit = fc.record({
  edit: fc.constant('path' as const),
  at,
  to: fc.constantFrom(...ODD_PIECES),
  cut: fc.nat(10),
});
const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({ edit: fc.constant('method' as const), to: fc.constantFrom(...ODD_METHODS) }),
  pathEdit,
  fc.record({ edit: fc.constantFrom('upper-case' as const, 'drop' as const, 'other-encoding' as const), at }),
  { weight: 6, arbitrary: fc.record({ edit: fc.constant('value' as const), at, to: oddText }) },
  {
    weight: 3,
    arbitrary: fc.record({ edit: fc.constantFrom('infix' as const, 'repeat' as const), at, to: oddText }),
  },
  fc.record({ edit: fc.constant('name' as const), at, to: fc.constantFrom(...ODD_NAMES) }),
  fc.record({ edit: fc.constant('json' as const), at, to: oddJson }),
  fc.record({ edit: fc.constant('add' as const), name: fc.constantFrom(...ODD_NAMES), to: oddText }),
  fc.record({ edit: fc.constant('body' as const), to: fc.oneof(oddJson, oddText) }),
  fc.record({ edit: fc.constant('cut' as const), at }),
  { weight: 4, arbitrary: oddHeader },
);

/** Valid requests with up to four changes. */
export function sweptRequests(good: readonly GoodRequest[]): fc.Arbitrary<SweptRequest> {
  return fc
    .tuple(fc.constantFrom(...good), fc.array(edit, { maxLength: 4, size: 'max' }))
    .map(([request, edits]) => written(request, edits));
}

function written(request: GoodRequest, edits: readonly Edit[]): SweptRequest {
  let { method, path } = request;
  let kind = request.in;
  let fields = [...request.fields];
  let whole: string | undefined;
  let length: number | undefined;
  const headers: Record<string, string> = { ...request.headers };
  for (const one of edits) {
    const place = 'at' in one ? one.at % Math.max(fields.length, 1) : 0;
    const change = (to: (field: Field) => Partial<Field>): void => {
      fields = fields.map((field, index) => (index === place ? { ...field, ...to(field) } : field));
    };
    switch (one.edit) {
      case 'method':
        method = one.to;
        break;
      case 'path': {
        const start = 1 + (one.at % path.length);
        path = path.slice(0, start) + one.to + path.slice(start + one.cut);
        break;
      }
      case 'upper-case':
        path = path.toUpperCase();
        break;
      case 'drop':
        fields = fields.filter((_, index) => index !== place);
        break;
      case 'other-encoding':
        kind = kind === 'json' ? 'form' : 'json';
        break;
      case 'value':
        change(() => ({ value: one.to, json: false }));
        break;
      case 'infix':
        change(({ value }) => {
          const start = one.at % (value.length + 1);
          return { value: value.slice(0, start) + one.to + value.slice(start), json: false };
        });
        break;
      case 'repeat':
        if (fields[place]) fields.push({ ...fields[place], value: one.to, json: false });
        break;
      case 'name':
        change(() => ({ name: one.to }));
        break;
      case 'json':
        change(() => ({ value: one.to, json: true }));
        break;
      case 'add':
        fields.push({ name: one.name, value: one.to });
        break;
      case 'body':
        whole = one.to;
        break;
      case 'cut':
        length = one.at;
        break;
      case 'header':
        headers[one.name] = one.to;
        break;
      default:
        one satisfies never;
    }
  }
  if (kind === 'query') {
    const query = whole ?? formOf(fields);
    const separator = path.includes('?') ? '&' : '?';
    return { method, path: inRequestLine(query === '' ? path : path + separator + query), headers };
  }
  const text = whole ?? (kind === 'json' ? jsonOf(fields) : formOf(fields));
  const type = kind === 'json' ? 'application/json' : 'application/x-www-form-urlencoded';
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
