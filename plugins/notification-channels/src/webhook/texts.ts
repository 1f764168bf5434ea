import type { TextRange } from '@plinth/kernel'
import { valueAtPath } from '@plinth/outgoing-http'
import { lineControls } from '../message-text.ts'
import type { WebhookMessageType, WebhookPlainText, WebhookTextLimit } from './contract.ts'

/** A text with ranges that must be shown literally. */
interface SourceText {
  readonly text: string
  /** Ranges in ascending order, without overlaps. */
  readonly ranges: readonly TextRange[]
}

const controls = /[^\P{Cc}\t\n\r]/gu

/** Removes control characters, because no service shows them and some reject them. Tabs and line ends remain. */
export const cleanText = (source: SourceText): SourceText => replaced(source, controls, '')

export const cleanLine = (source: SourceText): SourceText => replaced(source, lineControls, ' ')

export const wholeTextRange: readonly TextRange[] = [[0, Number.POSITIVE_INFINITY]]

/** Returns a text that is shown literally, for providers that insert it into their own markup. */
export const asPlainText = (text: string, plain: WebhookPlainText): string =>
  escapeRanges({ text, ranges: wholeTextRange }, plain)

/**
 * Matches a web address and what follows it without a space: ASCII except `"`, `<`, `>`, `|` and the backtick, and
 * other characters except punctuation.
 */
const addressStart = /(?<![a-z\d+.\-])https?:\/\/[[!-~\p{L}\p{M}\p{N}\p{S}]--["<>\|`]]+/giv

/**
 * Returns the length of the address at the start of a text. Brackets are part of it only in pairs, and never `](`,
 * because this would give a link another text. A backslash at the end is not part of it.
 */
function addressLength(text: string): number {
  const open = { ')': 0, ']': 0 }
  let end = 0
  for (; end < text.length; end++) {
    const character = text[end]
    if (character === '(') open[')']++
    else if (character === '[') open[']']++
    else if (character === ')' || character === ']') {
      if (--open[character] < 0 || text.startsWith('](', end)) break
    }
  }
  while (text[end - 1] === '\\') end--
  return end
}

/** Returns the ranges of the web addresses in a text. */
const addressRanges = (text: string): readonly TextRange[] =>
  Array.from(text.matchAll(addressStart), ({ 0: found, index }) => [index, index + addressLength(found)])

/**
 * Returns a mark as it is written inside a web address. The address stays the same: unreserved characters are
 * percent-encoded (RFC 3986, 6.2.2.2), and `@`, which would mention a user. Other characters are returned unchanged.
 */
export const percentEncodedMark = (mark: string): string =>
  /^[-._~@]$/.test(mark) ? `%${mark.charCodeAt(0).toString(16).toUpperCase()}` : mark

/**
 * Returns a text in which tokens that touch a range are shown literally; other tokens remain markup. The last range may
 * end after the text.
 */
export function escapeRanges({ text, ranges }: SourceText, { tokens, show, inAddress }: WebhookPlainText): string {
  if (ranges.length === 0) return text
  const addresses = inAddress === undefined ? [] : addressRanges(text)
  let [shown, end, next, address] = ['', 0, 0, 0]
  for (const { 0: token, index } of text.matchAll(tokens)) {
    while ((ranges[next]?.[1] ?? Number.POSITIVE_INFINITY) <= index) next++
    while ((addresses[address]?.[1] ?? Number.POSITIVE_INFINITY) <= index) address++
    const start = ranges[next]?.[0]
    if (start === undefined) break
    if (start >= index + Math.max(1, token.length)) continue
    const isInAddress = index > (addresses[address]?.[0] ?? Number.POSITIVE_INFINITY)
    const literal = isInAddress ? inAddress?.(token) : undefined
    shown += text.slice(end, index) + (literal ?? show(token, text.slice(0, index)))
    end = index + token.length
  }
  return shown + text.slice(end)
}

function replaced({ text, ranges }: SourceText, pattern: RegExp, by: string): SourceText {
  const bounds = ranges.flat()
  const moved: number[] = []
  let [out, end] = ['', 0]
  const moveTo = (place: number) => {
    for (let bound = bounds[moved.length]; bound !== undefined && bound <= place; bound = bounds[moved.length]) {
      moved.push(out.length + bound - end)
    }
  }
  for (const { 0: found, index } of text.matchAll(pattern)) {
    moveTo(index)
    out += text.slice(end, index)
    end = index
    out += by
    const behind = index + found.length
    // If a bound is inside a match, it moves to the end of the match.
    for (let bound = bounds[moved.length]; bound !== undefined && bound < behind; bound = bounds[moved.length]) {
      moved.push(out.length)
    }
    end = behind
  }
  if (end === 0) return { text, ranges }
  moveTo(Number.POSITIVE_INFINITY)
  const pairs = ranges.map((_, index): TextRange => [moved[2 * index] ?? 0, moved[2 * index + 1] ?? 0])
  return { text: out + text.slice(end), ranges: pairs.filter(([start, stop]) => start < stop) }
}

type Unit = WebhookTextLimit['unit']

export function measureText(text: string, unit: Unit): number {
  if (unit === 'utf16') return text.length
  if (unit === 'bytes') return Buffer.byteLength(text)
  let count = 0
  for (const _ of text) count++
  return count
}

/** Splits a text into graphemes. It is created on first use, because this takes 10 ms. */
let graphemes: Intl.Segmenter | undefined
const ellipsis = '…'

/** Returns a function that maps a UTF-16 index to the start of its grapheme; 0 outside the text. */
export function graphemeStarts(text: string): (index: number) => number {
  graphemes ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  const segments = graphemes.segment(text)
  return (index) => segments.containing(index)?.index ?? 0
}

/** Returns a function that maps a UTF-16 index to the start of its code point. */
const codePointStarts = (text: string) => (index: number) => {
  const unit = text.charCodeAt(index)
  return index > 0 && unit >= 0xdc00 && unit <= 0xdfff ? index - 1 : index
}

/**
 * Returns the text if it fits, or else its longest beginning that fits together with an ellipsis. Cuts between
 * graphemes or, if not even the first fits, between code points. Empty if no code point fits.
 *
 * @param most number of UTF-16 units above which a text never fits
 */
export function truncateToFit(text: string, most: number, fits: (candidate: string) => boolean): string {
  if (text.length <= most && fits(text)) return text
  // One unit more than the limit shows whether the last grapheme continues after it.
  const beginning = text.slice(0, most + 1)
  const cutAt = (startOf: (index: number) => number): string => {
    const cut = (index: number) => (index === 0 ? '' : `${beginning.slice(0, index)}${ellipsis}`)
    let [low, high] = [0, Math.max(0, beginning.length - 1)]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (fits(cut(startOf(middle)))) low = middle
      else high = middle - 1
    }
    return cut(startOf(low))
  }
  return cutAt(graphemeStarts(beginning)) || cutAt(codePointStarts(beginning))
}

interface Fitted<Body> {
  readonly body: Body
  readonly truncated: boolean
}

/** Upper limit for every unit: a code point has at most two UTF-16 units, and each takes at least one byte. */
const maxInputLength = ({ max }: WebhookTextLimit) => 2 * max

const takes =
  ({ max, unit, member }: WebhookTextLimit) =>
  (body: object): boolean =>
    measureText(member === undefined ? JSON.stringify(body) : String(valueAtPath(body, member) ?? ''), unit) <= max

/** Builds a body with as much of the content as fits. If none of it fits, the subject is shortened too. */
export function buildFittingBody<Body extends object>(
  build: (subject: string, content: string) => Body,
  { subject, content }: { readonly subject: string; readonly content: string },
  { limit, subjectLimit, payloadLimit }: Pick<WebhookMessageType, 'limit' | 'subjectLimit' | 'payloadLimit'>,
): Fitted<Body> {
  const title =
    subjectLimit === undefined
      ? subject
      : truncateToFit(subject, maxInputLength(subjectLimit), (text) => takes(subjectLimit)(build(text, '')))
  const whole = () => build(title, content)
  const ofPayload = payloadLimit === undefined ? [] : [{ max: payloadLimit, unit: 'bytes' } as const]
  const limits: readonly WebhookTextLimit[] = limit === undefined ? ofPayload : [limit, ...ofPayload]
  if (limits.length === 0) return { body: whole(), truncated: title !== subject }
  const fits = (body: Body) => limits.every((one) => takes(one)(body))
  const most = Math.min(...limits.map(maxInputLength))
  if (content.length <= most) {
    const body = whole()
    if (fits(body)) return { body, truncated: title !== subject }
  }
  const shortened = truncateToFit(content, most, (text) => fits(build(title, text)))
  const body = build(title, shortened)
  if (fits(body)) return { body, truncated: true }
  const shortTitle = truncateToFit(title, most, (text) => fits(build(text, '')))
  return { body: build(shortTitle, ''), truncated: true }
}
