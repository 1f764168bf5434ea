import type { NotificationMessage } from '@plinth/kernel'
import type { SendLogRow } from './row.ts'

/** A send on its way into the send log. */
export interface SendEntry {
  readonly message: NotificationMessage
  row: SendLogRow
  /** Milliseconds after which it is sent again automatically. */
  retryInMs: number | undefined
  /** Assigned by the first write. */
  id: number | undefined
  /** A write of it was begun: it may be in the table. */
  tried: boolean
  /** What waits to be written is as it should be. */
  isQueued: boolean
  isLost: boolean
  weight: number
  /** Ends when what was queued last is written, or lost. */
  written: PromiseWithResolvers<void>
}

/** The entry of a row that was never written. */
export const entryOf = (message: NotificationMessage, row: SendLogRow): SendEntry => ({
  message,
  row,
  retryInMs: undefined,
  id: undefined,
  tried: false,
  isQueued: false,
  isLost: false,
  weight: 0,
  written: Promise.withResolvers<void>(),
})
