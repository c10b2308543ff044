import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';

import type { Gate, Principal, User } from '../../contracts/index.ts';
import { ConfigError } from '../../errors.ts';

/**
 * A schema of any library that implements Standard Schema and Standard JSON Schema, such as zod from 4.2.
 * See https://standardschema.dev
 */
export interface ActionSchema<Input = unknown, Output = Input> {
  readonly '~standard': StandardSchemaV1.Props<Input, Output> & StandardJSONSchemaV1.Props<Input, Output>;
}

/** `collection`: of a type as a whole, such as creating an object. `instance`: of one object, such as changing it. */
export type ActionLevel = 'collection' | 'instance';

/** A JSON Schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What `run` is called with. */
export interface ActionCall<
  Input = unknown,
  L extends ActionLevel = ActionLevel,
  D = unknown,
  N extends string = string,
  S extends object = object,
> {
  /** What the caller sent, as the input schema gives it out. */
  readonly input: Input;
  /** Which object, for an action of the level `instance`: 1 to 255 characters without control characters. */
  readonly id: L extends 'instance' ? string : undefined;
  /** The user or the client that calls. With the `gate` in the definition, it knows the gate's names and rules. */
  readonly principal: Principal<N, User, S>;
  /** The action's `database`, or in an atomic bulk its transaction. */
  readonly database: D;
  /** Whether all of it will be rolled back: what a transaction does not hold, such as sending mail, has to be left out. */
  readonly dryRun: boolean;
  /** Aborted when the caller has gone away and nobody needs the answer. */
  readonly signal: AbortSignal;
}

/** What `defineAction()` takes. */
export interface ActionDefinition<
  P extends string,
  L extends ActionLevel,
  I extends ActionSchema,
  O extends ActionSchema,
  D,
  N extends string = string,
  S extends object = object,
> {
  /**
   * The server's gate, for the types: a misspelt permission in the definition, or in `principal.can()` in `run`, does not
   * compile then.
   */
  readonly gate?: Gate<N, string, S>;
  /** What kind of objects it is about: lower-case words joined by hyphens, such as `school`. */
  readonly type: string;
  /** Lower-case words joined by hyphens, the last one `action`: `rename-school-action`. Once for each type. */
  readonly name: `${string}-action`;
  readonly level: L;
  /** A few words for people, such as "Rename a school". */
  readonly title: string;
  /** A sentence or two for those who write clients. */
  readonly description?: string;
  /** What the caller must hold. */
  readonly permission: P;
  /**
   * What callers send. What JSON Schema cannot express, such as a refinement, is checked and not published. What has to
   * be looked up belongs in `run`.
   */
  readonly input: I;
  /** What they get. An answer that it refuses is the server's fault; members that it does not know are left out. */
  readonly output: O;
  /**
   * What `run` works on, such as the `Knex` instance that the storage was given. With it, the action can be part of an
   * atomic bulk, where it gets the storage's transaction instead: so all that `run` changes must go through
   * `call.database`. Without it, an atomic bulk of the action is refused.
   */
  readonly database?: D;
  /**
   * Does it. Throw an {@link ActionError} for what the caller can do something about; what else is thrown is a 500.
   * The input has been checked, and the caller holds the permission.
   */
  run(
    call: ActionCall<StandardSchemaV1.InferOutput<I>, L, D, N, S>,
  ): StandardSchemaV1.InferInput<O> | Promise<StandardSchemaV1.InferInput<O>>;
}

/** An action that was checked. Made by `defineAction()`. */
export interface Action<P extends string = string> {
  /** What kind of objects it is about, such as `school`. */
  readonly type: string;
  readonly name: string;
  readonly level: ActionLevel;
  readonly title: string;
  readonly description: string | undefined;
  readonly permission: P;
  readonly input: ActionSchema;
  readonly output: ActionSchema;
  /** `input`, as it is published. */
  readonly inputSchema: JsonSchema;
  /** `output`, as it is published. */
  readonly outputSchema: JsonSchema;
  /** What `run` works on; `undefined`: the action is refused in an atomic bulk. */
  readonly database: unknown;
  /** Typed as a method: what it takes has been checked by then. */
  run(call: ActionCall): unknown;
}

/**
 * Defines something that callers of the API can do.
 *
 *     const renameSchool = defineAction({
 *       gate,
 *       type: 'school',
 *       name: 'rename-school-action',
 *       level: 'instance',
 *       title: 'Rename a school',
 *       permission: 'edit_schools',
 *       input: z.object({ name: z.string().min(1).max(200) }),
 *       output: z.object({ id: z.string(), name: z.string() }),
 *       database: knex,
 *       async run({ id, input, database }) {
 *         const found = await database('schools').where({ id }).update(input);
 *         if (!found) throw new ActionError(404, 'school_not_found', 'There is no school with this id.');
 *         return { id, ...input };
 *       },
 *     });
 *
 * @throws ConfigError naming the action and what is wrong with it
 */
export function defineAction<
  const P extends NoInfer<N>,
  const L extends ActionLevel,
  I extends ActionSchema,
  O extends ActionSchema,
  D = undefined,
  N extends string = string,
  S extends object = object,
>(definition: ActionDefinition<P, L, I, O, D, N, S>): Action<P> {
  const { type, name, level, title, description, permission, input, output, database, gate } = definition;
  if (typeof name !== 'string' || !KEBAB_CASE.test(name) || !name.endsWith('-action')) {
    throw new ConfigError(
      `defineAction(${JSON.stringify(name)})`,
      'write the name as lower-case words joined by hyphens, the last one "action", such as rename-school-action',
    );
  }
  const fail = (member: string, remedy: string, options?: ErrorOptions): never => {
    throw new ConfigError(`${name}.${member}`, remedy, options);
  };
  if (typeof type !== 'string' || !KEBAB_CASE.test(type)) {
    fail('type', 'write it as lower-case words joined by hyphens, such as school');
  }
  if (level !== 'collection' && level !== 'instance') fail('level', "give 'collection' or 'instance'");
  if (typeof title !== 'string' || title.trim() === '') fail('title', 'say in a few words what it does');
  if (typeof permission !== 'string') fail('permission', 'name the permission that a caller must hold');
  if (gate?.has(permission) === false) {
    fail('permission', `the gate has no permission "${permission}"; define it or correct the name`);
  }
  if (typeof definition.run !== 'function') fail('run', 'make it a function');
  return Object.freeze({
    type,
    name,
    level,
    title,
    description,
    permission,
    input,
    output,
    inputSchema: jsonSchemaOf(input, 'input', fail),
    outputSchema: jsonSchemaOf(output, 'output', fail),
    database,
    run: (call: ActionCall) =>
      definition.run(call as ActionCall<StandardSchemaV1.InferOutput<I>, L, D, N, S>),
  });
}

const KEBAB_CASE = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

function jsonSchemaOf(
  schema: ActionSchema,
  side: 'input' | 'output',
  fail: (member: string, remedy: string, options?: ErrorOptions) => never,
): JsonSchema {
  const standard = schema?.['~standard'];
  if (typeof standard?.validate !== 'function' || typeof standard.jsonSchema?.[side] !== 'function') {
    fail(
      side,
      'give a schema that implements Standard Schema and Standard JSON Schema, such as one of zod 4',
    );
  }
  try {
    // As it is sent: some libraries put more on the object than JSON shows.
    return JSON.parse(JSON.stringify(standard.jsonSchema[side]({ target: 'draft-2020-12' })));
  } catch (cause) {
    return fail(
      side,
      `it cannot be converted to JSON Schema: ${cause instanceof Error ? cause.message : String(cause)}`,
      {
        cause,
      },
    );
  }
}
