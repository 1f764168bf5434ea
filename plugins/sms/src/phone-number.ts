const separators = /[\s().-]/g
const international = /^\+[1-9]\d{4,14}$/

/**
 * A telephone number in E.164 (ITU-T E.164, at most 15 digits): `+8613800138000` also for `0086 138-0013-8000` and, with the
 * country code 86, for `13800138000`. `undefined` for what can be none.
 *
 * @param countryCode digits of the country whose numbers are written without one; empty: there is none
 */
export function internationalNumber(text: string, countryCode: string): string | undefined {
  const bare = text.replace(separators, '').replace(/^00/, '+')
  const whole = bare.startsWith('+') ? bare : countryCode === '' ? '' : `+${countryCode}${bare}`
  return international.test(whole) ? whole : undefined
}
