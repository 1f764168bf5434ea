import { createHmac } from 'node:crypto'
import { domainToASCII } from 'node:url'

/** A mail address as people and other systems write it: one `@`, no spaces, a local part of at most 64 characters. */
const mailPattern = /^[^\s@]{1,64}@[^\s@]{1,189}$/u
/** A number in E.164 format. */
const numberPattern = /^\+[1-9]\d{6,14}$/

/**
 * Returns the form in which an address is hashed: the domain of a mail address in lower case and ASCII (RFC 3492), its local
 * part unchanged; a number in E.164 format. Undefined for other texts.
 *
 * @param numberOf converts a number to E.164 format; absent without the plugin `sms`
 */
export function normalizeAddress(
  channel: string,
  address: string,
  numberOf: (text: string) => string | undefined = () => undefined,
): string | undefined {
  const text = address.trim()
  if (channel === 'sms') {
    const number = numberOf(text) ?? text
    return numberPattern.test(number) ? number : undefined
  }
  if (!mailPattern.test(text)) return undefined
  const at = text.lastIndexOf('@')
  const domain = domainToASCII(text.slice(at + 1).toLowerCase())
  return domain === '' ? undefined : `${text.slice(0, at)}@${domain}`
}

/** Returns an address for operators: the first character of a mailbox and its domain, or the last four digits. */
export const maskAddress = (address: string): string =>
  address.includes('@') ? address.replace(/^(.).*@/u, '$1***@') : `***${address.slice(-4)}`

/** Returns the keyed hash of a normalised address. */
export const hashAddress = (key: Buffer, channel: string, address: string): string =>
  createHmac('sha256', key).update(`${channel}\0${address}`).digest('hex')
