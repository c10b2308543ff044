import { documentedIn, FEATURE_OPTIONS, SERVER_OPTIONS } from './documented.ts';
import type { Documented, Place } from './documented.ts';

const START = `# Options

The options of each function with their defaults and the first sentence of their documentation; your editor shows all of it. The declarations are
the source of this page: \`npm run options\` writes it in a checkout. There, \`npm run reference\` builds pages of every public name of the package, in
\`docs/reference/html\`.

Durations are seconds, or text such as \`'30 days'\`. Options are checked once: a wrong one is a \`ConfigError\` that names the option and the remedy.
`;

/** The places of the options of each function: those of the function itself first. */
const FUNCTIONS: Readonly<Record<string, readonly Place[]>> = {
  'createAuthServer()': [
    ...SERVER_OPTIONS,
    ['lib/options/scopes.ts', 'scope', 'scopes.<name>.'],
    ['lib/options/resources.ts', 'resourceOptions', 'resources.<url>.'],
  ],
  ...Object.fromEntries(Object.entries(FEATURE_OPTIONS).map(([name, places]) => [`${name}()`, places])),
  'createApiRouter()': [
    ['lib/api/router.ts', 'apiRouterOptions', ''],
    ['lib/api/limits.ts', 'LIMITS', ''],
    ['lib/api/limits.ts', 'BULK', 'bulk.'],
    ['lib/api/limits.ts', 'UPLOADS', 'uploads.'],
    ['lib/api/limits.ts', 'RequestLimits', 'limits.'],
  ],
  'createMcpEndpoint()': [['lib/mcp/endpoint.ts', 'mcpEndpointOptions', '']],
  'pages()': [
    ['interactions/options.ts', 'PAGES', ''],
    ['interactions/options.ts', 'BRAND', 'brand.'],
  ],
  'knexStorage()': [['adapters/knex/knex-storage.ts', 'KNEX_STORAGE', '']],
  'createHtmlToPdf()': [['lib/html-pdf/options.ts', 'HtmlToPdfOptions', '']],
  'new PdfClient()': [['lib/pdf/options.ts', 'PdfClientOptions', '']],
};

/** The text of `docs/options.md`: a list for each group of options. */
export function optionsTable(): string {
  const sections = Object.entries(FUNCTIONS).map(([name, places]) => {
    const tops = places.filter(([, , prefix]) => prefix === '').flatMap(documentedIn);
    // The options of a group follow the group, in the order of the options at the top.
    const order = tops.map(({ option }) => option);
    const groups = places
      .filter(([, , prefix]) => prefix !== '')
      .toSorted((one, other) => order.indexOf(topOf(one)) - order.indexOf(topOf(other)));
    return [
      tops.length === 0 ? `## ${name}\n` : `## ${name}\n\n${listOf(tops)}`,
      ...groups.map(sectionOf),
    ].join('\n');
  });
  return [START, ...sections].join('\n');
}

function topOf([, , prefix]: Place): string {
  return prefix.split('.')[0] ?? '';
}

function sectionOf(place: Place): string {
  const name = place[2].slice(0, -1);
  // Outside of code, Markdown takes `<name>` for HTML.
  return `### ${name.includes('<') ? `\`${name}\`` : name}\n\n${listOf(documentedIn(place))}`;
}

function listOf(options: readonly Documented[]): string {
  return `${options.map(line).join('\n')}\n`;
}

function line({ about, isOptional, option, text }: Documented): string {
  const required = isOptional ? undefined : 'Required.';
  const words = text === undefined ? required : `Default: ${withoutLinks(text).replace(/\.$/, '')}.`;
  return [`- **\`${option}\`**: ${firstSentence(about)}`, ...(words ? [words] : [])].join(' ');
}

/** With the name of a member in place of a link to it in the reference. */
function withoutLinks(text: string): string {
  return text.replaceAll(/\{@link (?:\w+\.)?(\w+)\}/g, '`$1`');
}

/** Up to the first point that ends a sentence: not one in code, such as `limits.attempts`. */
function firstSentence(text: string): string {
  return /^(?:`[^`]*`|[^`])*?\.(?=\s|$)/.exec(text)?.[0] ?? text;
}
