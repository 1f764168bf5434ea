import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

/**
 * Prefix of all API tokens, by which people and secret scanners recognise them. The pattern of session tokens does not
 * match it, because no `_` follows `plinth`.
 */
const prefix = 'plinthpat_'
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 30 characters of base62 are 178 random bits. */
const secretLength = 30
const checksumLength = 6
const pattern = new RegExp(`^${prefix}[0-9A-Za-z]{${secretLength + checksumLength}}$`)

/** Number of characters that lists show, so that owners can recognise a token. */
export const shownLength = 4

/**
 * Creates a token: the prefix, 30 random characters, and their checksum (CRC-32 in base62, like the tokens of GitHub).
 * All characters after the prefix are letters and digits, so that a double click selects the whole token.
 */
export function newApiToken(): string {
  const secret = Array.from({ length: secretLength }, () => alphabet[randomInt(alphabet.length)]).join('')
  return `${prefix}${secret}${checksumOf(secret)}`
}

function checksumOf(secret: string): string {
  let rest = crc32(secret)
  let text = ''
  for (let digit = 0; digit < checksumLength; digit++) {
    text = `${alphabet[rest % alphabet.length]}${text}`
    rest = Math.floor(rest / alphabet.length)
  }
  return text
}

/** Returns true if the text has the prefix of API tokens. It may still be invalid. */
export const isApiToken = (text: string): boolean => text.startsWith(prefix)

/** Returns false if the text is mistyped or truncated. This saves a database query. The checksum is not a secret. */
export function isApiTokenShaped(text: string): boolean {
  if (!pattern.test(text)) return false
  return checksumOf(text.slice(prefix.length, -checksumLength)) === text.slice(-checksumLength)
}

/** Returns the first random characters of a token. They are too few to guess the others. */
export const shownCharacters = (token: string): string => token.slice(prefix.length, prefix.length + shownLength)
