import { cutToFit, measure } from '@plinth/notification-channels/webhook'

interface Texts {
  readonly subject: string
  readonly content: string
}

/** Subject and content, one below the other; without an empty line where one is missing. */
export const joined = (subject: string, content: string, between = '\n'): string =>
  [subject, content].filter((text) => text !== '').join(between)

/** A title, also for a message without one: its first line. */
export function titleOf({ subject, content }: Texts, max: number): string {
  const [line = ''] = (subject.trim() || content.trim()).split(/\r?\n/, 1)
  return cutToFit(line, 2 * max, (text) => measure(text, 'characters') <= max) || 'Notification'
}

/** Markdown that shows the text as it is. */
export const escapeMarkdown = (text: string): string => text.replace(/[\\*_~`>|#[\]]/g, '\\$&')

/** A line break of a text as Markdown knows it: a line of its own. */
export const markdownLines = (text: string): string => text.replace(/\r?\n/g, '\n\n')

/** What HTML and Slack read as markup. */
export const escapeMarkup = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
