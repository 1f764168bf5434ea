import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Clock, service } from '@plinth/kernel'
import type { PluginEncryptionKey } from '@plinth/system-config'

/** Links to the page on which a user changes notification preferences without signing in. */
export interface PreferenceLinks {
  /**
   * Returns the link of a user. It only allows to read and change the notification preferences of this user, until it expires.
   *
   * @param lifetimeMs default: the value of `platform.notification.inbox.preference-link-lifetime`
   * @returns undefined if the lifetime is 0, if the URL of the site is not `https`, or without the plugin `system-config`
   * @throws Error if the signing key cannot be read or created
   */
  urlFor(userId: number, lifetimeMs?: number): Promise<string | undefined>
}

export const preferenceLinks = service<PreferenceLinks>('notification.preference-links', { from: '@plinth/inbox' })

export const preferencePagePath = '/api/v1/notifications/preferences/page'

interface LinkDependencies {
  /** Undefined without the plugin `system-config`. Then there are no links. */
  readonly key: Pick<PluginEncryptionKey, 'find' | 'get'> | undefined
  readonly siteUrl: () => string
  readonly lifetimeMs: () => number
  readonly clock: Pick<Clock, 'now'>
}

/** Creates and checks the tokens: `<user>.<end in seconds>.<HMAC-SHA256>`. */
export class SignedPreferenceLinks implements PreferenceLinks {
  readonly #parts: LinkDependencies

  constructor(parts: LinkDependencies) {
    this.#parts = parts
  }

  async urlFor(userId: number, lifetimeMs: number = this.#parts.lifetimeMs()): Promise<string | undefined> {
    const { key, siteUrl, clock } = this.#parts
    const site = siteUrl()
    if (key === undefined || lifetimeMs <= 0 || !site.startsWith('https://')) return undefined
    const subject = `${userId}.${Math.ceil((clock.now() + lifetimeMs) / 1000)}`
    return `${site}${preferencePagePath}?token=${subject}.${macOf(await key.get(), subject)}`
  }

  /** Returns the user of a token; undefined if it has expired or has no valid signature. */
  async userOf(token: string): Promise<number | undefined> {
    const [, userId, end, mac = ''] = /^([1-9]\d{0,15})\.(\d{1,12})\.([\w-]{43})$/.exec(token) ?? []
    if (mac === '' || Number(end) * 1000 <= this.#parts.clock.now()) return undefined
    const key = await this.#parts.key?.find()
    if (key === undefined || !timingSafeEqual(Buffer.from(macOf(key, `${userId}.${end}`)), Buffer.from(mac))) return
    return Number.isSafeInteger(Number(userId)) ? Number(userId) : undefined
  }
}

const macOf = (key: Buffer, subject: string) =>
  createHmac('sha256', key).update(`preferences:${subject}`).digest('base64url')
