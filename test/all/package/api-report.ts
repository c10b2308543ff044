import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { manifest } from './manifest.ts';

const HEADER = `# API report

Every name that can be imported, by entry point, with the members of interfaces and classes that are written in them. A test fails when it is
not what the package declares: look at what has changed, describe it in CHANGELOG.md, and run \`npm run api-report\`. The options are in docs/options.md.
`;

/** The most names that a host may have to choose from, and that only the compiler has to write. */
const MOST = { outside: 111, types: 50 };

/** The public names of a built package, so that a change of them is noticed. @throws when there are too many */
export function apiReport(builtPackage: string): string {
  const counts = { outside: 0, types: 0 };
  const sections = Object.entries(manifest.exports).flatMap(([entry, target]) => {
    if (typeof target === 'string') return [];
    const names = exportsOf(join(builtPackage, target.types));
    counts[entry === './types' ? 'types' : 'outside'] += names.length;
    const lines = names.map(({ kind, members, name }) =>
      members.length === 0 ? `- ${kind} \`${name}\`` : `- ${kind} \`${name}\`: ${members.join(', ')}`,
    );
    return [`## ${manifest.name}${entry.slice(1)}: ${names.length}\n\n${lines.join('\n')}\n`];
  });
  if (counts.outside > MOST.outside || counts.types > MOST.types) {
    throw new Error(
      `There are ${counts.outside} names to import, and ${counts.types} in ${manifest.name}/types: more than ${MOST.outside} and ${MOST.types}. Export what a host writes down; what is only inferred needs no name.`,
    );
  }
  const total = `There are ${counts.outside} names to import, and ${counts.types} in \`${manifest.name}/types\`, which only the compiler writes.\n`;
  return [HEADER, total, ...sections].join('\n');
}

interface Declaration {
  readonly name: string;
  readonly kind: string;
  readonly members: readonly string[];
}

/** The exports of a file, functions and classes first, in the order of their names. */
function exportsOf(file: string): Declaration[] {
  const { exported } = read(file);
  return Array.from(exported, ([name, from]) => find(...from) ?? missing(file, name)).toSorted(
    (one, other) => order(one) - order(other) || compare(one.name, other.name),
  );
}

function missing(file: string, name: string): never {
  throw new Error(`${file} exports ${name}, which is declared nowhere`);
}

const KINDS = ['function', 'class'];

function order({ kind }: Declaration): number {
  return (KINDS.indexOf(kind) + KINDS.length + 1) % (KINDS.length + 1);
}

// By code units: the order of a locale differs between machines.
function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

type Place = readonly [file: string, name: string];

/** The declarations of a file. */
interface Source {
  readonly declared: ReadonlyMap<string, Declaration>;
  readonly exported: ReadonlyMap<string, Place>;
  /** Files whose names are all exported. */
  readonly passedOn: readonly string[];
}

function find(file: string, name: string): Declaration | undefined {
  const { declared, exported, passedOn } = read(file);
  const from = exported.get(name);
  if (declared.has(name)) return declared.get(name);
  if (from) return find(...from);
  return passedOn.map((other) => find(other, name)).find((found) => found !== undefined);
}

/**
 * Reads the declarations of a build. The compiler begins each in the first column and indents the rest or begins it with a bracket, so they
 * are read without a parser.
 */
function read(file: string): Source {
  const declared = new Map<string, Declaration>();
  const exported = new Map<string, Place>();
  const passedOn: string[] = [];
  const text = readFileSync(file, 'utf8').replaceAll(/\/\*[^]*?\*\/|^ *\/\/.*/gm, '');
  for (const statement of text.split(/\n(?=[a-z])/)) {
    const from = /^export .*from ['"](\.[^'"]+)['"]/s.exec(statement)?.[1]?.replace(/\.ts$/, '.d.ts');
    if (from !== undefined) {
      if (/^export (?:type )?\* as /.test(statement))
        throw new Error(`${file} exports a namespace, in which the compiler finds no type`);
      const target = join(dirname(file), from);
      const list = /\{([^}]*)\}/.exec(statement)?.[1];
      if (list === undefined) passedOn.push(target);
      for (const [, original = '', alias = original] of (list ?? '').matchAll(/(\w+)(?: as (\w+))?/g))
        exported.set(alias, [target, original]);
      continue;
    }
    const [, kind = '', name = ''] = DECLARES.exec(statement) ?? [];
    if (name === '') continue;
    const members = kind === 'interface' || kind === 'class' ? membersOf(statement) : [];
    declared.set(name, { name, kind, members });
    if (statement.startsWith('export')) exported.set(name, [file, name]);
  }
  return { declared, exported, passedOn };
}

const DECLARES =
  /^(?:export )?(?:declare )?(?:abstract )?(interface|type|const|function|class|let|namespace)\*? (\w+)/;

function membersOf(declaration: string): string[] {
  const found = declaration.matchAll(/^ {4}(?:(?:readonly|static|get|set) )*(\w+)(?=[?(:<])/gm);
  return [...new Set(Array.from(found, ([, member = '']) => member))].filter(
    (name) => name !== 'constructor',
  );
}
