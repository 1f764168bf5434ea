import type { HttpServer } from '@plinth/http'
import type { Actor } from '@plinth/iam'
import { isBusinessError, type Logger } from '@plinth/kernel'
import type { OidcLimits } from './limits.ts'
import { InvalidLogoutError, type Logouts } from './logout.ts'
import { logoutPath, type Provider, type Providers } from './providers.ts'

type Register = Extract<Parameters<HttpServer['register']>[0], (app: never, options: never) => Promise<unknown>>
type App = Parameters<Register>[0]
type Reply = Parameters<Parameters<App['setErrorHandler']>[0]>[2]

interface EndpointDependencies {
  readonly providers: Providers
  readonly logouts: Logouts
  readonly limits: OidcLimits
  readonly log: Logger
}

const largestBody = 20_480

/**
 * Endpoints that providers call for a logout. They are no operations of this product: they speak the protocol of the
 * provider, with its HTTP statuses (decision G.23), and work without a session. A disabled provider still ends sessions.
 */
export function logoutEndpoints({ providers, logouts, limits, log }: EndpointDependencies): Register {
  return async (app) => {
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: largestBody },
      (_request, body, done) => done(null, new URLSearchParams(String(body))),
    )
    app.setErrorHandler(async (error, _request, reply) => {
      if (isBusinessError(error)) return finish(reply, Number(error.code))
      // The envelope of this product would have the status 200, and the provider would not send the token again.
      const status = statusOf(error)
      if (status >= 500) log.error({ err: error }, 'a logout of a provider failed')
      return finish(reply, status)
    })

    app.post<{ Params: { provider: string }; Body?: unknown }>(
      logoutPath(':provider', 'backchannel-logout'),
      async ({ params, body, clientIp, traceId }, reply) => {
        await limits.take('logout', clientIp)
        const provider = providers.find(params.provider)
        if (provider === undefined) return finish(reply, 400)
        const token = body instanceof URLSearchParams ? body.get('logout_token') : undefined
        const work = () => logouts.endByToken(provider, token, actorOf(clientIp, traceId))
        const status = await statusAfter(provider, work)
        if (status === 200) await limits.refund('logout', clientIp)
        return finish(reply, status)
      },
    )

    app.get<{ Params: { provider: string }; Querystring: { iss?: unknown; sid?: unknown } }>(
      logoutPath(':provider', 'frontchannel-logout'),
      async ({ params, query, clientIp, traceId }, reply) => {
        await limits.take('logout', clientIp)
        const provider = providers.find(params.provider)
        if (provider === undefined) return finish(reply, 400)
        const status = await statusAfter(provider, () => logouts.endByPage(provider, query, actorOf(clientIp, traceId)))
        // Only a page of the provider may load this address in a frame.
        const frames = `default-src 'none'; frame-ancestors ${new URL(provider.issuer).origin}`
        reply.removeHeader('x-frame-options')
        return finish(reply.header('content-security-policy', frames), status)
      },
    )
  }

  async function statusAfter({ id }: Provider, work: () => Promise<void>): Promise<number> {
    try {
      await work()
      return 200
    } catch (error) {
      if (!(error instanceof InvalidLogoutError)) throw error
      log.warn({ provider: id, reason: error.message }, 'a logout of a provider was rejected')
      return 400
    }
  }
}

/** Returns the status of an error of the server, such as 413 for a body that is too long, or 500. */
const statusOf = (error: unknown): number =>
  error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500

const finish = (reply: Reply, status: number) => reply.code(status).header('cache-control', 'no-store').send('')

const actorOf = (clientIp: string, traceId: string): Actor => ({
  name: 'sign-in-oidc',
  clientIp,
  traceId,
  userAgent: '',
})
