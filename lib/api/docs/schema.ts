import { isPart } from '../openapi/components.ts';
import type { OpenApiPart } from '../openapi/components.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import { html, formatText } from './html.ts';
import type { Html } from './html.ts';

/** Follows a reference within the document. */
export function resolve(document: OpenApiDocument, part: unknown): OpenApiPart {
  let found = isPart(part) ? part : {};
  // Bounded, because references of a host's schemas may form a circle.
  for (let step = 0; step < 10 && typeof found['$ref'] === 'string'; step += 1) {
    let target: unknown = document;
    for (const name of found['$ref'].split('/').slice(1)) {
      const key = decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~');
      target = isPart(target) ? target[key] : undefined;
    }
    found = isPart(target) ? target : {};
  }
  return found;
}

/** A list of names, each with its meaning. */
export function definitions(entries: readonly { name: string; qualifier: string; meaning: string }[]): Html {
  if (entries.length === 0) return html``;
  return html`<dl>
    ${entries.map(
      ({ name, qualifier, meaning }) =>
        html`<dt><code>${name}</code> <span class="muted">${qualifier}</span></dt>
          <dd>${formatText(meaning)}</dd>`,
    )}
  </dl>`;
}

/** The members of an object schema, and its JSON. */
export function schemaSection(document: OpenApiDocument, schema: OpenApiPart): Html {
  const resolved = resolve(document, schema);
  const { properties, required: names } = resolve(
    document,
    resolved['type'] === 'array' ? resolved['items'] : resolved,
  );
  const required = Array.isArray(names) ? names : [];
  const members = Object.entries(isPart(properties) ? properties : {}).map(([name, property]) => {
    const member = resolve(document, property);
    const presence = required.includes(name) ? 'required' : 'optional';
    return {
      name,
      qualifier: `${typeOf(document, member)}, ${presence}`,
      meaning: text(member['description']),
    };
  });
  return html`${definitions(members)}
    <details>
      <summary>JSON Schema</summary>
      <pre tabindex="0"><code>${JSON.stringify(resolved, undefined, 2)}</code></pre>
    </details>`;
}

function typeOf(document: OpenApiDocument, schema: OpenApiPart): string {
  const { type, enum: values, format, items } = schema;
  if ('const' in schema) return JSON.stringify(schema['const']);
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(' or ');
  if (type === 'array') return `list of ${typeOf(document, resolve(document, items))}`;
  const name = Array.isArray(type) ? type.join(' or ') : text(type);
  return `${name || 'any'}${typeof format === 'string' ? ` (${format})` : ''}`;
}

/** A sample value for an example, with the required members only. */
export function sampleOf(document: OpenApiDocument, schema: unknown, depth = 0): unknown {
  const resolved = resolve(document, schema);
  const { type, enum: values, examples, properties, items, anyOf, oneOf } = resolved;
  if (Array.isArray(examples)) return examples[0];
  if ('const' in resolved) return resolved['const'];
  if (Array.isArray(values)) return values[0];
  const [choice] = [anyOf, oneOf].filter(Array.isArray).flat();
  if (choice !== undefined && depth < 5) return sampleOf(document, choice, depth + 1);
  switch (Array.isArray(type) ? type[0] : type) {
    case 'string':
      return '…';
    case 'integer':
    case 'number':
      return 1;
    case 'boolean':
      return true;
    case 'array':
      return depth < 5 && items !== undefined ? [sampleOf(document, items, depth + 1)] : [];
    case 'object': {
      const required = Array.isArray(resolved['required']) ? resolved['required'] : [];
      const members = Object.entries(isPart(properties) ? properties : {}).filter(([name]) =>
        required.includes(name),
      );
      return Object.fromEntries(
        members.map(([name, member]) => [name, depth < 5 ? sampleOf(document, member, depth + 1) : null]),
      );
    }
    default:
      return null;
  }
}

/** A text, or `''` for any other value. */
export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
