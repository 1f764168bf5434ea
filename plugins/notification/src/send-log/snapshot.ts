import type { NotificationMessage, Recipient } from '@plinth/kernel'
import { type CarriedRecipients, carried, carriedBy } from '../delivery/message-part.ts'
import { mayHoldSecret, withoutSecretAttributes } from '../masking.ts'

/** What sends a message again as it was sent: the same message under the same idempotency key. */
interface Snapshot {
  readonly message: NotificationMessage
  readonly idempotencyKey: string
}

/** Characters. What is larger is not kept. */
const largest = 1_048_576

/** Recipients that are known by what D.59 calls sensitive, or by what only a live session means. */
const keptNowhere: readonly string[] = ['social-openid', 'websocket-session']

/**
 * The snapshot as text, or null when the message cannot be restored from what may be stored (decisions B23, B27, D.58,
 * D.59): it has secret variables or secret attributes, holds a secret of the configuration, or is no plain JSON.
 *
 * @param mask masks what the configuration knows as secrets
 * @param without leaves the recipients out, which are judged all the same
 */
export function snapshotText(
  { message, idempotencyKey }: Snapshot,
  mask: (text: string) => string,
  { without }: { readonly without?: 'recipients' } = {},
): string | null {
  const {
    id,
    subject,
    content,
    html,
    template,
    variables,
    secretVariables = [],
    recipients,
    attributes,
    locale,
  } = message
  if (secretVariables.length > 0 || holdsSecrets(attributes)) return null
  if (recipients.some(({ kind }) => keptNowhere.includes(kind))) return null
  const given = Object.entries({ html, template, locale }).filter(([, value]) => value !== undefined)
  const optional: Partial<NotificationMessage> = Object.fromEntries(given)
  const kept: Snapshot = {
    message: {
      id,
      subject,
      content,
      variables,
      recipients: without === undefined ? recipients : [],
      attributes,
      ...optional,
    },
    idempotencyKey,
  }
  const text = exactJson(kept)
  return text === undefined || text.length > largest || mask(text) !== text ? null : text
}

/** What sends a part of an enqueued message again; the message itself lies with the list of messages, once. */
interface PartSnapshot extends CarriedRecipients {
  readonly idempotencyKey: string
}

/** Of a part of a message that `snapshotText` could keep. */
export const partSnapshotText = (recipients: readonly Recipient[], idempotencyKey: string): string =>
  JSON.stringify({ ...carried(recipients), idempotencyKey } satisfies PartSnapshot)

/** @param stored payload of the enqueued message that the snapshot is a part of */
export function restored(text: string, stored?: string | null): Snapshot {
  const kept: Snapshot | PartSnapshot = JSON.parse(text)
  if ('message' in kept) return kept
  const { message }: Snapshot = JSON.parse(stored ?? '')
  return { message: { ...message, recipients: carriedBy(kept) }, idempotencyKey: kept.idempotencyKey }
}

/** Also what lies too deep to be looked at counts, and a whole payload, written as text, that names a secret. */
function holdsSecrets(attributes: NotificationMessage['attributes']): boolean {
  const payload = attributes['webhook.payload']
  if (typeof payload === 'string' && mayHoldSecret(payload)) return true
  return exactJson(withoutSecretAttributes(attributes)) !== exactJson(attributes)
}

/** JSON that reads back as the same value; `undefined` when there is none, as for dates, maps and cycles. */
function exactJson(value: unknown): string | undefined {
  let isExact = true
  try {
    const text = JSON.stringify(value, function (this: Record<string, unknown>, name, member: unknown) {
      isExact &&= member === this[name] && isPlain(member)
      return member
    })
    return isExact ? text : undefined
  } catch {
    return undefined
  }
}

function isPlain(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null)
    return ['string', 'boolean', 'undefined', 'object'].includes(typeof value)
  return Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value))
}
