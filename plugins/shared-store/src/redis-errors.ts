import { errorCodeOf, errorReason, errorTable, type PlinthError } from '@plinth/kernel'

export const sharedStoreError = errorTable(
  {
    PLINTH_SHARED_STORE_UNAVAILABLE: `Redis at {{place}} does not respond: {{reason}}.
    Start Redis, or correct platform.cache.mode, its addresses, platform.cache.tls and the credentials. The connection is restored automatically.`,
    PLINTH_SHARED_STORE_CLUSTER: `Redis at {{place}} is a node of a Redis Cluster.
    Set platform.cache.mode to cluster and platform.cache.cluster.nodes to the addresses of its nodes.`,
    PLINTH_SHARED_STORE_REFUSED: `Redis at {{place}} rejected a command: {{reason}}.
    Correct the cause that Redis reports. Redis must be version 6.2 or later, and no other program may use keys below platform.cache.key-prefix.`,
    PLINTH_SHARED_STORE_SETTINGS: `{{key}} must {{rule}} while {{other}} is {{value}}.
    Correct {{key}} or {{other}}.`,
    PLINTH_SHARED_STORE_PASSWORD_FILE: `The file {{file}} of platform.cache.password-file cannot be used: {{reason}}.
    Write the Redis password into the file, let the user of the process read it, and leave platform.cache.password empty.`,
  },
  { unavailable: ['PLINTH_SHARED_STORE_UNAVAILABLE'] },
)

export const noResponseReason = 'no answer in time'

/** Replaces messages about client options with reasons that operators understand. */
const plainReasons: readonly (readonly [string, string])[] = [
  ['Reached the max retries', 'the connection was lost'],
  ['Connection is closed', 'the connection was lost'],
  ["Stream isn't writeable", 'not connected'],
  ["Cluster isn't ready", 'not connected'],
]

/** Responses of a server that will accept the command later, or that another server has replaced. */
const temporary = /^(?:LOADING|READONLY|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|TRYAGAIN|MOVED|ASK) /

/** Returns the error that callers see for a response in which Redis reports an error. */
export function responseError(place: string, reason: string, cause?: unknown): PlinthError {
  const code = temporary.test(reason) ? 'PLINTH_SHARED_STORE_UNAVAILABLE' : 'PLINTH_SHARED_STORE_REFUSED'
  return sharedStoreError(code, { place, reason }, cause)
}

/** Returns the error that callers see for an error of the client. */
export function clientError(place: string, thrown: unknown): PlinthError {
  // The client of a cluster reports only that no node has responded.
  const error = (thrown as { lastNodeError?: unknown } | undefined)?.lastNodeError ?? thrown
  // If a host has several addresses, the error of Node.js has an empty message.
  const reported = errorReason(error) || String(errorCodeOf(error))
  if (error instanceof Error && error.name === 'ReplyError') return responseError(place, reported, error)
  const [, reason = reported] = plainReasons.find(([start]) => reported.startsWith(start)) ?? []
  return sharedStoreError('PLINTH_SHARED_STORE_UNAVAILABLE', { place, reason }, error)
}
