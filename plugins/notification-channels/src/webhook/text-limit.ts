import { memberAt } from '@plinth/outgoing-http'
import type { WebhookMessageType, WebhookTextLimit } from './contract.ts'

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

/** Where the code point of a UTF-16 unit begins. */
const codePointStarts = (text: string) => (index: number) => {
  const unit = text.charCodeAt(index)
  return index > 0 && unit >= 0xdc00 && unit <= 0xdfff ? index - 1 : index
}

/**
 * The longest beginning of a text that fits, with an ellipsis; the text itself when it fits. It is cut between graphemes, and
 * between code points where not even one grapheme fits; empty when not even one code point does.
 *
 * @param most UTF-16 units that are looked at at most: whatever is longer never fits
 */
export function cutToFit(text: string, most: number, fits: (candidate: string) => boolean): string {
  if (text.length <= most && fits(text)) return text
  // One unit more, so that the last grapheme that is looked at is seen to go on.
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

/** A code point is at most two units, a unit at least one byte. */
const longestLook = ({ max }: WebhookTextLimit) => 2 * max

/** Whether a payload is within a limit. */
const takes =
  ({ max, unit, member }: WebhookTextLimit) =>
  (body: object): boolean =>
    measure(member === undefined ? JSON.stringify(body) : String(memberAt(body, member) ?? ''), unit) <= max

/** Builds the payload with as much of the content, then of the subject, as the limits take. */
export function fitted<Body extends object>(
  build: (subject: string, content: string) => Body,
  { subject, content }: { readonly subject: string; readonly content: string },
  { limit, subjectLimit }: Pick<WebhookMessageType, 'limit' | 'subjectLimit'>,
): Fitted<Body> {
  const title =
    subjectLimit === undefined
      ? subject
      : cutToFit(subject, longestLook(subjectLimit), (text) => takes(subjectLimit)(build(text, '')))
  const whole = () => build(title, content)
  if (limit === undefined) return { body: whole(), truncated: title !== subject }
  const fits = takes(limit)
  const most = longestLook(limit)
  if (content.length <= most) {
    const body = whole()
    if (fits(body)) return { body, truncated: title !== subject }
  }
  const shortened = cutToFit(content, most, (text) => fits(build(title, text)))
  const body = build(title, shortened)
  if (fits(body)) return { body, truncated: true }
  const shortTitle = cutToFit(title, most, (text) => fits(build(text, '')))
  return { body: build(shortTitle, ''), truncated: true }
}
