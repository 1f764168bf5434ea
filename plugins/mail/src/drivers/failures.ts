import type { MailDelivery } from '../contract.ts'

export const failAllRecipients = (
  addresses: readonly string[],
  outcome: Exclude<MailDelivery['outcome'], 'accepted'>,
  errorCode: string,
  errorMessage: string,
): readonly MailDelivery[] => addresses.map((address) => ({ address, outcome, errorCode, errorMessage }))

export const acceptAllRecipients = (addresses: readonly string[]): readonly MailDelivery[] =>
  addresses.map((address) => ({ address, outcome: 'accepted' }))

export const deferAllAsCancelled = (addresses: readonly string[]): readonly MailDelivery[] =>
  failAllRecipients(addresses, 'deferred', 'mail.given-up', 'Cancelled before the mail was sent')
