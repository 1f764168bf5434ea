import { createHmac, timingSafeEqual } from 'node:crypto'
import type { HttpServer } from '@plinth/http'
import { reasonOf } from '@plinth/kernel'
import type { NotificationPreferences } from '@plinth/notification/inbox'

export const unsubscribePath = '/api/v1/notifications/unsubscribe'

/** What the link ends: mails of this category. */
const category = 'marketing'

/**
 * Links that end the marketing mails of one user. They hold for as long as the key does: people look for them in old mails.
 *
 * @param keys configured keys, the first signs and all verify; none: there are no links
 */
export class UnsubscribeLinks {
  readonly #keys: () => readonly string[]
  readonly #siteUrl: () => string

  constructor(keys: () => readonly string[], siteUrl: () => string) {
    this.#keys = keys
    this.#siteUrl = siteUrl
  }

  /** Undefined without a key, and where the address of the site is not known or not `https`. */
  linkFor(userId: number): string | undefined {
    const [key] = this.#keys()
    const site = this.#siteUrl()
    if (key === undefined || !site.startsWith('https://')) return undefined
    return `${site}${unsubscribePath}?token=${userId}.${macOf(key, userId)}`
  }

  /** Whose link it is; undefined for a token that none of the keys signed. */
  userOf(token: string): number | undefined {
    const [, id = '', mac = ''] = /^([1-9]\d{0,15})\.([\w-]{43})$/.exec(token) ?? []
    const userId = Number(id)
    const given = Buffer.from(mac)
    const isSigned = this.#keys().some((key) => {
      const own = Buffer.from(macOf(key, userId))
      return own.length === given.length && timingSafeEqual(own, given)
    })
    return isSigned && Number.isSafeInteger(userId) ? userId : undefined
  }
}

const macOf = (key: string, userId: number) =>
  createHmac('sha256', key).update(`unsubscribe:${category}:${userId}`).digest('base64url')

const largestBody = 1_024

const page = (text: string, form = '') =>
  `<!doctype html><html><head><meta charset="utf-8"><meta name="robots" content="noindex"><title>${text}</title></head>` +
  `<body><p>${text}</p>${form}</body></html>`

/** Programs that look at links in mails must not end anything by it, so opening the link asks first. */
const question = page(
  'End these mails? · 停止接收此类邮件？',
  '<form method="post"><button type="submit">End them · 停止接收</button></form>',
)

interface RouteParts {
  readonly links: UnsubscribeLinks
  readonly preferences: Pick<NotificationPreferences, 'switchOff'>
  readonly log: { error(about: object, text: string): void }
}

type Register = Extract<Parameters<HttpServer['register']>[0], (app: never, options: never) => Promise<unknown>>

/** The page behind the link, and the `POST` of mail programs (RFC 8058, 3.1: a form, without cookies or sign-in). */
export function unsubscribeRoutes({ links, preferences, log }: RouteParts): Register {
  return async (app) => {
    app.addContentTypeParser(
      ['application/x-www-form-urlencoded', 'multipart/form-data'],
      { parseAs: 'string', bodyLimit: largestBody },
      (_request, _body, done) => done(null, undefined),
    )
    const html = 'text/html; charset=utf-8'
    app.get<{ Querystring: { token?: unknown } }>(unsubscribePath, async ({ query }, reply) => {
      const known = links.userOf(String(query.token)) !== undefined
      return reply
        .code(known ? 200 : 404)
        .type(html)
        .header('cache-control', 'no-store')
        .header('referrer-policy', 'no-referrer')
        .send(known ? question : page('This link does not hold. · 链接无效。'))
    })
    app.post<{ Querystring: { token?: unknown } }>(unsubscribePath, async ({ query }, reply) => {
      const userId = links.userOf(String(query.token))
      if (userId === undefined) return reply.code(404).type(html).send(page('This link does not hold. · 链接无效。'))
      try {
        await preferences.switchOff(userId, category)
      } catch (error) {
        log.error({ reason: reasonOf(error), userId }, 'a subscription could not be ended')
        return reply.code(503).type(html).send(page('Please try again later. · 请稍后再试。'))
      }
      return reply.code(200).type(html).send(page('You get no more of these mails. · 您将不再收到此类邮件。'))
    })
  }
}
