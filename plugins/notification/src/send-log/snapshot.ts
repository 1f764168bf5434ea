import { type NotificationMessage, omitUndefined, type Recipient } from '@plinth/kernel'
import { fromStoredRecipients, type StoredRecipients, toStoredRecipients } from '../delivery/message-part.ts'
import { mayHoldSecret, withoutSecretAttributes } from '../masking.ts'

/** Data that a retry needs. The retry uses the same idempotency key. */
interface Snapshot {
  readonly message: NotificationMessage
  readonly idempotencyKey: string
}

/** Maximum length of a stored message as JSON. Longer ones are not stored. */
const maxTextLength = 1_048_576

/** Kinds of recipients that are not stored, because they are sensitive or only valid during a session. */
const unstoredKinds: readonly string[] = ['social-openid', 'websocket-session']

/**
 * Returns the stored form of a message. Null if the message must not or cannot be stored: it has secret variables or
 * attributes, contains a secret of the configuration, or is not plain JSON.
 *
 * @param mask function that masks secrets of the configuration
 * @param without leaves out the recipients after checking them
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
    templateVersions,
    files,
    variables,
    secretVariables = [],
    recipients,
    attributes,
    locale,
    timeZone,
    readerGroup,
    replacement,
  } = message
  if (secretVariables.length > 0 || holdsSecrets(attributes)) return null
  if (recipients.some(({ kind }) => unstoredKinds.includes(kind))) return null
  const kept: Snapshot = {
    message: {
      id,
      subject,
      content,
      variables,
      recipients: without === undefined ? recipients : [],
      attributes,
      ...omitUndefined<Partial<NotificationMessage>>({
        html,
        template,
        templateVersions,
        files,
        locale,
        timeZone,
        readerGroup,
        replacement,
      }),
    },
    idempotencyKey,
  }
  const text = exactJson(kept)
  return text === undefined || text.length > maxTextLength || mask(text) !== text ? null : text
}

/** Stored form of a part of an enqueued message. The list of messages contains the message itself. */
interface PartSnapshot extends StoredRecipients {
  readonly idempotencyKey: string
}

/** Returns the stored form of a part. Only for messages that `snapshotText` can store. */
export const partSnapshotText = (recipients: readonly Recipient[], idempotencyKey: string): string =>
  JSON.stringify({ ...toStoredRecipients(recipients), idempotencyKey } satisfies PartSnapshot)

/** Restores a message. @param stored stored form of the enqueued message, if `text` is a part of it */
export function restoreMessage(text: string, stored?: string | null): Snapshot {
  const kept: Snapshot | PartSnapshot = JSON.parse(text)
  if ('message' in kept) return kept
  const { message }: Snapshot = JSON.parse(stored ?? '')
  return { message: { ...message, recipients: fromStoredRecipients(kept) }, idempotencyKey: kept.idempotencyKey }
}

/** True if attributes contain secrets, or if they are nested too deeply to check. */
function holdsSecrets(attributes: NotificationMessage['attributes']): boolean {
  const payload = attributes['webhook.payload']
  if (typeof payload === 'string' && mayHoldSecret(payload)) return true
  return exactJson(withoutSecretAttributes(attributes)) !== exactJson(attributes)
}

/** Returns the value as JSON; undefined for values that JSON changes, such as dates, maps and cycles. */
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
