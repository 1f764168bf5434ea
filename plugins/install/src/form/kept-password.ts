import { maskedValue } from '@plinth/kernel'
import {
  cachePort,
  databasePort,
  databaseTypeOf,
  type FormValues,
  isServer,
  type Running,
  textOf,
  usesCache,
  usualPort,
} from './form-values.ts'

type Connection = 'database' | 'cache'

/** Whether the form names the server, and the user, that the product runs on, so that its password is at home there. */
function isRunning(form: FormValues, connection: Connection, running: Running): boolean {
  const now = (name: string) => running(`platform.${connection}.${name}`)
  const isSameHost = now('host') === textOf(form, `${connection}.host`)
  if (connection === 'cache') return now('enabled') === true && isSameHost && now('port') === cachePort(form)
  const port = now('port') ?? usualPort(now('type'))
  const isSameUser = now('username') === textOf(form, 'database.username')
  return usualPort(now('type')) !== undefined && isSameHost && isSameUser && port === databasePort(form)
}

/** The form knows MySQL alone; what runs on MariaDB stays there. */
export function databaseTypeToWrite(form: FormValues, running: Running): string {
  const type = databaseTypeOf(form) ?? ''
  const isMariaDb = type === 'mysql' && running('platform.database.type') === 'mariadb'
  return isMariaDb && isRunning(form, 'database', running) ? 'mariadb' : type
}

/**
 * The form shows a secret to few callers: from all others it comes back empty or as the mask and means "as it is". Only
 * towards the server that it belongs to, or another server could ask for it.
 */
export function passwordToWrite(form: FormValues, connection: Connection, running: Running): string {
  const given = textOf(form, `${connection}.password`)
  if (given !== '' && given !== maskedValue) return given
  return isRunning(form, connection, running) ? String(running(`platform.${connection}.password`) ?? '') : ''
}

/** True when the form refers to a secret that this server is not to be told. */
export function isMaskMisplaced(form: FormValues, connection: Connection, running: Running): boolean {
  const isUsed = connection === 'cache' ? usesCache(form) : isServer(form)
  const isMask = textOf(form, `${connection}.password`) === maskedValue
  return isUsed && isMask && !isRunning(form, connection, running)
}
