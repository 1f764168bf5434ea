import { type Database, exactInteger } from '@plinth/database'
import { SendLog, type SendLogState } from '../entities.ts'

/** A send as the overview of channels needs it. */
export type RecentSend = Pick<
  SendLog,
  'id' | 'channel' | 'provider' | 'status' | 'outcome' | 'errorMessage' | 'createdAt'
>

/** What lately became of sends through a channel or a service. */
interface RecentSends {
  readonly success: RecentSend | undefined
  readonly failure: RecentSend | undefined
  /** The first failure of those that had no success after them; absent while the channel works. */
  readonly failingSince: Date | undefined
}

/** Rows of one channel in one state that are looked at: the newest ones. */
const looked = 10
/** Channels of one statement: SQLite takes 500 parts. */
const together = 50
const states: readonly SendLogState[] = ['success', 'failed', 'retried', 'unknown', 'dead']
/** Of rejected messages it may be these that are wrong; when so many follow each other it is the channel. */
const suspicious = 3

/** The newest sends of channels, the newest first: two statements by indexes, however many rows the log has. */
export async function recentSends(db: Database, channels: readonly string[]): Promise<readonly RecentSend[]> {
  const ids: number[] = []
  for (let from = 0; from < channels.length; from += together) {
    const wanted = channels.slice(from, from + together).flatMap((channel) => states.map((state) => [channel, state]))
    const parts = wanted.map(
      (_, at) =>
        `select id from (select id from notification_send_log where channel = ? and status = ? order by id desc limit ${looked}) as part${at}`,
    )
    const rows = await db.query<{ id: unknown }>(parts.join(' union all '), wanted.flat())
    ids.push(...rows.map(({ id }) => exactInteger(id)))
  }
  if (ids.length === 0) return []
  const fields = ['id', 'channel', 'provider', 'status', 'outcome', 'errorMessage', 'createdAt'] as const
  return db.fork().find(SendLog, { id: { $in: ids } }, { fields, orderBy: { id: 'desc' } })
}

/** @param sends of one channel or service, the newest first */
export function judgeSends(sends: readonly RecentSend[]): RecentSends {
  const success = sends.find(({ status }) => status === 'success')
  const failures = sends.filter(({ status }) => status !== 'success')
  const since = failures.filter(({ id }) => success === undefined || id > success.id)
  const [newest] = since
  const isOfChannel = newest !== undefined && (newest.outcome !== 'rejected' || since.length >= suspicious)
  return { success, failure: failures[0], failingSince: isOfChannel ? since.at(-1)?.createdAt : undefined }
}
