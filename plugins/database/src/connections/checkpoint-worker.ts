/** The thread of `WalCheckpoints`: copies the write-ahead log back when it is asked to, and says how far it came. */
import { parentPort, workerData } from 'node:worker_threads'
import { reasonOf } from '@plinth/kernel'
import Database from 'better-sqlite3'
import type { CheckpointAnswer, CheckpointTask } from './wal-checkpoints.ts'

const { file, synchronous } = workerData as CheckpointTask
const database = new Database(file, { timeout: 0, fileMustExist: true })
database.pragma(`synchronous = ${synchronous}`)

/** Passive: it waits for nobody, and nobody waits for it. */
function checkpoint(): CheckpointAnswer {
  try {
    database.pragma('wal_checkpoint(PASSIVE)')
    return {}
  } catch (error) {
    return { failure: reasonOf(error) }
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
