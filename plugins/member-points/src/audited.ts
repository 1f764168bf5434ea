import { type AuditEntry, type AuditedRequest, audit, auditCaller, type Kernel } from '@plinth/kernel'

/** Writes the audit of an administrative action in the surrounding transaction. */
export type AccessAudit = (
  what: Pick<AuditEntry, 'subject' | 'summary'> & { readonly reason?: string },
) => Promise<void>

/** Writes an audit with the caller of a request. */
export const auditedBy =
  (kernel: Pick<Kernel, 'contributions'>, request: AuditedRequest, action: string): AccessAudit =>
  (what) =>
    audit(kernel, { ...auditCaller(request), ...what, action })
