import { foldText } from '@plinth/database'
import { refusal } from '../failures.ts'
import { mobileNumber } from './mobile-number.ts'
import { isOfOneScript } from './scripts.ts'

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
