import { createRequire } from 'node:module'
import type { parsePhoneNumberFromString } from 'libphonenumber-js/min'

type Parse = typeof parsePhoneNumberFromString
type Country =
  NonNullable<Parameters<Parse>[1]> extends infer O ? Extract<O, { defaultCountry?: unknown }>['defaultCountry'] : never

const load = createRequire(import.meta.url)
let parser: Parse | undefined

/** Loaded with the first number: its rules of all countries cost a process 65 ms. */
function parse(): Parse {
  parser ??= (load('libphonenumber-js/min') as { parsePhoneNumberFromString: Parse }).parsePhoneNumberFromString
  return parser
}

const separators = /[\s().-]/g
const written = /^(?:\+|00)?\d{5,15}$/

/**
 * The one form of a mobile number, E.164: `+8613800000001` for `+86 138-0000-0001`, `0086138...`, `+86 (0) 138...` and, with
 * the country `CN`, also for `86138...` and `138...`. `undefined` for what can be no telephone number.
 *
 * @param country ISO 3166 code of numbers without a country code; without one they are none
 */
export function mobileNumber(text: string, country?: string): string | undefined {
  const bare = text.replace(separators, '')
  if (!written.test(bare)) return undefined
  const options = { extract: false, ...(country ? { defaultCountry: country as Country } : {}) }
  // What a caller dials abroad with differs from country to country; written, it is `00`.
  const number = parse()(bare.replace(/^00/, '+'), options as Parameters<Parse>[1])
  return number?.isPossible() ? number.number : undefined
}

/** The calling code of a number in E.164 (ITU-T E.164, annex D), such as `86`; `undefined` for a code that no country has. */
export const callingCodeOf = (number: string): string | undefined => parse()(number)?.countryCallingCode
