import { domainToASCII } from 'node:url'

/** Characters of an address (RFC 5321, 4.5.3.1.3, without the brackets). */
const longest = 254
const longestLocalPart = 64

/** Letters of any script, as SMTPUTF8 allows (RFC 6531); no quotes, comments or blanks, which nobody's address needs. */
const shape = /^[^\s@<>()[\]:;,\\"\p{Cc}\p{Cf}]+@[^\s@<>()[\]:;,\\"\p{Cc}\p{Cf}]+$/u

export const isAddress = (text: string): boolean =>
  text.length <= longest && shape.test(text) && text.lastIndexOf('@') <= longestLocalPart

/** An address as servers know it: letters of other scripts in the domain by their ASCII form (RFC 5891). */
export function onTheWire(address: string): string {
  const at = address.lastIndexOf('@')
  const domain = domainToASCII(address.slice(at + 1))
  return domain === '' ? address : `${address.slice(0, at)}@${domain}`
}

/** A sender as it is configured: a bare address, or a name with an address in angle brackets. */
export interface Sender {
  readonly name: string
  readonly address: string
}

/** Undefined when it is none. */
export function senderOf(text: string): Sender | undefined {
  const [, name = '', address = text.trim()] = /^([^<>"\p{Cc}]*)<([^<>]+)>\s*$/u.exec(text) ?? []
  return isAddress(address) ? { name: name.trim(), address } : undefined
}

/** Whether a text may become the value of a header. */
export const isHeaderText = (text: string): boolean => !/[\p{Cc}\u2028\u2029]/u.test(text)
