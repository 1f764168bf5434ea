import { createHash, timingSafeEqual } from 'node:crypto'
import { isJsonObject, type JsonObject } from '@plinth/outgoing-http'
import { ReceiptRejected, type ReceiptRequest } from '../contract.ts'

/** Compares texts in constant time. */
export function isEqual(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}

/** Header with the secret, for providers that can send headers of their own. */
export const secretHeader = 'x-receipt-secret'

/**
 * Checks the secret of a provider that signs nothing: the last segment of the path, the password of basic authentication, or
 * the header `x-receipt-secret`.
 *
 * @throws ReceiptRejected `secret`
 */
export function requireSecret({ secret, headers }: ReceiptRequest, expected: string): void {
  const [, credentials = ''] = /^basic ([\w+/=-]{1,2048})$/i.exec(headers['authorization'] ?? '') ?? []
  const password = Buffer.from(credentials, 'base64')
    .toString()
    .replace(/^[^:]*:/, '')
  const proofs = [secret, headers[secretHeader], credentials === '' ? undefined : password]
  const isProven = proofs.map((proof) => proof !== undefined && isEqual(proof, expected)).includes(true)
  if (expected === '' || !isProven) throw new ReceiptRejected('secret')
}

/** Returns the JSON of a body. @throws ReceiptRejected `body` */
export function parseBody(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    throw new ReceiptRejected('body')
  }
}

/** Returns the object of a body. @throws ReceiptRejected `body` */
export function parseObject(body: Buffer): JsonObject {
  const value = parseBody(body)
  if (!isJsonObject(value)) throw new ReceiptRejected('body')
  return value
}

const maxEntries = 1_000

/** Returns the objects of an array. @throws ReceiptRejected `body` */
export function parseEntries(body: Buffer): readonly JsonObject[] {
  const value = parseBody(body)
  if (!Array.isArray(value) || value.length > maxEntries || !value.every(isJsonObject))
    throw new ReceiptRejected('body')
  return value
}

/** Returns a text; undefined if the value is empty or is neither a text nor a number. */
export const textOf = (value: unknown): string | undefined =>
  (typeof value === 'string' && value !== '') || typeof value === 'number' ? String(value) : undefined

/** Returns the id of a receipt whose provider has none. */
export const hashOf = (...parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex')

/** Returns a time in milliseconds; undefined if the text is no time. */
export function timeOf(value: unknown): number | undefined {
  const time = Date.parse(textOf(value) ?? '')
  return Number.isNaN(time) ? undefined : time
}

/** Returns a time without a zone, which Chinese providers give in the time of China. */
export const chinaTimeOf = (value: unknown): number | undefined => {
  const [, day, time] = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})$/.exec(textOf(value) ?? '') ?? []
  return timeOf(`${day}T${time}+08:00`)
}

/** Returns the own reference in a `Message-ID`; undefined if this product did not make the id. */
export const referenceInMessageId = (value: unknown): string | undefined =>
  /^\s*<?([0-9a-f]{40})@[^\s<>@]+>?\s*$/.exec(textOf(value) ?? '')?.[1]

/** Returns an own reference; undefined if the value has another form. */
export const referenceOf = (value: unknown): string | undefined => /^[0-9a-f]{40}$/.exec(textOf(value) ?? '')?.[0]
