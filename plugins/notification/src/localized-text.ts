import type { Translator } from '@plinth/i18n'
import type { NotificationMessage, TextRange } from '@plinth/kernel'

/** Values of a message for a text of the catalogue. */
export const textParams = (variables: NotificationMessage['variables']): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, typeof value === 'number' ? value : String(value ?? '')]),
  )

/** Noncharacters of Unicode, which no text contains: they enclose the values until their ranges are known. */
const [opened, closed] = ['\uFDD0', '\uFDD1']
const marks = /[\uFDD0\uFDD1]/g

const marked = (params: Record<string, string | number>): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(params).map(([name, value]) => [
      name,
      typeof value === 'number' ? value : `${opened}${value.replace(marks, '')}${closed}`,
    ]),
  )

function unmarked(text: string): { readonly text: string; readonly ranges: readonly TextRange[] } {
  const [first = '', ...valued] = text.split(opened)
  let shown = first
  const ranges = valued.flatMap((piece): TextRange[] => {
    const [value = '', rest = ''] = piece.split(closed)
    const start = shown.length
    shown += value + rest
    return value === '' ? [] : [[start, start + value.length]]
  })
  return { text: shown, ranges }
}

/**
 * Subject and content in the language of the message, where they are keys of the catalogue, `messages.<path>` or
 * `{messages.<path>}` (document 2, "Message"); a key without a translation stays as it was written.
 */
export function localized(
  message: NotificationMessage,
  translator: Pick<Translator, 'negotiate' | 'resolve'>,
): NotificationMessage {
  const { subject, content, valueRanges, locale, variables } = message
  if (!mayBeKey(subject) && !mayBeKey(content)) return message
  const language = translator.negotiate(locale)
  const params = marked(textParams(variables))
  const resolve = (text: string, ranges: readonly TextRange[] = []) => {
    const resolved = translator.resolve(language, text, params)
    return resolved === text ? { text, ranges } : unmarked(resolved)
  }
  const [line, body] = [resolve(subject, valueRanges?.subject), resolve(content, valueRanges?.content)]
  const ranges = { subject: line.ranges, content: body.ranges }
  return { ...message, subject: line.text, content: body.text, valueRanges: ranges }
}

const mayBeKey = (text: string) => text.startsWith('messages.') || text.startsWith('{messages.')
