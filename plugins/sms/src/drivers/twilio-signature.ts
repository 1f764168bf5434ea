import { createHmac, timingSafeEqual } from 'node:crypto'

/** Signature of a call of Twilio (Twilio, "Validating requests"): the URL, then names and values in the order of the names. */
export function twilioSignature(token: string, url: string, params: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(params)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => name + value)
  return createHmac('sha1', token)
    .update(url + pairs.join(''))
    .digest('base64')
}

/** Compares in constant time. */
export function isTwilioSignature(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
