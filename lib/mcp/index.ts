/**
 * The actions of an API as tools of the Model Context Protocol, for agents. Install `@modelcontextprotocol/server`.
 *
 * @module koa-gatehouse/mcp
 */
import '#runtime';

export { ConfigError, GatehouseError } from '../errors.ts';
export { createMcpEndpoint } from './endpoint.ts';
export type { McpEndpointOptions } from './endpoint.ts';
