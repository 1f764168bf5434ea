import { type AuditEntry, type AuditSummary, fitTextToColumn, type JsonValue } from '@plinth/kernel'
import type { SettledChange } from '../changes/destinations.ts'
import type { Actor, ChangeOrigin, SaveOptions } from '../contract.ts'
import { maskedForDisplay } from '../secrets/sealed-value.ts'

/** A change of a stored value with the value before it. */
export interface RecordedChange {
  readonly change: SettledChange
  /** Absent if no value was stored. */
  readonly before: JsonValue | undefined
  readonly isSecret: boolean
}

/** Maximum number of changes whose values an entry contains. An entry of an import still lists all keys. */
const maxValues = 50
const maxValueLength = 200

/** Returns the audit entry for saved changes, with the values before and after. Secrets are masked. */
export function savedEntry(
  origin: ChangeOrigin,
  version: number,
  changes: readonly RecordedChange[],
  { actor, reason }: SaveOptions,
): AuditEntry {
  const keysOf = (action: SettledChange['action'], isUnset = false) =>
    changes
      .filter(({ change }) => change.action === action && (change.isUnset ?? false) === isUnset)
      .map(({ change }) => change.key)
  const unset = keysOf('reset', true)
  const sentTo = changes.flatMap(({ change }) => Object.entries(change.sentTo ?? {}))
  const destination = [...new Set(sentTo.map(([key, value]) => `${key}: ${wordsOf(value)}`))].slice(0, maxValues)
  return {
    ...whoOf(actor),
    action: `configuration.${origin}`,
    // A single changed key is the target. Several keys have no common name, so the target is their version.
    subject: changes.length === 1 ? (changes[0]?.change.key ?? version) : version,
    summary: {
      set: keysOf('set'),
      reset: keysOf('reset'),
      ...(unset.length === 0 ? {} : { unset }),
      ...(destination.length === 0 ? {} : { destination }),
      ...Object.assign({}, ...changes.slice(0, maxValues).map(valuesOf)),
      ...(reason === undefined ? {} : { reason: fitTextToColumn(reason, 200) }),
    },
  }
}

function valuesOf({ change, before, isSecret }: RecordedChange): AuditSummary {
  const after = change.action === 'set' ? change.value : undefined
  return {
    [change.key]: textOf(maskedForDisplay(after, isSecret)),
    [`${change.key}Before`]: textOf(maskedForDisplay(before, isSecret)),
  }
}

/** Returns a value as the summary can store it: structured values become a list of their members. */
function textOf(value: JsonValue | undefined): AuditSummary[string] {
  if (value === undefined || value === null || typeof value === 'boolean' || typeof value === 'number')
    return value ?? null
  if (typeof value === 'string') return fitTextToColumn(value, maxValueLength)
  const parts = Array.isArray(value)
    ? value.map(wordsOf)
    : Object.entries(value).map(([name, one]) => `${name}: ${wordsOf(one)}`)
  return parts.map((part) => fitTextToColumn(part, maxValueLength))
}

const wordsOf = (value: JsonValue | undefined): string => {
  const parts = textOf(value)
  return Array.isArray(parts) ? parts.join(', ') : String(parts ?? '')
}

/** Returns the audit entry for a comparison with a stored secret. */
export const verificationEntry = (key: string, isSame: boolean, actor: Actor): AuditEntry => ({
  ...whoOf(actor),
  action: 'configuration.verify',
  subject: key,
  summary: { isSame },
})

interface RequestFacts {
  readonly keys: readonly string[]
  readonly reason: string | undefined
  /** User who made the request; absent if this user acts. */
  readonly requestedBy?: number
}

/** Returns the audit entry for a request of changes, or for a decision about it. Contains no values. */
export const requestEntry = (
  action: string,
  id: number,
  { keys, reason, requestedBy }: RequestFacts,
  actor: Actor,
): AuditEntry => ({
  ...whoOf(actor),
  action: `configuration.${action}`,
  subject: keys.length === 1 ? (keys[0] ?? id) : id,
  summary: {
    request: id,
    keys: keys.slice(0, maxValues),
    ...(requestedBy === undefined ? {} : { requestedBy }),
    ...(reason === undefined ? {} : { reason: fitTextToColumn(reason, 200) }),
  },
})

/** Returns who acts, as the audit stores it. */
const whoOf = ({ userId, name, clientIp, traceId }: Actor) => ({
  actor: userId === undefined ? { name } : { userId },
  ...(clientIp === undefined ? {} : { clientIp }),
  ...(traceId === undefined ? {} : { traceId }),
})
