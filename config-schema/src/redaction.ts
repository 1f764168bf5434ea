import { unescape as unescapePercent } from 'node:querystring'
import { mergePositions, minIndexedLength, TextIndex } from './text-index.ts'
import { maskedValue } from './value.ts'

/**
 * Replacement for a text that could not be searched for secrets, for example because it is longer than
 * `maxRedactableLength`.
 */
export const unsearchableTextNotice = '[withheld: this text could not be searched for secrets]'

/** Maximum length of a searched text in UTF-16 units (8 Mi). The search of a longer text would block the process. */
export const maxRedactableLength = 2 ** 23

/** Masks the given secrets in a text. Never throws. */
export const redact = (text: string, secrets: Iterable<unknown>): string => new Secrets().redact(text, secrets)

/**
 * Finds and masks all secrets that were ever added. Secrets are never removed, because an old secret may still be in
 * use after it was replaced. Only fingerprints are stored, about one kilobyte for each secret.
 */
export class Secrets {
  readonly #forms = new TextIndex()
  /** The secrets without their other written forms, to skip secrets that were already added. */
  readonly #known = new TextIndex()

  /**
   * Adds the written value of a sensitive key. Texts of fewer than four characters are ignored, because they would also
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
   * Masks all added secrets in a text, also where they are encoded for JSON, URLs or base64. The time depends only on
   * the length of the text. Never throws: if the search fails, the whole text is replaced by `unsearchableTextNotice`.
   *
   * @param more additional secrets for this text only, such as a proposed value that is not yet in use
   */
  redact(text: string, more: Iterable<unknown> = []): string {
    try {
      if (text.length > maxRedactableLength) return unsearchableTextNotice
      let own: Secrets | undefined
      for (const value of more) {
        own ??= new Secrets()
        // Encoding never shortens a secret. Therefore a secret that is longer than the text cannot occur in it.
        own.#add(value, text.length)
      }
      const places = this.#forms.find(text)
      return masked(text, own === undefined ? places : mergePositions(places, own.#forms.find(text)))
    } catch {
      return unsearchableTextNotice
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
 * Returns all forms in which a secret may be written: unchanged, in JSON, in JSON inside JSON, in a URL, in an HTML
 * form, in base64 and base64url, inside other bytes that are encoded in base64 (`user:secret`), and in base64 inside a
 * URL.
 */
function formsOf(secret: string): Set<string> {
  const escaped = JSON.stringify(secret).slice(1, -1)
  const inJsonText = JSON.stringify(escaped).slice(1, -1)
  const wellFormed = secret.toWellFormed()
  const inForm = new URLSearchParams([['', wellFormed]]).toString().slice(1)
  const bytes = Buffer.from(secret)
  // Base64 encodes three bytes as four characters, so a secret inside other bytes has three possible alignments. The
  // first and the last character are omitted, because they may also encode bits of the bytes around the secret.
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

/** Converts percent-encoding to lower case, for example `%2F` to `%2f`, because some libraries write it in this way. */
const lowerHex = (text: string) => text.replace(/%[0-9A-F]{2}/g, (digits) => digits.toLowerCase())

/** Masks secrets in the message and the stack of an error and of all its causes. Changes the errors themselves. */
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

/**
 * Masks secrets in one text of an error. If the error is frozen, `Reflect.set` does not throw, and the text stays
 * unchanged.
 */
function maskMember(error: Error, member: 'message' | 'stack', mask: (text: string) => string): void {
  const text = memberOf(error, member)
  try {
    if (typeof text === 'string') Reflect.set(error, member, mask(text))
  } catch {
    // A setter may throw. The text then stays unchanged.
  }
}

function memberOf(error: Error, member: string): unknown {
  try {
    return Reflect.get(error, member)
  } catch {
    return undefined
  }
}

/** Returns all texts of a secret value that must be masked: its strings and numbers, and the password of a URL. */
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
