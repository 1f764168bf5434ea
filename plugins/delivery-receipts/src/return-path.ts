import { createHmac } from 'node:crypto'
import { isEqual } from './sources/proof.ts'

const referenceLength = 31
const macLength = 16

/** Digits to the base 36 survive servers that change the case of an address. */
const toText = (hex: string, length: number) => BigInt(`0x${hex}`).toString(36).padStart(length, '0')

/** Returns the first 80 bits of the MAC of a reference. */
const macOf = (key: Buffer, reference: string): string =>
  toText(createHmac('sha256', key).update(`return-path:${reference}`).digest('hex').slice(0, 20), macLength)

/** Longest local part of the configured address: 64 octets (RFC 5321, 4.5.3.1.1) minus the token and the plus sign. */
export const maxLocalPartLength = 64 - 1 - referenceLength - macLength

/**
 * Returns the address to which servers return one mail (VERP): `bounce+<token>@example.com` for `bounce@example.com`. The
 * token is the reference of the mail and a MAC, so nobody can make a token for another mail.
 *
 * @param reference 40 hexadecimal characters
 */
export function returnPathOf(address: string, key: Buffer, reference: string): string {
  const at = address.lastIndexOf('@')
  const token = toText(reference, referenceLength) + macOf(key, reference)
  return `${address.slice(0, at)}+${token}${address.slice(at)}`
}

/** Token in an address: `undefined` without one, `forged` with a wrong MAC, otherwise the reference of the mail. */
export function referenceInReturnPath(address: string, key: Buffer): string | 'forged' | undefined {
  const pattern = new RegExp(`\\+([0-9a-z]{${referenceLength}})([0-9a-z]{${macLength}})@`, 'i')
  const [, digits, mac] = pattern.exec(address) ?? []
  if (digits === undefined || mac === undefined) return undefined
  let value = 0n
  for (const digit of digits.toLowerCase()) value = value * 36n + BigInt(Number.parseInt(digit, 36))
  const reference = value.toString(16).padStart(40, '0')
  const isOwn = reference.length === 40 && isEqual(mac.toLowerCase(), macOf(key, reference))
  return isOwn ? reference : 'forged'
}
