import type { Operation, OwnPageView } from '../../api/page-types.ts'

/** Ids of the operations of the page. */
export const operationIds = {
  metadata: 'getNotificationsSendMetadata',
  preview: 'postNotificationsTemplatePreview',
  audience: 'postAdminNotificationAudience',
  send: 'postNotificationsSend',
} as const

export interface Channel {
  readonly code: string
  readonly displayName: string
  readonly isDefault: boolean
}

/** The message on one channel. */
export interface Preview {
  readonly subject: string
  readonly content: string
  readonly html: string | null
  readonly variables: readonly { readonly name: string; readonly needed: boolean }[]
  /** Language of the template that is used; null if no template fits. */
  readonly templateLocale: string | null
}

export type Variables = Preview['variables']

/** Numbers of users who get a message on one channel, and who do not. */
export interface Audience {
  readonly channel: string
  readonly enabled: boolean
  readonly audience: 'users' | 'fixed' | 'none'
  readonly reached: number
  readonly withoutAddress: number
  readonly withoutAddressIds: readonly number[]
  readonly unwanted: number
  readonly quiet: number
}

export interface SendResult {
  readonly channel: string
  /** True if the message is stored and is sent later. */
  readonly queued?: boolean
}

/** Returns an operation of the page. The page checks `allowed` before it calls one. */
export const operationOf = (page: OwnPageView, id: keyof typeof operationIds) =>
  page.operations[operationIds[id]] as Operation

/** Codes of the channels that the message uses. Without a choice it is the inbox, or else the default channel. */
export function channelCodes(chosen: unknown, channels: readonly Channel[]): readonly string[] {
  if (Array.isArray(chosen) && chosen.length > 0) return chosen.map(String)
  const standard = channels.find(({ code }) => code === 'database') ?? channels.find(({ isDefault }) => isDefault)
  return standard === undefined ? [] : [standard.code]
}
