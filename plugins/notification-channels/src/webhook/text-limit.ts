import { memberAt } from '@plinth/outgoing-http'
import type { WebhookTextLimit } from './contract.ts'

type Unit = WebhookTextLimit['unit']

/** Length of a text in the unit of a provider. */
export function measure(text: string, unit: Unit): number {
  if (unit === 'utf16') return text.length
  if (unit === 'bytes') return Buffer.byteLength(text)
  let count = 0
  for (const _ of text) count++
  return count
}

/** Made when it is first asked for: it costs a start 10 ms. */
let graphemes: Intl.Segmenter | undefined
const ellipsis = '…'

/** Says of a UTF-16 unit where its grapheme begins; 0 for a unit that is not there. */
export function graphemeStarts(text: string): (index: number) => number {
  graphemes ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  const segments = graphemes.segment(text)
  return (index) => segments.containing(index)?.index ?? 0
}

/**
 * The longest beginning of a text that fits, with an ellipsis, cut between graphemes; the text itself when it fits, an empty
 * one when not even one grapheme does.
 *
 * @param most UTF-16 units that are looked at at most: whatever is longer never fits
 */
export function cutToFit(text: string, most: number, fits: (candidate: string) => boolean): string {
  if (text.length <= most && fits(text)) return text
  // One unit more, so that the last grapheme that is looked at is seen to go on.
  const beginning = text.slice(0, most + 1)
  const startOf = graphemeStarts(beginning)
  const cut = (index: number) => (index === 0 ? '' : `${beginning.slice(0, index)}${ellipsis}`)
  let [low, high] = [0, Math.max(0, beginning.length - 1)]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(cut(startOf(middle)))) low = middle
    else high = middle - 1
  }
  return cut(startOf(low))
}

export interface Fitted<Body> {
  readonly body: Body
  readonly truncated: boolean
}

/**
 * Builds the payload with as much of the content, then of the subject, as the limit takes.
 *
 * @param subjectLimit code points of a subject
 */
export function fitted<Body extends object>(
  build: (subject: string, content: string) => Body,
  { subject, content }: { readonly subject: string; readonly content: string },
  limit: WebhookTextLimit | undefined,
  subjectLimit = Number.POSITIVE_INFINITY,
): Fitted<Body> {
  const title = cutToFit(
    subject,
    Math.min(subject.length, 2 * subjectLimit),
    (text) => measure(text, 'characters') <= subjectLimit,
  )
  const whole = () => build(title, content)
  if (limit === undefined) return { body: whole(), truncated: title !== subject }
  const { max, unit, member } = limit
  const measured = (body: Body) => (member === undefined ? JSON.stringify(body) : String(memberAt(body, member) ?? ''))
  const takes = (body: Body) => measure(measured(body), unit) <= max
  // A code point is at most two units, a unit at least one byte.
  const most = 2 * max
  if (content.length <= most) {
    const body = whole()
    if (takes(body)) return { body, truncated: title !== subject }
  }
  const shortened = cutToFit(content, most, (text) => takes(build(title, text)))
  const body = build(title, shortened)
  if (takes(body)) return { body, truncated: true }
  const shortTitle = cutToFit(title, most, (text) => takes(build(text, '')))
  return { body: build(shortTitle, ''), truncated: true }
}
