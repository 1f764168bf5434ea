import type { Category, InboxContent } from '@plinth/inbox'
import type { Targets } from '../connections/socket-table.ts'

interface PushFacts {
  readonly targets: Targets
  /** A user who wants none of these categories gets nothing. */
  readonly categories: readonly Category[]
}

/** A new notification; each client sees it in its language. */
export interface CreatedPush extends PushFacts {
  readonly event: 'notification.created'
  readonly content: InboxContent
  /** Items of inboxes, each beside its user among the targets; none for what was sent to this channel alone. */
  readonly itemIds: readonly number[]
}

/** Items were read on another device: the data of one event each. */
interface ReadPush extends PushFacts {
  readonly event: 'notification.read'
  readonly data: readonly object[]
}

/** What goes to clients, as it travels between instances: JSON. */
export type Push = CreatedPush | ReadPush
