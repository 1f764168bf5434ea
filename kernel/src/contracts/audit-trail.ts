import { extensionPoint } from '../refs.ts'
import { shape } from '../shapes/shape.ts'
import type { Kernel } from './kernel.ts'

/** Facts about what was done: names, codes, counts, switches. Never secrets. */
export type AuditSummary = Readonly<Record<string, string | number | boolean | null | readonly (string | number)[]>>

/** A summary in which whatever the product knows as a secret is masked. */
export function maskedSummary<Summary extends AuditSummary>(
  summary: Summary,
  redact: (text: string) => string,
): Summary {
  const mask = <T>(value: T) => (typeof value === 'string' ? redact(value) : value)
  const entries = Object.entries(summary).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map(mask) : mask(value),
  ])
  return Object.fromEntries(entries)
}

/** Who did what to what. */
export interface AuditEntry {
  /** A user, or the name of what acts by itself, such as `cli`. */
  readonly actor: { readonly userId: number } | { readonly name: string }
  /** `<type of the subject>.<verb>` in kebab-case, for example `outbox-event.replay`; at most 64 characters. */
  readonly action: string
  /** Id or name of the subject; names have at most 200 characters. Absent when the action has no single subject. */
  readonly subject?: number | string
  readonly summary?: AuditSummary
  /** Why, as the one who did it said; at most 200 characters. The trail masks secrets in it. */
  readonly reason?: string
  readonly clientIp?: string
  readonly traceId?: string
}

export interface AuditTrail {
  /** Writes the record, in the transaction around it when there is one, so that both happen or neither. */
  record(entry: AuditEntry): Promise<void>
}

/**
 * Where administrative actions are recorded. Owned by the kernel, because whoever keeps the trail usually builds on the
 * plugins whose actions it records.
 */
export const auditTrail = extensionPoint<AuditTrail>('kernel.audit-trail', {
  from: '@plinth/iam',
  live: true,
  names: shape.dotted,
  shape: shape.object<AuditTrail>({ record: shape.function }),
})

/** Records an action wherever a plugin keeps a trail. Fails when it cannot be recorded: what leaves no trace must not happen. */
export async function audit(kernel: Pick<Kernel, 'contributions'>, entry: AuditEntry): Promise<void> {
  for (const trail of kernel.contributions(auditTrail).values()) await trail.record(entry)
}

/** What a request says of its caller; the access guard of an identity plugin leaves the principal there. */
export interface AuditedRequest {
  readonly principal?: { readonly userId: number } | undefined
  readonly clientIp: string
  readonly traceId: string
  readonly reason?: string
}

/** The caller of a request as an audit entry names it. */
export const auditCaller = ({ principal, clientIp, traceId, reason }: AuditedRequest) => ({
  actor: principal === undefined ? { name: 'anonymous' } : { userId: principal.userId },
  clientIp,
  traceId,
  ...(reason === undefined ? {} : { reason }),
})
