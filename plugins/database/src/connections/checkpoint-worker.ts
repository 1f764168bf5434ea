/**
 * Code of the thread that `WalCheckpoints` starts. The thread runs a checkpoint for each message and returns the
 * result.
 */
import { statSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { errorCodeOf, errorReason } from '@plinth/kernel'
import Database from 'better-sqlite3'
import { type CheckpointResult, type CheckpointTask, maxLogBytes } from './wal-checkpoints.ts'

const { file, synchronous }: CheckpointTask = workerData
const database = new Database(file, { timeout: 0, fileMustExist: true })
database.pragma(`synchronous = ${synchronous}`)

const logBytes = () => statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0

/**
 * Runs a passive checkpoint, which does not wait and blocks no other connection. The log is truncated only if it is too
 * long, because this works only while nobody reads.
 */
function checkpoint(): CheckpointResult {
  try {
    database.pragma('wal_checkpoint(PASSIVE)')
    if (logBytes() > maxLogBytes) truncate()
    return { isTooLong: logBytes() > maxLogBytes }
  } catch (error) {
    return { failure: errorReason(error) }
  }
}

/** Has no effect while another connection reads or writes. */
function truncate(): void {
  try {
    database.pragma('wal_checkpoint(TRUNCATE)')
  } catch (error) {
    if (!String(errorCodeOf(error)).startsWith('SQLITE_BUSY')) throw error
  }
}

parentPort?.on('message', (message: 'checkpoint' | 'close') => {
  if (message === 'checkpoint') {
    parentPort?.postMessage(checkpoint())
    return
  }
  database.close()
  parentPort?.close()
})
