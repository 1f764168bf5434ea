import { type AuditEntry, type AuditedRequest, audit, auditCaller, type Kernel } from '@plinth/kernel'

/** Writes the audit of an administrative action in the current transaction. */
export type AccessAudit = (
  what: Pick<AuditEntry, 'subject' | 'summary'> & { readonly reason?: string },
) => Promise<void>

/** Returns a function that writes an audit with the caller of the request as actor. */
export const auditedBy =
  (kernel: Pick<Kernel, 'contributions'>, request: AuditedRequest, action: string): AccessAudit =>
  (what) =>
    audit(kernel, { ...auditCaller(request), ...what, action })
