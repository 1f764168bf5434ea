import { createHmac, timingSafeEqual } from 'node:crypto'
import { type HttpServer, rateLimited } from '@plinth/http'
import type { NotificationCategories, NotificationPreferences } from '@plinth/inbox'
import { errorReason, isBusinessError } from '@plinth/kernel'
import type { Suppressions } from '@plinth/suppression'
import type { PluginEncryptionKey } from '@plinth/system-config'

const unsubscribePath = '/api/v1/notifications/unsubscribe'

/** Category of the links of earlier releases, whose token contains none. */
const earlierCategory = 'marketing'

type Key = string | Buffer

/** Recipient of a mail: a user, or the key of an address without an account (see `Suppressions.keyOf`). */
export type Subscriber = { readonly userId: number } | { readonly addressKey: string }

interface Subscription {
  readonly subscriber: Subscriber
  readonly category: string
}

interface LinkDependencies {
  /** Configured keys. The first one signs new links. Links that any of them signed are accepted. */
  readonly configured: () => readonly string[]
  /** Key that the product has generated. It signs if no key is configured. Links that it signed are always accepted. */
  readonly own: Pick<PluginEncryptionKey, 'find' | 'get'> | undefined
  readonly siteUrl: () => string
}

/**
 * Creates and checks links that stop the mails of one category. A link is valid as long as its key, because users open old
 * mails. Nobody can create the link of another recipient without the key.
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
  async linkFor({ subscriber, category }: Subscription): Promise<string | undefined> {
    const { configured, own, siteUrl } = this.#parts
    const site = siteUrl()
    if (!site.startsWith('https://')) return undefined
    const key = configured()[0] ?? (await own?.get())
    if (key === undefined) return undefined
    const subject = String('userId' in subscriber ? subscriber.userId : subscriber.addressKey)
    return `${site}${unsubscribePath}?token=${subject}.${category}.${macOf(key, category, subject)}`
  }

  /** Returns recipient and category of a token; undefined if the token has no valid signature. */
  async subscriptionOf(token: string): Promise<Subscription | undefined> {
    const [, subject = '', category = earlierCategory, mac = ''] =
      /^([1-9]\d{0,15}|[\da-f]{64})(?:\.([a-z][a-z\d-]{0,63}))?\.([\w-]{43})$/.exec(token) ?? []
    // Avoids reading the key for a malformed token.
    if (mac === '') return undefined
    const { configured, own } = this.#parts
    const made = await own?.find()
    const keys: readonly Key[] = [...configured(), ...(made === undefined ? [] : [made])]
    const given = Buffer.from(mac)
    const isSigned = keys.some((key) => {
      const own = Buffer.from(macOf(key, category, subject))
      return own.length === given.length && timingSafeEqual(own, given)
    })
    if (!isSigned) return undefined
    if (subject.length === 64) return { subscriber: { addressKey: subject }, category }
    const userId = Number(subject)
    return Number.isSafeInteger(userId) ? { subscriber: { userId }, category } : undefined
  }
}

const macOf = (key: Key, category: string, subject: string) =>
  createHmac('sha256', key).update(`unsubscribe:${category}:${subject}`).digest('base64url')

const largestBody = 1_024

/** Mail services fetch links for many users, so the limit is high, but it stops guessing. */
export const unsubscribeLimit = rateLimited({ maxAttempts: 120, windowSeconds: 60, keyStrategy: 'IP_ROUTE' })

const page = (text: string, more = '') =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="robots" content="noindex">` +
  `<meta name="viewport" content="width=device-width,initial-scale=1"><title>${text}</title></head>` +
  `<body><main><h1>${text}</h1>${more}</main></body></html>`

/**
 * Page of an unsubscribe link. Mail scanners open links, so opening the page changes nothing: the reader must press the
 * button. The page has no link to the preferences, because an unsubscribe link never expires: a person to whom the mail
 * was forwarded could subscribe the recipient again.
 */
const question = page(
  'End these mails? · 停止接收此类邮件？',
  '<form method="post"><button type="submit">End them · 停止接收</button></form>',
)

const later = 'Please try again later. · 请稍后再试。'
const invalid = 'This link is not valid. · 链接无效。'

interface RouteDependencies {
  readonly links: UnsubscribeLinks
  readonly preferences: Pick<NotificationPreferences, 'switchOff'>
  readonly categories: Pick<NotificationCategories, 'isFixed'>
  /** Undefined without the plugin `suppression`. Links for addresses are then invalid. */
  readonly suppressions: Pick<Suppressions, 'unsubscribe'> | undefined
  readonly log: { error(about: object, text: string): void }
}

type Register = Extract<Parameters<HttpServer['register']>[0], (app: never, options: never) => Promise<unknown>>

/**
 * Routes of the link: the page that a user opens, and the `POST` request of mail programs (RFC 8058, 3.1: a form,
 * without cookies or sign-in).
 */
export function unsubscribeRoutes(parts: RouteDependencies): Register {
  const { links, preferences, categories, suppressions, log } = parts
  const unsubscribe = ({ subscriber, category }: Subscription) => {
    if ('addressKey' in subscriber) return suppressions?.unsubscribe('mail', subscriber.addressKey, category)
    // As in earlier releases, the category marketing is switched off on all channels.
    return preferences.switchOff(subscriber.userId, category, category === earlierCategory ? undefined : 'mail')
  }
  const isFixed = ({ category }: Subscription) => categories.isFixed('mail', category)
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
    const subscriptionOf = async (query: { token?: unknown }) => {
      const found = await links.subscriptionOf(String(query.token))
      return found !== undefined && 'addressKey' in found.subscriber && suppressions === undefined ? undefined : found
    }
    app.get<{ Querystring: { token?: unknown } }>(unsubscribePath, async ({ query }, reply) => {
      const found = await subscriptionOf(query)
      return reply
        .code(found === undefined ? 404 : 200)
        .type(html)
        .header('cache-control', 'no-store')
        .header('referrer-policy', 'no-referrer')
        .send(found === undefined ? page(invalid) : question)
    })
    app.post<{ Querystring: { token?: unknown } }>(unsubscribePath, async ({ query }, reply) => {
      const found = await subscriptionOf(query)
      if (found === undefined) return reply.code(404).type(html).send(page(invalid))
      try {
        if (await isFixed(found))
          return reply.code(409).type(html).send(page('These mails are required. · 此类邮件为必需邮件，无法停止。'))
        await unsubscribe(found)
      } catch (error) {
        log.error({ reason: errorReason(error), category: found.category }, 'a recipient could not be unsubscribed')
        return reply.code(503).type(html).send(page(later))
      }
      return reply.code(200).type(html).send(page('You get no more of these mails. · 您将不再收到此类邮件。'))
    })
  }
}
