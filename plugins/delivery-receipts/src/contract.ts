import { extensionPoint, type LocalizedText, shape } from '@plinth/kernel'
import type { DeliveryReport, ReportedSends } from '@plinth/notification'

/** A request of a provider. Nothing in it is verified. */
export interface ReceiptRequest {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Exact bytes of the request. Verify these bytes, not a parsed copy. */
  readonly body: Buffer
  /** Last segment of the path `/api/v1/delivery-receipts/<source>/<secret>`, if there is one. */
  readonly secret: string | undefined
}

/** The report of a provider about one message. `at` defaults to the time at which the receipt arrived. */
export interface Receipt extends Omit<DeliveryReport, 'at'> {
  /** Id of the receipt, the same for each repetition, at most 200 characters. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at?: number | undefined
}

/** A request of a provider that an operator must confirm by a call to an address. */
export interface PendingConfirmation {
  /** Name of the subscription, such as the ARN of a topic. */
  readonly subject: string
  /** Address that confirms the subscription. It must be checked by the source. */
  readonly url: string
}

export interface ReceivedReceipts {
  /** Empty for a valid request about something else. */
  readonly receipts: readonly Receipt[]
  readonly confirmation?: PendingConfirmation | undefined
  /**
   * True if the signature covers only the ids of the receipts and not their content. A known id with other content is then
   * rejected.
   */
  readonly isSignedById?: boolean | undefined
  /** Body of the response as JSON, if the provider requires one. */
  readonly response?: object | undefined
}

/**
 * A provider that reports what became of messages. A plugin contributes it under its name:
 * `ctx.contribute(receiptSource, 'acme', source)`. Requests to `/api/v1/delivery-receipts/acme` then go to it.
 */
export interface ReceiptSource {
  readonly displayName: LocalizedText
  /** Returns false while a required key is empty. Requests then get the status 503. */
  isConfigured(): boolean
  /** Sends that the source reports while it is configured. */
  readonly reports: readonly ReportedSends[]
  /** Maximum size of a request in bytes, up to 1 MiB. Default: 256 KiB. */
  readonly maxBodyBytes?: number | undefined
  /** Headers that add the own reference of a mail, if the provider returns them in its receipts. */
  mailHeaders?(reference: string): Readonly<Record<string, string>>
  /**
   * Verifies a request and reads its receipts.
   *
   * @throws ReceiptRejected if the request is not proven to come from the provider; nothing of it is then stored
   */
  receive(request: ReceiptRequest): ReceivedReceipts | Promise<ReceivedReceipts>
}

export const receiptSource = extensionPoint<ReceiptSource>('delivery-receipts.source', {
  from: '@plinth/delivery-receipts',
  names: shape.kebab,
  shape: shape.object<ReceiptSource>(
    {
      displayName: shape.localized,
      isConfigured: shape.function,
      reports: shape.list(shape.anyObject),
      receive: shape.function,
    },
    { maxBodyBytes: shape.integer(1, 1_048_576), mailHeaders: shape.function },
  ),
})

/**
 * Reasons to reject a request. `unavailable`: the request could not be verified now, so the provider must repeat it; all
 * others mean that it does not come from the provider.
 */
export type RejectionReason =
  | 'secret'
  | 'signature'
  | 'topic'
  | 'certificate'
  | 'stale'
  | 'replayed'
  | 'body'
  | 'unavailable'

/** A request is not stored. The response has the status 401, or 503 for `unavailable`, and contains no reason. */
export class ReceiptRejected extends Error {
  override readonly name = 'ReceiptRejected'
  readonly reason: RejectionReason

  constructor(reason: RejectionReason) {
    super(`The request is rejected: ${reason}`)
    this.reason = reason
  }
}

export const isReceiptRejected = (error: unknown): error is ReceiptRejected =>
  error instanceof Error && error.name === 'ReceiptRejected' && 'reason' in error
