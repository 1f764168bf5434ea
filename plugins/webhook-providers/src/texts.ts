import { cutToFit, measure, type WebhookMessage } from '@plinth/notification-channels/webhook'

/** Subject and content, one below the other; without an empty line where one is missing. */
export const joined = (subject: string, content: string, between = '\n'): string =>
  [subject, content].filter((text) => text !== '').join(between)

/** A title, which the service shows without a parser; of a message without a subject its first line. */
export function titleOf({ written: { subject, content } }: WebhookMessage, max: number): string {
  const [line = ''] = (subject.trim() || content.trim()).split(/\r?\n/, 1)
  return cutToFit(line, 2 * max, (text) => measure(text, 'characters') <= max) || 'Notification'
}

/** A line break of a text as Markdown knows it: a line of its own. */
export const markdownLines = (text: string): string => text.replace(/\r?\n/g, '\n\n')
