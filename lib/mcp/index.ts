/**
 * The actions of an API as tools of the Model Context Protocol, for agents. Install `@modelcontextprotocol/server`.
 *
 * @module koa-gatehouse/mcp
 */
import '#runtime';

export { createMcpEndpoint } from './endpoint.ts';
export { createTokenVerifier } from './token-verifier.ts';
