/** What an agent sends to register itself. */
export interface AgentMetadata {
  readonly client_name: string;
  readonly redirect_uris: readonly [string, ...string[]];
  readonly token_endpoint_auth_method: string;
  readonly [member: string]: unknown;
}

const COMMON = {
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
} as const;

/** What common agents send, from the source of VS Code, and from what operators of servers have published of the others. */
export const COMMON_AGENTS: Readonly<Record<string, AgentMetadata>> = {
  // soflyy/agent-connector-for-wp#111, erp-mafia/accounted#2225; better-auth/better-auth#10956 on application_type.
  Cursor: {
    ...COMMON,
    client_name: 'Cursor',
    redirect_uris: [
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'https://www.cursor.com/agents/mcp/oauth/callback',
      'http://localhost:8787/callback',
    ],
  },
  'Cursor, as an app on the web': {
    ...COMMON,
    client_name: 'Cursor',
    redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback'],
    application_type: 'web',
  },
  'VS Code': {
    ...COMMON,
    client_name: 'Visual Studio Code',
    client_uri: 'https://code.visualstudio.com',
    grant_types: [...COMMON.grant_types, 'urn:ietf:params:oauth:grant-type:device_code'],
    redirect_uris: [
      'https://insiders.vscode.dev/redirect',
      'https://vscode.dev/redirect',
      'http://127.0.0.1/',
      'http://127.0.0.1:33418/',
    ],
    application_type: 'native',
  },
  'VS Code, by its scheme': {
    ...COMMON,
    client_name: 'Visual Studio Code',
    redirect_uris: ['vscode://vscode.mcp/oauth', 'vscode-insiders://vscode.mcp/oauth'],
  },
  ChatGPT: {
    ...COMMON,
    client_name: 'ChatGPT',
    redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
  },
  // Its older and its newer versions: anthropics/claude-code#8001, and the tests of servers of others.
  Claude: {
    ...COMMON,
    client_name: 'Claude',
    redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
  },
  'Claude, with a scope of its own': {
    ...COMMON,
    client_name: 'claudeai',
    redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
    token_endpoint_auth_method: 'client_secret_post',
    scope: 'claudeai',
  },
};
