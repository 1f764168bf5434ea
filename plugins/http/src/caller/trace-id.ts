import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** Name of the header that carries the trace id, both ways. */
export const traceHeader = 'x-trace-id'

/** Letters, digits, dot, underscore, hyphen: nothing that could break a log line, a header or a query. */
const safe = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** The caller's trace id when it is well formed, else a new UUID (decision A27). */
export function traceIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers[traceHeader]
  return typeof given === 'string' && safe.test(given) ? given : nextUuid()
}

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
let prefix = ''
let issued = 0

/**
 * A UUID whose last two bytes count up under a random rest, which is drawn anew every 65536 ids. A trace id must be
 * unique, not secret, and a random UUID for each request would cost a fast route 3 % of its throughput.
 */
function nextUuid(): string {
  if ((issued & 0xffff) === 0) prefix = randomUUID().slice(0, -4)
  const id = prefix + hex[(issued >> 8) & 0xff] + hex[issued & 0xff]
  issued++
  return id
}
