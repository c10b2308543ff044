import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { manifest } from './manifest.ts';

const HEADER = `# API report

Every public declaration, by entry point and its namespaces of types, without its comments. A test fails when it is not what the package declares:
look at what has changed, describe it in CHANGELOG.md, and run \`npm run api-report\`.
`;

/** The public declarations of a built package, so that a change of them is noticed. */
export function apiReport(builtPackage: string): string {
  const declarations = new Declarations();
  const main = new Set<string>();
  const parts: string[] = [];
  let count = 0;
  for (const [entry, target] of Object.entries(manifest.exports)) {
    if (typeof target === 'string') continue;
    const file = join(builtPackage, target.types);
    const flat = declarations.exportsOf(file);
    const namespaces = declarations.namespacesOf(file);
    count += flat.length + namespaces.length;
    const exported = [...flat, ...namespaces.flatMap(({ members }) => members)];
    const needed = declarations.neededBy(exported);
    const isMain = entry === '.';
    if (isMain) for (const { key } of needed) main.add(key);
    const names = new Set(exported.map(({ key }) => key));
    // Declarations of the main entry point are not repeated.
    const inner = needed.filter(({ key }) => !names.has(key) && (isMain || !main.has(key)));
    parts.push(`## ${manifest.name}${entry.slice(1)}\n`, print(flat));
    for (const { members, name } of namespaces) {
      parts.push(`### ${name}, a namespace of ${members.length} types\n`, print(members));
    }
    if (inner.length > 0) parts.push('Not exported, but part of these:\n', print(inner));
  }
  return [HEADER, `There are ${count} names to import; a namespace counts as one.\n`, ...parts].join('\n');
}

function print(declarations: readonly Declaration[]): string {
  const sorted = declarations.toSorted(
    (one, other) => compare(one.name, other.name) || compare(one.text, other.text),
  );
  return `\`\`\`ts\n${sorted.map(({ text }) => text).join('\n')}\n\`\`\`\n`;
}

// By code units: the order of a locale differs between machines.
function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

interface Declaration {
  /** The file and the name. */
  readonly key: string;
  readonly name: string;
  readonly file: string;
  readonly text: string;
}

/** The declarations of a file. */
interface Source {
  readonly declared: ReadonlyMap<string, Declaration>;
  /** The origin of a name: `[file, name there]`. */
  readonly imported: ReadonlyMap<string, readonly [file: string, name: string]>;
  readonly exported: ReadonlyMap<string, readonly [file: string, name: string]>;
  /** Files whose names are all exported. */
  readonly passedOn: readonly string[];
  /** Files whose names are all exported as members of a namespace, by its name. */
  readonly namespaces: ReadonlyMap<string, string>;
}

/**
 * The declarations of a build. The compiler begins each in the first column and indents the rest or begins it with a bracket,
 * so they are read without a parser.
 */
class Declarations {
  readonly #sources = new Map<string, Source>();

  /** The exports of a file by name. */
  exportsOf(file: string): Declaration[] {
    return [...this.#read(file).exported.values()].map(([from, name]) => {
      const found = this.#find(from, name);
      if (!found) throw new Error(`${file} exports ${name}, which ${from} does not declare`);
      return found;
    });
  }

  /** The namespaces that a file exports. */
  namespacesOf(file: string): { readonly name: string; readonly members: Declaration[] }[] {
    return Array.from(this.#read(file).namespaces, ([name, from]) => ({
      name,
      members: this.exportsOf(from),
    }));
  }

  /** The given declarations, and all that they refer to. */
  neededBy(wanted: readonly Declaration[]): Declaration[] {
    const needed = new Map<string, Declaration>();
    const queue = [...wanted];
    for (let declaration = queue.pop(); declaration; declaration = queue.pop()) {
      if (needed.has(declaration.key)) continue;
      needed.set(declaration.key, declaration);
      const { file, name: own, text } = declaration;
      for (const [word] of text.matchAll(/[A-Za-z_$][\w$]*/g)) {
        const mentioned = word === own ? undefined : this.#find(file, word);
        if (mentioned) queue.push(mentioned);
      }
    }
    return [...needed.values()];
  }

  #find(file: string, name: string): Declaration | undefined {
    const { declared, exported, imported, passedOn } = this.#read(file);
    const here = declared.get(name);
    if (here) return here;
    const elsewhere = imported.get(name) ?? exported.get(name);
    if (elsewhere) return this.#find(...elsewhere);
    for (const other of passedOn) {
      const found = this.#find(other, name);
      if (found) return found;
    }
    return undefined;
  }

  #read(file: string): Source {
    const known = this.#sources.get(file);
    if (known) return known;
    const source = parse(file, readFileSync(file, 'utf8'));
    this.#sources.set(file, source);
    return source;
  }
}

function parse(file: string, text: string): Source {
  const declared = new Map<string, Declaration>();
  const imported = new Map<string, readonly [string, string]>();
  const exported = new Map<string, readonly [string, string]>();
  const passedOn: string[] = [];
  const namespaces = new Map<string, string>();
  for (const statement of text.replaceAll(/\/\*[^]*?\*\/|^ *\/\/.*/gm, '').split(/\n(?=[a-z])/)) {
    const from = /from ['"](\.[^'"]+)['"]/.exec(statement)?.[1]?.replace(/\.ts$/, '.d.ts');
    const [, verb, names] = /^(import|export)[^{*]*(?:\{([^}]*)\})? ?/.exec(statement) ?? [];
    if (from !== undefined) {
      const target = join(dirname(file), from);
      const namespace = /^export (?:type )?\* as (\w+)/.exec(statement)?.[1];
      if (namespace !== undefined) namespaces.set(namespace, target);
      else if (names === undefined) passedOn.push(target);
      for (const [, original = '', alias = original] of (names ?? '').matchAll(/(\w+)(?: as (\w+))?/g)) {
        (verb === 'import' ? imported : exported).set(alias, [target, original]);
      }
      continue;
    }
    const name = DECLARES.exec(statement)?.[1];
    if (name === undefined) continue;
    const lines = statement.split('\n').filter((line) => line.trim() !== '');
    const before = declared.get(name)?.text;
    const said = lines.join('\n').trim();
    const whole = [...(before === undefined ? [] : [before]), isTable(said) ? withoutWords(said) : said].join(
      '\n',
    );
    declared.set(name, { key: `${file} ${name}`, name, file, text: whole });
    // A function with several signatures has several statements.
    if (statement.startsWith('export')) exported.set(name, [file, name]);
  }
  return { declared, imported, exported, namespaces, passedOn };
}

const DECLARES =
  /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|const|function|class|let|namespace) (\w+)/;

// Of a table of texts, the names are public, the texts are not.
function isTable(declaration: string): boolean {
  return declaration.includes('declare const ');
}

function withoutWords(declaration: string): string {
  return declaration.replaceAll(/: (['"]).*\1;$/gm, ': string;');
}
