import { spawn, spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

import { mustHaveEverything } from '../../harness/missing.ts';

const MISSING = ['curl', 'openssl', 'python3'].filter(
  (name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0,
);

/** Why the lines cannot be run on this machine. With `CI` set they are run in any case, and so fail. */
export const cannotRun: string | undefined =
  MISSING.length > 0 && !mustHaveEverything ? `Install ${MISSING.join(', ')}.` : undefined;

export type Language = 'curl' | 'JavaScript' | 'Python';

/** The lines of a language, or of a product, in the HTML of a page, step by step. */
export function linesIn(html: string, language: string): readonly string[] {
  const [, inside = ''] = new RegExp(`<summary>${language}</summary>([^]*?)</details>`).exec(html) ?? [];
  return Array.from(inside.matchAll(/<code>([^]*?)<\/code>/g), ([, code]) =>
    code!
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll(/&#(\d+);/g, (_all, number: string) => String.fromCharCode(Number(number)))
      .replaceAll('&amp;', '&'),
  );
}

/** What a person does while the lines run. */
export interface Person {
  /** The secret or the assertion, for the line that asks for it. */
  readonly secret: string;
  /** The assertion for a second request. */
  readonly another?: string;
  /** Opens an address, authorizes the app, and copies the address that the browser is sent to. */
  readonly authorize: (address: string) => Promise<string>;
  /** Opens an address and connects the device. */
  readonly connect: (address: string) => Promise<void>;
}

const FILES: Readonly<Record<Language, { readonly name: string; readonly command: string } | undefined>> = {
  curl: undefined,
  JavaScript: { name: 'first-call.mjs', command: 'node first-call.mjs' },
  Python: { name: 'first_call.py', command: 'python3 first_call.py' },
};

/** Copies the lines into a shell one after the other, or what belongs into a file into that. Resolves to what was printed. */
export async function runLines(
  lines: readonly string[],
  language: Language,
  { another = '', authorize, connect, secret }: Person,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'first-call-'));
  const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  const shell = spawn('sh', [], { cwd: folder, env: { ...process.env, PATH } });
  const closed = once(shell, 'close');
  let printed = '';
  const output = new EventEmitter();
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      output.emit('text');
    });
  // What was waited for is behind the person: the same question may be asked twice.
  let seen = 0;
  const shown = async (wanted: RegExp): Promise<string> => {
    for (;;) {
      const found = wanted.exec(printed.slice(seen));
      if (found) {
        seen += found.index + found[0].length;
        return found[0];
      }
      if (shell.exitCode !== null) throw new Error(`The shell ended: ${printed}`);
      await Promise.race([once(output, 'text'), closed]);
    }
  };
  const type = (line: string): boolean => shell.stdin.write(`${line}\n`);
  let credentials = [secret, another];
  try {
    for (const line of lines) {
      const asksForSecret = /read -r CLIENT_(?:SECRET|ASSERTION)/.test(line);
      const file = asksForSecret ? undefined : FILES[language];
      if (file) await writeFile(join(folder, file.name), line);
      type(file ? file.command : line);
      // A shell would take what is typed before it asks for the next command.
      if (asksForSecret) await shown(/(?:Secret|Assertion): /).then(() => type(credentials[0]!));
      if (asksForSecret) credentials = credentials.slice(1);
      if (line.includes('/oauth/authorize')) {
        const address = await authorize(await shown(/http\S+\/oauth\/authorize\?\S+/));
        if (line.includes('another assertion'))
          await shown(/another assertion.*: /).then(() => type(another));
        await shown(/(?:Address|sent to): /).then(() => type(address));
      }
      if (line.includes('/oauth/device_authorization'))
        await connect(await shown(/http[^\s"]+\/oauth\/device\?user_code=[A-Z-]+/));
    }
    shell.stdin.end();
    await closed;
  } finally {
    shell.kill();
    await rm(folder, { recursive: true });
  }
  return printed;
}
