import type { MailDelivery } from '../contract.ts'

export const failedAll = (
  addresses: readonly string[],
  outcome: Exclude<MailDelivery['outcome'], 'accepted'>,
  errorCode: string,
  errorMessage: string,
): readonly MailDelivery[] => addresses.map((address) => ({ address, outcome, errorCode, errorMessage }))

export const acceptedAll = (addresses: readonly string[]): readonly MailDelivery[] =>
  addresses.map((address) => ({ address, outcome: 'accepted' }))

export const givenUp = (addresses: readonly string[]): readonly MailDelivery[] =>
  failedAll(addresses, 'deferred', 'mail.given-up', 'Given up before the mail was sent')
