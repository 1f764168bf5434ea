import { service } from '../refs.ts'

/** One operation on the installation, or on what it left behind (document 3, "Install step, session and log records"). */
export interface InstallAuditEntry {
  /** For example `execute`, `state-reset`, `quickstart-cleanup`. */
  readonly action: string
  readonly status: 'passed' | 'warning' | 'failed'
  /** Session of the installation that it belongs to; none when absent. */
  readonly sessionId?: string
  /** Who did it: a user name, or what acts without a user, such as `cli`. */
  readonly operator: string
  readonly clientIp: string
  readonly userAgent: string
  readonly traceId: string
  /** What was done. Never passwords, keys, tokens or confirmation phrases. */
  readonly summary: Readonly<Record<string, string | number | boolean>>
}

export interface InstallAudit {
  /** Writes a record, in the transaction around it when there is one. */
  record(entry: InstallAuditEntry): Promise<void>
}

/** The audit of the installation. A contract of the kernel, because no plugin may depend on the one that installs. */
export const installAudit = service<InstallAudit>('install.audit', { from: '@plinth/install' })
