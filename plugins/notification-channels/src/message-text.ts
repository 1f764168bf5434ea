import type { NotificationMessage } from '@plinth/kernel'

/** True if a message has no text, for example because its template does not exist. */
export const hasNoText = ({ subject, content }: Pick<NotificationMessage, 'subject' | 'content'>): boolean =>
  subject.trim() === '' && content.trim() === ''

export const missingTextError = {
  errorCode: 'text-missing',
  errorMessage: 'The message has no text, neither its own nor by a template',
} as const
