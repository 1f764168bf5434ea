import type { EnqueueOptions, MessageDraft, Notification } from '@plinth/notification'
import type { TemplateValue } from '@plinth/template'
import type { DeclaredDigest } from './contract.ts'
import type { Definition } from './entities.ts'

export type ItemData = Readonly<Record<string, TemplateValue>>

/** Maximum number of characters of the JSON of all shown items. With the last item, it is below the limits of templates. */
const maxShownCharacters = 100_000
/** Maximum number of values of all shown items. */
const maxShownValues = 7_000

/** Returns the first items that a message can show together. */
export function fittingItems(items: readonly ItemData[]): readonly ItemData[] {
  let [characters, values] = [0, 0]
  const end = items.findIndex((item) => {
    const text = JSON.stringify(item)
    characters += text.length
    values += text.match(/[,[{]/g)?.length ?? 0
    return characters > maxShownCharacters || values > maxShownValues
  })
  return end < 0 ? items : items.slice(0, end)
}

/** Content of the message of a digest. */
export interface DigestContent {
  /** Number of all items. */
  readonly count: number
  /** Data of the first items, in the order in which they were added. */
  readonly items: readonly ItemData[]
  /** Data of the last item, whose values are also variables of the message. */
  readonly last: ItemData
}

/** Returns the variables of the message: the data of the last item, `count`, `shown`, `more`, and the list `items`. */
export const variablesOf = ({ count, items, last }: DigestContent): ItemData => ({
  ...last,
  count,
  shown: items.length,
  more: count - items.length,
  items,
})

/** Digests that plugins declare, by code. */
export type Declared = ReadonlyMap<string, Pick<DeclaredDigest, 'subject' | 'content'>>

type Texts = Pick<Definition, 'code' | 'template' | 'subject' | 'content'>

/** Returns the texts of an operator, or those of the plugin that declares the digest. */
export const textsOf = ({ code, subject, content }: Texts, declared: Declared) => ({
  subject: subject ?? declared.get(code)?.subject ?? '',
  content: content ?? declared.get(code)?.content ?? '',
})

export function draftOf(
  definition: Texts,
  declared: Declared,
  shown: DigestContent,
  attributes: Readonly<Record<string, unknown>>,
  userIds: readonly number[],
): MessageDraft {
  const { code, template } = definition
  return {
    ...textsOf(definition, declared),
    ...(template === null ? {} : { template }),
    // Templates accept lists and objects, although the type of a message has only plain values.
    variables: variablesOf(shown) as NonNullable<MessageDraft['variables']>,
    recipients: userIds.map((userId) => ({ kind: 'user', userId })),
    attributes: { ...attributes, digest: code },
  }
}

/** Returns the channels of a digest that are loaded. If none of them is loaded, the message is rejected. */
export function channelsOf(
  { channels }: Pick<Definition, 'channels'>,
  notification: Pick<Notification, 'channels'>,
): Pick<EnqueueOptions, 'channels'> {
  const loaded = new Set(notification.channels().map(({ code }) => code))
  const usable = channels.filter((code) => loaded.has(code))
  return { channels: usable.length === 0 ? channels : usable }
}
