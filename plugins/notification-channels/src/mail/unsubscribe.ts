import { createHmac, timingSafeEqual } from 'node:crypto'
import { type HttpServer, rateLimited } from '@plinth/http'
import type { NotificationPreferences } from '@plinth/inbox'
import { errorReason, isBusinessError } from '@plinth/kernel'
import type { PluginEncryptionKey } from '@plinth/system-config'

const unsubscribePath = '/api/v1/notifications/unsubscribe'

const category = 'marketing'

type Key = string | Buffer

interface LinkDependencies {
  /** Configured keys. The first one signs new links. Links that any of them signed are accepted. */
  readonly configured: () => readonly string[]
  /** Key that the product has generated. It signs if no key is configured. Links that it signed are always accepted. */
  readonly own: Pick<PluginEncryptionKey, 'find' | 'get'> | undefined
  readonly siteUrl: () => string
}

/**
 * Creates and checks links that stop marketing mails. A link is valid as long as its key, because users open old mails.
 */
export class UnsubscribeLinks {
  readonly #parts: LinkDependencies

  constructor(parts: LinkDependencies) {
    this.#parts = parts
  }

  /**
   * Returns a link. Undefined if there is no key, or if the URL of the site is not `https`.
   *
   * @throws if the generated key cannot be read or created
   */
  async linkFor(userId: number): Promise<string | undefined> {
    const { configured, own, siteUrl } = this.#parts
    const site = siteUrl()
    if (!site.startsWith('https://')) return undefined
    const key = configured()[0] ?? (await own?.get())
    if (key === undefined) return undefined
    return `${site}${unsubscribePath}?token=${userId}.${macOf(key, userId)}`
  }

  /** Returns the user of a token; undefined if the token has no valid signature. */
  async userOf(token: string): Promise<number | undefined> {
    const [, id = '', mac = ''] = /^([1-9]\d{0,15})\.([\w-]{43})$/.exec(token) ?? []
    // Avoids reading the key for a malformed token.
    if (mac === '') return undefined
    const userId = Number(id)
    const { configured, own } = this.#parts
    const made = await own?.find()
    const keys: readonly Key[] = [...configured(), ...(made === undefined ? [] : [made])]
    const given = Buffer.from(mac)
    const isSigned = keys.some((key) => {
      const own = Buffer.from(macOf(key, userId))
      return own.length === given.length && timingSafeEqual(own, given)
    })
    return isSigned && Number.isSafeInteger(userId) ? userId : undefined
  }
}

const macOf = (key: Key, userId: number) =>
  createHmac('sha256', key).update(`unsubscribe:${category}:${userId}`).digest('base64url')

const largestBody = 1_024

/** Mail services fetch links for many users, so the limit is high, but it stops guessing. */
export const unsubscribeLimit = rateLimited({ maxAttempts: 120, windowSeconds: 60, keyStrategy: 'IP_ROUTE' })

const page = (text: string, form = '') =>
  `<!doctype html><html><head><meta charset="utf-8"><meta name="robots" content="noindex"><title>${text}</title></head>` +
  `<body><p>${text}</p>${form}</body></html>`

/** Mail scanners open links, so the page asks for confirmation. */
const question = page(
  'End these mails? · 停止接收此类邮件？',
  '<form method="post"><button type="submit">End them · 停止接收</button></form>',
)

const later = 'Please try again later. · 请稍后再试。'

interface RouteDependencies {
  readonly links: UnsubscribeLinks
  readonly preferences: Pick<NotificationPreferences, 'switchOff'>
  readonly log: { error(about: object, text: string): void }
}

type Register = Extract<Parameters<HttpServer['register']>[0], (app: never, options: never) => Promise<unknown>>

/**
 * Routes of the link: the page that a user opens, and the `POST` request of mail programs (RFC 8058, 3.1: a form,
 * without cookies or sign-in).
 */
export function unsubscribeRoutes({ links, preferences, log }: RouteDependencies): Register {
  return async (app) => {
    app.addContentTypeParser(
      ['application/x-www-form-urlencoded', 'multipart/form-data'],
      { parseAs: 'string', bodyLimit: largestBody },
      (_request, _body, done) => done(null, undefined),
    )
    const html = 'text/html; charset=utf-8'
    // Responds with HTTP status 429, because mail programs read only the status. With 200, they would assume that the
    // mails have stopped. Routes of another protocol respond in that protocol (decision G23).
    app.setErrorHandler(async (error, _request, reply) => {
      if (!isBusinessError(error) || error.code !== '429') throw error
      return reply.code(429).type(html).send(page(later))
    })
    app.get<{ Querystring: { token?: unknown } }>(unsubscribePath, async ({ query }, reply) => {
      const known = (await links.userOf(String(query.token))) !== undefined
      return reply
        .code(known ? 200 : 404)
        .type(html)
        .header('cache-control', 'no-store')
        .header('referrer-policy', 'no-referrer')
        .send(known ? question : page('This link does not hold. · 链接无效。'))
    })
    app.post<{ Querystring: { token?: unknown } }>(unsubscribePath, async ({ query }, reply) => {
      const userId = await links.userOf(String(query.token))
      if (userId === undefined) return reply.code(404).type(html).send(page('This link does not hold. · 链接无效。'))
      try {
        await preferences.switchOff(userId, category)
      } catch (error) {
        log.error({ reason: errorReason(error), userId }, 'a user could not be unsubscribed')
        return reply.code(503).type(html).send(page(later))
      }
      return reply.code(200).type(html).send(page('You get no more of these mails. · 您将不再收到此类邮件。'))
    })
  }
}
