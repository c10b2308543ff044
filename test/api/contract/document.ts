import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';

import type { Schema } from './arbitrary.ts';

interface Media {
  readonly schema?: Schema;
}

interface DocumentedResponse {
  readonly content?: Readonly<Record<string, Media>>;
  readonly headers?: Readonly<Record<string, { readonly required?: boolean; readonly schema?: Schema }>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  readonly required?: boolean;
  readonly schema?: Schema;
}

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | undefined;
  readonly responses: Readonly<Record<string, DocumentedResponse>>;
}

/** What an operation answered. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A document of the API, as a program that trusts it reads it. */
export interface Contract {
  readonly operations: readonly Operation[];
  readonly schemaAt: (reference: string) => Schema;
  /** What an answer has that the document does not say, or lacks of what it says. */
  readonly faultsOf: (operation: Operation, answer: Answer) => string[];
}

type Written<T> = T | { readonly $ref: string };
type WrittenOperation = {
  readonly parameters?: readonly Written<Parameter>[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Written<DocumentedResponse>>>;
};

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, WrittenOperation>>>>;
}

const ANY: Schema = {};

export function readContract(document: Document): Contract {
  const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }));
  ajv.addSchema(document, 'document');

  /** The object at a reference of the document. */
  const find = (reference: string): unknown =>
    reference
      .slice(2)
      .split('/')
      .reduce<unknown>((at, key) => Reflect.get(Object(at), key), document);
  const resolved = <T extends object>(written: Written<T>): T =>
    '$ref' in written ? (find(written.$ref) as T) : written;

  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody, responses }]) => ({
      method: method.toUpperCase(),
      path,
      parameters: parameters.map((parameter) => resolved(parameter)),
      body: requestBody?.content['application/json']?.schema,
      responses: Object.fromEntries(
        Object.entries(responses).map(([status, response]) => [status, resolved(response)]),
      ),
    })),
  );

  const compiled = new Map<Schema, ValidateFunction>();

  /** References of a schema are those of the document. */
  const compile = (schema: Schema): ValidateFunction =>
    ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/')) as Schema);

  const faultsOfValue = (schema: Schema, value: unknown): readonly string[] => {
    // Compiling takes longer than the request whose answer is judged.
    const validate = compiled.get(schema) ?? compile(schema);
    compiled.set(schema, validate);
    return validate(value) ? [] : [ajv.errorsText(validate.errors)];
  };

  return {
    operations,
    schemaAt: (reference) => find(reference) as Schema,
    faultsOf({ responses }, { headers, status, text }) {
      const documented = responses[status];
      if (!documented) return [`status ${status} is not documented`];
      const [type = ''] = (headers.get('content-type') ?? '').split(';');
      const { content = {} } = documented;
      const faults: string[] = [];
      const media = content[type];
      if (!media && (text !== '' || Object.keys(content).length > 0))
        faults.push(
          `${status} is ${type === '' ? 'nothing' : type} instead of ${Object.keys(content).join(', ') || 'nothing'}`,
        );
      if (media?.schema) {
        const isJson = type === 'application/json' || type.endsWith('+json');
        faults.push(...faultsOfValue(media.schema, isJson ? JSON.parse(text) : text));
      }
      for (const [name, { required = false, schema = ANY }] of Object.entries(documented.headers ?? {})) {
        const value = headers.get(name);
        if (value === null && required) faults.push(`${status} has no ${name}`);
        const number = [schema.type].flat().includes('integer') ? Number(value) : value;
        if (value !== null) faults.push(...faultsOfValue(schema, number).map((fault) => `${name}: ${fault}`));
      }
      return faults;
    },
  };
}
