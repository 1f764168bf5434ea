import type { GuardHandler, Route } from '@plinth/http'
import { type AudienceToken, acceptsAudience, type Identity } from '@plinth/iam'
import type { InboxEmbedding } from '../contract.ts'

/** Audience of the tokens of embedded inboxes, see `Identity.issueAudienceToken`. */
export const inboxAudience = 'inbox'

/** Lifetime in milliseconds: 15 minutes. A page that a user closed can only be abused for this time. */
const lifetimeMs = 15 * 60_000

/** Time in seconds for which a browser may reuse the response to a preflight request (Fetch, 4.10). */
const preflightSeconds = 600

/** Issues tokens for embedded inboxes, and knows the sites that may embed them. */
export class Embedding implements InboxEmbedding {
  readonly audience = inboxAudience
  readonly #identity: Pick<Identity, 'issueAudienceToken'>
  readonly #origins: () => readonly string[]

  /** @param origins is read at each use */
  constructor(identity: Pick<Identity, 'issueAudienceToken'>, origins: () => readonly string[]) {
    this.#identity = identity
    this.#origins = origins
  }

  issueToken(userId: number, sessionId?: number): Promise<AudienceToken> {
    return this.#identity.issueAudienceToken(userId, inboxAudience, {
      lifetimeMs,
      ...(sessionId === undefined ? {} : { sessionId }),
    })
  }

  allowsOrigin(origin: string | undefined): boolean {
    return origin !== undefined && this.#origins().includes(origin)
  }
}

/** Returns routes that also accept the tokens of embedded inboxes. */
export const openToEmbedding = <P>(routes: readonly Route<P>[]): readonly Route<P>[] =>
  routes.map((route) => {
    const annotations = [...(route.declaration.annotations ?? []), acceptsAudience(inboxAudience)]
    return { ...route, declaration: { ...route.declaration, annotations } } as Route<P>
  })

/**
 * Returns the handler that lets pages of the allowed sites call these routes (CORS, Fetch 3.3). It never allows
 * credentials, so such a page can only use a token. Other sites get no header, and their browser rejects the response.
 */
export function allowEmbedding(
  routes: readonly Route<never>[],
  embedding: Pick<InboxEmbedding, 'allowsOrigin'>,
): GuardHandler {
  const declared = routes.map(({ declaration: { method, path } }) => ({ method, path }))
  const paths = [...new Set(declared.map(({ path }) => path.replaceAll(/:\w+/g, '[^/]+')))]
  const pattern = new RegExp(`^(?:${paths.join('|')})$`)
  const methods = [...new Set(declared.map(({ method }) => method))].join(', ')
  return ({ headers: { origin }, method, url }, reply) => {
    if (origin === undefined || !pattern.test(url.split('?', 1)[0] ?? '')) return
    reply.header('vary', 'origin')
    if (!embedding.allowsOrigin(origin)) return
    reply.header('access-control-allow-origin', origin)
    if (method !== 'OPTIONS') return
    reply
      .code(204)
      .header('access-control-allow-methods', methods)
      .header('access-control-allow-headers', 'authorization, content-type')
      .header('access-control-max-age', preflightSeconds)
      .send()
  }
}
