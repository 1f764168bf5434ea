import { createRequire } from 'node:module'
import { foldText } from '@plinth/database'
import type * as phoneNumbers from 'libphonenumber-js/min'
import { refusal } from '../failures.ts'

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

/** Scripts that are written together count as one (UTS 39, 5.1): Japanese, Korean, Chinese with its phonetic signs. */
const together = [
  ['Han', 'Hiragana', 'Katakana'],
  ['Han', 'Hangul'],
  ['Han', 'Bopomofo'],
]

/** Letters of these scripts, the digits 0 to 9, and the marks that user names may have. */
const writtenIn = (scripts: readonly string[]) =>
  new RegExp(`^[[[${scripts.map((script) => `\\p{scx=${script}}`).join('')}]&&\\p{L}]0-9_.\\-]+$`, 'v')

let writings: readonly RegExp[] | undefined
/** Made for the first name that is checked: it takes 7 ms, which is no part of a start. */
const allWritings = () => {
  writings ??= [...together, ...recommended.map((script) => [script])].map(writtenIn)
  return writings
}

/**
 * Whether a name keeps to one script ("single script" of UTS 39, 5.2), so that no letter of another one can stand for a
 * look-alike: of `admin` with a Cyrillic `а` nobody sees that it is not `admin`. Digits other than 0 to 9 are of no script.
 */
const isOfOneScript = (name: string): boolean => allWritings().some((writing) => writing.test(name))

const load = createRequire(import.meta.url)
let library: typeof phoneNumbers | undefined

/** Loaded with the first number: its rules of all countries cost a process 65 ms. */
function numbers(): typeof phoneNumbers {
  const loaded: typeof phoneNumbers = library ?? load('libphonenumber-js/min')
  library = loaded
  return loaded
}

const mobileSeparators = /[\s().-]/g
const written = /^(?:\+|00)?\d{5,15}$/

/**
 * The one form of a mobile number, E.164: `+8613800000001` for `+86 138-0000-0001`, `0086138...`, `+86 (0) 138...` and, with
 * the country `CN`, also for `86138...` and `138...`. `undefined` for what can be no telephone number.
 *
 * @param country ISO 3166 code of numbers without a country code; without one they are none
 */
export function mobileNumber(text: string, country?: string): string | undefined {
  const bare = text.replace(mobileSeparators, '')
  if (!written.test(bare)) return undefined
  const { isSupportedCountry, parsePhoneNumberFromString } = numbers()
  const defaultCountry = country !== undefined && isSupportedCountry(country) ? { defaultCountry: country } : {}
  // What a caller dials abroad with differs from country to country; written, it is `00`.
  const number = parsePhoneNumberFromString(bare.replace(/^00/, '+'), { extract: false, ...defaultCountry })
  return number?.isPossible() ? number.number : undefined
}

/** The calling code of a number in E.164 (ITU-T E.164, annex D), such as `86`; `undefined` for a code that no country has. */
export const callingCodeOf = (number: string): string | undefined =>
  numbers().parsePhoneNumberFromString(number)?.countryCallingCode

/** No `@`: what holds one is an e-mail address, so that one field of the login form takes both. */
const usernamePattern = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]{1,63}$/u
/** No quotes and comments: `"a"@b.c` and `a@b.c` are one mailbox. */
const emailPattern =
  /^(?=.{1,64}@)[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/i
const mobilePattern = /^\+?\d{5,15}$/

const fold = (text: string) => text.normalize('NFKC').toLowerCase()

/**
 * The stored and the folded form of a new user name.
 *
 * @throws BusinessError "400" `iam.username-invalid`, `iam.username-mixed-script`
 */
export function usernameForms(text: string): { readonly username: string; readonly usernameKey: string } {
  const username = text.trim().normalize('NFKC')
  if (!usernamePattern.test(username)) throw refusal('username-invalid', { data: { field: 'username' } })
  if (!isOfOneScript(username)) throw refusal('username-mixed-script', { data: { field: 'username' } })
  return { username, usernameKey: foldText(username) }
}

/** The stored and the folded form of an e-mail address; `undefined` when it is none. */
export function emailForm(text: string): { readonly email: string; readonly emailKey: string } | undefined {
  const email = text.trim()
  return email.length <= 254 && emailPattern.test(email) ? { email, emailKey: fold(email) } : undefined
}

/** As `emailForm`; nothing stays nothing. Throws "400" `iam.email-invalid`. */
export function emailForms(text: string | null): { readonly email: string | null; readonly emailKey: string | null } {
  if (text === null || text.trim() === '') return { email: null, emailKey: null }
  const forms = emailForm(text)
  if (forms === undefined) throw refusal('email-invalid', { data: { field: 'email' } })
  return forms
}

const separators = /[\s().-]/g

/**
 * A mobile number in E.164 where it is written with its country code, else its digits; nothing stays nothing. Throws "400"
 * `iam.mobile-invalid`.
 */
export function mobileForm(text: string | null): string | null {
  const digits = text?.replace(separators, '') ?? ''
  if (digits === '') return null
  const mobile = digits.startsWith('+') || digits.startsWith('00') ? mobileNumber(digits) : digits
  if (mobile === undefined || !mobilePattern.test(mobile)) {
    throw refusal('mobile-invalid', { data: { field: 'mobile' } })
  }
  return mobile
}

/** What a login form holds, as the key to look for; `undefined` when no account can have it. */
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

/** What a login form holds, in the form in which spellings of one account are equal, whether there is such an account or not. */
export function foldedIdentifier(identifier: string): string {
  return foldText(identifier.trim())
}

/** The first character alone: enough to recognise a typing mistake, useless if a password was typed here. */
export function masked(identifier: string): string {
  const [first] = identifier.trim()
  return first === undefined ? '' : `${/\p{Cc}|\p{Cs}/u.test(first) ? '?' : first}***`
}
