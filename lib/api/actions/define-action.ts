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

/** `collection`: on a type, such as creating an object. `instance`: on one object, such as changing it. */
export type ActionLevel = 'collection' | 'instance';

/** The argument of `run`, and without `object` that of `object`. */
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
  /** What `object` has loaded, on which the rule allows the action. */
  readonly object: T;
  /**
   * The user or the client of the request. With `gate` in the definition, it has the types of the gate's permissions and rules.
   */
  readonly principal: Principal<N, User, S>;
  /** The action's `database`, or in an atomic bulk its transaction. */
  readonly database: D;
  /** Whether the transaction will be rolled back: skip effects that are not part of it, such as sending mail. */
  readonly dryRun: boolean;
  /** Aborted when the client has closed the connection and the answer is not needed. */
  readonly signal: AbortSignal;
}

// Of an interface, so that a `run` whose parameter is annotated with less than it gets is accepted.
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
     * The server's gate, for the types: with it, a misspelt permission in the definition, or in `principal.can()` in `run`, is a
     * compile error.
     */
    gate: optional(gateOf<N, S>),
    /** The type of its objects: lower-case words joined by hyphens, such as `school`. */
    type: typeName,
    /** Lower-case words joined by hyphens, the last one `action`: `rename-school-action`. Unique for each type. */
    name: unchecked<`${string}-action`>,
    level: level<L>,
    /** A few words for people, such as "Rename a school". */
    title: text('say in a few words what it does'),
    /** One or two sentences for developers of clients. */
    description: optional(text('describe it in a sentence or two, or leave it out')),
    /** The permission that the user or client must have. With a rule in the gate, `object` has to be given too. */
    permission: permissionName<P>,
    /**
     * Loads the object that the rule of the permission decides about, from the call that `run` gets: `({ id, database }) =>
     * database('schools').where({ id }).first()`. It may be async. Where the rule allows it, `run` gets it as `object`; else the caller
     * gets 403. `undefined` and `null` are answered with 404 `object_not_found`; throw an {@link ActionError} for another answer. In the
     * definition it stands before `run`, which takes its type from it.
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
    /** The schema of the output. An output that it refuses is a 500; members that it does not define are removed. */
    output: checkSchema<O>,
    /**
     * The database of `run`, such as the `Knex` instance or the pool of the storage. With it, the action can be part of an atomic bulk, where
     * `call.database` is the storage's transaction instead: `run` must make all its changes through `call.database`. Without it,
     * an atomic bulk of the action is refused.
     */
    database: optional(unchecked<D>),
    /**
     * Whether the action is a tool for agents, at an endpoint of `koa-gatehouse/mcp`. A string: the name of the tool, 1 to 64
     * letters, digits, `_` and `-`. `true`: its name is that of the action without `-action`, such as `rename_school`; the type is
     * put in front unless it is part of it. Long lists of tools make agents choose worse: set it for what agents are to do.
     * @default false
     */
    mcp: optional(unchecked<boolean | string>, false),
    /** Whether it changes nothing. Agents may run such a tool without asking their user. @default false */
    readOnly: optional(boolean, false),
    /** Whether it may delete or overwrite something. `false`: it only adds. @default true, unless it is `readOnly` */
    destructive: optional(boolean),
    /** Whether running it again with the same input changes nothing more. @default the value of `readOnly` */
    idempotent: optional(boolean),
    /**
     * How often one user with all clients together, or one client with its own tokens, may run it. Each item of a bulk is a run.
     * Counted on all nodes together, for each API and for its tools.
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

/** Whether the definition of an action has to load an object: where the gate is known, by the rule of its permission. */
export type RequiredObject<P extends string, S extends object> = [keyof S] extends [never]
  ? object
  : [P & keyof S] extends [never]
    ? { readonly object?: undefined }
    : { readonly object: unknown };

/** A checked action. Created by `defineAction()`. */
export interface Action<P extends string = string> {
  /** The type of its objects, such as `school`. */
  readonly type: string;
  readonly name: string;
  readonly level: ActionLevel;
  readonly title: string;
  readonly description: string | undefined;
  readonly permission: P;
  readonly input: ActionSchema;
  readonly output: ActionSchema;
  /** The published JSON Schema of `input`. */
  readonly inputSchema: JsonSchema;
  /** The published JSON Schema of `output`. */
  readonly outputSchema: JsonSchema;
  /** The database of `run`; `undefined`: an atomic bulk of the action is refused. */
  readonly database: unknown;
  /** The name of its tool at an endpoint of `koa-gatehouse/mcp`; `undefined`: it is not a tool. */
  readonly mcp: string | undefined;
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  /** Its own limit, with the window in seconds. */
  readonly limit: { readonly requests: number; readonly window: Seconds } | undefined;
  /** Loads the object for the rule of the permission. `undefined`: the permission has none. */
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
    // With the definition as `this`, which may be an instance of a class.
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

// Dots and slashes, which MCP permits too, are refused by the interfaces of large language models that clients pass the names to.
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** The name of an action's tool; `undefined`: it is not a tool. */
function toolNameOf(
  { mcp, name, type }: { readonly mcp: boolean | string; readonly name: string; readonly type: string },
  fail: (member: string, remedy: string) => never,
): string | undefined {
  if (mcp === false) return undefined;
  const verb = name.slice(0, -'-action'.length);
  // Actions are unique for each type only, and two types may each have a `close-action`.
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
