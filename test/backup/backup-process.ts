/** Makes a backup in a process of its own, which kills itself at one step. The argument is JSON. */

import { createBackup } from '@plinth/backup/parts'
import { ConnectionLease } from '@plinth/database/parts'
import { DirectoryDisk } from '@plinth/storage'
import type { CompiledQuery } from 'kysely'
import { type BackupArgument, optionsOf } from './backups.ts'

const { site, recipient, kill }: BackupArgument = JSON.parse(process.argv[2] ?? '{}')

const pattern = kill === undefined ? undefined : new RegExp(kill.step)
let seen = 0

/** Runs a step, and kills the process before or after it if it is the chosen one. */
async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  const isPoint = pattern?.test(name) === true && ++seen === kill?.nth
  if (isPoint && kill?.when === 'before') process.kill(process.pid, 'SIGKILL')
  const result = await work()
  if (isPoint) process.kill(process.pid, 'SIGKILL')
  return result
}

const { executeQuery } = ConnectionLease.prototype
ConnectionLease.prototype.executeQuery = function executeOrDie(
  this: ConnectionLease,
  query: CompiledQuery,
  ...rest: []
) {
  return step(`sql ${query.sql}`, () => executeQuery.call(this, query, ...rest))
} as typeof executeQuery
const { write, delete: remove, open } = DirectoryDisk.prototype
DirectoryDisk.prototype.write = function writeOrDie(this: DirectoryDisk, path, content) {
  return step(`write ${path}`, () => write.call(this, path, content))
}
DirectoryDisk.prototype.delete = function deleteOrDie(this: DirectoryDisk, path) {
  return step(`delete ${path}`, () => remove.call(this, path))
}
DirectoryDisk.prototype.open = function openOrDie(this: DirectoryDisk, path) {
  return step(`open ${path}`, () => open.call(this, path))
}

const onProgress = (text: string) => {
  if (pattern?.test(`progress ${text}`) === true && ++seen === kill?.nth) process.kill(process.pid, 'SIGKILL')
}
const { id } = await createBackup(optionsOf(site, { recipient, onProgress }))
process.stdout.write(`${id}\n`)
process.exit()
