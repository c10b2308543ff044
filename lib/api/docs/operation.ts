import { isPart, METHODS } from '../openapi/components.ts';
import type { OpenApiPart } from '../openapi/components.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import { html, formatText } from './html.ts';
import type { Html } from './html.ts';
import { definitions, resolve, sampleOf, schemaSection, text } from './schema.ts';

/** An operation of an OpenAPI document. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly part: OpenApiPart;
  /** The `id` attribute of its section. */
  readonly id: string;
  readonly tag: string;
}

/** The operations of a document, in its order. */
export function operationsOf(document: OpenApiDocument): readonly Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, part]) =>
      METHODS.has(method) && isPart(part)
        ? {
            method: method.toUpperCase(),
            path,
            part: { ...part, parameters: [...listIn(item, 'parameters'), ...listIn(part, 'parameters')] },
            id: `${method}${path}`.replaceAll(/[^\w]+/g, '-'),
            tag: text(listIn(part, 'tags')[0]) || 'Other',
          }
        : [],
    ),
  );
}

function listIn(part: Readonly<Record<string, unknown>>, member: string): readonly unknown[] {
  const list = part[member];
  return Array.isArray(list) ? list : [];
}

export function titleOf({ part, method, path }: Operation): string {
  return text(part['summary']) || `${method} ${path}`;
}

/** The section of an operation. */
export function operationSection(document: OpenApiDocument, operation: Operation, baseUrl: string): Html {
  const { id, method, part, path } = operation;
  const permission = isPart(part['x-permission']) ? part['x-permission'] : undefined;
  const body = contentOf(resolve(document, part['requestBody']));
  const success = resolve(document, successOf(part));
  return html`<section id="${id}" aria-labelledby="${id}-title">
    <h3 id="${id}-title">${titleOf(operation)}</h3>
    <code class="address"><b>${method}</b> ${path}</code>
    <p>${formatText(text(part['description']))}</p>
    ${
      permission &&
      html`<p class="muted">
        Needs the permission <code>${text(permission['name'])}</code>: ${text(permission['description'])}.
      </p>`
    }
    ${parameters(document, part)}
    ${
      body &&
      html`<h4>Body</h4>
        ${schemaSection(document, body)}`
    }
    <h4>Example</h4>
    <pre tabindex="0"><code>${curl(document, operation, { baseUrl, body })}</code></pre>
    ${answer(document, success)}
  </section>`;
}

function parameters(document: OpenApiDocument, part: OpenApiPart): Html {
  const given = listIn(part, 'parameters');
  if (given.length === 0) return html``;
  const entries = given.map((one) => {
    const { name, in: place, required, description } = resolve(document, one);
    const qualifier = `${text(place)}, ${required === true ? 'required' : 'optional'}`;
    return { name: text(name), qualifier, meaning: text(description) };
  });
  return html`<h4>Parameters</h4>
    ${definitions(entries)}`;
}

/** The schema of the successful response or, when `data` is its only member, of `data`. */
function answer(document: OpenApiDocument, success: OpenApiPart): Html {
  const schema = contentOf(success);
  if (!schema) return html``;
  const { properties } = resolve(document, schema);
  const data =
    isPart(properties) && Object.keys(properties).join() === 'data' ? properties['data'] : undefined;
  return html`<h4>Answer${data !== undefined && html`, in <code>data</code>`}</h4>
    <p>${formatText(text(success['description']))}</p>
    ${schemaSection(document, isPart(data) ? data : schema)}`;
}

function successOf(part: OpenApiPart): unknown {
  const responses = isPart(part['responses']) ? part['responses'] : {};
  return Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
}

function contentOf(part: OpenApiPart): OpenApiPart | undefined {
  const content = isPart(part['content']) ? part['content'] : {};
  const json = content['application/json'];
  return isPart(json) && isPart(json['schema']) ? json['schema'] : undefined;
}

function curl(
  document: OpenApiDocument,
  { method, path }: Operation,
  { baseUrl, body }: { baseUrl: string; body: OpenApiPart | undefined },
): string {
  // curl interprets braces in a URL as a set of alternatives.
  const url = baseUrl + path.replaceAll(/\{([^}]*)\}/g, (_, name: string) => name.toUpperCase());
  const json = JSON.stringify(sampleOf(document, body))?.replaceAll("'", String.raw`'\''`);
  const options = [
    ...(method === 'GET' || (method === 'POST' && body) ? [] : [`--request ${method}`]),
    "--header 'Authorization: Bearer TOKEN'",
    ...(body ? [`--json '${json}'`] : []),
  ];
  return [`curl '${url}'`, ...options].join(' \\\n  ');
}
