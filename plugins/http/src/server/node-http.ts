/**
 * Values of `node:http`. Importing the module reads all that it exports, and one of these loads the WebSocket client of
 * Node.js: 45 ms of processor and 3 MB in every process, for nothing.
 */
export const { METHODS, STATUS_CODES, Server, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http')
