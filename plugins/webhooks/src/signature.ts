import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'

/** Returns a new secret: 256 random bits in the form of the Standard Webhooks. */
export const newSecret = (): string => `${prefix}${randomBytes(32).toString('base64')}`

interface Message {
  /** The same for all attempts, without a dot. */
  readonly id: string
  /** Time of the attempt, milliseconds since the epoch. */
  readonly now: number
  readonly body: string
}

/**
 * Returns the headers of an attempt by the Standard Webhooks: `v1` is HMAC-SHA256 of `id.timestamp.body`.
 *
 * @param secrets one signature for each, so that receivers accept both during a rotation
 */
export function signedHeaders(
  { id, now, body }: Message,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
