import type { NotificationMessage } from '@plinth/kernel'

/** Nobody is told anything by it: it named a template that there is not, and had no words of its own. */
export const hasNoText = ({ subject, content }: Pick<NotificationMessage, 'subject' | 'content'>): boolean =>
  subject.trim() === '' && content.trim() === ''

export const noText = {
  errorCode: 'text-missing',
  errorMessage: 'The message has no text, neither its own nor by a template',
} as const
