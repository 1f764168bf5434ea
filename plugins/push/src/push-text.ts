import { createHash } from 'node:crypto'
import { jumpTargetOf } from '@plinth/inbox'
import type { NotificationMessage } from '@plinth/kernel'
import type { Site } from '@plinth/site'
import type { FailedOutcome } from './attempts.ts'

const urgencies = ['very-low', 'low', 'normal', 'high'] as const
/** Largest TTL that FCM accepts, and the default of push libraries: four weeks. */
const maxTtlSeconds = 2_419_200

/** A message as devices show it. */
export interface PushText {
  readonly id: string
  readonly title: string
  readonly body: string
  readonly locale: string | undefined
  /** Route of the message within the site; null if it opens the start page. */
  readonly route: string | null
  /** Absolute address that a click opens. */
  readonly url: string
  /** Seconds for which a push service keeps the message for a device that is offline. */
  readonly ttlSeconds: number
  readonly urgency: (typeof urgencies)[number]
  /** At most 32 characters of base64url. A newer message with the same topic replaces one that is not delivered yet. */
  readonly topic: string | undefined
  /** Members for the code of an app. */
  readonly data: Readonly<Record<string, string>>
}

/** Returns the texts and options of a message, or the outcome for an invalid attribute. */
export function pushTextOf(message: NotificationMessage, site: Pick<Site, 'name' | 'url'>): PushText | FailedOutcome {
  const { id, subject, content, locale, attributes, replacement } = message
  const ttlSeconds = attributes['push.ttl'] ?? maxTtlSeconds
  const urgency = attributes['push.urgency'] ?? 'normal'
  const collapseKey = attributes['push.collapse-key']
  const data = attributes['push.data'] ?? {}
  if (!isTtl(ttlSeconds)) return invalid('push.ttl', `a number of seconds from 0 to ${maxTtlSeconds}`)
  if (!isUrgency(urgency)) return invalid('push.urgency', urgencies.join(', '))
  if (collapseKey !== undefined && !isCollapseKey(collapseKey))
    return invalid('push.collapse-key', 'a text of 1 to 200 characters')
  if (!isTexts(data)) return invalid('push.data', 'an object whose values are texts')
  const route = jumpTargetOf(attributes).targetRoute
  return {
    id,
    title: subject.trim() === '' ? site.name : subject,
    body: content,
    locale,
    route,
    url: `${site.url}${route ?? '/'}`,
    ttlSeconds,
    urgency,
    topic: collapseKey === undefined ? replacement?.key : topicOf(collapseKey),
    data,
  }
}

const invalid = (name: string, rule: string): FailedOutcome => ({
  outcome: 'rejected',
  errorCode: 'push.attribute-invalid',
  errorMessage: `The attribute ${name} must be ${rule}`,
})

const isTtl = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= maxTtlSeconds
const isUrgency = (value: unknown): value is PushText['urgency'] => urgencies.includes(value as PushText['urgency'])
const isCollapseKey = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= 200
const isTexts = (value: unknown): value is Readonly<Record<string, string>> =>
  typeof value === 'object' && value !== null && Object.values(value).every((one) => typeof one === 'string')

/** Returns the key itself if it may be a topic (RFC 8030, section 5.4), or else its hash. */
const topicOf = (key: string): string =>
  /^[\w-]{1,32}$/.test(key) ? key : createHash('sha256').update(key).digest('base64url').slice(0, 32)

/** Splits a text into graphemes. It is created on first use, because this takes 10 ms. */
let graphemes: Intl.Segmenter | undefined
const ellipsis = '…'

/**
 * Returns the JSON of a message whose body is cut between graphemes until it fits. Undefined if it is too large without
 * its body.
 *
 * @param toPayload returns the message for a body
 */
export function fitPayload<T extends object>(
  body: string,
  maxBytes: number,
  toPayload: (body: string) => T,
): T | undefined {
  const fits = (text: string) => Buffer.byteLength(JSON.stringify(toPayload(text))) <= maxBytes
  if (body.length <= maxBytes && fits(body)) return toPayload(body)
  graphemes ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  const beginning = body.slice(0, maxBytes)
  const ends = Array.from(graphemes.segment(beginning), ({ index }) => index)
  const cut = (count: number) => (count === 0 ? '' : `${beginning.slice(0, ends[count])}${ellipsis}`)
  let [low, high] = [0, Math.max(0, ends.length - 1)]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(cut(middle))) low = middle
    else high = middle - 1
  }
  return fits(cut(low)) ? toPayload(cut(low)) : undefined
}
