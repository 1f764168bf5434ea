import { columnText } from '@plinth/kernel'
import type { ChannelInfo } from '../contract.ts'
import { refusal } from '../failures.ts'
import { secretAttributeName } from '../masking.ts'
import { socialFields } from './social-metadata.ts'

/** Where a click leads and what it is about; the inbox stores them. */
const jump = [
  'module',
  'event',
  'eventType',
  'sourceType',
  'sourceId',
  'targetType',
  'targetId',
  'targetRoute',
  'targetUserId',
  'dedupeKey',
]
/** What a page may choose of a channel. Endpoints, secrets and whole payloads come from configuration only. */
const ofChannels = ['webhook.provider', 'webhook.message-type', 'sms.template-code', 'sms.sign-name', 'sms.provider']

/**
 * Names of attributes that an administrator may give a message whatever channels are loaded. `social.to-user` is the one that is sensitive: no record keeps
 * it (decision D.59).
 */
const always: readonly string[] = [
  ...jump,
  ...[...ofChannels, ...socialFields.map(({ name }) => name)].filter(
    (name) => name === 'social.to-user' || !secretAttributeName.test(name),
  ),
]

/** Names of attributes that an administrator may give a message: also those of the providers that are not sensitive. */
export const sentAttributes = (channels: readonly ChannelInfo[]): ReadonlySet<string> => {
  const own = channels.flatMap(({ providers }) => providers.flatMap(({ attributes }) => attributes))
  const open = own.filter(({ name, sensitive }) => !sensitive && !secretAttributeName.test(name))
  return new Set([...always, ...open.map(({ name }) => name)])
}

/** Throws `BusinessError` `400` with reason `notification.attribute-refused` and the name in `data.attribute`. */
export function requireSentAttributes(
  attributes: Readonly<Record<string, unknown>>,
  channels: () => readonly ChannelInfo[],
): void {
  const names = Object.keys(attributes)
  if (names.every((name) => always.includes(name))) return
  const allowed = sentAttributes(channels())
  const other = names.find((name) => !allowed.has(name))
  if (other === undefined) return
  const attribute = columnText(other, 128)
  throw refusal('attribute-refused', { params: { attribute }, data: { attribute, field: 'attributes' } })
}
