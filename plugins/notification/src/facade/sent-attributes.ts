import { columnText } from '@plinth/kernel'
import { refusal } from '../failures.ts'
import { secretAttributeName } from '../masking.ts'
import { socialFields } from './social-metadata.ts'

/** Where a click leads and what it is about; the inbox stores them. */
const jump = [
  ...['module', 'event', 'eventType', 'sourceType', 'sourceId', 'targetType', 'targetId', 'targetRoute'],
  ...['targetUserId', 'dedupeKey'],
]
/** What a page may choose of a channel. Endpoints, secrets and whole payloads come from configuration only. */
const ofChannels = ['webhook.provider', 'webhook.message-type', 'sms.template-code', 'sms.sign-name', 'sms.provider']

/**
 * Names of attributes that an administrator may give a message. `social.to-user` is the one that is sensitive: no record keeps
 * it (decision D.59).
 */
export const sentAttributes: readonly string[] = [
  ...jump,
  ...[...ofChannels, ...socialFields.map(({ name }) => name)].filter(
    (name) => name === 'social.to-user' || !secretAttributeName.test(name),
  ),
]

/** Throws `BusinessError` `400` with reason `notification.attribute-refused` and the name in `data.attribute`. */
export function requireSentAttributes(attributes: Readonly<Record<string, unknown>>): void {
  const other = Object.keys(attributes).find((name) => !sentAttributes.includes(name))
  if (other === undefined) return
  const attribute = columnText(other, 128)
  throw refusal('attribute-refused', { params: { attribute }, data: { attribute } })
}
