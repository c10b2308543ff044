import type { StandardSchemaV1 } from '@standard-schema/spec';

import type { Loaded, RuledObject } from '../../access/requires.ts';
import type { Gate, Principal, Seconds, User } from '../../contracts/index.ts';
import { beginStackAt, ConfigError } from '../../errors.ts';
import { optional, readOptions, unchecked } from '../../options/declare.ts';
import type { Check, Given } from '../../options/declare.ts';
import { boolean, fn, text } from '../../options/values.ts';
import { requestLimit } from '../limits.ts';
import { checkSchema, jsonSchemaOf } from './schemas.ts';
import type { ActionSchema, JsonSchema } from './schemas.ts';

/** A `collection` action is for a type, such as creating an object. An `instance` action is for one object, such as changing it. */
export type ActionLevel = 'collection' | 'instance';

/** The argument of `run`. The function `object` gets it without the member `object`. */
export interface ActionCall<
  Input = unknown,
  L extends ActionLevel = ActionLevel,
  D = unknown,
  N extends string = string,
  S extends object = object,
  T = unknown,
> {
  /** The request's input, as the input schema returns it. */
  readonly input: Input;
  /** The id of the object, for an action of the level `instance`: 1 to 255 characters without control characters. */
  readonly id: L extends 'instance' ? string : undefined;
  /** The object that `object` has loaded, for which the rule allows the action. */
  readonly object: T;
  /** The user or the client of the request. When the definition has a `gate`, it has the types of the gate's permissions and rules. */
  readonly principal: Principal<N, User, S>;
  /** The action's `database`; in an atomic bulk, its transaction. */
  readonly database: D;
  /** Whether the transaction will be rolled back: skip effects that are not part of it, such as sending mail. */
  readonly dryRun: boolean;
  /** Aborted when the client has closed the connection and the answer is not needed. */
  readonly signal: AbortSignal;
}

// An interface, so that a `run` is accepted whose parameter is annotated with less than it gets.
interface ActionCode<
  L extends ActionLevel,
  I extends ActionSchema,
  O extends ActionSchema,
  D,
  N extends string,
  S extends object,
  T,
> {
  object(call: Omit<ActionCall<StandardSchemaV1.InferOutput<I>, L, D, N, S>, 'object'>): Loaded<T>;
  run(
    call: ActionCall<StandardSchemaV1.InferOutput<I>, L, D, N, S, T>,
  ): StandardSchemaV1.InferInput<O> | Promise<StandardSchemaV1.InferInput<O>>;
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- they are in the type of the result
function actionMembers<
  P extends string,
  L extends ActionLevel,
  I extends ActionSchema,
  O extends ActionSchema,
  D,
  N extends string,
  S extends object,
  T,
>() {
  return {
    /**
     * The server's gate, for the types: a misspelt permission in the definition, or in `principal.can()` in `run`, is then a compile
     * error.
     */
    gate: optional(gateOf<N, S>),
    /** The type of the action's objects: lower-case words joined by hyphens, such as `school`. */
    type: typeName,
    /**
     * The name of the action: lower-case words joined by hyphens, the last of which is `action`, such as `rename-school-action`. It is
     * unique for each type.
     */
    name: unchecked<`${string}-action`>,
    level: level<L>,
    /** A few words for people, such as "Rename a school". */
    title: text('say in a few words what it does'),
    /** One or two sentences for developers of clients. */
    description: optional(text('describe it in a sentence or two, or leave it out')),
    /** The permission that the user or client must have. When the gate has a rule for it, `object` has to be given too. */
    permission: permissionName<P>,
    /**
     * Loads the object that the rule of the permission decides about, from the call that `run` gets: `({ id, database }) =>
     * database('schools').where({ id }).first()`. It may be async. When the rule allows the action, `run` gets the object as `object`;
     * otherwise the caller gets 403. The answer to `undefined` and `null` is 404 `object_not_found`; throw an {@link ActionError} for
     * another answer. Write it before `run` in the definition, because `run` takes the type of the object from it.
     * @default none, for a permission without a rule
     */
    object: optional(
      fn<ActionCode<L, I, O, D, N, S, T>['object']>('make it a function that returns the object'),
    ),
    /**
     * The schema of the input. What JSON Schema cannot express, such as a refinement, is checked but not published. Checks that
     * need the database belong in `run`.
     */
    input: checkSchema<I>,
    /** The schema of the output. An output that the schema refuses is a 500; members that it does not define are removed. */
    output: checkSchema<O>,
    /**
     * The database of `run`, such as the `Knex` instance or the pool of the storage. With it, the action can be part of an atomic bulk, where
     * `call.database` is the storage's transaction instead: `run` must make all its changes through `call.database`. Without it,
     * an atomic bulk of the action is refused.
     */
    database: optional(unchecked<D>),
    /**
     * Whether the action is a tool for agents, at an endpoint of `koa-gatehouse/mcp`. A string is the name of the tool: 1 to 64 letters,
     * digits, `_` and `-`. With `true`, the name is that of the action without `-action`, such as `rename_school`; the type is put in
     * front unless the name contains it. Agents choose worse from long lists of tools, so set it only for what agents are to do.
     * @default false
     */
    mcp: optional(unchecked<boolean | string>, false),
    /** Whether the action changes nothing. Agents may run such a tool without asking their user. @default false */
    readOnly: optional(boolean, false),
    /** Whether the action may delete or overwrite something; `false` when it only adds. @default true, unless it is `readOnly` */
    destructive: optional(boolean),
    /** Whether running the action again with the same input changes nothing more. @default the value of `readOnly` */
    idempotent: optional(boolean),
    /**
     * How often one user with all clients together, or one client with its own tokens, may run the action. Each item of a bulk is a run.
     * Runs are counted on all nodes together, for each API and for its tools.
     * @default the limit `action` of the API
     */
    limit: optional(requestLimit),
    /**
     * Runs the action, after the input and the permission were checked. Throw an {@link ActionError} for an error that the caller
     * can act on; any other error is a 500.
     */
    run: fn<ActionCode<L, I, O, D, N, S, T>['run']>('make it a function'),
  };
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
  T = unknown,
> extends Given<ReturnType<typeof actionMembers<P, L, I, O, D, N, S, T>>> {}

/**
 * Whether the definition of an action has to load an object. Where the gate is known, this depends on whether the permission has a rule.
 */
export type RequiredObject<P extends string, S extends object> = [keyof S] extends [never]
  ? object
  : [P & keyof S] extends [never]
    ? { readonly object?: undefined }
    : { readonly object: unknown };

/** A checked action. Created by `defineAction()`. */
export interface Action<P extends string = string> {
  /** The type of the action's objects, such as `school`. */
  readonly type: string;
  readonly name: string;
  readonly level: 'collection' | 'instance';
  readonly title: string;
  readonly description: string | undefined;
  readonly permission: P;
  readonly input: ActionSchema;
  readonly output: ActionSchema;
  /** The published JSON Schema of `input`. */
  readonly inputSchema: JsonSchema;
  /** The published JSON Schema of `output`. */
  readonly outputSchema: JsonSchema;
  /** The database of `run`; when it is `undefined`, an atomic bulk of the action is refused. */
  readonly database: unknown;
  /** The name of the action's tool at an endpoint of `koa-gatehouse/mcp`; `undefined` when it is not a tool. */
  readonly mcp: string | undefined;
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  /** The action's own limit, with the window in seconds. */
  readonly limit: { readonly requests: number; readonly window: Seconds } | undefined;
  /** Loads the object for the rule of the permission; `undefined` when the permission has no rule. */
  readonly object: ((call: Omit<ActionCall, 'object'>) => unknown) | undefined;
  /** Typed as a method, whose parameters are bivariant: an action with a typed input is assignable to `Action`. */
  run(call: ActionCall): unknown;
}

/**
 * Defines an action: an operation that users and clients can run through the API.
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
 * @throws ConfigError naming the action, its invalid member and the remedy
 */
export function defineAction<
  const P extends NoInfer<N>,
  const L extends ActionLevel,
  I extends ActionSchema,
  O extends ActionSchema,
  D = undefined,
  N extends string = string,
  S extends object = object,
  T extends RuledObject<P, S> = RuledObject<P, S>,
>(definition: ActionDefinition<P, L, I, O, D, N, S, T> & RequiredObject<P, S>): Action<P> {
  if (typeof definition !== 'object' || definition === null) {
    throw new ConfigError('defineAction()', 'pass the definition of the action as an object');
  }
  const { name } = definition;
  if (typeof name !== 'string' || !KEBAB_CASE.test(name) || !name.endsWith('-action')) {
    throw new ConfigError(
      `defineAction(${JSON.stringify(name)})`,
      'write the name as lower-case words joined by hyphens, the last one "action", such as rename-school-action',
    );
  }
  const { gate, object, run, ...action } = readOptions(
    actionMembers<P, L, I, O, D, N, S, T>(),
    definition,
    name,
  );
  const fail = (member: string, remedy: string, options?: ErrorOptions): never => {
    throw new ConfigError(`${name}.${member}`, remedy, options);
  };
  const { input, output, permission, readOnly } = action;
  if (gate?.has(permission) === false) {
    fail('permission', `the gate has no permission "${permission}"; define it or correct the name`);
  }
  if (gate) checkObject({ name, object, permission }, gate);
  const { destructive = !readOnly, idempotent = readOnly } = action;
  if (readOnly && destructive) fail('destructive', 'it is readOnly too: leave one of them out');
  return Object.freeze({
    ...action,
    inputSchema: jsonSchemaOf(input, 'input', fail),
    outputSchema: jsonSchemaOf(output, 'output', fail),
    mcp: toolNameOf(action, fail),
    destructive,
    idempotent,
    // Called with the definition as `this`, because it may be an instance of a class.
    object:
      object &&
      ((call: Omit<ActionCall, 'object'>) => object.call(definition, call as Parameters<typeof object>[0])),
    run: (call: ActionCall) => run.call(definition, call as Parameters<typeof run>[0]),
  });
}
beginStackAt(defineAction);

/** @throws ConfigError when the permission of an action has a rule and no object is loaded, or the reverse */
export function checkObject(
  { name, object, permission }: Pick<Action, 'name' | 'permission'> & { readonly object: unknown },
  gate: Pick<Gate, 'hasRule'>,
): void {
  const isRuled = gate.hasRule(permission);
  if (isRuled && object === undefined) {
    throw new ConfigError(
      `${name}.object`,
      `the rule gate.rules.${permission} decides about an object: load it, as in object: ({ id, database }) => database('schools').where({ id }).first()`,
    );
  }
  if (!isRuled && object !== undefined) {
    throw new ConfigError(
      `${name}.object`,
      `the permission ${permission} has no rule; add gate.rules.${permission}, or load the object in run`,
    );
  }
}

const KEBAB_CASE = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

const typeName: Check<string> = (place, given: unknown) => {
  if (typeof given === 'string' && KEBAB_CASE.test(given)) return given;
  throw new ConfigError(place, 'write it as lower-case words joined by hyphens, such as school');
};

function level<L extends ActionLevel>(place: string, given: L): L {
  if (given === 'collection' || given === 'instance') return given;
  throw new ConfigError(place, "give 'collection' or 'instance'");
}

function gateOf<N extends string, S extends object>(
  place: string,
  given: Gate<N, string, S>,
): Gate<N, string, S> {
  if (typeof given?.has === 'function') return given;
  throw new ConfigError(place, 'pass the result of defineGate()');
}

function permissionName<P extends string>(place: string, given: P): P {
  if (typeof given === 'string') return given;
  throw new ConfigError(place, 'name the permission that a caller must hold');
}

// MCP also permits dots and slashes, but clients pass the names to interfaces of large language models, which refuse these.
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** The name of an action's tool; `undefined` when it is not a tool. */
function toolNameOf(
  { mcp, name, type }: { readonly mcp: boolean | string; readonly name: string; readonly type: string },
  fail: (member: string, remedy: string) => never,
): string | undefined {
  if (mcp === false) return undefined;
  const verb = name.slice(0, -'-action'.length);
  // The names of actions are unique only for each type, and two types may each have a `close-action`.
  const derived = (verb.includes(type) ? verb : `${type}-${verb}`).replaceAll('-', '_');
  const tool: unknown = mcp === true ? derived : mcp;
  if (typeof tool === 'string' && TOOL_NAME.test(tool)) return tool;
  return fail(
    'mcp',
    mcp === true
      ? `${derived} is longer than 64 characters: give a name, such as mcp: 'rename_school'`
      : "give true, or a name of 1 to 64 letters, digits, _ and -, such as 'rename_school'",
  );
}
