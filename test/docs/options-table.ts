import { documentedIn, SERVER_OPTIONS } from './documented.ts';
import type { Documented, Place } from './documented.ts';

const START = `# Options of createAuthServer()

Each option with its default and the first sentence of its documentation; your editor shows all of it. The declarations in \`lib/options\` are the
source of this page: \`npm run options\` writes it.

Durations are seconds, or text such as \`'30 days'\`. Options are checked once, at start: a wrong one is a \`ConfigError\` that names the option and
the remedy. In a checkout, \`npm run reference\` builds pages of every public name of the package, in \`docs/reference/html\`.
`;

const PLACES: readonly Place[] = [
  ...SERVER_OPTIONS,
  ['lib/options/client-id-metadata.ts', 'ClientIdMetadata', 'clients.documents.'],
  ['lib/options/scopes.ts', 'scope', 'scopes.<name>.'],
  ['lib/options/resources.ts', 'resourceOptions', 'resources.<url>.'],
];

/** The text of \`docs/options.md\`: a list for each group. */
export function optionsTable(): string {
  const tops = documentedIn(PLACES[0]!).map(({ option }) => option);
  // The options of a group follow it, in the order of the options at the top.
  const places = PLACES.toSorted((one, other) => rank(one, tops) - rank(other, tops));
  return [START, ...places.map(section)].join('\n');
}

function rank([, , prefix]: Place, tops: readonly string[]): number {
  return tops.indexOf(prefix.split('.')[0] ?? '');
}

function section(place: Place): string {
  const heading = place[2] === '' ? '' : `## ${place[2].slice(0, -1)}\n\n`;
  return `${heading}${documentedIn(place).map(line).join('\n')}\n`;
}

function line({ about, isOptional, option, text }: Documented): string {
  const byDefault = isOptional ? text && `Default: ${text}.` : 'Required.';
  return `- **\`${option}\`**: ${firstSentence(about)}${byDefault ? ` ${byDefault.replace(/\.\.$/, '.')}` : ''}`;
}

/** Up to the first point that ends a sentence: not one in a name, such as `limits.attempts`. */
function firstSentence(text: string): string {
  return /^.*?[.](?=\s|$)/.exec(text)?.[0] ?? text;
}
