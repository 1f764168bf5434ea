import type { TextRange } from '@plinth/kernel'
import type { WebhookPlainText } from './contract.ts'

/** A text, and the parts of it that are shown as they are written. */
interface SourceText {
  readonly text: string
  /** In ascending order; they do not overlap. */
  readonly ranges: readonly TextRange[]
}

const controls = /[^\P{Cc}\t\n\r]/gu
const lineControls = /[\p{Cc}\u2028\u2029]+/gu

/** Without control characters but tabs and line ends: no service shows them, and some reject them. */
export const cleanText = (source: SourceText): SourceText => replaced(source, controls, '')

/** On one line. */
export const cleanLine = (source: SourceText): SourceText => replaced(source, lineControls, ' ')

/** All of a text, however long it is. */
export const everything: readonly TextRange[] = [[0, Number.POSITIVE_INFINITY]]

/** A whole text as a parser shows it literally, for providers that put it among their own markup. */
export const asPlainText = (text: string, plain: WebhookPlainText): string =>
  shownText({ text, ranges: everything }, plain)

/**
 * The text with each token that touches one of the ranges as text. Tokens outside them stay markup. The last range may end behind
 * the text.
 */
export function shownText({ text, ranges }: SourceText, { tokens, show }: WebhookPlainText): string {
  if (ranges.length === 0) return text
  let [shown, end, next] = ['', 0, 0]
  for (const { 0: token, index } of text.matchAll(tokens)) {
    while ((ranges[next]?.[1] ?? Number.POSITIVE_INFINITY) <= index) next++
    const start = ranges[next]?.[0]
    if (start === undefined) break
    if (start >= index + Math.max(1, token.length)) continue
    shown += text.slice(end, index) + show(token, text.slice(0, index))
    end = index + token.length
  }
  return shown + text.slice(end)
}

/** Replaces what matches, and moves the ranges with it. */
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
    // A bound inside of what is replaced goes behind it.
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
