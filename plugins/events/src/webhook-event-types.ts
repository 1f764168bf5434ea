import { extensionPoint, type LocalizedText, type Shape, shape } from '@plinth/kernel'
import type { Static, TSchema } from 'typebox'
import type { EventRef } from './contract.ts'

/** User or organisation to whom the row of an event belongs. Without both, only the data scope `all` includes the row. */
export interface WebhookRowOwner {
  readonly userId?: number | null | undefined
  readonly orgId?: number | null | undefined
}

/**
 * An event that the product offers to other programs by webhook. The name of the contribution is the public type, for
 * example `order.paid`. It never changes.
 */
export interface WebhookEventType {
  readonly event: EventRef
  readonly title: LocalizedText
  /** Permission that the owner of a webhook endpoint needs. Usually the one to view these rows in the back office. */
  readonly permission: string
  /**
   * JSON Schema of `data`. Send ids, amounts with their unit, and states, but no names, addresses or texts of users:
   * receivers read these with the API, which checks their rights.
   */
  readonly schema: TSchema
  /** Returns `data`. `sequence` is added to it. */
  dataOf(payload: never): object
  /** Returns the owner of the row, which the data scope of receivers is compared with. */
  ownerOf(payload: never): WebhookRowOwner
}

/**
 * Events for webhooks, by their public type: lower-case words with underscores, joined by dots. The plugin
 * `@plinth/webhooks` owns this extension point. Contribute with `optional(...)`, so that the product works without it.
 */
export const webhookEventTypes = extensionPoint<WebhookEventType>('webhooks.event-types', {
  from: '@plinth/events',
  names: { type: 'string', maxLength: 100, pattern: '^[a-z0-9_]+(\\.[a-z0-9_]+)+$' } satisfies Shape,
  shape: shape.object<WebhookEventType>({
    event: shape.anything,
    title: shape.localized,
    permission: shape.coded,
    schema: shape.anything,
    dataOf: shape.function,
    ownerOf: shape.function,
  }),
})

/**
 * Declares an event for webhooks. The compiler compares `dataOf` with the schema and with the payload of the event.
 *
 * @example contributes: [optional(webhookEventTypes.of({ 'parcel.sent': webhookEventType({ event: parcelSent, ... }) }))]
 */
export const webhookEventType = <T, const S extends TSchema>(
  type: Omit<WebhookEventType, 'event' | 'schema' | 'dataOf' | 'ownerOf'> & {
    readonly event: EventRef<T>
    readonly schema: S
    readonly dataOf: (payload: T) => Static<S> & object
    readonly ownerOf: (payload: T) => WebhookRowOwner
  },
): WebhookEventType => type as unknown as WebhookEventType
