import type { Translator } from '@plinth/i18n'
import type { NotificationMessage } from '@plinth/kernel'

/** Values of a message for a text of the catalogue. */
export const textParams = (variables: NotificationMessage['variables']): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, typeof value === 'number' ? value : String(value ?? '')]),
  )

/**
 * Subject and content in the language of the message, where they are keys of the catalogue, `messages.<path>` or
 * `{messages.<path>}` (document 2, "Message"); a key without a translation stays as it was written.
 */
export function localized(
  message: NotificationMessage,
  translator: Pick<Translator, 'negotiate' | 'resolve'>,
): NotificationMessage {
  const { subject, content, locale, variables } = message
  if (!mayBeKey(subject) && !mayBeKey(content)) return message
  const language = translator.negotiate(locale)
  const params = textParams(variables)
  const resolve = (text: string) => translator.resolve(language, text, params)
  return { ...message, subject: resolve(subject), content: resolve(content) }
}

const mayBeKey = (text: string) => text.startsWith('messages.') || text.startsWith('{messages.')
