import type { RawRouteDeclaration } from '@plinth/http'

/** A request of the HTTP server. */
export type HttpRequest = Parameters<RawRouteDeclaration['handler']>[0]
export type HttpReply = Parameters<RawRouteDeclaration['handler']>[1]
