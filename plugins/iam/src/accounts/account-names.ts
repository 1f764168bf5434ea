import { createRequire } from 'node:module'
import { foldText } from '@plinth/database'
import type * as phoneNumbers from 'libphonenumber-js/min'
import { businessError } from '../failures.ts'

/** The scripts that UAX 31, table 5, recommends for identifiers. */
const recommended = [
  'Arabic',
  'Armenian',
  'Bengali',
  'Bopomofo',
  'Cyrillic',
  'Devanagari',
  'Ethiopic',
  'Georgian',
  'Greek',
  'Gujarati',
  'Gurmukhi',
  'Han',
  'Hangul',
  'Hebrew',
  'Hiragana',
  'Kannada',
  'Katakana',
  'Khmer',
  'Lao',
  'Latin',
  'Malayalam',
  'Myanmar',
  'Oriya',
  'Sinhala',
  'Tamil',
  'Telugu',
  'Thaana',
  'Thai',
  'Tibetan',
]

/**
 * Combinations of scripts that are treated as one script (UTS 39, 5.1): Japanese, Korean, and Chinese with Bopomofo.
 */
const together = [
  ['Han', 'Hiragana', 'Katakana'],
  ['Han', 'Hangul'],
  ['Han', 'Bopomofo'],
]

/** Matches letters of these scripts, the digits 0 to 9, and the punctuation of user names. */
const writtenIn = (scripts: readonly string[]) =>
  new RegExp(`^[[[${scripts.map((script) => `\\p{scx=${script}}`).join('')}]&&\\p{L}]0-9_.\\-]+$`, 'v')

let writings: readonly RegExp[] | undefined
/** Created for the first checked name, because this takes 7 ms. */
const allWritings = () => {
  writings ??= [...together, ...recommended.map((script) => [script])].map(writtenIn)
  return writings
}

/**
 * Returns whether a name uses a single script (UTS 39, 5.2). This prevents names that look like another name, such as
 * `admin` with a Cyrillic `а`. Digits other than 0 to 9 belong to no script.
 */
const isOfOneScript = (name: string): boolean => allWritings().some((writing) => writing.test(name))

const load = createRequire(import.meta.url)
let library: typeof phoneNumbers | undefined

/** Loaded for the first number, because the rules of all countries take 65 ms to load. */
function numbers(): typeof phoneNumbers {
  const loaded: typeof phoneNumbers = library ?? load('libphonenumber-js/min')
  library = loaded
  return loaded
}

const mobileSeparators = /[\s().-]/g
const written = /^(?:\+|00)?\d{5,15}$/

/**
 * Returns a mobile number in E.164 format: `+8613800000001` for `+86 138-0000-0001`, `0086138...`, `+86 (0) 138...`
 * and, with the country `CN`, also for `86138...` and `138...`. Returns `undefined` for an impossible number.
 * @param country ISO 3166 code for numbers without a country code; without it, they are invalid
 */
export function mobileNumber(text: string, country?: string): string | undefined {
  const bare = text.replace(mobileSeparators, '')
  if (!written.test(bare)) return undefined
  const { isSupportedCountry, parsePhoneNumberFromString } = numbers()
  const defaultCountry = country !== undefined && isSupportedCountry(country) ? { defaultCountry: country } : {}
  // International prefixes differ between countries. In writing, `00` is usual.
  const number = parsePhoneNumberFromString(bare.replace(/^00/, '+'), { extract: false, ...defaultCountry })
  return number?.isPossible() ? number.number : undefined
}

/**
 * Returns the calling code of a number in E.164 format (ITU-T E.164, annex D), such as `86`, or `undefined` for an
 * unknown code.
 */
export const callingCodeOf = (number: string): string | undefined =>
  numbers().parsePhoneNumberFromString(number)?.countryCallingCode

/** Does not allow `@`, so that one field of the login form accepts user names and e-mail addresses. */
const usernamePattern = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]{1,63}$/u
/** Does not allow quotes and comments, because `"a"@b.c` and `a@b.c` are one mailbox. */
const emailPattern =
  /^(?=.{1,64}@)[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/i
const mobilePattern = /^\+?\d{5,15}$/

const fold = (text: string) => text.normalize('NFKC').toLowerCase()

/**
 * Returns the stored and the folded form of a new user name.
 * @throws BusinessError "400" `iam.username-invalid`, `iam.username-mixed-script`
 */
export function usernameForms(text: string): { readonly username: string; readonly usernameKey: string } {
  const username = text.trim().normalize('NFKC')
  if (!usernamePattern.test(username)) throw businessError('username-invalid', { data: { field: 'username' } })
  if (!isOfOneScript(username)) throw businessError('username-mixed-script', { data: { field: 'username' } })
  return { username, usernameKey: foldText(username) }
}

/** Returns the stored and the folded form of an e-mail address, or `undefined` if it is invalid. */
export function emailForm(text: string): { readonly email: string; readonly emailKey: string } | undefined {
  const email = text.trim()
  return email.length <= 254 && emailPattern.test(email) ? { email, emailKey: fold(email) } : undefined
}

/** Like `emailForm`, but an empty text becomes null. Throws "400" `iam.email-invalid`. */
export function emailForms(text: string | null): { readonly email: string | null; readonly emailKey: string | null } {
  if (text === null || text.trim() === '') return { email: null, emailKey: null }
  const forms = emailForm(text)
  if (forms === undefined) throw businessError('email-invalid', { data: { field: 'email' } })
  return forms
}

const separators = /[\s().-]/g

/**
 * Returns a mobile number in E.164 format if it has a country code, else its digits. An empty text becomes null. Throws
 * "400" `iam.mobile-invalid`.
 */
export function mobileForm(text: string | null): string | null {
  const digits = text?.replace(separators, '') ?? ''
  if (digits === '') return null
  const mobile = digits.startsWith('+') || digits.startsWith('00') ? mobileNumber(digits) : digits
  if (mobile === undefined || !mobilePattern.test(mobile)) {
    throw businessError('mobile-invalid', { data: { field: 'mobile' } })
  }
  return mobile
}

/** Returns the search key for the identifier of a login form, or `undefined` if no account can have it. */
export function loginKey(
  identifier: string,
): { readonly usernameKey: string } | { readonly emailKey: string } | undefined {
  const text = identifier.trim()
  if (text.includes('@')) {
    const forms = emailForm(text)
    return forms && { emailKey: forms.emailKey }
  }
  const username = text.normalize('NFKC')
  return usernamePattern.test(username) ? { usernameKey: foldText(username) } : undefined
}

/**
 * Returns the identifier of a login form in folded form, so that different spellings of one account are equal. The
 * account need not exist.
 */
export function foldedIdentifier(identifier: string): string {
  return foldText(identifier.trim())
}

/**
 * Returns only the first character. This helps to recognise a typing error and does not reveal a password that was
 * typed here.
 */
export function masked(identifier: string): string {
  const [first] = identifier.trim()
  return first === undefined ? '' : `${/\p{Cc}|\p{Cs}/u.test(first) ? '?' : first}***`
}
