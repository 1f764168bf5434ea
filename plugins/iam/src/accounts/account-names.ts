import { createRequire } from 'node:module'
import { foldText } from '@plinth/database'
import type * as phoneNumbers from 'libphonenumber-js/min'
import { businessError } from '../declarations.ts'

/** Scripts that Unicode UAX 31, table 5, recommends for identifiers. */
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

/** Groups of scripts that count as one script (Unicode UTS 39, 5.1): Japanese, Korean, and Chinese with Bopomofo. */
const scriptGroups = [
  ['Han', 'Hiragana', 'Katakana'],
  ['Han', 'Hangul'],
  ['Han', 'Bopomofo'],
]

/** Returns a pattern that matches letters of these scripts, the digits 0 to 9, and `_`, `.` and `-`. */
const patternOf = (scripts: readonly string[]) =>
  new RegExp(`^[[[${scripts.map((script) => `\\p{scx=${script}}`).join('')}]&&\\p{L}]0-9_.\\-]+$`, 'v')

let namePatterns: readonly RegExp[] | undefined
/**
 * Returns one pattern per script or group of scripts. The patterns are compiled for the first name that is checked,
 * because compiling them takes 7 ms.
 */
const allNamePatterns = () => {
  namePatterns ??= [...scriptGroups, ...recommended.map((script) => [script])].map(patternOf)
  return namePatterns
}

/**
 * Returns whether a name uses only one script (Unicode UTS 39, 5.2). Otherwise a name could imitate another name, for
 * example `admin` with a Cyrillic `а`. Digits other than 0 to 9 are not allowed.
 */
const isOfOneScript = (name: string): boolean => allNamePatterns().some((pattern) => pattern.test(name))

const load = createRequire(import.meta.url)
let library: typeof phoneNumbers | undefined

/** Loads the phone number library for the first number, because loading the rules of all countries takes 65 ms. */
function phoneLibrary(): typeof phoneNumbers {
  const loaded: typeof phoneNumbers = library ?? load('libphonenumber-js/min')
  library = loaded
  return loaded
}

const mobileSeparators = /[\s().-]/g
const phoneDigits = /^(?:\+|00)?\d{5,15}$/

/**
 * Returns a mobile number in E.164 format, or `undefined` for an impossible number. For example, returns
 * `+8613800000001` for `+86 138-0000-0001`, `0086138...`, `+86 (0) 138...` and, with the country `CN`, also for
 * `86138...` and `138...`.
 *
 * @param country ISO 3166 code for numbers without a calling code; without it, these numbers are invalid
 */
export function normalizeMobileNumber(text: string, country?: string): string | undefined {
  const bare = text.replace(mobileSeparators, '')
  if (!phoneDigits.test(bare)) return undefined
  const { isSupportedCountry, parsePhoneNumberFromString } = phoneLibrary()
  const defaultCountry = country !== undefined && isSupportedCountry(country) ? { defaultCountry: country } : {}
  // Each country has its own prefix for international calls. `00` is the most usual one, so it is treated like `+`.
  const number = parsePhoneNumberFromString(bare.replace(/^00/, '+'), { extract: false, ...defaultCountry })
  return number?.isPossible() ? number.number : undefined
}

/**
 * Returns the calling code of a number in E.164 format (ITU-T E.164, annex D), for example `86`. Returns `undefined`
 * for an unknown calling code.
 */
export const callingCodeOf = (number: string): string | undefined =>
  phoneLibrary().parsePhoneNumberFromString(number)?.countryCallingCode

/** A user name must not contain `@`, so that one field of the login form can accept user names and e-mail addresses. */
const usernamePattern = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]{1,63}$/u
/** An address must not contain quotes or comments, because `"a"@b.c` and `a@b.c` are the same mailbox. */
const emailPattern =
  /^(?=.{1,64}@)[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/i
const mobilePattern = /^\+?\d{5,15}$/

const fold = (text: string) => text.normalize('NFKC').toLowerCase()

/**
 * Returns a new user name as it is stored, and its folded form for comparisons.
 *
 * @throws BusinessError "400" `iam.username-invalid`, `iam.username-mixed-script`
 */
export function normalizeUsername(text: string): { readonly username: string; readonly usernameKey: string } {
  const username = text.trim().normalize('NFKC')
  if (!usernamePattern.test(username)) throw businessError('username-invalid', { data: { field: 'username' } })
  if (!isOfOneScript(username)) throw businessError('username-mixed-script', { data: { field: 'username' } })
  return { username, usernameKey: foldText(username) }
}

/**
 * Returns an e-mail address as it is stored, and its folded form for comparisons. Returns `undefined` for an invalid
 * address.
 */
export function normalizeEmail(text: string): { readonly email: string; readonly emailKey: string } | undefined {
  const email = text.trim()
  return email.length <= 254 && emailPattern.test(email) ? { email, emailKey: fold(email) } : undefined
}

/**
 * Like `normalizeEmail`, but returns null for an empty text.
 *
 * @throws BusinessError "400" `iam.email-invalid`
 */
export function normalizeOptionalEmail(text: string | null): {
  readonly email: string | null
  readonly emailKey: string | null
} {
  if (text === null || text.trim() === '') return { email: null, emailKey: null }
  const forms = normalizeEmail(text)
  if (forms === undefined) throw businessError('email-invalid', { data: { field: 'email' } })
  return forms
}

const separators = /[\s().-]/g

/**
 * Returns a mobile number in E.164 format if it has a calling code. Otherwise returns its digits. Returns null for an
 * empty text.
 *
 * @throws BusinessError "400" `iam.mobile-invalid`
 */
export function normalizeOptionalMobile(text: string | null): string | null {
  const digits = text?.replace(separators, '') ?? ''
  if (digits === '') return null
  const mobile = digits.startsWith('+') || digits.startsWith('00') ? normalizeMobileNumber(digits) : digits
  if (mobile === undefined || !mobilePattern.test(mobile)) {
    throw businessError('mobile-invalid', { data: { field: 'mobile' } })
  }
  return mobile
}

/**
 * Returns the column and the folded value to find the account of a login, or `undefined` if the text is neither a valid
 * user name nor a valid e-mail address.
 */
export function loginLookupOf(
  identifier: string,
): { readonly usernameKey: string } | { readonly emailKey: string } | undefined {
  const text = identifier.trim()
  if (text.includes('@')) {
    const forms = normalizeEmail(text)
    return forms && { emailKey: forms.emailKey }
  }
  const username = text.normalize('NFKC')
  return usernamePattern.test(username) ? { usernameKey: foldText(username) } : undefined
}

/**
 * Returns the text of a login form in folded form, so that all spellings of one account name are equal. The account
 * need not exist.
 */
export function foldIdentifier(identifier: string): string {
  return foldText(identifier.trim())
}

/**
 * Returns only the first character. This character is enough to recognise a typing error, but does not reveal a
 * password that was typed into the wrong field.
 */
export function maskIdentifier(identifier: string): string {
  const [first] = identifier.trim()
  return first === undefined ? '' : `${/\p{Cc}|\p{Cs}/u.test(first) ? '?' : first}***`
}
