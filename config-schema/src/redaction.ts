import { unescape as unescapePercent } from 'node:querystring'
import { maskedValue } from './value.ts'

/** Shorter secrets would mask ordinary words. */
const shortestMasked = 4

/** Masks secrets by value in a text, also where JSON, a URL or base64 changed how they look. */
export function redact(text: string, secrets: Iterable<string>): string {
  return redactor(secrets)(text)
}

/** Every secret that was seen so far, and the mask over them: one that was replaced may still be in use. */
export class Secrets {
  readonly #texts = new Set<string>()
  #redact: ((text: string) => string) | undefined

  /** Takes in the value of a sensitive key, in written form. */
  add(value: unknown): void {
    for (const text of secretTexts(value)) this.#texts.add(text)
    this.#redact = undefined
  }

  texts(): readonly string[] {
    return [...this.#texts]
  }

  /** Masks all of them by value. */
  redact(text: string): string {
    this.#redact ??= redactor(this.#texts)
    return this.#redact(text)
  }
}

/** `redact` for one set of secrets, made ready once for many texts. */
function redactor(secrets: Iterable<string>): (text: string) => string {
  const forms = new Set([...secrets].filter(({ length }) => length >= shortestMasked).flatMap(formsOf))
  if (forms.size === 0) return (text) => text
  // The longest first: a secret may be the beginning of another.
  const ordered = [...forms].sort((a, b) => b.length - a.length)
  const pattern = new RegExp(ordered.map((form) => form.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'g')
  return (text) => text.replace(pattern, maskedValue)
}

function formsOf(secret: string): string[] {
  const escaped = JSON.stringify(secret).slice(1, -1)
  const inJsonText = JSON.stringify(escaped).slice(1, -1)
  const bytes = Buffer.from(secret)
  // Three bytes make four digits of base64, so within other bytes there are three ways to stand; the first and the last
  // digit may hold bits of a neighbour.
  const within = [0, 1, 2].map((before) => {
    const digits = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    return digits.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
  })
  return [secret, escaped, inJsonText, encodeURIComponent(secret.toWellFormed()), bytes.toString('base64'), ...within]
}

/** Masks secrets in the message and the stack of an error and of its causes, in place: the error stays what it is. */
export function redactError(error: unknown, mask: (text: string) => string, seen = new Set<unknown>()): void {
  if (!(error instanceof Error) || seen.has(error)) return
  seen.add(error)
  for (const member of ['message', 'stack'] as const) {
    // Reflect.set leaves a frozen error alone instead of failing.
    if (typeof error[member] === 'string') Reflect.set(error, member, mask(error[member]))
  }
  for (const part of [error.cause, ...((error as AggregateError).errors ?? [])]) redactError(part, mask, seen)
}

/** Every text in a secret value that must not be seen: its strings and numbers, and the password in a URL. */
function secretTexts(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(secretTexts)
  if (typeof value !== 'string' && typeof value !== 'number') return []
  const password = URL.parse(String(value))?.password ?? ''
  return [String(value), password, unescapePercent(password)]
}
