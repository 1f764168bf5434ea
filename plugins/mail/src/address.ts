import { domainToASCII } from 'node:url'

/** Maximum length of an address without its angle brackets (RFC 5321, 4.5.3.1.3). */
const maxAddressLength = 254
const maxLocalPartLength = 64

/**
 * A character of an address: letters of any script are allowed, as in SMTPUTF8 (RFC 6531). Quotes, comments and blanks
 * are not allowed, because real addresses do not need them.
 */
const character = '[^\\s@<>()\\[\\]:;,\\\\"\\p{Cc}\\p{Cf}]'
const shape = new RegExp(`^${character}+@${character}+$`, 'u')

export const isAddress = (text: string): boolean =>
  text.length <= maxAddressLength && shape.test(text) && text.lastIndexOf('@') <= maxLocalPartLength

/**
 * Returns the address in the form for the server. Letters of other scripts in the domain are converted to ASCII (RFC
 * 5891).
 */
export function encodeAddressForServer(address: string): string {
  const at = address.lastIndexOf('@')
  const domain = domainToASCII(address.slice(at + 1))
  return domain === '' ? address : `${address.slice(0, at)}@${domain}`
}

export interface Sender {
  readonly name: string
  readonly address: string
}

/** Quoted text. A backslash escapes the next character (RFC 5322, 3.2.4). */
const quoted = '"((?:[^"\\\\\\p{Cc}]|\\\\[^\\p{Cc}])*)"'
const address = `${character}{1,${maxLocalPartLength}}@${character}{1,${maxAddressLength - maxLocalPartLength - 1}}`

/** A sender: an address, or an address in angle brackets after a name, which may be quoted. */
export const senderPattern = `^(?:(?<name>(?:[^<>"\\p{Cc}]|${quoted})*)<(?<inner>${address})>|\\s*(?<bare>${address}))\\s*$`
const senderShape = new RegExp(senderPattern, 'u')
const quotedPart = new RegExp(quoted, 'gu')

export function parseSender(text: string): Sender | undefined {
  const { name = '', inner, bare } = senderShape.exec(text)?.groups ?? {}
  const address = inner ?? bare
  if (address === undefined) return undefined
  const unquoted = name.replace(quotedPart, (_, content: string) => content.replace(/\\(.)/gu, '$1'))
  return { name: unquoted.trim(), address }
}

export const isHeaderText = (text: string): boolean => !/[\p{Cc}\u2028\u2029]/u.test(text)
