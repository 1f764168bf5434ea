import { type AuditEntry, type AuditedRequest, audit, auditCaller, type Kernel } from '@plinth/kernel'

/** Writes the record of an administrative action, in the transaction around it. */
export type AccessAudit = (
  what: Pick<AuditEntry, 'subject' | 'summary'> & { readonly reason?: string },
) => Promise<void>

/** Records what the caller of a request does. */
export const auditedBy =
  (kernel: Pick<Kernel, 'contributions'>, request: AuditedRequest, action: string): AccessAudit =>
  (what) =>
    audit(kernel, { ...auditCaller(request), ...what, action })
