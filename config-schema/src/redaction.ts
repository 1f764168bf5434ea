import { unescape as unescapePercent } from 'node:querystring'
import { mergePlaces, minIndexedLength, TextIndex } from './text-index.ts'
import { maskedValue } from './value.ts'

/** Replaces a text that could not be searched for secrets, such as one longer than `maxSearchedLength`. */
export const withheldText = '[withheld: this text could not be searched for secrets]'

/** Maximum UTF-16 units of a searched text: 8 Mi. A longer search would block the process. */
export const maxSearchedLength = 2 ** 23

/** Masks secrets by value in a text, like `Secrets.redact`. Never throws. */
export const redact = (text: string, secrets: Iterable<unknown>): string => new Secrets().redact(text, secrets)

/**
 * Recognises and masks every secret seen so far, because a replaced secret may still be in use. Stores only
 * fingerprints of the written forms, about a kilobyte for each secret.
 */
export class Secrets {
  readonly #forms = new TextIndex()
  /** The secrets themselves, to skip known ones. */
  readonly #known = new TextIndex()

  /**
   * Adds the value of a sensitive key, in written form. Texts of fewer than four characters are ignored: they would
   * mask ordinary words.
   */
  add(value: unknown): void {
    this.#add(value, Number.POSITIVE_INFINITY)
  }

  #add(value: unknown, longest: number): void {
    for (const text of secretTexts(value)) {
      if (text.length < minIndexedLength || text.length > longest || this.#known.has(text)) continue
      this.#known.add(text)
      for (const form of formsOf(text)) if (form.length >= minIndexedLength) this.#forms.add(form)
    }
  }

  /**
   * Masks all secrets by value, also in the forms of JSON, URLs and base64. The time depends only on the length of the
   * text. Never throws: a text that cannot be searched is withheld completely.
   *
   * @param more values that are secret in this text only, such as a proposed value that is not in use
   */
  redact(text: string, more: Iterable<unknown> = []): string {
    try {
      if (text.length > maxSearchedLength) return withheldText
      let own: Secrets | undefined
      for (const value of more) {
        own ??= new Secrets()
        // No written form is shorter than the secret, so a secret longer than the text cannot be in it.
        own.#add(value, text.length)
      }
      const places = this.#forms.find(text)
      return masked(text, own === undefined ? places : mergePlaces(places, own.#forms.find(text)))
    } catch {
      return withheldText
    }
  }
}

function masked(text: string, places: readonly number[]): string {
  if (places.length === 0) return text
  const parts: string[] = []
  let end = 0
  for (let at = 0; at < places.length; at += 2) {
    parts.push(text.slice(end, places[at]), maskedValue)
    end = places[at + 1] ?? 0
  }
  return parts.join('') + text.slice(end)
}

/**
 * Returns the possible written forms of a secret: unchanged, in JSON, in JSON within JSON, in a URL, in a form, in
 * base64 and base64url, as part of other bytes (`user:secret`), and base64 in a URL.
 */
function formsOf(secret: string): Set<string> {
  const escaped = JSON.stringify(secret).slice(1, -1)
  const inJsonText = JSON.stringify(escaped).slice(1, -1)
  const wellFormed = secret.toWellFormed()
  const inForm = new URLSearchParams([['', wellFormed]]).toString().slice(1)
  const bytes = Buffer.from(secret)
  // Three bytes are four digits of base64, so there are three alignments within other bytes. The first and the last
  // digit may contain bits of a neighbour.
  const within = [0, 1, 2].map((before) => {
    const digits = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    return digits.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
  })
  const inUrl = encodeURIComponent(wellFormed)
  const inBase64 = [bytes.toString('base64'), ...within]
  return new Set([
    secret,
    escaped,
    inJsonText,
    escaped.replaceAll('/', '\\/'),
    inUrl,
    inForm,
    lowerHex(inUrl),
    lowerHex(inForm),
    ...inBase64.flatMap((digits) => [
      digits,
      digits.replaceAll('+', '-').replaceAll('/', '_'),
      encodeURIComponent(digits),
    ]),
  ])
}

/** Some libraries write the digits of `%2F` in lower case. */
const lowerHex = (text: string) => text.replace(/%[0-9A-F]{2}/g, (digits) => digits.toLowerCase())

/** Masks secrets in the message and the stack of an error and of its causes, in place. */
export function redactError(error: unknown, mask: (text: string) => string): void {
  const seen = new Set<unknown>()
  const waiting = [error]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (!(next instanceof Error) || seen.has(next)) continue
    seen.add(next)
    for (const member of ['message', 'stack'] as const) maskMember(next, member, mask)
    waiting.push(memberOf(next, 'cause'))
    const errors = memberOf(next, 'errors')
    if (Array.isArray(errors)) for (const each of errors) waiting.push(each)
  }
}

/** Reflect.set leaves a frozen error unchanged and does not throw. */
function maskMember(error: Error, member: 'message' | 'stack', mask: (text: string) => string): void {
  const text = memberOf(error, member)
  try {
    if (typeof text === 'string') Reflect.set(error, member, mask(text))
  } catch {
    // A setter that throws leaves its value unchanged.
  }
}

function memberOf(error: Error, member: string): unknown {
  try {
    return Reflect.get(error, member)
  } catch {
    return undefined
  }
}

/** Returns every text of a secret value to mask: its strings and numbers, and the password in a URL. */
function secretTexts(value: unknown): string[] {
  const texts: string[] = []
  const seen = new Set<object>()
  const waiting = [value]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next === 'object' && next !== null) {
      if (!seen.has(next)) for (const part of Object.values(next)) waiting.push(part)
      seen.add(next)
    } else if (typeof next === 'string' || typeof next === 'number') {
      const password = URL.parse(String(next))?.password ?? ''
      texts.push(String(next), password, unescapePercent(password))
    }
  }
  return texts
}
