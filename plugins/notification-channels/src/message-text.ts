import type { NotificationMessage } from '@plinth/kernel'

/** True if a message has no text, for example because its template does not exist. */
export const hasNoText = ({ subject, content }: Pick<NotificationMessage, 'subject' | 'content'>): boolean =>
  subject.trim() === '' && content.trim() === ''

export const missingTextError = {
  errorCode: 'text-missing',
  errorMessage: 'The message has no text, neither its own nor by a template',
} as const

/** Characters that a text on one line cannot contain. Several in a row become one space. */
export const lineControls: RegExp = /[\p{Cc}\u2028\u2029]+/gu

/**
 * Returns the variables as texts, for services with their own templates. An object with a `value`, the form that WeChat
 * documents, is its value. Other objects are JSON.
 */
export const variableTexts = (variables: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, variableText(value)]))

function variableText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value ?? '')
  return 'value' in value ? variableText(value.value) : JSON.stringify(value)
}
