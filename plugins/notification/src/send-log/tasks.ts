import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import { type Database, type RemovedRows, selectionOf } from '@plinth/database'
import type { Events } from '@plinth/events'
import type { OptionalRef, ScheduledTask } from '@plinth/kernel'
import type { keys } from '../config.ts'
import { sendDeliveries } from '../contract.ts'
import { maxRememberedMs } from '../delivery/message-keys.ts'
import { SendLogRow } from '../entities.ts'
import { changeCounts, countsByKind, sendLogKindOf } from './counts.ts'
import { markInterrupted, publishOverdue, releaseInterrupted } from './send-log-writer.ts'

type Uses = { requires: { database: OptionalRef<Database>; events: OptionalRef<Events> }; config: typeof keys }
type SettleUses = Uses & { provides: readonly [typeof sendDeliveries] }

const kinds = selectionOf(SendLogRow).pick('status', 'restorable')

export const sendLogCountUpdate = {
  columns: ['status', 'restorable'],
  subtract: (db: Database, groups: readonly RemovedRows[]) =>
    changeCounts(db, countsByKind(groups.map(({ rows, values }) => [sendLogKindOf(kinds.read(values)), -rows]))),
}

/** Keys only serialise callers, and store cancellations for at most `maxRememberedMs`. */
const keptKeyMs = maxRememberedMs + 86_400_000

/** Tables whose rows are removed together with their message. */
export const messageParts = [{ table: 'notification_message_part', column: 'notification_id' }]

/** Removes old rows of the send log. It also releases interrupted retries. */
export const purgeSendLog = createPurgeTask<Uses>('platform.notification.send-log', {
  displayName: { en: 'Remove old entries of the send log', 'zh-CN': '清理旧的发送记录' },
  old({ config, clock }) {
    const retention = config.get('platform.notification.send-log.retention')
    const unusedKeys = rowsBefore('notification_message_key', 'used_at', new Date(clock.now() - keptKeyMs))
    if (retention === 0) return [unusedKeys]
    const before = new Date(clock.now() - retention)
    const orderBy = 'created_at, id'
    return [
      unusedKeys,
      { ...rowsBefore('notification_send_log', 'created_at', before), orderBy, tally: sendLogCountUpdate },
      // A scheduled message is old when the time at which it is sent is past, not when it was created.
      {
        ...rowsBefore('notification_message', 'created_at', before),
        where: 'created_at < ? and not_before is null',
        orderBy,
        dependents: messageParts,
      },
      {
        ...rowsBefore('notification_message', 'not_before', before),
        orderBy: 'not_before, created_at, id',
        dependents: messageParts,
      },
    ]
  },
  also: (_, db) => releaseInterrupted(db),
})

/** Scheduled task that finds sends whose process died, and retries whose event was lost. */
export const findInterruptedSends: ScheduledTask<SettleUses> = {
  name: 'notification.send-log.settle',
  displayName: { en: 'Find interrupted sends', 'zh-CN': '检查中断的发送' },
  fixedDelay: 'platform.notification.send-log.settle.fixed-delay',
  autoStartup: 'platform.notification.send-log.settle.auto-startup',
  irreversible: true,
  async run({ services, own, signal }) {
    const { database: db, events } = services
    if (db === undefined) return
    let found = 1
    while (found > 0 && !signal.aborted) found = await markInterrupted(db)
    if (events !== undefined && !signal.aborted) await publishOverdue(db, events)
    await own(sendDeliveries).askProviders(signal)
  },
}
