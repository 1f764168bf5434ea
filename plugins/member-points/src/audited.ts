import { type AuditEntry, type AuditedRequest, auditFieldsOfCaller, type Kernel, writeAuditEntry } from '@plinth/kernel'

/** Writes an audit entry in the current transaction. */
export type AccessAudit = (
  what: Pick<AuditEntry, 'subject' | 'summary'> & { readonly reason?: string },
) => Promise<void>

export const createAccessAudit =
  (kernel: Pick<Kernel, 'contributions'>, request: AuditedRequest, action: string): AccessAudit =>
  (what) =>
    writeAuditEntry(kernel, { ...auditFieldsOfCaller(request), ...what, action })
